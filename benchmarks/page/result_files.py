"""Writes result files of a monitor with many keys: python -m benchmarks.page.result_files FOLDER.

One file per batch, in the schema of the Parquet sink: 10,000 keys by 24 hours of minutes are 1,440 files, in about a
minute. Values are latencies in microseconds that vary over the day; some keys are slow for an hour, some burst.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from aomg.monitor.sinks.parquet import by_day
from aomg.monitor.sinks.result_folder import file_name
from aomg.monitor.sinks.result_rows import SCHEMA
from aomg.tables.parquet_files import parquet_bytes
from aomg.times import time_of, time_text

MINUTE = 60_000_000
ESTIMATES = ("p50", "p90", "p99", "p99_9")
SPREAD = np.array([1.0, 1.7, 4.0, 9.0])
METHODS = ("exact", "band", "envelope")


class Results:
    """Generates the rows of one window after another; the seed determines them."""

    def __init__(self, keys: int, query: str = "inbound", size: int = 60 * MINUTE, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)
        self._size, self._keys = size, keys
        self._median = self._random.uniform(300, 700, keys)
        self._phase = self._random.uniform(0, 2 * np.pi, keys)
        names = pa.array([f"pod-{number:05d}" for number in range(keys)])
        self._fixed = {
            "query": pa.repeat(query, keys),
            "labels": _lists(names, 1),
            "label_names": _lists(pa.repeat("pod", keys), 1),
            "sub_windows": pa.repeat(pa.scalar(60, pa.int32()), keys),
        }
        self._estimate_names = pa.array(np.tile(ESTIMATES, keys).tolist())

    def rows(self, end: int, batch: int) -> pa.Table:
        """Return one window of every key."""
        random, keys = self._random, self._keys
        day = 1 + 0.3 * np.sin(2 * np.pi * end / (1440 * MINUTE) + self._phase)
        values = (self._median * day)[:, None] * SPREAD * random.uniform(0.95, 1.05, (keys, len(SPREAD)))
        slow = (np.arange(keys) + end // (60 * MINUTE)) % 997 == 0
        burst = random.random(keys) < 0.001
        values[slow, 2:] *= 5
        values[burst, 3] *= 8
        values = np.rint(values)
        method = random.integers(0, len(METHODS), values.size, dtype=np.int32)
        width = np.where(method == 0, 0.0, 0.002 * method).reshape(values.shape)
        method_names = pa.DictionaryArray.from_arrays(pa.array(method), pa.array(METHODS)).cast(pa.string())
        lows, highs = np.floor(values * (1 - width)), np.ceil(values * (1 + width))
        numbers = [pa.array(part.ravel()) for part in (values, lows, highs)]
        flat = pa.StructArray.from_arrays(
            [self._estimate_names, *numbers, method_names], fields=list(SCHEMA.field("estimates").type.value_type)
        )
        changing = {
            "start": _times(end - self._size, keys),
            "end": _times(end, keys),
            "count": pa.array(random.integers(5_000, 7_000, keys)),
            "min": pa.array(np.rint(values[:, 0] / 4)),
            "max": pa.array(np.rint(values[:, 3] * 1.5)),
            "burst": pa.array(burst),
            "estimates": _lists(flat, len(ESTIMATES)),
            "batch": pa.repeat(pa.scalar(batch, pa.int64()), keys),
        }
        columns = self._fixed | changing
        return pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def write(
    folder: Path, keys: int = 10_000, windows: int = 1440, end: int = time_of("2026-11-16"), first_batch: int = 0
) -> int:
    """Write one file per window and minute, up to `end`; return the number of rows."""
    results = Results(keys)
    for number in range(windows):
        for day, rows in by_day(results.rows(end - (windows - 1 - number) * MINUTE, first_batch + number)):
            inside = folder / f"day={day}"
            inside.mkdir(parents=True, exist_ok=True)
            content = parquet_bytes(rows)
            name = file_name(first_batch + number, content)
            partial = inside / f".{name}.partial"
            partial.write_bytes(content)
            partial.replace(inside / name)
    return keys * windows


def _lists(flat: pa.Array, width: int) -> pa.Array:
    return pa.ListArray.from_arrays(np.arange(0, len(flat) + 1, width, dtype=np.int32), flat)


def _times(microseconds: int, count: int) -> pa.Array:
    return pa.array(np.full(count, microseconds)).cast(SCHEMA.field("end").type)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page.result_files", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--windows", type=int, default=1440)
    parser.add_argument("--end", type=time_of, help="the end of the newest window; default: the last full minute")
    options = parser.parse_args()
    end = options.end if options.end is not None else int(time.time() // 60) * MINUTE
    began = time.perf_counter()
    rows = write(options.folder, options.keys, options.windows, end)
    size = sum(file.stat().st_size for file in options.folder.glob("day=*/*.parquet"))
    took = time.perf_counter() - began
    print(f"{rows:,} rows, {size / 1e6:,.0f} MB, windows up to {time_text(end)}, in {took:.0f} s")


if __name__ == "__main__":
    main()
