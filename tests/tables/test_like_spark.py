"""Without Spark and on Spark: the same rows and the same summaries, bit for bit."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from local import MINUTE, NOON, assert_same, frame, instants, rows_of

import aomg
import aomg.spark
from aomg import Query

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("5 minutes", "1 minute", thresholds=(50.0,))
NAN = float("nan")
KEYS = {
    "text": pa.array(["", "a", "A", "ä", None]),
    "number": pa.array([3, -1, 7, None], pa.int64()),
    "close": pa.array([5, 6, 8], pa.int32()),
    "real": pa.array([0.0, -0.0, NAN, 1.5, None], from_pandas=False),
    "time": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None], pa.timestamp("us", tz="UTC")),
    "decimal": pa.array([Decimal("1.10"), Decimal("-0.01"), None], pa.decimal128(20, 2)),
    "flag": pa.array([True, False, None]),
}
BY = (["text"], ["number"], ["close"], ["real"], ["time"], ["text", "number"], ["decimal", "flag", "close"], [])


def events_with_keys(size: int) -> pa.Table:
    """Values of every kind of key at random times; some values and times are null, and some values are not finite."""
    random = np.random.default_rng(23)
    values = pa.array(random.lognormal(4, 1, size), mask=random.random(size) < 0.02)
    values = pa.array(np.where(random.random(size) < 0.01, NAN, values.fill_null(NAN).to_numpy()), from_pandas=False)
    times = pa.array(NOON + random.integers(0, 30 * MINUTE, size), mask=random.random(size) < 0.02)
    columns = {"ts": instants(times), "v": values}
    for name, keys in KEYS.items():
        columns[name] = keys.take(pa.array((len(keys) * random.random(size) ** 2).astype(np.int64)))
    return pa.table(columns)


def test_rows_and_summaries_are_those_of_a_batch_on_spark(spark):
    events = events_with_keys(3000)
    on_spark = frame(spark, events, 3).cache()
    encoded = events.set_column(events.column_names.index("text"), "text", events["text"].dictionary_encode())
    for by in BY:
        columns = {"value": "v", "time": "ts", "by": by}
        expected = aomg.spark.quantiles(on_spark, QUERY, **columns, shards=3)
        table = aomg.quantiles(encoded, QUERY, **columns)
        assert table.column_names == expected.columns
        assert table.num_rows >= 30
        assert_same(rows_of(table, by), rows_of(expected, by))
    by = ["text", "number"]
    columns = {"value": "v", "time": "ts", "by": by}
    stored, expected = aomg.summaries(events, QUERY, **columns), aomg.spark.summaries(on_spark, QUERY, **columns)
    assert stored.column_names == expected.columns
    assert_same(rows_of(stored, by), rows_of(expected, by))
    rolled_up = aomg.windows(expected.toArrow(), QUERY, by="number")
    assert_same(rows_of(rolled_up, ["number"]), rows_of(aomg.spark.windows(expected, QUERY, by="number"), ["number"]))
