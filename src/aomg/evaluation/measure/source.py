"""Where values come from: a named stream, or one column of a file."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from aomg import streams
from aomg.errors import AomgError
from aomg.streams import Podsets

Values = npt.NDArray[Any]  # int64 or float64
FEWEST = 2_000
_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": pq.read_table,
    ".csv": pa.csv.read_csv,
    ".jsonl": pa.json.read_json,
    ".json": pa.json.read_json,
}


class DataError(AomgError, ValueError):
    """A file that cannot be evaluated."""


@dataclass(frozen=True)
class ValueSource:
    """Values in the order in which they came."""

    name: str
    title: str
    take: Callable[[int, int], Values]
    """As many values as asked for, from a position on; fewer where the source ends."""
    size: int | None = None
    """How many there are; None if there is no end."""
    identity: str = ""
    """Tells two files of one name apart."""
    dropped: int = 0
    """Rows of the file that were null or not finite, and are not part of the stream."""

    def values(self, events: int) -> Values:
        """The first values."""
        return self.take(events, 0)

    def most(self, events: int) -> int:
        """As many events as asked for, or as there are."""
        return events if self.size is None else min(events, self.size)

    def window(self, size: int, period: int) -> tuple[int, int]:
        """A window that the source fills four times: the one asked for, or one of as many, shorter sub-windows.

        With more sub-windows than a quarter of the events, each has one event, and the window is filled less often.
        """
        sub_windows = size // period
        while self.size is not None and 4 * sub_windows * period > self.size and period > 1:
            period //= 2
        return sub_windows * period, period


def of_stream(name: str, seed: int = 1, **parameters: Any) -> ValueSource:
    """Return the source of a named stream, see `aomg.streams.named`."""
    text = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return ValueSource(
        "-".join([name, *(f"{key}-{value}" for key, value in parameters.items())]),
        f"{TITLES.get(name, name)}{f' ({text})' if text else ''}",
        lambda events, start: _stream_values(name, seed, tuple(parameters.items()), events, start),
    )


TITLES = {
    "pingmesh": "Pingmesh",
    "search": "Search",
    "normal": "Normal",
    "uniform": "Uniform",
    "ar1": "AR(1)",
    "taxi": "TaxiTrip",
    "host_resources": "Host resources",
    "bursts": "Pingmesh with bursts",
    "drift": "Pingmesh with drift",
}


@lru_cache(maxsize=4)
def _stream_values(name: str, seed: int, parameters: tuple[tuple[str, Any], ...], events: int, start: int) -> Values:
    stream = streams.named(name, seed, **dict(parameters))
    if isinstance(stream, Podsets):
        raise DataError(f"{name} has events with keys and times; this evaluates streams of values")
    values = stream.take(events, start)
    values.flags.writeable = False
    return values


def of_file(path: Path, column: str | None) -> ValueSource:
    """Return the source of a column of a Parquet, CSV or JSON lines file.

    Raises DataError with what to do where it cannot be read, has no such column, or holds no numbers.
    """
    if path.suffix.lower() not in _READERS:
        raise DataError(f"{path} is of no kind that can be read; give a file ending in {', '.join(_READERS)}")
    if not path.is_file():
        raise DataError(f"there is no file {path}; give the path of one")
    try:
        table = _READERS[path.suffix.lower()](path)
    except (OSError, pa.ArrowException) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{path} cannot be read: {why}; is it whole, and of the kind that its name says?") from error
    numeric = [field.name for field in table.schema if pa.types.is_integer(field.type) or _real(field.type)]
    there_are = f"its columns of numbers are {', '.join(numeric)}" if numeric else "it has no column of numbers"
    if column is None:
        raise DataError(f"say which column of {path.name} to evaluate: --value COLUMN; {there_are}")
    if column not in table.column_names:
        raise DataError(f"{path.name} has no column {column!r}; {there_are}")
    if table.column_names.count(column) > 1:
        times = table.column_names.count(column)
        raise DataError(f"{path.name} has {times} columns named {column!r}; rename all but one")
    if column not in numeric:
        kind = table.schema.field(column).type
        raise DataError(f"column {column!r} of {path.name} holds {kind}, not numbers; {there_are}")
    values, dropped = _finite(table.column(column))
    if values.size < FEWEST:
        raise DataError(f"{path.name} has {values.size:,} finite values in {column!r}; at least {FEWEST:,} are needed")
    identity = hashlib.blake2b(values.tobytes(), digest_size=8).hexdigest()
    return ValueSource(
        path.stem,
        f"{path.name}, {column}",
        lambda events, start: values[start : start + events],
        values.size,
        identity,
        dropped,
    )


def _real(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _finite(column: pa.ChunkedArray) -> tuple[Values, int]:
    """The finite values as longs or doubles, and how many were dropped."""
    kept = column.drop_null()
    integers = pa.types.is_integer(kept.type)
    try:
        values = kept.cast(pa.int64() if integers else pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # unsigned longs beyond 2^63
        values = kept.cast(pa.float64(), safe=False).to_numpy()
    values = np.ascontiguousarray(values[np.isfinite(values)])
    values.flags.writeable = False
    return values, len(column) - values.size
