"""Values, times and keys of every type that Spark can group by mean the same on Spark as to a local operator."""

import datetime as dt
import re
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from local import MINUTE, NOON, SECOND, assert_same, end_of, events_of, expected_rows, frame, instants, rows_of, setting
from pyspark.sql import functions as f

from aomg import Query
from aomg.errors import InputError
from aomg.spark import quantiles

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("3 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(60.0,))
HOUR = 60 * MINUTE
NAN, INFINITE = float("nan"), float("inf")


def answers(spark, events, by=(), query=QUERY, **options):
    options = {"shards": 3, **options}
    return rows_of(quantiles(frame(spark, events), query, value="v", time="ts", by=list(by), **options), by)


def with_keys(**keys: pa.Array) -> pa.Table:
    """Three hundred events in ten minutes whose keys take turns."""
    random = np.random.default_rng(17)
    columns = {
        "ts": instants(NOON + np.sort(random.integers(0, 10 * MINUTE, 300))),
        "v": np.rint(random.lognormal(4, 1, 300)).astype(np.int64),
    }
    for name, values in keys.items():
        columns[name] = values.take(pa.array(random.integers(0, len(values), 300)))
    return pa.table(columns)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(12, 2)], ids=str
)
def test_values_may_be_of_every_type_of_number(spark, kind):
    random = np.random.default_rng(19)
    numbers = np.rint(random.normal(20, 40, 400)).clip(-128, 127)
    if pa.types.is_floating(kind):
        numbers = numbers * 1.37
    values = pa.array([None if i % 50 == 7 else n for i, n in enumerate(numbers)], pa.float64()).cast(kind, safe=False)
    events = pa.table({"k": ["a", "b"] * 200, "ts": instants(NOON + np.arange(400) * SECOND), "v": values})
    assert_same(answers(spark, events, ["k"]), expected_rows(QUERY, events, ["k"]))


@pytest.mark.parametrize("scale", [0, 2, 7, 15])
def test_decimals_of_15_digits_are_the_doubles_with_their_text(spark, scale):
    """The query keeps raw values, so a value that was rounded differently shows in the result."""
    query = QUERY.replace(size="1 minute", digits=None, thresholds=(), quantiles=(0.01, 0.25, 0.5, 0.75, 1))
    units = np.random.default_rng(43).integers(-(10**15) + 1, 10**15, 300)
    decimals = [Decimal(int(unit)).scaleb(-scale) for unit in units]
    times = instants(NOON + np.arange(300) * SECOND)
    events = pa.table({"ts": times, "v": pa.array(decimals, pa.decimal128(15, scale))})
    doubles = pa.table({"ts": times, "v": [float(str(decimal)) for decimal in decimals]})
    rows = answers(spark, events, query=query)
    assert_same(rows, expected_rows(query, events))
    assert_same(rows, expected_rows(query, doubles))


def test_decimals_of_more_digits_are_refused_with_a_cast_that_works(spark):
    values = pa.array([Decimal("999.9999999999999999"), None, Decimal("12.5")], pa.decimal128(38, 16))
    events = frame(spark, pa.table({"ts": instants(NOON + np.arange(3) * SECOND), "my v": values}))
    with pytest.raises(InputError, match=r"column 'my v' is decimal\(38,16\), which a double would round") as refused:
        quantiles(events, QUERY, value="my v", time="ts")
    to_decimal, to_double = re.findall(r"events\.withColumn\(.+?'\)\)", str(refused.value))
    assert "cast('decimal(15, 3)')" in to_decimal and "cast('double')" in to_double
    for code in (to_decimal, to_double):
        cast = eval(code)  # as a user would paste it
        assert [row.max for row in quantiles(cast, QUERY, value="my v", time="ts").collect()] == [1000]
    whole = events.withColumn("my v", f.expr("cast(7 as decimal(20, 0))"))
    with pytest.raises(InputError, match=r"cast to integers: events.withColumn\('my v', .*cast\('bigint'\)"):
        quantiles(whole, QUERY, value="my v", time="ts")


