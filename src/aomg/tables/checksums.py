"""Writes the column of stored summaries with a checksum in each, and verifies what is read.

`verified` is the one place where stored summaries are checked and their checksums removed: for `aomg.windows`, on Spark
and on the page. State stores, checkpoints and saved operators have summaries without a checksum.
"""

from collections.abc import Mapping
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.checksums import with_checksums, without_checksums
from aomg.core.summary import LEAST_BYTES, NO_SUB_WINDOW, heads_of
from aomg.errors import InputError, QueryError, StateError
from aomg.query import Query
from aomg.tables.rows import binary_array, binary_buffers
from aomg.times import time_text

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

COLUMNS = ("start", "end", "count", "min", "max", "summary", "query")
"""The columns that `verified` reads."""
_KINDS = {"start": pa.int64(), "end": pa.int64(), "count": pa.int64(), "min": pa.float64(), "max": pa.float64()}


def summary_column(offsets: Integers, data: Bytes, query: str) -> pa.Array:
    """Summaries that the query of this text wrote, as they are stored: each with its checksum."""
    return binary_array(*with_checksums(offsets, data, crc32(query.encode()))).cast(pa.binary())


def verified(table: pa.Table, keys: Mapping[str, pa.ChunkedArray]) -> tuple[Integers, Integers, Bytes]:
    """Verify stored summaries: the number of each one's sub-window, and the offsets and bytes without checksums.

    table
        Has the columns COLUMNS; start and end are microseconds, or numbers of events.
    keys
        The key columns by name, for errors.

    Raises StateError if a checksum is wrong, or if a summary does not agree with its row: sub-window, count, minimum
    and maximum. Summaries without a checksum, of earlier versions, are only compared with their rows.
    """
    if any(table[name].null_count for name in COLUMNS):
        raise InputError("some summaries have a null sub_window, count, min, max, summary or query; drop these rows")
    columns = {name: _numbers(table, name) for name in _KINDS}
    texts = table["query"].combine_chunks().cast(pa.binary()).dictionary_encode()
    writers, writer = [text.as_py() for text in texts.dictionary], np.asarray(texts.indices)
    seeds = np.array([crc32(text) for text in writers], np.uint32)[writer] if writers else np.empty(0, np.uint32)
    offsets, data, damaged = without_checksums(*binary_buffers(table["summary"].cast(pa.large_binary())), seeds)
    if damaged >= 0:
        raise _damage(table, damaged, keys, writers[writer[damaged]], "its checksum is wrong")
    short = np.flatnonzero(np.diff(offsets) < LEAST_BYTES)
    if short.size:
        raise _damage(table, int(short[0]), keys, writers[writer[short[0]]], "it is too short")
    periods = np.array([_period(text) for text in writers], np.int64)[writer] if writers else np.empty(0, np.int64)
    heads = heads_of(offsets, data)
    summed = np.flatnonzero(heads.numbers == NO_SUB_WINDOW)
    if summed.size:
        raise StateError(
            "a stored summary is the sum of several sub-windows, which windows(...) cannot divide again; merge only "
            "summaries of the same sub-window, or use aomg_quantile(summary, query, 0.99) on it"
        )
    disagrees = {
        "sub_window": (columns["start"] // periods != heads.numbers)
        | (columns["start"] % periods != 0)
        | (columns["end"] - columns["start"] != periods),
        "count": columns["count"] != heads.counts,
        "min": columns["min"] != heads.minima,
        "max": columns["max"] != heads.maxima,
    }
    for name, rows in disagrees.items():
        if rows.any():
            row = int(np.flatnonzero(rows)[0])
            raise _damage(table, row, keys, writers[writer[row]], f"it does not agree with the column {name!r}")
    return heads.numbers, offsets, data


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
    try:
        return np.asarray(table[name].cast(_KINDS[name]))
    except pa.ArrowException as error:
        raise InputError(f"column {name!r} of the summaries is {table[name].type}, not {_KINDS[name]}") from error


def _period(text: bytes) -> int:
    """The period of the query that wrote a summary."""
    try:
        period: int = Query.parse(text.decode()).period
    except UnicodeDecodeError:
        raise QueryError(f"not the text of a query: {text!r}") from None
    return period


def _damage(table: pa.Table, row: int, keys: Mapping[str, pa.ChunkedArray], writer: bytes, reason: str) -> StateError:
    start, end = (table[name][row].as_py() for name in ("start", "end"))
    in_time = writer.startswith(b"aomg") and b"microseconds" in writer
    span = f"{time_text(start)} to {time_text(end)}" if in_time else f"{start} to {end}"
    key = ", ".join(f"{name}={_text(column[row])}" for name, column in keys.items())
    return StateError(
        f"the stored summary of sub-window {span}{f' of {key}' if key else ''} is damaged: {reason}; remove that row "
        "or file, or write it again from the events"
    )


def _text(value: pa.Scalar) -> str:
    try:
        return repr(value.as_py())
    except UnicodeDecodeError:
        return repr(value.as_buffer().to_pybytes())
