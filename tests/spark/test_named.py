"""Several named queries read the events once, and each has the rows of `quantiles` for it alone."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local import SECOND, events_of, frame, slices, tick, write_files
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from aomg import InputError, Query
from aomg.names import quantile_of, threshold_of
from aomg.spark import QueryColumns, named_accounts, named_quantiles, quantiles
from aomg.spark.refused import MOST_SAMPLES, RefusedSamples, readable
from aomg.tables.rows import unpack

pytestmark = pytest.mark.xdist_group("spark")

MINUTES = Query("4 minutes", "1 minute", quantiles=(0.5, 0.99), lateness="5 seconds")
QUERIES = {
    "by pod": QueryColumns(MINUTES, "v", ["k"]),
    "all": QueryColumns(MINUTES.replace(size="16 minutes", thresholds=(900.0,), lateness="50 seconds"), "v"),
    "weighted": QueryColumns(MINUTES.replace(period="2 minutes", quantiles=(0.9,)), "x", ["zone", "k"], "w"),
    "zones": QueryColumns(MINUTES.replace(digits=5), "x", "zone"),
}

Rows = dict[tuple[Any, ...], tuple[Any, ...]]


def more_columns(events: pa.Table, seed: int) -> pa.Table:
    """The events with a second value, of which some are null or not finite, a weight and a second key."""
    random, size = np.random.default_rng(seed), events.num_rows
    real = random.lognormal(2, 1, size)
    real[random.random(size) < 0.02] = np.nan
    events = events.append_column("x", pa.array(real, mask=random.random(size) < 0.02))
    weights = pa.array(random.integers(0, 4, size).astype(np.float64) + (random.random(size) < 0.02) * 0.5)
    events = events.append_column("w", weights)
    return events.append_column("zone", pa.array(random.integers(0, 3, size).astype(np.int32)))


EVENTS = more_columns(events_of(11, 4_000, 5, 1_500, disorder=4.0), 11)


def alone(events: DataFrame, one: QueryColumns, **more: Any) -> DataFrame:
    time = {"time": "ts", "clock": None, **more}
    return quantiles(events, one.query, value=one.value, by=one.by, weight=one.weight, **time)


def rows_alone(table: pa.Table, one: QueryColumns) -> Rows:
    """The rows of `quantiles`, as rows of a long table."""
    by = [one.by] if isinstance(one.by, str) else list(one.by or ())
    rows = {}
    for row in table.to_pylist():
        estimates = [
            (name, *(bits(part[end]) for end in ("value", "low", "high")), part.get("method"))
            for name, part in row.items()
            if quantile_of(name) is not None or threshold_of(name) is not None
        ]
        labels = tuple((name, None if row[name] is None else str(row[name])) for name in by)
        rows[(labels, row["window"]["end"])] = (*numbers(row), estimates)
    return rows


def long_rows(table: pa.Table, name: str) -> Rows:
    """The rows of one query of `named_quantiles`."""
    rows = {}
    for row in table.to_pylist():
        if row["query"] == name:
            estimates = [
                (part["name"], *(bits(part[end]) for end in ("value", "low", "high")), part["method"])
                for part in row["estimates"]
            ]
            key = tuple(row["labels"]), row["window"]["end"]
            assert key not in rows
            rows[key] = (*numbers(row), estimates)
    return rows


def numbers(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        row["window"]["start"],
        row["count"],
        bits(row["min"]),
        bits(row["max"]),
        row["sub_windows"],
        row["burst"],
    )


def bits(number: float) -> str:
    return number.hex()


@dataclass
class NamedReplay:
    """Files that are read as a stream, one in each micro-batch, for several queries."""

    spark: SparkSession
    directory: Path
    tables: list[pa.Table] = field(default_factory=list)
    files: int = 0

    @property
    def checkpoint(self) -> str:
        return str(self.directory / "checkpoint")

    def run(self, queries: dict[str, QueryColumns], *parts: pa.Table) -> pa.Table:
        """Add files, and read them to the end; returns the rows of this run."""
        write_files(self.directory / "source", parts, self.files)
        self.files += len(parts)
        schema = self.spark.read.parquet(str(self.directory / "source")).schema
        events = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        rows = named_quantiles(events.parquet(str(self.directory / "source")), queries, time="ts", clock=None)
        tables: list[pa.Table] = []
        writer = rows.writeStream.foreachBatch(lambda batch, _: tables.append(batch.toArrow()))
        query = writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return pa.concat_tables(tables)

    def accounts(self) -> dict[str, dict[str, int]]:
        counts = named_accounts(self.spark, self.checkpoint)
        assert all(one.reconcile for one in counts.values())
        return {name: asdict(one) for name, one in counts.items()}


def until(rows: Rows, last: int) -> Rows:
    """The rows of windows that end at or before a time in microseconds."""
    return {key: row for key, row in rows.items() if key[1].timestamp() * SECOND <= last}


def test_each_query_of_a_batch_has_the_rows_of_it_alone(spark):
    events = frame(spark, EVENTS)
    table = named_quantiles(events, QUERIES, time="ts").toArrow()
    assert set(table["query"].to_pylist()) == set(QUERIES)
    for name, one in QUERIES.items():
        expected = rows_alone(alone(events, one).toArrow(), one)
        assert len(expected) > 20
        assert long_rows(table, name) == expected, name


def test_each_query_of_a_stream_has_the_rows_of_it_alone_with_its_own_lateness(spark, tmp_path):
    replay = NamedReplay(spark, tmp_path)
    table = replay.run(QUERIES, *slices(EVENTS, 4))
    latest = max(EVENTS["ts"].cast(pa.int64()).to_pylist())
    counts = replay.accounts()
    for name, one in QUERIES.items():
        expected = rows_alone(alone(frame(spark, EVENTS), one).toArrow(), one)
        assert long_rows(table, name) == until(expected, latest - one.query.lateness), name
        assert counts[name]["came"] == EVENTS.num_rows and counts[name]["late"] == 0
        assert (counts[name]["refused"] > 0) == (one.value == "x")


def test_queries_are_added_and_removed_and_the_others_do_not_notice(spark, tmp_path):
    replay = NamedReplay(spark, tmp_path)
    first, second, third = slices(EVENTS, 3)
    pods, every, zones = (QUERIES[name] for name in ("by pod", "all", "zones"))
    tables = [replay.run({"pods": pods, "zones": zones}, first)]
    tables.append(replay.run({"zones": zones, "all": every}, second))  # pods leaves, all is added
    assert set(replay.accounts()) == {"zones", "all"}
    tables.append(replay.run({"pods": pods, "zones": zones, "all": every}, third))  # pods starts anew
    counts = replay.accounts()
    whole = rows_alone(alone(frame(spark, EVENTS), zones).toArrow(), zones)
    latest = max(EVENTS["ts"].cast(pa.int64()).to_pylist())
    assert long_rows(pa.concat_tables(tables), "zones") == until(whole, latest - zones.query.lateness)
    assert counts["zones"]["came"] == EVENTS.num_rows
    assert counts["all"]["came"] == second.num_rows + third.num_rows
    assert counts["pods"]["came"] == third.num_rows
    # a query that was added has the results of the events from then on, but for those that are late for the others
    own = pa.concat_tables([second, third])
    expected = rows_alone(alone(frame(spark, own), every).toArrow(), every)
    added = long_rows(pa.concat_tables(tables[1:]), "all")
    full = {key: row for key, row in added.items() if key in expected and row == expected[key]}
    assert len(added) > 10 and len(full) >= len(added) - every.query.sub_windows
    ends = [key[1] for key in long_rows(tables[0], "pods")]
    assert min(key[1] for key in long_rows(tables[2], "pods")) > max(ends), "no window is emitted twice"


def test_a_query_that_changed_and_a_checkpoint_of_other_queries_are_refused(spark, tmp_path):
    replay = NamedReplay(spark, tmp_path)
    first, second = slices(EVENTS, 2)
    replay.run({"pods": QUERIES["by pod"]}, first)
    with pytest.raises(PySparkException, match="query 'pods' of the checkpoint was written by another query"):
        replay.run({"pods": QUERIES["zones"]}, second)
    with pytest.raises(PySparkException, match="written by other queries: pods there, podsets here"):
        replay.run({"podsets": QUERIES["by pod"]})
    replay.run({"pods": QUERIES["by pod"]})
    assert replay.accounts()["pods"]["came"] == EVENTS.num_rows


def test_the_state_of_a_removed_query_is_gone(spark, tmp_path):
    replay = NamedReplay(spark, tmp_path)
    first, second, third = slices(EVENTS, 3)

    def entries() -> int:
        maps = ("open", "live", "blocks", "summaries")
        reader = spark.read.format("statestore")
        return sum(reader.option("stateVarName", name).load(replay.checkpoint).count() for name in maps)

    replay.run(QUERIES, first, second)
    before = entries()
    replay.run({"all": QUERIES["all"]}, third)
    assert 0 < entries() < before / 2


def test_counted_windows_and_keys_of_any_type(spark):
    events = frame(spark, EVENTS).withColumn("flag", f.col("v") > 800).withColumn("day", f.to_date("ts"))
    events = events.withColumn("ratio", (f.col("zone") / 3).cast("double")).withColumn("n", f.lit(0))
    queries = {
        "flags": QueryColumns(MINUTES, "v", ["flag", "day"]),
        "ratios": QueryColumns(MINUTES, "v", ["ratio"]),
        "times": QueryColumns(MINUTES, "v", ["ts"]),
    }
    table = named_quantiles(events, queries, time="ts").toArrow()
    labels = {name: [dict(row["labels"]) for row in table.to_pylist() if row["query"] == name] for name in queries}
    assert {label["flag"] for label in labels["flags"]} == {"true", "false"}
    assert {label["day"] for label in labels["flags"]} == {"2023-11-15"}
    shown = {row[0] for row in events.select(f.col("ratio").cast("string")).distinct().collect()}
    assert {label["ratio"] for label in labels["ratios"]} == shown
    shown = {row[0] for row in events.select(f.col("ts").cast("string")).distinct().collect()}
    assert {label["ts"] for label in labels["times"]} == shown
    numbered = frame(spark, pa.table({"i": pa.array(range(100), pa.int64()), "v": pa.array(range(100), pa.int64())}))
    rows = named_quantiles(numbered, {"n": QueryColumns(Query(20, 10), "v")}, time="i").toArrow()
    assert [row["window"] for row in rows.to_pylist()][-1] == {"start": 80, "end": 100}


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ({}, "queries must be a dict of QueryColumns by name"),
        ([QUERIES["all"]], "queries must be a dict of QueryColumns by name"),
        ({"": QUERIES["all"]}, "must be a text that is not empty, not ''"),
        ({1: QUERIES["all"]}, "must be a text that is not empty, not 1"),
        ({"a": MINUTES}, "query 'a' must be a QueryColumns, not Query"),
        ({str(i): QUERIES["all"] for i in range(61)}, "there are 61 queries, but a stream has room for 60"),
        ({"a": QueryColumns(MINUTES, "u")}, "there is no column 'u'"),
        ({"a": QueryColumns(MINUTES, "v", 7)}, "by"),
    ],
)
def test_wrong_queries_are_refused(spark, queries, message):
    with pytest.raises(InputError, match=message):
        named_quantiles(frame(spark, tick(0)), queries, time="ts")


def test_sixty_queries_share_a_scan(spark):
    events = frame(spark, EVENTS.slice(0, 500))
    queries = {f"q{i}": QueryColumns(MINUTES.replace(quantiles=((i + 1) / 100,)), "v", "k") for i in range(60)}
    table = named_quantiles(events, queries, time="ts").toArrow()
    for name in ("q0", "q59"):
        assert long_rows(table, name) == rows_alone(alone(events, queries[name]).toArrow(), queries[name])


# -- refused rows ------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.lists(st.lists(st.none() | st.tuples(st.integers(0, 2), st.binary(max_size=9)), max_size=150), max_size=4))
def test_refused_rows_are_counted_by_reason_and_some_have_their_text(tables):
    samples, parcels = RefusedSamples(["no time", "no value", "no key"]), []
    for rows in tables:
        column = pa.array([row and bytes([row[0]]) + b"file\0" + row[1] for row in rows], pa.binary())
        parcels += samples.parcels(pa.chunked_array([column]), 3)
    parcels += samples.rest(3)
    collected = [row for parcel in parcels for row in unpack(parcel["content"][0].as_buffer()).to_pylist()]
    refused = [row for rows in tables for row in rows if row is not None]
    assert sum(row["count"] for row in collected if row["reason"] is None) == sum(map(len, tables))
    for number, reason in enumerate(("no time", "no value", "no key")):
        own = [row for row in collected if row["reason"] == reason]
        texts = [readable(text) for place, text in refused if place == number]
        assert sum(row["count"] for row in own) == len(texts)
        assert [row["text"] for row in own if row["file"] == "file"] == texts[:MOST_SAMPLES]
