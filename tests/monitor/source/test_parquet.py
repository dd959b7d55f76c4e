"""Workers that read Parquet files give the monitor what Spark's reader gives it: results and refused rows."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from aomg.errors import InputError
from aomg.monitor.config.model import Config, SourceConfig
from aomg.monitor.config.reader import load
from aomg.monitor.run.plan import planned
from aomg.monitor.source.times import time_of_event
from aomg.spark import file_events
from aomg.tables.event_times import TimeReading

pytestmark = pytest.mark.xdist_group("monitor on spark")

NOON = 1_772_366_400_000_000  # 2026-03-01T12:00:00Z in microseconds
MINUTE = 60_000_000
NAN, INFINITE = float("nan"), float("inf")
TAIL = "size: 1 minute, period: 20 seconds, lateness: 5 seconds, quantiles: [0.5, 0.9]"
QUERIES = {
    "rtt": f"{{value: rtt, by: [host, bytes], weight: weight, {TAIL}}}",
    "load": f"{{value: load, by: {{name: host, rack: rack}}, {TAIL}}}",
    "all": f"{{value: rtt, {TAIL}}}",
    "days": f"{{value: small, by: [day], {TAIL}}}",
}


def configured(folder: Path, source: str, queries: dict[str, str]) -> Config:
    (folder / "aomg.yaml").write_text(
        f"source: {{parquet: in/, {source}}}\nstate: state/\nclock: none\nqueries:\n"
        + "".join(f"  {name}: {query}\n" for name, query in queries.items())
    )
    return load(folder / "aomg.yaml")


def outputs(spark: SparkSession, config: Config, checkpoint: Path) -> list[dict[str, Any]]:
    """All rows of a run over what is there."""
    tables: list[pa.Table] = []
    writer = planned(spark, config).writeStream.foreachBatch(lambda batch, _: tables.append(batch.toArrow()))
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    return [row for table in tables for row in table.to_pylist()]


def refused(rows: list[dict[str, Any]]) -> Counter[tuple[str | None, ...]]:
    """Reason, text and file of each refused row, and how many there are; without a reason: the events."""
    counts: Counter[tuple[str | None, ...]] = Counter()
    for row in rows:
        if row["query"] == "":
            counts[tuple(row["labels"])] += row["count"]
    return counts


def results(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(row) for row in rows if row["query"])


def by_both(spark: SparkSession, config: Config, checkpoints: Sequence[Path]) -> list[list[dict[str, Any]]]:
    """The rows if workers read the files, and if Spark does; each with its checkpoint."""
    by_workers, by_spark = checkpoints
    read = [outputs(spark, config, by_workers)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_events, "_worker_plan", lambda *_: None)
        read.append(outputs(spark, config, by_spark))
    return read


def any_of(random: np.random.Generator, size: int, column: pa.Array) -> pa.Array:
    return column.take(pa.array(random.integers(0, len(column), size)))


def nasty(random: np.random.Generator, size: int) -> pa.Table:
    """Rows with everything that may be wrong with them, and columns that no query needs."""
    hosts = pa.array([b"a", b"b", b"caf\xe9", b"", None, "ä".encode() * 30, "ä".encode() * 31, b"\xed\xa0\x80"])
    late = np.sort(random.integers(0, 4 * MINUTE, size)) + NOON
    times = pa.array(late, mask=random.random(size) < 0.05).cast(pa.timestamp("us", "UTC"))
    notes = pa.array(['"quoted"\n\t\\', "\x00\x1f/é", None, "x" * 5000, "ä" * 3000])
    nested = pa.array([{"a": 1, "b": ["x", None]}, {"a": None, "b": []}, None])
    money = pa.array([Decimal("-0.35"), Decimal("4.00"), None, Decimal("99999999.99")], pa.decimal128(10, 2))
    weights = pa.array([1.0, 0.0, 3.0, 0.5, -1.0, NAN, None, 2.0**31], from_pandas=False)
    return pa.table(
        {
            "ts": times,
            "host": any_of(random, size, hosts).view(pa.string()),
            "bytes": any_of(random, size, pa.array([b"x", b"\xff", None, b"y" * 40])),
            "rtt": any_of(random, size, pa.array([500.0, 7.5, -0.0, NAN, INFINITE, None, 5e-324], from_pandas=False)),
            "weight": any_of(random, size, weights),
            "load": any_of(random, size, money),
            "rack": any_of(random, size, pa.array([1, -7, None], pa.int32())),
            "small": any_of(random, size, pa.array([0, 255, None, 3], pa.uint8())),
            "wide": any_of(random, size, pa.array([2**64 - 1, 0, None], pa.uint64())),
            "note": any_of(random, size, notes),
            "nested": any_of(random, size, nested),
            "pairs": any_of(random, size, pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float32()))),
            "ok": any_of(random, size, pa.array([True, None])),
        }
    )


def put(folder: Path, name: str, table: pa.Table, **options: Any) -> None:
    file = folder / "in" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file, **options)
    os.utime(file, (1_700_000_000 + len(list((folder / "in").rglob("*.parquet"))),) * 2)


def test_results_and_quarantine_are_those_of_spark_s_reader(spark: SparkSession, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    first, second, third, fourth = (nasty(random, size) for size in (90, 60, 60, 80))
    put(tmp_path, "day=2024-05-01/1.parquet", first, row_group_size=17, write_page_checksum=True)
    put(tmp_path, "day=2024-05-01/2 a%20b.parquet", second.drop_columns(["load", "note"]), use_dictionary=False)
    put(tmp_path, "day=2024-05-02/3.parquet", third, use_deprecated_int96_timestamps=True, store_schema=False)
    milliseconds = fourth["ts"].cast(pa.timestamp("ms", "UTC"), safe=False)
    put(tmp_path, "day=2024-05-02/4.parquet", fourth.set_column(0, "ts", milliseconds).drop_columns(["weight"]))
    put(tmp_path, "day=2024-05-02/no rows.parquet", first.slice(0, 0))
    empty = tmp_path / "in" / "day=2024-05-02" / "empty.parquet"
    empty.touch()
    os.utime(empty, (1_700_000_000,) * 2)  # a stream skips files that are much older than the newest
    config = configured(tmp_path, "time: ts, files_per_batch: 3, longest_key: 30", QUERIES)
    checkpoints = [tmp_path / "by workers", tmp_path / "by spark"]
    mine, theirs = by_both(spark, config, checkpoints)
    assert refused(mine) == refused(theirs)
    assert {reason for reason, _, _ in refused(mine)} == {
        None,  # the number of events
        "the time is missing",
        "host is not UTF-8",
        "bytes is not UTF-8",
        "the key of rtt is longer than 30 characters (longest_key)",
        "weight is not a whole number from 0 to 2147483647",
        "no finite value in load, rtt, small",
    }
    assert refused(mine)[None, None, None] == 290
    assert results(mine) == results(theirs) and len(results(mine)) > 100
    assert {row["query"] for row in mine} == {"", *QUERIES}


def test_of_many_refused_rows_a_task_returns_some_and_counts_all(spark: SparkSession, tmp_path: Path) -> None:
    times = pa.array([None] * 350, pa.timestamp("us", "UTC"))
    put(tmp_path, "a.parquet", pa.table({"ts": times, "rtt": np.arange(350)}), row_group_size=60)
    config = configured(tmp_path, "time: ts", {"all": QUERIES["all"]})
    mine, theirs = by_both(spark, config, [tmp_path / "by workers", tmp_path / "by spark"])
    assert refused(mine) == refused(theirs)
    assert refused(mine)["the time is missing", None, None] == 250


def test_a_file_may_be_the_whole_source(spark: SparkSession, tmp_path: Path) -> None:
    """Only its own rows are counted, though another file is beside it."""
    events = pa.table({"ts": pa.array([None] * 7, pa.timestamp("us", "UTC")), "rtt": np.arange(7)})
    put(tmp_path, "a.parquet", events)
    put(tmp_path, "b.parquet", events)
    config = configured(tmp_path, "time: ts", {"all": QUERIES["all"]})
    alone = replace(config, source=replace(config.source, path=tmp_path / "in" / "a.parquet"))
    counts = [row["count"] for row in outputs(spark, alone, tmp_path / "checkpoint") if row["labels"][0] is not None]
    assert sum(counts) == 7


TIMES = {
    "epoch_s": pa.array([1_772_366_400, None, 2**62, -(2**63), 0, 9_223_372_036_854, 9_223_372_036_855]),
    "epoch_ms": pa.array([1.7723664e12, 0.0005, 1.5e-3, 2.5e-3, -0.0015, NAN, INFINITE, 2.0**63 / 1000, 1e300, None]),
    "epoch_us": pa.array([Decimal(2**64 - 1), Decimal(2**63), Decimal(2**63 - 1), None], pa.decimal128(20, 0)),
}
DECIMALS = [
    "1772366400.1234565",
    "0.0000005",
    "-0.0000005",
    "0.0000004999",
    "9223372036854.775807",
    "9223372036855",
    "-1",
]
TIMES_OF_KINDS = [
    *TIMES.items(),
    ("epoch_s", pa.array([*map(Decimal, DECIMALS), None], pa.decimal128(38, 12))),
    ("epoch_ms", pa.array([Decimal(10**35), Decimal(10**20), Decimal(10**19), Decimal(7)], pa.decimal128(38, 1))),
    ("epoch_s", pa.array([1.5, 1e30, None, 1.7723664e9], pa.float32())),
    ("epoch_us", pa.array([1, -1, None], pa.int8())),
    ("epoch_us", TIMES["epoch_s"]),
    ("epoch_ns", pa.array([1_772_366_400_123_456_789, -1, -1000, 2**63 - 1, -(2**63), None])),
    ("epoch_ns", pa.array([1.5, 1499.9, -500.0, 1.7723664e18, NAN, INFINITE, 1e300])),
    ("epoch_ns", pa.array([*map(Decimal, DECIMALS), Decimal(1500), None], pa.decimal128(38, 12))),
]


@pytest.mark.parametrize(("form", "numbers"), TIMES_OF_KINDS)
def test_numbers_mean_the_times_that_they_mean_to_spark(spark: SparkSession, form: str, numbers: pa.Array) -> None:
    times = spark.createDataFrame(pa.table({"ts": numbers}))
    source = SourceConfig("parquet", 1, "ts", time_format=form)
    expected = times.select(f.unix_micros(time_of_event(times, source)).alias("us")).toArrow()["us"].to_pylist()
    unit = {"epoch_s": 1_000_000, "epoch_ms": 1_000, "epoch_us": 1, "epoch_ns": 1}[form]
    parts = 1_000 if form == "epoch_ns" else 1
    assert TimeReading(unit, parts=parts).microseconds(numbers).to_pylist() == expected


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "America/Sao_Paulo", "UTC"]
)
def test_clocks_show_the_instants_that_they_show_in_spark(spark: SparkSession, zone: str) -> None:
    """At random moments from 1800 to 9999, and around all changes of clocks of some years."""
    random = np.random.default_rng(3)
    start = (datetime(1800, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    anywhere = random.integers(start, 253_402_300_800_000_000, 2000)
    hours = np.arange(0, 400 * 24 * 4) * 15 * MINUTE
    years = [-2_208_988_800_000_000, 1_704_067_200_000_000, 2_114_380_800_000_000 - 200 * 24 * 60 * MINUTE, 10**17]
    shown = pa.array(np.concatenate([anywhere, *(year + hours + 1 for year in years)])).view(pa.timestamp("us"))
    times = spark.createDataFrame(pa.table({"ts": shown})).select(f.col("ts").cast("timestamp_ntz"))
    source = SourceConfig("parquet", 1, "ts", time_zone=zone)
    expected = times.select(f.unix_micros(time_of_event(times, source)).alias("us")).toArrow()["us"].combine_chunks()
    assert TimeReading(zone=zone).microseconds(shown).equals(expected)


def test_times_in_nanoseconds_are_read_and_those_without_a_zone_are_those_of_the_source(
    spark: SparkSession, tmp_path: Path
) -> None:
    ticks = [NOON * 1000 + 999, None, (NOON + 90_000_000) * 1000]
    put(tmp_path, "a.parquet", pa.table({"ts": pa.array(ticks, pa.timestamp("ns")), "rtt": [1.0, 2.0, 3.0]}))
    config = configured(tmp_path, "time: ts, time_zone: Europe/Berlin", {"all": QUERIES["all"]})
    rows = outputs(spark, config, tmp_path / "checkpoint")
    assert max(row["end"] for row in rows if row["query"]) == datetime(2026, 3, 1, 11, 1, tzinfo=UTC)
    assert [(reason, text) for reason, text, _ in refused(rows) if reason] == [("the time is missing", '{"rtt":2.0}')]
    declared = configured(tmp_path, "time: ts, columns: {ts: timestamp, rtt: double}", {"all": QUERIES["all"]})
    later = [row["end"] for row in outputs(spark, declared, tmp_path / "declared") if row["query"]]
    assert max(later) == datetime(2026, 3, 1, 12, 1, tzinfo=UTC)  # declared times have a zone


def test_where_spark_has_to_read_nanoseconds_the_plan_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    times = pa.array([NOON * 1000], pa.timestamp("ns"))
    put(tmp_path, "a.parquet", pa.table({"ts": times, "rtt": [1.0]}))
    options = "options: {datetimeRebaseMode: CORRECTED}"
    with pytest.raises(InputError, match=r"Spark has to read these files, .* nanoseconds; write them"):
        planned(spark, configured(tmp_path, f"time: ts, {options}", {"all": QUERIES["all"]}))


def test_a_file_of_another_type_and_one_without_permission_are_named_with_what_to_do(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path, "1.parquet", pa.table({"ts": pa.array([NOON], pa.timestamp("us")), "rtt": [1.0], "note": ["a"]}))
    put(tmp_path, "2.parquet", pa.table({"ts": pa.array([None], pa.timestamp("us")), "rtt": [1.0], "note": [7]}))
    config = configured(
        tmp_path, "time: ts, columns: {ts: timestamp, rtt: double, note: string}", {"all": QUERIES["all"]}
    )
    rows = outputs(spark, config, tmp_path / "fine")
    assert [text for reason, text, _ in refused(rows) if reason] == ['{"rtt":1.0}']  # no query needs the note
    put(tmp_path, "3.parquet", pa.table({"ts": pa.array([NOON], pa.timestamp("us")), "rtt": ["1"], "note": ["a"]}))
    with pytest.raises(StreamingQueryException, match=r"'rtt' is string in .*3.parquet, .* put an empty one in its"):
        outputs(spark, config, tmp_path / "stopped")
