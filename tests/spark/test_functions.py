"""Stored summaries in SQL: quantiles, shares and sums, as `windows` answers them."""

import pytest
from local import assert_same, events_of, frame, rows_of
from pyspark.sql import functions as f
from reference import exact_quantile

from aomg import InputError, Query
from aomg.spark import cause, functions, register, summaries, windows

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("5 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(500.0,))


@pytest.fixture(scope="module")
def events():
    return events_of(seed=3, size=3_000, keys=4, seconds=300)


@pytest.fixture(scope="module")
def stored(spark, events, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("stored") / "summaries")
    summaries(frame(spark, events), QUERY, value="v", time="ts", by="k").write.parquet(path)
    stored = spark.read.parquet(path)
    stored.createOrReplaceTempView("stored")
    register(spark)
    return stored


def test_a_summary_answers_in_sql_like_a_window_of_one_period(spark, stored):
    answers = spark.sql("""
        SELECT k, sub_window AS window, aomg_quantile(summary, query, 0.99) AS p99,
               aomg_share(summary, query, 500) AS below_500
        FROM stored
    """)
    expected = windows(stored, QUERY.replace(size="1 minute")).select(*answers.columns)
    assert_same(rows_of(answers, ["k"]), rows_of(expected, ["k"]))
    columns = stored.select(
        "k",
        f.col("sub_window").alias("window"),
        functions.quantile("summary", "query", 0.99).alias("p99"),
        functions.share(f.col("summary"), f.col("query"), f.lit(500)).alias("below_500"),
    )
    assert_same(rows_of(columns, ["k"]), rows_of(expected, ["k"]))


def test_sums_of_sub_windows_cover_the_exact_quantiles_of_each_key(spark, stored, events):
    rows = spark.sql("""
        SELECT k, aomg_merge(summary, query) AS merged, aomg_quantile(aomg_merge(summary, query), 0.9) AS p90,
               aomg_share(aomg_merge(summary, query), 800).high AS share
        FROM stored GROUP BY k
    """).collect()
    for row in rows:
        values = [v for k, v in zip(events["k"].to_pylist(), events["v"].to_pylist(), strict=True) if k == row.k]
        assert (row.merged["count"], row.merged["min"], row.merged["max"]) == (len(values), min(values), max(values))
        assert row.p90.low <= exact_quantile(values, 0.9) <= row.p90.high
        assert row.share >= sum(value <= 800 for value in values) / len(values)
    assert len(rows) == 4


def test_sums_of_each_sub_window_are_stored_summaries_of_a_roll_up(spark, stored):
    merged = (
        stored.groupBy("sub_window").agg(functions.merge("summary", "query").alias("m")).select("sub_window", "m.*")
    )
    assert_same(rows_of(windows(merged, QUERY), []), rows_of(windows(stored, QUERY, by=[]), []))


def test_a_window_of_sql_slides_over_sums(spark, stored):
    rows = spark.sql("""
        SELECT k, sub_window, sum(count) OVER sliding AS expected, aomg_merge(summary, query) OVER sliding AS merged
        FROM stored
        WINDOW sliding AS (PARTITION BY k ORDER BY sub_window.start ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)
    """).collect()
    assert len(rows) == stored.count()
    assert all(row.merged["count"] == row.expected for row in rows)


def test_null_in_is_null_out(spark, stored):
    row = spark.sql("""
        SELECT aomg_quantile(NULL, query, 0.5) AS a, aomg_quantile(summary, NULL, 0.5) AS b,
               aomg_share(summary, query, NULL) AS c
        FROM stored LIMIT 1
    """).first()
    assert (row.a, row.b, row.c) == (None, None, None)
    nothing = spark.sql("SELECT aomg_merge(CAST(NULL AS BINARY), query) AS m FROM stored GROUP BY k LIMIT 1").first()
    assert nothing.m is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("aomg_quantile(summary, 0.5)", r"write aomg_quantile\(summary, query, 0.99\)"),
        ("aomg_quantile(summary, query, 'p99')", r"types binary, string, string; write aomg_quantile"),
        ("aomg_quantile(summary, query, 1.5)", "must be above 0 and at most 1"),
        ("aomg_share(substr(summary, 1, 40), query, 5)", "a summary is damaged"),
        ("aomg_share(concat(summary, X'00000000'), query, 5)", "damaged"),
        ("aomg_share(summary, query || ' ', 5)", "its checksum is wrong"),
        ("aomg_merge(k, query)", r"write aomg_merge\(summary, query\)"),
    ],
)
def test_wrong_arguments_and_damaged_summaries_are_errors_of_ours(spark, stored, call, message):
    with pytest.raises(Exception, match=message) as failure:
        spark.sql(f"SELECT {call} FROM stored").collect()
    assert type(cause(failure.value)).__module__ == "aomg.errors"
    assert "File " not in str(failure.value)


def test_arguments_of_column_functions_are_checked_at_once(spark):
    for call in (
        lambda: functions.quantile("summary", "query", "p99"),
        lambda: functions.share(None, "query", 500),
        lambda: functions.merge("summary", 5),
        lambda: register("spark"),
    ):
        with pytest.raises(InputError, match="must be a"):
            call()
