"""The same algorithm on Spark: batch and Structured Streaming, one answer."""

from aomg.spark.accounts import Accounts, accounts, open_end
from aomg.spark.quantiles import quantiles, summaries, windows
from aomg.spark.session import session

__all__ = ["Accounts", "accounts", "open_end", "quantiles", "session", "summaries", "windows"]
