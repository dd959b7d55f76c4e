"""Quantiles of sliding windows on Spark: batch and Structured Streaming, with the same results."""

from aomg.spark.accounts import accounts, open_end
from aomg.spark.functions import register
from aomg.spark.quantiles import quantiles, summaries, windows
from aomg.spark.session import session
from aomg.spark.worker_errors import cause
from aomg.tables.accounts import Accounts

__all__ = ["Accounts", "accounts", "cause", "open_end", "quantiles", "register", "session", "summaries", "windows"]
