"""Checks the arguments of the public functions, and turns Columns into names of columns."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from aomg.errors import InputError
from aomg.query import Query
from aomg.spark.parquet_files import ParquetFiles
from aomg.spark.versions import is_connect

ColumnOrName = Column | str
ColumnsOrNames = Sequence[ColumnOrName] | ColumnOrName | None


def quoted(name: str) -> Column:
    """The column of exactly this name, dots and backticks included."""
    return f.col("`" + name.replace("`", "``") + "`")


def refuse_others(
    frame: Any, query: Any, argument: str = "the first argument", kinds: tuple[type, ...] = (DataFrame,)
) -> None:
    """Refuse what is of no kind that is taken, and a second argument that is not a Query."""
    if not isinstance(frame, kinds):
        raise InputError(
            f"{argument} must be a Spark DataFrame, not {type(frame).__name__}; spark.createDataFrame(...) converts a "
            "table of pandas or Arrow, and aomg.quantiles(...), aomg.summaries(...) and aomg.windows(...) take such "
            "tables, and those of Polars, without Spark"
        )
    if not isinstance(query, Query):
        raise InputError(
            f"the second argument must be an aomg.Query, not {type(query).__name__}; "
            "for example aomg.Query('1 hour', '1 minute')"
        )


def refuse_no_session(spark: Any) -> None:
    """Raise InputError if this is not a Spark session."""
    if not isinstance(spark, SparkSession) and not (is_connect(spark) and hasattr(spark, "udf")):
        raise InputError(
            f"the first argument must be a SparkSession, not {type(spark).__name__}; pass aomg.spark.session(), or "
            "events.sparkSession"
        )


def checked_checkpoint(checkpoint: Any) -> str:
    """The path of a checkpoint. Raises InputError for what is none."""
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise InputError(
            f"checkpoint={checkpoint!r} must be the path that the stream has as its option 'checkpointLocation'"
        )
    path = os.fspath(checkpoint)
    return path if isinstance(path, str) else os.fsdecode(path)


def checked_operator(operator: Any) -> int:
    """The index of a stateful operator. Raises InputError for what is none."""
    if isinstance(operator, bool) or not isinstance(operator, int) or not 0 <= operator < 1 << 31:
        raise InputError(f"operator={operator!r} must be a whole number, 0 or more: 0 for the first quantiles(...)")
    return operator


def refuse_no_clock(events: DataFrame | ParquetFiles, clock: Any) -> None:
    """Raise InputError for a clock that Spark cannot compute: a text that is no time, a Column without timestamps."""
    if isinstance(clock, str) and clock != "processing":
        time = events.sparkSession.sql("SELECT try_cast(:clock AS timestamp)", args={"clock": clock})
        if time.collect()[0][0] is None:
            raise InputError(
                f"clock={clock!r} must be 'processing', a Column of timestamps, a time such as '2024-02-29 12:00:00', "
                "or None"
            )
    if isinstance(clock, Column):
        events = events.dataframe() if isinstance(events, ParquetFiles) else events
        name = _name_of(events, clock, "clock")
        kind = events.select(clock).schema[name].dataType
        if not isinstance(kind, t.TimestampType):
            raise InputError(
                f"clock={clock!r} is {kind.simpleString()}, not a timestamp; convert it, such as "
                "f.col('arrived').cast('timestamp')"
            )


def no_state(checkpoint: str, operator: int, error: PySparkException) -> InputError | None:
    """The error to raise where a checkpoint has no state of ours; None for other failures, such as a damaged file."""
    reason = _first_line(error)
    if not reason.startswith(("[STDS_COMMITTED_BATCH_UNAVAILABLE", "[STDS_INVALID_OPTION_VALUE")):
        return None
    return InputError(
        f"there is no state of quantiles(...) in {checkpoint!r} (operator {operator}); pass the 'checkpointLocation' "
        f"of a stream that has finished a micro-batch. Spark says: {reason}"
    )


@dataclass(frozen=True)
class NamedColumns:
    """The events, and the names of their columns; a Column that was passed is a column of the events now."""

    events: DataFrame | ParquetFiles
    value: Any
    time: Any
    by: Any
    weight: Any = None

    @classmethod
    def of(cls, events: DataFrame | ParquetFiles, value: Any, time: Any, by: Any, weight: Any) -> "NamedColumns":
        """Add the Columns to the events, which Spark has to read then. Raises InputError if it cannot compute one.

        A key has the name that `select` gives it: an alias, or the text of the expression. If a value, a time or a
        weight has the same name as another column in use, its argument is added to its name.
        """
        several = isinstance(by, Collection | Iterator) and not isinstance(by, str | Column)
        keys = list(by) if several else [] if by is None else [by]
        if not any(isinstance(argument, Column) for argument in (value, time, weight, *keys)):
            return cls(events, value, time, list(by) if isinstance(by, Iterator) else by, weight)
        events = events.dataframe() if isinstance(events, ParquetFiles) else events
        columns: dict[str, Column] = {}
        for i, key in enumerate(keys):
            if isinstance(key, Column):
                keys[i] = _name_of(events, key, "by")
                if keys[i] in columns:
                    raise InputError(f"by has two columns of the name {keys[i]!r}; give one an alias")
                columns[keys[i]] = key
        replaced = set(columns)
        others = {"value": value, "time": time, "weight": weight}
        used = {name for name in (*keys, *others.values()) if isinstance(name, str)}
        for argument, column in others.items():
            if isinstance(column, str) and column in replaced and column in events.columns:
                column = quoted(column)  # as it was before the key replaced it
            if isinstance(column, Column):
                name = _name_of(events, column, argument)
                others[argument] = name = name if name not in used else f"{name} ({argument})"
                used.add(name)
                columns[name] = column
        return cls(_with_columns(events, columns), others["value"], others["time"], keys, others["weight"])


def _name_of(events: DataFrame, column: Column, argument: str) -> str:
    """The name that `select` gives a Column."""
    try:
        names = events.select(column).columns
    except AnalysisException as error:
        raise InputError(_cannot(argument, column, error)) from None
    if len(names) != 1:
        raise InputError(f"{argument}={column!r} has {len(names)} columns: {', '.join(names) or 'none'}; pass one")
    return names[0]


def _with_columns(events: DataFrame, columns: dict[str, Column]) -> DataFrame:
    try:
        computed = events.withColumns(columns)
        computed.columns  # noqa: B018 (over Spark Connect, errors come when the columns are read)
    except AnalysisException as error:
        raise InputError(_cannot("a column", next(iter(columns.values())), error)) from None
    return computed


def _cannot(argument: str, column: Column, error: AnalysisException) -> str:
    return f"{argument}={column!r} cannot be computed from the events: {_first_line(error)}"


def _first_line(error: PySparkException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(";")
