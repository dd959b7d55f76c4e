"""The functions without Spark: a table of events in, quantiles of every key's windows out, as an Arrow table.

`quantiles` does what `summaries` (Level 1) and `windows` (Level 2) do, at once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from aomg.errors import InputError
from aomg.query import Query
from aomg.tables.events import EventColumns, column_names, names_in, refuse_no_name
from aomg.tables.keyed_state import KeyedState
from aomg.tables.level2 import Answer
from aomg.tables.rows import NEVER
from aomg.tables.saved import with_ids
from aomg.tables.source import open_source
from aomg.tables.stored import StoredTable
from aomg.tables.summary_store import recast_summaries
from aomg.tables.threads import mapping, thread_count


def quantiles(
    events: Any,
    query: Query,
    *,
    value: str,
    time: str,
    by: Sequence[str] | str | None = None,
    weight: str | None = None,
    threads: int | None = None,
) -> pa.Table:
    """Compute the quantiles of each key's windows, each with its guaranteed interval: one row for each key and window.

    The rows equal those of an `aomg.Operator` for the events of each key, and those of a batch on Spark, bit for bit,
    whatever the order of the events. They are ordered by key and window. `aomg.tables.columns` describes the columns.
    All windows up to the sub-window of the latest event of all keys are answered; no event is late.

    events
        A table of pandas, Polars or PyArrow, a reader of record batches, a relation of DuckDB, or anything else with
        Arrow's PyCapsule interface. Readers and relations are read as a stream: memory holds tallies, not events.
    value
        The column of values: any type of number. Events with a null or non-finite value are refused.
    time
        The column of times: timestamps of any unit and zone, or for windows counted in events integers that number the
        events of each key. Events without a time are refused.
    by
        The key columns: one name, several, or None.
    weight
        The column that says how many events each row counts as: whole numbers from 0 to 2^31 - 1. Rows with any other
        weight are refused. A row of weight 0 moves time and nothing else. None: every row is one event.
    threads
        How many threads to use; None: as many as there are CPUs. It does not change results.
    """
    return _batch(events, query, value, time, by, weight, threads, summaries=False)


def summaries(
    events: Any,
    query: Query,
    *,
    value: str,
    time: str,
    by: Sequence[str] | str | None = None,
    weight: str | None = None,
    threads: int | None = None,
) -> pa.Table:
    """Summarize each key's sub-windows, a few hundred bytes each: one row for each key and sub-window.

    Store them and append to them; `windows` computes results from them later, without the events. The bytes are those
    of a batch on Spark. The arguments are those of `quantiles`; `aomg.tables.columns` describes the columns.
    """
    return _batch(events, query, value, time, by, weight, threads, summaries=True)


def windows(
    summaries: Any, query: Query, *, by: Sequence[str] | str | None = None, threads: int | None = None
) -> pa.Table:
    """Compute results from stored summaries: the rows that `quantiles` computes from the events.

    summaries
        A table that `summaries` returned, here or on Spark, or several of them together. Or the path of a Parquet file
        or of a folder of them: a query's folder of a monitor, for example, whose files are verified. All of it is read
        into memory. A summary that is damaged, or does not agree with its row, is an error.
    query
        May differ from the query that wrote the summaries in its size (any multiple of the period), in its quantiles,
        and in having fewer thresholds. Other quantiles keep the guarantee; their intervals may be wider. Summaries of
        more than three digits, of raw values or with few-k lists answer all but their own query at three digits:
        `query.replace(digits=3, few_k=None)`.
    by
        The key columns: all of the summaries' (None), or fewer, which rolls the summaries up.
    threads
        As for `quantiles`.
    """
    refuse_no_query(query)
    stored = StoredTable.of(summaries, query, by)
    answer = Answer(query, stored.by, stored.time_type)
    state = KeyedState(query, stored.key_types, thread_count(threads))
    rows = with_ids(recast_summaries(stored.table, query), state.keys)
    end = NEVER if query.counted or rows.num_rows == 0 else int(np.asarray(rows["number"]).max()) + 1
    with mapping(state.threads) as map_parts:
        closed = state.slide(answer, [rows], None, NEVER, end, map_parts, keep=False)
    return output_table(answer, closed.tables, stored.key_types)


def _batch(
    events: Any,
    query: Query,
    value: str,
    time: str,
    by: Sequence[str] | str | None,
    weight: str | None,
    threads: int | None,
    summaries: bool,
) -> pa.Table:
    refuse_no_query(query)
    names = names_of_columns(value, time, by, weight)
    source = open_source(events, column_names(value, time, names, weight))
    columns = EventColumns.of(source, query, value, time, names, weight)
    answer = Answer(query, columns.by, columns.span_type, summaries)
    state = KeyedState(query, columns.key_types, thread_count(threads))
    with mapping(state.threads) as map_parts:
        arrived = state.read(columns, source.tables, map_parts)
        end = NEVER if query.counted or arrived.latest is None else arrived.latest // query.period + 1
        closed = state.slide(answer, arrived.tallies, arrived.groups, NEVER, end, map_parts, keep=False)
    return output_table(answer, closed.tables, columns.key_types)


def output_table(answer: Answer, tables: Sequence[pa.Table], key_types: Sequence[pa.DataType]) -> pa.Table:
    """Tables of an answer in one; if there are none, an empty one with the same columns."""
    return pa.concat_tables(tables) if tables else answer.empty(key_types)


def names_of_columns(value: str, time: str, by: Sequence[str] | str | None, weight: str | None = None) -> list[str]:
    """The names of the by columns. Raises InputError for what cannot be the name of a column."""
    names = names_in(by)
    refuse_no_name("value", value)
    refuse_no_name("time", time)
    if weight is not None:
        refuse_no_name("weight", weight)
    return names


def refuse_no_query(query: Any, where: str = "the second argument must be") -> None:
    """Raise InputError if this is not a query."""
    if not isinstance(query, Query):
        raise InputError(
            f"{where} an aomg.Query, not {type(query).__name__}; for example aomg.Query('1 hour', '1 minute')"
        )
