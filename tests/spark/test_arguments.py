"""What users pass: Columns, frames of other libraries, wrong types. What they get: flat columns, our errors first."""

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from local import Replay, assert_same, events_of, frame, rows_of, setting, slices, tick
from pyspark.sql import functions as f

import aomg
from aomg import InputError, Query, StateError
from aomg.errors import AomgError
from aomg.spark import accounts, cause, open_end, quantiles, register, summaries, windows

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("5 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(500.0,), lateness="20 seconds")
COLUMNS = {"value": "v", "time": "ts", "by": ["k"]}


@pytest.fixture(scope="module")
def table():
    return events_of(seed=11, size=1_500, keys=4, seconds=900, disorder=10)


@pytest.fixture(scope="module")
def events(spark, table):
    return frame(spark, table).cache()


@pytest.fixture(scope="module")
def expected(events):
    return rows_of(quantiles(events, QUERY, **COLUMNS), ["k"])


@pytest.fixture(scope="module")
def stored(spark, events, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("arguments") / "summaries")
    summaries(events, QUERY, **COLUMNS).write.parquet(path)
    return spark.read.parquet(path)


# -- Columns -----------------------------------------------------------------------------------------------------------


def test_columns_are_computed_as_if_with_column_had_named_them(events, expected):
    nested = events.select(f.struct("v", "ts").alias("s"), (f.col("v") * 0 + 1).alias("n"), f.upper("k").alias("k"))
    computed = {
        "value": (f.col("s.v") * 2 / 2).cast("bigint"),
        "time": f.col("s.ts"),
        "by": [f.lower("k").alias("k")],
        "weight": f.col("n").cast("int"),
    }
    assert_same(rows_of(quantiles(nested, QUERY, **computed), ["k"]), expected)
    plain = {"value": events["v"], "time": f.col("ts"), "by": f.col("k")}
    assert_same(rows_of(quantiles(events, QUERY, **plain), ["k"]), expected)


def test_columns_of_the_same_name_do_not_replace_each_other(events, table):
    named = events.select(f.col("ts").alias("k"), "v")
    rows = quantiles(
        named, QUERY, value=f.col("v").cast("double"), time="k", by=[f.hour("k").alias("k"), f.col("v") % 2]
    )
    assert rows.columns[:2] == ["k", "(v % 2)"]
    hours = np.asarray(table["ts"].cast(pa.int64())) // 3_600_000_000 % 24
    copy = pa.table(
        {"ts": table["ts"], "v": table["v"].cast(pa.float64()), "k": hours, "odd": table["v"].to_numpy() % 2}
    )
    local = aomg.quantiles(copy, QUERY, value="v", time="ts", by=["k", "odd"])
    assert_same(rows_of(rows.toDF(*local.column_names), ["k", "odd"]), rows_of(local, ["k", "odd"]))


def test_columns_that_cannot_be_used_are_refused_before_anything_runs(events):
    for arguments, message in (
        ({"value": f.col("nope")}, r"value=Column<'nope'> cannot be computed from the events: \[UNRESOLVED_COLUMN"),
        ({"value": f.sum("v")}, "cannot be computed from the events"),
        ({"by": f.col("*")}, "has 3 columns: k, ts, v; pass one"),
        ({"by": [f.upper("k").alias("a"), f.lower("k").alias("a")]}, "two columns of the name 'a'; give one an alias"),
        ({"value": f.col("k")}, r"column 'k \(value\)' is string; values must be numbers"),
        ({"by": "s.k"}, "there is no column 's.k'"),
        ({"clock": f.col("v")}, "is bigint, not a timestamp; convert it"),
        ({"clock": "last tuesday"}, "a time such as '2024-02-29 12:00:00'"),
        ({"flat": "yes"}, "flat='yes' must be True or False"),
    ):
        with pytest.raises(InputError, match=message):
            quantiles(events, QUERY, **{**COLUMNS, **arguments})


def test_a_name_that_the_events_have_twice_is_refused(events):
    with pytest.raises(InputError, match="the events have 2 columns of the name 'v'; rename or drop"):
        quantiles(events.select("*", "v"), QUERY, **COLUMNS)
    with pytest.raises(InputError, match=r"for a field of a struct write f.col\('s.v'\)"):
        quantiles(events.select("k", "ts", f.struct("v").alias("s")), QUERY, **{**COLUMNS, "value": "s.v"})


# -- wrong types -------------------------------------------------------------------------------------------------------


def calls_with(argument, spark, events, stored):
    """Every public function with this argument in the place of each of its own."""
    stream = spark.readStream.format("rate").load()
    rate = {"value": "value", "time": "timestamp"}
    names = ("value", "time", "by", "weight", "shards", "clock", "max_clock_skew", "time_by", "warm", "flat")
    return [
        *(lambda name=name: quantiles(stream, QUERY, **{**rate, name: argument}) for name in names),
        lambda: summaries(argument, QUERY, **COLUMNS),
        lambda: quantiles(events, argument, **COLUMNS),
        lambda: windows(argument, QUERY),
        lambda: windows(stored, QUERY, by=argument),
        lambda: accounts(argument, "/nowhere"),
        lambda: accounts(spark, argument),
        lambda: accounts(spark, "/nowhere", argument),
        lambda: open_end(argument, QUERY, "/nowhere"),
        lambda: open_end(quantiles(stream, QUERY, **rate), QUERY, argument),
        lambda: register(argument),
    ]


def test_arguments_of_any_wrong_type_are_refused_by_an_error_of_ours(spark, events, stored, table):
    refused = 0
    for argument in (
        *(0, -1, 1.5, float("nan"), 10**30, "", "nope", b"x", [None], {"a": 1}, object(), QUERY, spark, print),
        *(table, table.to_pandas(), events, stored, f.col("nope"), np.array([1]), np.datetime64("NaT"), Path("/")),
    ):
        for call in calls_with(argument, spark, events, stored):
            try:
                call()
            except AomgError:
                refused += 1
    assert refused > 350


def test_frames_of_other_libraries_are_sent_where_they_belong(spark, table):
    for call in (
        lambda: quantiles(table.to_pandas(), QUERY, **COLUMNS),
        lambda: windows(table, QUERY),
        lambda: open_end(table, QUERY, "/nowhere"),
    ):
        with pytest.raises(
            InputError, match=r"must be a Spark DataFrame, not .*createDataFrame.*aomg.quantiles\(\.\.\.\)"
        ):
            call()
    stream = spark.readStream.format("rate").load()
    with pytest.raises(InputError, match="warm must be a Spark DataFrame, not DataFrame; spark"):
        quantiles(stream, QUERY, value="value", time="timestamp", warm=table.to_pandas())
    with pytest.raises(InputError, match=r"there is no state of quantiles.*in '/nowhere'"):
        accounts(spark, "/nowhere")


# -- stored summaries --------------------------------------------------------------------------------------------------


def test_queries_that_stored_summaries_cannot_answer_are_refused_before_anything_runs(spark, stored):
    stream = spark.readStream.format("rate").load()
    for query, message in (
        (QUERY.replace(period="30 seconds"), "the summaries have period '1m', the query asks for '30s'"),
        (QUERY.replace(thresholds=(500, 700)), "threshold 700 is not in the summaries; they have 500"),
        (QUERY.replace(digits=2), "have digits 3, the query asks for 2"),
    ):
        with pytest.raises(StateError, match=message):
            windows(stored, query)
        with pytest.raises(StateError, match=message):
            quantiles(stream, query, value="value", time="timestamp", warm=stored.drop("k"))
    for name, kind in (("summary", "string"), ("count", "string"), ("query", "binary"), ("sub_window", "string")):
        with pytest.raises(InputError, match=f"column '{name}' is {kind}, but summaries have"):
            windows(stored.withColumn(name, f.col(name).cast(kind)), QUERY)


# -- flat --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [QUERY, QUERY.replace(guarantee=False)], ids=["guarantee", "theorem 1"])
def test_flat_columns_are_those_of_a_flat_table_without_spark(spark, table, events, query):
    local = aomg.flat_table(aomg.quantiles(table, query, **COLUMNS))
    flat = quantiles(events, query, **COLUMNS, flat=True)
    assert flat.columns == local.column_names
    assert_same(sorted(rows_of(flat, ["k"])), sorted(rows_of(local, ["k"])))
    assert not any(kind == "object" for name, kind in flat.limit(1).toPandas().dtypes.items() if "p99_low" in name)
    with pytest.raises(InputError, match="'p99_low' has the name of a column of the result"):
        quantiles(events.withColumnRenamed("k", "p99_low"), query, **{**COLUMNS, "by": "p99_low"}, flat=True)


def test_flat_windows_of_summaries_and_of_a_stream_are_the_same_and_a_stream_tells_why_it_fails(
    spark, table, stored, tmp_path
):
    local = rows_of(aomg.flat_table(aomg.quantiles(table, QUERY, **COLUMNS)), ["k"])
    assert_same(sorted(rows_of(windows(stored, QUERY, flat=True), ["k"])), sorted(local))
    stream = Replay(spark, tmp_path, QUERY, options={"clock": None, "flat": True}).add(*slices(table, 2))
    stream.run_into_files()
    rest = open_end(stream.results(), QUERY, stream.checkpoint)
    streamed = spark.read.parquet(str(stream.sink))
    assert streamed.columns == rest.columns
    assert_same(sorted(rows_of(streamed.union(rest), ["k"])), sorted(local))

    other = Replay(spark, tmp_path, QUERY.replace(quantiles=(0.9,))).add(tick(2000))
    with pytest.raises(Exception, match="STREAM_FAILED") as failure:
        other.run_into_files()
    own = cause(failure.value)
    assert isinstance(own, StateError)
    assert str(own).startswith("the checkpoint was written by another query: 'quantiles 0.5,0.99' there")
    assert "Traceback" not in str(failure.value)


# -- errors of workers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("simplified", [True, False])
def test_a_worker_reports_our_message_and_no_traceback(spark, stored, simplified):
    broken = stored.withColumn("count", f.col("count") + 1)
    with (
        setting(spark, "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled", simplified),
        pytest.raises(Exception, match="does not agree with the column 'count'; remove") as failure,
    ):
        windows(broken, QUERY).collect()
    own, lines = cause(failure.value), str(failure.value).strip().splitlines()
    assert isinstance(own, StateError)
    assert str(own).startswith("the stored summary of sub-window 2023-11-15")
    assert lines[1] == f"aomg.errors.StateError: {own}"
    assert len(lines) <= 3


def test_other_errors_of_workers_keep_their_traceback(spark, events):
    def fail(batches):
        yield from (batch.column("nope") for batch in batches)

    with pytest.raises(Exception, match="Traceback") as failure:
        events.mapInArrow(fail, events.schema).collect()
    assert cause(failure.value) is None
    assert cause(None) is None


def test_times_are_clocks(events):
    for clock in (
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        np.datetime64("2024-01-01T00:00:00.000000"),
        1_700_000_000,
        "2024",
    ):
        assert quantiles(events, QUERY, **COLUMNS, clock=clock).columns
