"""Collects the refused rows of a scan: some of each reason with their text, and the number of the others.

A row without a reason has the number of all events that were read.

If Spark reads the events, a refused row comes as bytes: the number of its reason (one byte), its file, a zero byte, and
its text. Workers that read files have the row itself instead of its text, which Spark writes at the end of the plan: so
it is the same text.
"""

import codecs
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from aomg.spark.parcels import REFUSED, Parcel
from aomg.tables.long import ROW
from aomg.tables.row_faults import FaultChecker
from aomg.tables.rows import pack

MOST_SAMPLES = 100
"""Refused rows of one reason that a task returns; the others are counted."""

LONGEST_TEXT = 4096
MOST_REASONS = 256
_LONGEST_CHARACTER = 4  # bytes

SCHEMA = pa.schema([("reason", pa.string()), ("text", pa.string()), ("file", pa.string()), ("count", pa.int64())])


def refused_row(conditions: Sequence[Column], file: Column, text: Column) -> Column:
    """The refused row of an event as bytes, for the first condition that holds; null if none does."""
    number = f.coalesce(*(f.when(holds, f.lit(bytes([place]))) for place, holds in enumerate(conditions)))
    start = f.substring(text.cast("binary"), 1, LONGEST_TEXT)  # Python decodes it: it may not be text
    parts = [f.coalesce(part, f.lit(b"")) for part in (file.cast("binary"), start)]
    return f.when(number.isNotNull(), f.concat(number, parts[0], f.lit(b"\0"), parts[1]))


class RefusedSamples:
    """The refused rows of a partition, counted by reason; `reasons` are the texts of the reasons, in their order."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self._reasons = reasons
        self._counts = np.zeros(len(reasons), np.int64)
        self._events = 0

    def parcels(self, rows: pa.ChunkedArray, shard: int) -> Iterator[pa.RecordBatch]:
        """Count events, and those that are refused (null: not refused); a parcel with the first of each reason."""
        self._events += len(rows)
        if rows.null_count == len(rows):
            return
        refused = pc.drop_null(rows).combine_chunks()
        numbers = np.frombuffer(b"".join(pc.binary_slice(refused, 0, 1).to_pylist()), np.uint8)
        samples: list[tuple[str, str, str]] = []
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            free = max(MOST_SAMPLES - int(self._counts[number]), 0)
            self._counts[number] += places.size
            for row in refused.take(pa.array(places[:free])).to_pylist():
                file, text = row[1:].split(b"\0", 1)
                samples.append((self._reasons[number], readable(text), file.decode("utf-8", "backslashreplace")))
        if samples:
            reasons, texts, files = zip(*samples, strict=True)
            yield _parcel(shard, reasons, texts, files, [1] * len(samples))

    def rest(self, shard: int) -> Iterator[pa.RecordBatch]:
        """A parcel with the number of all events, and the numbers of refused rows that are in no other parcel."""
        more: dict[str | None, int] = {None: self._events} if self._events else {}
        more |= {
            reason: int(count) - MOST_SAMPLES
            for reason, count in zip(self._reasons, self._counts, strict=True)
            if count > MOST_SAMPLES
        }
        if more:
            nothing = [None] * len(more)
            yield _parcel(shard, list(more), nothing, nothing, list(more.values()))


def refused_parcels(checker: FaultChecker, shard: int) -> Iterator[pa.RecordBatch]:
    """The parcels of refused rows that workers have found in files, and the number of all events."""
    for refused in checker.collected:
        size = len(refused.reasons)
        yield _parcel(shard, refused.reasons, [None] * size, [refused.address] * size, [1] * size, rows=refused.rows)
    more: dict[str | None, int] = {None: checker.events} if checker.events else {}
    more |= checker.uncollected()
    if more:
        nothing = [None] * len(more)
        yield _parcel(shard, list(more), nothing, nothing, list(more.values()))


def _parcel(shard: int, *columns: Sequence[Any], rows: pa.StructArray | None = None) -> pa.RecordBatch:
    arrays = [pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)]
    table = pa.table(arrays, schema=SCHEMA)
    table = table if rows is None else table.append_column(ROW, rows)
    return Parcel(shard, REFUSED, content=pack(table)).batch()


def with_texts(rows: DataFrame) -> DataFrame:
    """A long table whose refused rows have their text instead of the column of rows."""
    text = f.to_json(ROW).cast("binary")
    starts = [f.substring(text, 1, LONGEST_TEXT - less).cast("string") for less in range(_LONGEST_CHARACTER)]
    start = f.coalesce(*(f.when(f.is_valid_utf8(start), start) for start in starts))  # cut between characters
    texts = f.array(f.col("refused")[0], start, f.col("refused")[2])
    return rows.withColumn("refused", f.when(f.col(ROW).isNotNull(), texts).otherwise(f.col("refused"))).drop(ROW)


def readable(text: bytes, most: int = LONGEST_TEXT) -> str:
    r"""Return the text of bytes; those that are not UTF-8 become escapes. If it has `most` bytes, it was cut there.

    >>> print(readable(b"caf\xc3\xa9, caf\xe9, caf\xc3"), readable(b"caf\xc3", most=4))
    café, caf\xe9, caf\xc3 caf
    """
    return codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(text, final=len(text) < most)
