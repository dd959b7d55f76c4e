"""Quantiles of sliding windows on Spark: batch and Structured Streaming, with the same results."""

from aomg.spark.accounts import accounts, named_accounts, open_end
from aomg.spark.named import QueryColumns, named_quantiles
from aomg.spark.quantiles import quantiles, summaries, windows
from aomg.spark.session import session
from aomg.tables.accounts import Accounts

__all__ = [
    "Accounts",
    "QueryColumns",
    "accounts",
    "named_accounts",
    "named_quantiles",
    "open_end",
    "quantiles",
    "session",
    "summaries",
    "windows",
]
