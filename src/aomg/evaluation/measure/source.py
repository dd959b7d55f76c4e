"""Sources of values: a named stream, or one column of a file."""

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
    """Values in order of arrival."""

    name: str
    title: str
    take: Callable[[int, int], Values]
    """Returns this many values from a position on; fewer at the end of the source."""
    size: int | None = None
    """The number of values; None for an endless stream."""
    identity: str = ""
    """A digest of the values, to distinguish files with the same name."""
    dropped: int = 0
    """Rows of the file that were skipped: null or not finite."""

    def values(self, events: int) -> Values:
        """Return the first values."""
        return self.take(events, 0)

    def most(self, events: int) -> int:
        """Return the requested number of events, or the size of the source if that is less."""
        return events if self.size is None else min(events, self.size)

    def window(self, size: int, period: int) -> tuple[int, int]:
        """Return a window and period that the source fills four times: the given ones, or shorter sub-windows.

        The number of sub-windows stays. If it exceeds a quarter of the events, each sub-window has one event, and the
        window is filled less often.
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
        raise DataError(f"{name} generates events with keys and times; give a stream of values")
    values = stream.take(events, start)
    values.flags.writeable = False
    return values


def of_file(path: Path, column: str | None) -> ValueSource:
    """Return the source of a column of a Parquet, CSV or JSON lines file.

    Raises DataError with a remedy if the file cannot be read, or the column is missing or not numeric.
    """
    if path.suffix.lower() not in _READERS:
        raise DataError(f"{path} has an unknown format; give a file that ends in {', '.join(_READERS)}")
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    try:
        table = _READERS[path.suffix.lower()](path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataError(
            f"{path} cannot be read: {reason}; check that it is complete and has the format of its name"
        ) from error
    numeric = [field.name for field in table.schema if pa.types.is_integer(field.type) or _real(field.type)]
    numeric_columns = f"its columns of numbers are {', '.join(numeric)}" if numeric else "it has no column of numbers"
    if column is None:
        raise DataError(f"add --value COLUMN, the column of {path.name} to evaluate; {numeric_columns}")
    if column not in table.column_names:
        raise DataError(f"{path.name} has no column {column!r}; {numeric_columns}")
    if table.column_names.count(column) > 1:
        times = table.column_names.count(column)
        raise DataError(f"{path.name} has {times} columns named {column!r}; rename all but one")
    if column not in numeric:
        kind = table.schema.field(column).type
        raise DataError(f"column {column!r} of {path.name} holds {kind}, not numbers; {numeric_columns}")
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
    """Return the finite values as longs or doubles, and how many were dropped."""
    present = column.drop_null()
    integers = pa.types.is_integer(present.type)
    try:
        values = present.cast(pa.int64() if integers else pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # unsigned longs above 2^63
        values = present.cast(pa.float64(), safe=False).to_numpy()
    values = np.ascontiguousarray(values[np.isfinite(values)])
    values.flags.writeable = False
    return values, len(column) - values.size
