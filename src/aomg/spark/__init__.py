"""Quantiles of sliding windows on Spark: batch and Structured Streaming, with the same results."""

try:
    from aomg.spark.accounts import accounts, named_accounts, open_end
    from aomg.spark.functions import register
    from aomg.spark.named import QueryColumns, named_quantiles
    from aomg.spark.parquet_files import ParquetFiles
    from aomg.spark.quantiles import quantiles, summaries, windows
    from aomg.spark.session import session
    from aomg.spark.worker_errors import cause
except ImportError:
    from aomg.spark.versions import check_pyspark

    check_pyspark()  # an older PySpark lacks modules that are imported above
    raise
from aomg.tables.accounts import Accounts

__all__ = [
    "Accounts",
    "ParquetFiles",
    "QueryColumns",
    "accounts",
    "cause",
    "named_accounts",
    "named_quantiles",
    "open_end",
    "quantiles",
    "register",
    "session",
    "summaries",
    "windows",
]