def test_longs_at_the_edge_keep_their_intervals(spark):
    values = [2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1, 2**62, 9_999_999_999_999_999] * 20
    times = instants(NOON + np.arange(120) * SECOND)
    events = pa.table({"ts": times, "v": pa.array(values, pa.int64())})
    for query in (QUERY, QUERY.replace(digits=None), QUERY.replace(digits=6)):
        assert_same(answers(spark, events, query=query), expected_rows(query, events))


def moment(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)


KEYS = {
    "string": pa.array(["", "a", "A", "ä", "naïve\x00", "'", None, "b" * 300]),
    "byte": pa.array([1, -128, None], pa.int8()),
    "int": pa.array([0, -1, 2**31 - 1, None], pa.int32()),
    "long": pa.array([0, 2**63 - 1, -(2**63), None], pa.int64()),
    "float": pa.array([0.0, -0.0, 0.1, NAN, -INFINITE, None], pa.float32(), from_pandas=False),
    "double": pa.array([0.0, -0.0, 0.1, NAN, INFINITE, None, 5e-324], pa.float64(), from_pandas=False),
    "boolean": pa.array([True, False, None]),
    "date": pa.array([dt.date(2024, 2, 29), dt.date(1582, 10, 4), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "timestamp": pa.array([moment(2024, 1, 1), moment(1815, 6, 18, 11, 35), None], pa.timestamp("us", tz="UTC")),
    "timestamp_ntz": pa.array([dt.datetime(2024, 3, 31, 2, 30), dt.datetime(1815, 6, 18), None], pa.timestamp("us")),
    "decimal": pa.array([Decimal("1.10"), Decimal("-0.01"), Decimal("0.00"), None], pa.decimal128(20, 2)),
    "binary": pa.array([b"", b"\x00", b"\x00\x00", b"\xff\xfe", None], pa.binary()),
    "interval": pa.array([dt.timedelta(days=1), dt.timedelta(microseconds=-1), None], pa.duration("us")),
    "struct": pa.array(
        [{"rack": "r1", "row": 1}, {"rack": None, "row": 1}, {"rack": "r1", "row": None}, None],
        pa.struct([("rack", pa.string()), ("row", pa.int32())]),
    ),
    "array": pa.array([[1, 2], [2, 1], [], [None], [1, 2, None], None], pa.list_(pa.int64())),
    "array of structs": pa.array(
        [[{"x": 1.5}], [{"x": NAN}], [{"x": 0.0}], [{"x": -0.0}], [None], []],
        pa.list_(pa.struct([("x", pa.float64())])),
    ),
    "struct of times": pa.array(
        [{"at": moment(2024, 1, 1), "on": dt.date(2024, 1, 1)}, {"at": None, "on": None}],
        pa.struct([("at", pa.timestamp("us", tz="UTC")), ("on", pa.date32())]),
    ),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_every_type_are_grouped_as_spark_groups_them(spark, name):
    events = with_keys(k=KEYS[name])
    data = frame(spark, events, 3)
    results = quantiles(data, QUERY, value="v", time="ts", by=["k"], shards=3)
    assert results.schema["k"].dataType == data.schema["k"].dataType
    rows = rows_of(results, ["k"])
    assert len({row[0] for row in rows}) == data.groupBy("k").count().count()
    assert_same(rows, expected_rows(QUERY, events, ["k"]))


def test_keys_that_arrow_cannot_carry_are_refused_with_what_to_do(spark):
    data = frame(spark, with_keys(k=pa.array([1, 2, 14, None]))).withColumn("k", f.expr("make_ym_interval(0, k)"))
    with pytest.raises(InputError, match="by column 'k' is interval"):
        quantiles(data, QUERY, value="v", time="ts", by=["k"])


def test_two_and_three_by_columns_make_a_key_together(spark):
    events = with_keys(a=KEYS["string"].slice(0, 3), b=KEYS["double"], c=KEYS["boolean"])
    for by in (["a", "b"], ["c", "b", "a"]):
        rows = answers(spark, events, by)
        assert len({row[0] for row in rows}) >= 18
        assert_same(rows, expected_rows(QUERY, events, by))


def test_texts_of_two_columns_do_not_run_together(spark):
    events = with_keys(a=pa.array(["x", "x,y", "x', 'y"]), b=pa.array(["y,z", "z", "y', 'z"]))
    assert_same(answers(spark, events, ["a", "b"], shards=1), expected_rows(QUERY, events, ["a", "b"]))


def test_no_by_column_is_one_stream(spark):
    events = events_of(23, 2000, 5, 900)
    expected = expected_rows(QUERY, events)
    assert len(expected) == 15
    assert_same(answers(spark, events), expected)
    assert_same(rows_of(quantiles(frame(spark, events), QUERY, value="v", time="ts")), expected)


def test_times_before_1970_lie_in_sub_windows_that_are_aligned_to_1970(spark):
    random = np.random.default_rng(29)
    times = np.concatenate([random.integers(-5 * MINUTE, 5 * MINUTE, 200), [-1, 0, -MINUTE, -MINUTE - 1, 1]])
    times = np.concatenate([times, -61_000_000_000 * SECOND + np.arange(5) * 7 * SECOND])
    events = pa.table({"ts": instants(times), "v": random.integers(1, 1000, times.size)})
    rows = answers(spark, events)
    assert min(map(end_of, rows)) < -60_000_000_000 * SECOND
    assert all(end_of(row) % MINUTE == 0 for row in rows)
    assert_same(rows, expected_rows(QUERY, events))


DAYS = {
    "hours": Query("3 hours", "1 hour", quantiles=(0.5,)),
    "days": Query("2 days", "1 day", quantiles=(0.5,)),
}


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
@pytest.mark.parametrize("name", DAYS)
def test_windows_do_not_depend_on_the_time_zone_of_the_session(spark, zone, name):
    """New York has 5 November 2023, 1:30, twice; Kathmandu is 5:45 hours ahead."""
    query = DAYS[name]
    start = int(dt.datetime(2023, 11, 5, 1, 30, tzinfo=ZoneInfo("America/New_York")).timestamp()) * SECOND
    events = events_of(31, 500, 3, 5 * 3600, start=start - HOUR)
    expected = expected_rows(query, events, ["k"])
    with setting(spark, "spark.sql.session.timeZone", zone):
        assert_same(answers(spark, events, ["k"], query), expected)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_times_without_a_zone_are_read_as_utc(spark, zone):
    """Also 2:30 in the night when New York's clocks go from 2:00 to 3:00."""
    query = DAYS["hours"]
    start = int(moment(2024, 3, 10, 0, 30).timestamp()) * SECOND
    events = events_of(37, 500, 3, 5 * 3600, start=start)
    plain = events.set_column(1, "ts", events["ts"].cast(pa.timestamp("us")))
    with setting(spark, "spark.sql.session.timeZone", zone):
        results = quantiles(frame(spark, plain), query, value="v", time="ts", by="k")
        assert results.schema["window"].dataType.simpleString() == "struct<start:timestamp_ntz,end:timestamp_ntz>"
        assert_same(rows_of(results, ["k"]), expected_rows(query, events, ["k"]))


def test_numbers_of_events_may_be_of_every_type_of_integer(spark):
    query = Query(40, 20, quantiles=(0.5,))
    values = np.random.default_rng(41).integers(1, 1000, 100)
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        events = pa.table({"ts": pa.array(np.arange(100)).cast(kind), "v": values})
        assert_same(answers(spark, events, query=query), expected_rows(query, events))
