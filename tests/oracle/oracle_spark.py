"""Recorded runs on Spark: batches of many keys, streams from files, windows from stored summaries."""

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from oracle_fixtures import FIXTURES
from oracle_inputs import VALUES, before_1970, below, instants, latencies, out_of_order, partly_late
from oracle_local import FEW_K
from oracle_records import Outcome, Row, table_rows
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from aomg import Query
from aomg.spark import accounts, open_end, quantiles, summaries, windows

QUERY = Query("5 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(1000.0,), lateness="20 seconds")
PAPER = Query.paper("5 minutes", "1 minute", quantiles=(0.5, 0.99), few_k=FEW_K["one tenth"])
COLUMNS = {"value": "v", "time": "ts", "by": "k"}


def keys_of(number: int, seed: int, size: int) -> list[str]:
    """Names of keys, of which some are hot and some are rare."""
    return [f"pod-{draw * draw * number // 1_000_000:03}" for draw in below(1_000, seed, size).tolist()]


def events_of(seed: int, size: int, keys: int, values: Any = None, times: Any = None) -> pa.Table:
    """Events of twenty minutes: key `k`, time `ts` and value `v`."""
    return pa.table(
        {
            "k": keys_of(keys, seed, size),
            "ts": instants(out_of_order(seed + 1, size) if times is None else times),
            "v": latencies(seed + 2, size) if values is None else values,
        }
    )


def frame(spark: SparkSession, events: pa.Table, partitions: int = 2) -> DataFrame:
    """The events, dealt out to some partitions; timestamps without a zone stay without one."""
    return spark.createDataFrame(events, from_arrow_schema(events.schema, True)).repartition(partitions)


# -- batches -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """A query over a table of events."""

    query: Query
    events: pa.Table
    arguments: Mapping[str, Any] = field(default_factory=lambda: COLUMNS)

    def run(self, spark: SparkSession) -> Outcome:
        return Outcome(table_rows(quantiles(frame(spark, self.events), self.query, **self.arguments).toArrow()))


def batch_cases() -> dict[str, Batch]:
    events = events_of(2000, 2_500, 12)
    cases = {f"{digits} digits": Batch(QUERY.replace(digits=digits), events) for digits in (1, 3, 4, 6, None)}
    cases["no guarantee"] = Batch(QUERY.replace(guarantee=False, few_k=FEW_K["budget"]), events)
    cases["paper"] = Batch(PAPER, events)
    cases["20 sub-windows, full windows only"] = Batch(QUERY.replace(period="15 seconds", partial=False), events)
    cases["5,000 keys"] = Batch(
        QUERY.replace(size="10 minutes", period="5 minutes"),
        pa.table(
            {"k": below(5_000, 2100, 12_000), "ts": instants(out_of_order(2101, 12_000)), "v": latencies(2102, 12_000)}
        ),
        {**COLUMNS, "shards": 3},
    )
    reals = VALUES["not all finite"](2202, 2_500) - 2.0
    two = events_of(2200, 2_500, 3, pa.array(reals, mask=below(40, 2203, 2_500) == 0))
    two = two.append_column("site", pa.array(below(3, 2204, 2_500), mask=below(3, 2204, 2_500) == 2))
    cases["reals and nulls, two labels"] = Batch(QUERY, two, {**COLUMNS, "by": ["site", "k"]})
    old = events_of(2300, 20_000, 5, VALUES["bursts"](2302, 20_000), before_1970(2301, 20_000))
    cases["bursts before 1970, without a key"] = Batch(
        QUERY.replace(few_k=FEW_K["small effect"]), old, {**COLUMNS, "by": None}
    )
    longs = events_of(2400, 2_500, 4, VALUES["any integers"](2402, 2_500))
    cases["any integers, raw, tumbling"] = Batch(QUERY.replace(size="1 minute", digits=None), longs)
    numbered = pa.table(
        {"k": np.arange(3_000) % 4, "ts": np.arange(3_000) // 4, "v": VALUES["heavy tail"](2500, 3_000)}
    )
    cases["counted"] = Batch(Query(300, 100, quantiles=(0.5, 0.99)), numbered)
    cases["counted, paper"] = Batch(Query.paper(300, 100, few_k=FEW_K["default"]), numbered)
    return cases


# -- streams -----------------------------------------------------------------------------------------------------------


def write_files(folder: Path, tables: Sequence[pa.Table], first: int = 0) -> None:
    """One Parquet file for each table. A stream reads them in the order of their times."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(tables, first):
        file = folder / f"events-{number:03}.parquet"
        pq.write_table(table, file, compression="zstd")
        os.utime(file, (1_600_000_000 + number,) * 2)


def cut(events: pa.Table, parts: int) -> list[pa.Table]:
    edges = [events.num_rows * part // parts for part in range(parts + 1)]
    return [events.slice(first, last - first) for first, last in itertools.pairwise(edges)]


@dataclass
class Stream:
    """A query over the files of a folder, one a micro-batch, with a checkpoint beside them."""

    spark: SparkSession
    folder: Path
    query: Query
    shards: int = 3
    rows: list[Row] = field(default_factory=list)

    @property
    def source(self) -> Path:
        return self.folder / "source"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def results(self) -> DataFrame:
        schema = self.spark.read.parquet(str(self.source)).schema
        events = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.source))
        return quantiles(events, self.query, **COLUMNS, shards=self.shards, clock=None)

    def run(self) -> None:
        """Read what is there to the end."""

        def keep(results: DataFrame, batch: int) -> None:
            self.rows += table_rows(results.toArrow())

        writer = self.results().writeStream.foreachBatch(keep).trigger(availableNow=True)
        stream = writer.option("checkpointLocation", str(self.checkpoint)).start()
        try:
            stream.awaitTermination()
        finally:
            stream.stop()

    def outcome(self) -> Outcome:
        """All rows, those of the windows that are still open, and what became of every event."""
        rows = sorted(self.rows, key=lambda row: tuple(row.values()))
        rest = table_rows(open_end(self.results(), self.query, str(self.checkpoint)).toArrow())
        counts = accounts(self.spark, str(self.checkpoint))
        return Outcome([*rows, *rest], {"closed": str(len(rows)), **{name: str(n) for name, n in vars(counts).items()}})


FILES, FIRST_FILES = 4, 2
SAVED = QUERY
"""The query of the stream whose checkpoint is stored after the first files."""
WHOLE = PAPER.replace(period="15 seconds", lateness="1 second")


def stream_files() -> list[pa.Table]:
    """The events of all streams: some are late, some have no finite value or no time."""
    values = VALUES["not all finite"](3002, 2_400)
    events = events_of(3000, 2_400, 6, values, partly_late(3001, 2_400))
    times = instants(partly_late(3001, 2_400), below(60, 3003, 2_400) == 0)
    return cut(events.set_column(1, "ts", times), FILES)


def new_stream(spark: SparkSession, folder: Path, query: Query, files: int = FILES) -> Stream:
    """A stream that has read the first files to their end."""
    stream = Stream(spark, folder, query)
    write_files(stream.source, stream_files()[:files])
    stream.run()
    return stream


def stream_goes_on(spark: SparkSession, folder: Path) -> Stream:
    """The stream that is stored in a folder, after it has read the other files; with the rows that it emitted since."""
    stream = Stream(spark, folder, SAVED)
    write_files(stream.source, stream_files()[FIRST_FILES:], FIRST_FILES)
    stream.run()
    return stream


def without(stream: Stream, rows: Sequence[Row]) -> Stream:
    """A stream without the rows that it emitted before."""
    assert all(row in stream.rows for row in rows)
    stream.rows = [row for row in stream.rows if row not in rows]
    return stream


# -- summaries ---------------------------------------------------------------------------------------------------------

STORED = {
    "three digits": QUERY,
    "five digits": QUERY.replace(digits=5),
    "paper": PAPER,
    "counted": Query(300, 100, quantiles=(0.5, 0.99)),
}
"""The queries whose summaries are stored."""


def fixture_of(name: str) -> Path:
    """The file with the stored summaries of a query."""
    return FIXTURES / f"summaries-{name.replace(' ', '-')}.parquet"


def summarised(spark: SparkSession, name: str) -> DataFrame:
    """The summaries that a stored query writes, of events with the labels `site` and `k`."""
    query, size = STORED[name], 1_500
    events = events_of(4000, size, 4)
    if query.counted:
        events = pa.table({"k": [f"pod-{n % 4}" for n in range(size)], "ts": np.arange(size) // 4, "v": events["v"]})
    sites = ["north" if key < "pod-002" else "south" for key in events["k"].to_pylist()]
    events = events.append_column("site", pa.array(sites))
    return summaries(frame(spark, events), query, **{**COLUMNS, "by": ["site", "k"]})


REQUESTS: dict[str, tuple[str, dict[str, Any], list[str] | None]] = {
    "as written": ("three digits", {}, None),
    "longer windows, other quantiles": (
        "three digits",
        {"size": "10 minutes", "quantiles": (0.25, 0.5, 0.9, 0.999), "thresholds": ()},
        None,
    ),
    "rolled up by site": ("three digits", {}, ["site"]),
    "rolled up into one, tumbling": ("three digits", {"size": "1 minute"}, []),
    "five digits, longer windows": ("five digits", {"size": "7 minutes"}, None),
    "paper": ("paper", {}, None),
    "counted": ("counted", {"size": 500}, None),
}
"""Which stored summaries are read, which arguments of their query change, and the key columns."""


def answered(stored: DataFrame, name: str) -> Outcome:
    """The windows of stored summaries."""
    written, changes, by = REQUESTS[name]
    return Outcome(table_rows(windows(stored, STORED[written].replace(**changes), by=by).toArrow()))
