"""A row with a weight is as many events on Spark as in a local operator, in a batch and in a stream."""

import numpy as np
import pyarrow as pa
import pytest
from local import (
    MINUTE,
    NOON,
    Replay,
    assert_same,
    closed,
    events_of,
    expected_rows,
    frame,
    in_order,
    keys_of,
    latest_of,
    local_rows,
    rows_of,
    slices,
    watermark,
)
from pyspark.sql import functions as f

from aomg import InputError, Operator, Query
from aomg.spark import quantiles, summaries, windows
from aomg.spark.intake import is_weight

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("5 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(1000.0,), lateness="20 seconds")


@pytest.fixture(scope="module")
def events():
    """Ten minutes of events of six keys, with weights: some zero, some the largest."""
    table = events_of(5, 3000, 6, 10 * 60, disorder=15)
    random = np.random.default_rng(1)
    weights = random.integers(0, 9, 3000)
    weights[random.random(3000) < 0.05] = 2**31 - 1
    return table.append_column("w", pa.array(weights, pa.int32()))


def weighted_rows(query, events):
    """The results of local operators that get the weights, one for each key."""
    rows = []
    keys, latest = np.array(["|".join(key) for key in keys_of(events, ["k"])]), latest_of(events)
    for key in np.unique(keys):
        own = events.filter(pa.array(keys == key))
        operator = Operator(query.replace(lateness="1000000 days"))
        results = operator.push(own["v"], own["ts"], own["w"])
        operator._latest = latest
        rows += local_rows(results + operator.finish(), (key,))
    return in_order(rows)


def test_a_batch_answers_like_local_operators_with_weights(spark, events):
    batch = frame(spark, events, 3).transform(quantiles, QUERY, value="v", time="ts", by="k", weight="w", shards=2)
    expected = weighted_rows(QUERY, events)
    assert max(row[3] for row in expected) > 2**33, "more than 32 bits can count"
    assert_same(rows_of(batch, ["k"]), expected)


@pytest.mark.parametrize("kind", ["long", "double", "decimal(12,2)"])
def test_weights_of_one_are_no_weights(spark, events, kind):
    ones = frame(spark, events).withColumn("one", f.lit(1).cast(kind))
    rows = rows_of(ones.transform(quantiles, QUERY, value="v", time="ts", by="k", weight="one", shards=1), ["k"])
    assert_same(rows, expected_rows(QUERY, events, ["k"]))


def test_a_stream_answers_like_a_batch_and_accounts_for_every_row(spark, tmp_path, events):
    faulty = pa.table(
        {
            "k": ["pod-000"] * 3,
            "ts": events["ts"].slice(0, 3).combine_chunks(),
            "v": pa.array([1, 1, 1], pa.int64()),
            "w": pa.array([-1, None, 0], pa.int32()),
        }
    )
    parts = [*slices(events, 4), faulty]
    replay = Replay(spark, tmp_path, QUERY, ("k",), {"clock": None, "weight": "w", "shards": 2}).add(*parts).run()
    assert_same(replay.rows, closed(weighted_rows(QUERY, events), watermark(QUERY, events)))
    counts = replay.accounts
    assert (counts["came"], counts["refused"], counts["late"], counts["future"]) == (3003, 2, 0, 0)
    heavy = np.asarray(events["w"]) > 0
    open_ = np.asarray(events["ts"].cast(pa.int64())) >= watermark(QUERY, events) // MINUTE * MINUTE
    assert counts["open"] == np.count_nonzero(heavy & open_)
    assert counts["used"] == 3003 - 2 - counts["open"], "rows of weight 0 are used as soon as they come"


def test_a_row_of_weight_zero_moves_time_and_nothing_else(spark, events):
    late = pa.table(
        {
            "k": ["another"],
            "ts": pa.array([NOON + 12 * MINUTE], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
            "v": pa.array([7], pa.int64()),
            "w": pa.array([0], pa.int32()),
        }
    )
    rows = rows_of(
        frame(spark, pa.concat_tables([events, late])).transform(
            quantiles, QUERY, value="v", time="ts", by="k", weight="w", shards=1
        ),
        ["k"],
    )
    assert {row[0] for row in rows} == {row[0] for row in weighted_rows(QUERY, events)}, "no key of its own"
    assert max(row[2] for row in rows) == NOON + 13 * MINUTE


def test_summaries_of_weights_can_be_stored_and_rolled_up(spark, events):
    stored = frame(spark, events).transform(summaries, QUERY, value="v", time="ts", by="k", weight="w", shards=2)
    stored = spark.createDataFrame(stored.toArrow())
    assert_same(rows_of(windows(stored, QUERY, shards=1), ["k"]), weighted_rows(QUERY, events))
    (last,) = windows(stored, QUERY, by=[], shards=1).orderBy(f.desc("window")).limit(1).collect()
    inside = np.asarray(events["ts"].cast(pa.int64())) >= last["window"]["start"].timestamp() * 1_000_000
    values, weights = np.asarray(events["v"])[inside], np.asarray(events["w"]).astype(np.int64)[inside]
    assert last["count"] == weights.sum()
    order = np.argsort(values)
    exact = values[order][np.searchsorted(np.cumsum(weights[order]), -(-weights.sum() // 2))]
    assert last["p50"]["low"] <= exact <= last["p50"]["high"]


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("kind", ["float", "double", "decimal(38,0)", "bigint"])
def test_a_weight_of_any_type_is_at_most_the_largest_one(spark, kind, ansi):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        weights = spark.range(1).select(f.lit(2**31).cast(kind).alias("large"), f.lit(7).cast(kind).alias("small"))
        assert weights.select(is_weight(f.col("large")), is_weight(f.col("small"))).first() == (False, True)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def test_what_cannot_be_a_weight_is_refused_when_planning(spark, events):
    table = frame(spark, events)
    with pytest.raises(InputError, match=r"column 'k' is string; weights must be whole numbers.*cast"):
        quantiles(table, QUERY, value="v", time="ts", weight="k")
    with pytest.raises(InputError, match=r"there is no column 'ww'.*did you mean"):
        quantiles(table, QUERY, value="v", time="ts", weight="ww")
    with pytest.raises(InputError, match="counted in events"):
        quantiles(table.withColumn("n", f.lit(1)), Query(100, 10), value="v", time="n", weight="w")
    with pytest.raises(InputError, match="guarantee"):
        quantiles(table, QUERY.replace(guarantee=False), value="v", time="ts", weight="w")
