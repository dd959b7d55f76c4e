"""Shared by the Spark benchmarks: one session, data that is written once, rivals that take turns.

Every time is in seconds per million events, so a slow rival may read a part of the data. The time of a stream is that
of its steady micro-batches: by default, those of the second half.
"""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryProgress
from rich.console import Console

import aomg
from aomg import Query
from aomg.spark import quantiles, session
from aomg.streams import pingmesh
from benchmarks.measure import Figure, Ratio, Timed, ratio

Plan = Callable[[Any], DataFrame]

KEY, TIME, VALUE = "podset", "ts", "rtt_us"
QUERY = Query("1 hour", "1 minute")
RANKS = [float(q) for q in QUERY.quantiles]
FILES = 12  # in time order; a stream reads one in each micro-batch
START = 1_767_225_600_000_000  # 2026-01-01 in microseconds
HOUR = 3_600_000_000
DISORDER = 2_000_000
_CONSOLE = Console(highlight=False)


@cache
def spark() -> SparkSession:
    """Return the session, on two cores.

    From 128 groups on, Spark would sort to aggregate objects, such as its own sketches; a setting avoids that.
    """
    settings = {"spark.sql.objectHashAggregate.sortBased.fallbackThreshold": 1_000_000}
    started = session("aomg-benchmarks", cores=2, memory="6g", **settings)
    started.sparkContext.setLogLevel("ERROR")
    return started


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="aomg-benchmarks-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def new_folder(name: str) -> Path:
    """Return an empty folder that is removed when the process ends."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_folder()))


def log(text: str) -> None:
    _CONSOLE.print(f"  {text}", style="dim", soft_wrap=True)


# -- data ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """Parquet files of one folder."""

    folder: Path
    files: str = "*.parquet"

    def part(self, files: str) -> "Data":
        return replace(self, files=files)

    @property
    def paths(self) -> list[Path]:
        return sorted(self.folder.glob(self.files))

    @property
    def events(self) -> int:
        return sum(pq.read_metadata(path).num_rows for path in self.paths)

    def batch(self) -> DataFrame:
        return spark().read.parquet(*map(str, self.paths))

    def stream(self) -> DataFrame:
        reader = spark().readStream.schema(self.batch().schema).option("maxFilesPerTrigger", 1)
        return reader.option("pathGlobFilter", self.files).parquet(str(self.folder))

    def came(self, progress: StreamingQueryProgress) -> int:
        """How many events a micro-batch had."""
        return progress.numInputRows


class WorkerData(Data):
    """The same files, which Python workers read themselves."""

    def batch(self) -> Any:
        return _parquet_files(list(map(str, self.paths)))

    def stream(self) -> Any:
        options = {"maxFilesPerTrigger": 1, "pathGlobFilter": self.files}
        return _parquet_files(str(self.folder), streaming=True, options=options)

    def came(self, progress: StreamingQueryProgress) -> int:
        return progress.numInputRows * self.events // len(self.paths)  # Spark sees files


def _parquet_files(path: str | list[str], **arguments: Any) -> Any:
    from aomg.spark import ParquetFiles  # not at the top: `against` measures revisions without it

    return ParquetFiles(spark(), path, **arguments)


@cache
def pingmesh_events(keys: int, quick: bool, hours: int = 2, hot: float = 0.0, texts: bool = True) -> Data:
    """Write 12 million events (quick: 1 million) of this many keys.

    hot
        The share of the first key, if uneven.
    texts
        Whether keys are strings; otherwise they are integers.
    """
    events = 1_000_000 if quick else 12_000_000
    folder = new_folder(f"{keys}-keys")
    log(f"writing {events:,} events, keys: {keys:,}, hours: {hours}" + (f", {hot:.0%} of one key" if hot else ""))
    generator = np.random.default_rng(keys)
    names = pa.array([f"podset-{i:05d}" for i in range(keys)])
    stream = pingmesh(seed=3)
    edges = np.arange(FILES + 1) * events // FILES
    for number, (first, last) in enumerate(pairwise(edges)):
        size = int(last - first)
        key = generator.integers(0, keys, size, dtype=np.int32)
        if hot:
            key = np.where(generator.random(size) < hot, np.int32(0), np.maximum(key, 1))
        times = START + np.arange(first, last) * (hours * HOUR) // events + generator.integers(0, DISORDER, size)
        table = pa.table(
            {
                KEY: pa.DictionaryArray.from_arrays(pa.array(key), names).cast(pa.string()) if texts else pa.array(key),
                TIME: pa.array(times, pa.timestamp("us", tz="UTC")),
                VALUE: pa.array(stream.take(size, int(first))),
            }
        )
        path = folder / f"part-{number:02d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (START // 1_000_000 + number,) * 2)  # a stream reads files in this order
    return Data(folder)


# -- rivals --------------------------------------------------------------------------------------------------------


def count(events: DataFrame) -> DataFrame:
    """The yardstick: a plain count per minute, with the lateness of the query."""
    if events.isStreaming:
        events = events.withWatermark(TIME, "10 seconds")
    return events.groupBy(KEY, f.window(TIME, "1 minute")).count()


def default_query(events: DataFrame, query: Query = QUERY) -> DataFrame:
    return quantiles(events, query, value=VALUE, time=TIME, by=KEY, clock=None)


@dataclass(frozen=True)
class Rival:
    name: str
    plan: Plan
    data: Data
    warm: Data | None = None  # read once before timing; by default the first two files


def in_batch(plan: Plan, data: Data) -> float:
    """Return the seconds per million events."""
    frame = plan(data.batch())
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return (time.perf_counter() - started) / data.events * 1e6


def in_stream(plan: Plan, data: Data, steady: float = 0.5) -> float:
    """Return the seconds per million events of the last micro-batches that had input."""
    checkpoint = new_folder("checkpoint")
    query = run_stream(plan(data.stream()), checkpoint)
    shutil.rmtree(checkpoint, ignore_errors=True)
    batches = [progress for progress in query.recentProgress if progress.numInputRows]
    batches = batches[round(len(batches) * (1 - steady)) :]
    milliseconds = sum(progress.batchDuration for progress in batches)
    return milliseconds / sum(map(data.came, batches)) * 1e3


def run_stream(frame: DataFrame, checkpoint: Path) -> StreamingQuery:
    """Process all available input and discard the output."""
    writer = frame.writeStream.format("noop").outputMode("append").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def race(
    title: str, rounds: int, rivals: Sequence[Rival], timed: Callable[[Plan, Data], float] = in_batch
) -> list[list[float]]:
    """Return the seconds of each rival in each round, after an untimed part."""
    for rival in rivals:
        timed(rival.plan, rival.warm or rival.data.part("part-0[01].parquet"))
    times: list[list[float]] = [[] for _ in rivals]
    for turn in range(rounds):
        for seconds, rival in zip(times, rivals, strict=True):
            seconds.append(timed(rival.plan, rival.data))
        speeds = ", ".join(f"{rival.name} {1 / seconds[-1]:.3g}" for rival, seconds in zip(rivals, times, strict=True))
        log(f"{title}, round {turn + 1} of {rounds}, million events a second: {speeds}")
    return times


def compared(
    what: str, against: str, faster: Ratio, aim: float, rivals: Sequence[Rival], times: list[list[float]]
) -> Figure:
    """Return the figure of a ratio that should be `aim` or more."""
    digits = 2 if faster.best < 10 else 0
    return Figure(
        what,
        f"{faster.best:.{digits}f} (median {faster.median:.{digits}f})",
        f">= {aim:g}",
        faster.best >= aim,
        {"best": faster.best, "median": faster.median, **speeds(rivals, times)},
        against=against,
    )


def beside_count(
    mode: str, aims: dict[int, float], rounds: int, timed: Callable[[Plan, Data], float], against: str, quick: bool
) -> list[Figure]:
    """Return the figures of the default query against the count, for each number of keys that has an aim."""
    figures = []
    for keys, aim in aims.items():
        data = pingmesh_events(keys, quick)
        rivals = [Rival("count", count, data), Rival("quantiles", default_query, data)]
        label = _label(mode, keys)
        times = race(label, 1 if quick else rounds, rivals, timed)
        figures.append(compared(label, against, ratio(*times), aim, rivals, times))
    return figures


def default_query_cases(
    mode: str, all_keys: Iterable[int], timed: Callable[[Plan, Data], float], quick: bool
) -> dict[str, Timed]:
    """Return the cases of the default query alone, for each number of keys."""
    _refuse_foreign_workers()
    return {_label(mode, keys): partial(timed, default_query, pingmesh_events(keys, quick)) for keys in all_keys}


def _refuse_foreign_workers() -> None:
    """Raise RuntimeError if Spark's Python workers import another aomg than this process, and so would measure it."""
    (imported,) = spark().sparkContext.parallelize([0], 1).map(_imported).collect()
    if imported != aomg.__file__:
        raise RuntimeError(f"Spark's workers import {imported}, this process imports {aomg.__file__}")


def _imported(_: object) -> str:
    return aomg.__file__


def _label(mode: str, keys: int) -> str:
    return f"{mode}, 1 hour by 1 minute, {keys:,} key{'s' * (keys > 1)}"


def speeds(rivals: Sequence[Rival], times: list[list[float]]) -> dict[str, object]:
    return {
        "million_events_a_second": {r.name: 1 / min(t) for r, t in zip(rivals, times, strict=True)},
        "seconds_a_million": {r.name: t for r, t in zip(rivals, times, strict=True)},
        "events": {r.name: r.data.events for r in rivals},
    }
