"""A batch on Spark answers like one local operator for each key, bit for bit, however the events are dealt out."""

import numpy as np
import pyarrow as pa
import pytest
from arbitrary import counted_queries, streams, timed_queries
from hypothesis import given, settings
from hypothesis import strategies as st
from local import (
    MINUTE,
    NOON,
    SECOND,
    assert_same,
    end_of,
    events_of,
    expected_rows,
    frame,
    in_order,
    instants,
    local_rows,
    rows_of,
    setting,
    tick,
    write_files,
)
from pyspark.sql import functions as f

from aomg import FewK, Operator, Query
from aomg.errors import InputError, QueryError
from aomg.spark import quantiles

pytestmark = pytest.mark.xdist_group("spark")

WINDOW = ("5 minutes", "1 minute")
QUERIES = {
    "default": Query(*WINDOW),
    "thresholds": Query(*WINDOW, thresholds=(500.0, 1234.0, -0.5)),
    "tumbling": Query("1 minute", "1 minute", quantiles=(0.5, 1)),
    "full windows only": Query(*WINDOW, partial=False),
    "five digits": Query(*WINDOW, digits=5),
    "one digit": Query(*WINDOW, digits=1, quantiles=("0.000000001", 0.25)),
    "raw values": Query(*WINDOW, digits=None),
    "no guarantee": Query(*WINDOW, guarantee=False),
    "few-k always": Query(*WINDOW, few_k=FewK(always=True, fraction=0.2)),
    "paper": Query.paper(*WINDOW, few_k=FewK(fraction=0.2)),
    "windows counted in events": Query(300, 100),
    "windows counted in events, full ones only": Query(300, 100, partial=False, digits=4),
    "paper's windows counted in events": Query.paper(300, 100),
}


def timed_events(seed: int, values: np.ndarray, keys: int, start: int, gap: float) -> pa.Table:
    """Values at random times, `gap` seconds apart on average, of random keys."""
    random = np.random.default_rng(seed)
    times = start + np.cumsum(random.exponential(gap, values.size))
    times = np.where(random.random(values.size) < 0.3, np.rint(times), times)
    names = [f"k{i}" for i in random.integers(0, keys, values.size)]
    return pa.table({"k": pa.array(names, pa.string()), "ts": instants((times * SECOND).astype(np.int64)), "v": values})


def numbered(events: pa.Table) -> pa.Table:
    """The events of each key numbered from 0 instead of their times."""
    seen: dict[str, int] = {}
    numbers = []
    for key in events["k"].to_pylist():
        numbers.append(seen.get(key, 0))
        seen[key] = numbers[-1] + 1
    return events.set_column(events.column_names.index("ts"), "ts", pa.array(numbers, pa.int64()))


def shuffled(events: pa.Table, seed: int) -> pa.Table:
    return events.take(pa.array(np.random.default_rng(seed).permutation(events.num_rows)))


def answers(spark, events, query, *, partitions=2, **options):
    return rows_of(quantiles(frame(spark, events, partitions), query, value="v", time="ts", by="k", **options), ["k"])


@pytest.mark.parametrize("name", QUERIES)
def test_every_kind_of_query_answers_like_local_operators(spark, name):
    query = QUERIES[name]
    events = events_of(7, 4000, 6, 20 * 60)
    events = numbered(events) if query.counted else events
    expected = expected_rows(query, events, ["k"])
    assert len(expected) > 20
    assert_same(answers(spark, shuffled(events, 1), query, partitions=3, shards=3), expected)


@settings(max_examples=10)
@given(
    query=timed_queries(),
    values=streams(300),
    seed=st.integers(0, 2**32),
    keys=st.sampled_from([1, 3, 40]),
    start=st.sampled_from([0, -1000, 1_700_000_000, -(10**10)]),
    gap=st.sampled_from([0.01, 0.5, 5, 100]),
    partitions=st.integers(1, 4),
    shards=st.integers(1, 4),
)
def test_any_query_over_any_events_answers_like_local_operators(
    spark, query, values, seed, keys, start, gap, partitions, shards
):
    events = timed_events(seed, values, keys, start, gap)
    rows = answers(spark, shuffled(events, seed), query, partitions=partitions, shards=shards)
    assert_same(rows, expected_rows(query, events, ["k"]) if values.size else [])


@settings(max_examples=5)
@given(query=counted_queries(), values=streams(300), seed=st.integers(0, 2**32), keys=st.sampled_from([1, 3, 40]))
def test_any_windows_counted_in_events_answer_like_local_operators(spark, query, values, seed, keys):
    events = numbered(timed_events(seed, values, keys, 0, 1))
    assert_same(answers(spark, shuffled(events, seed), query), expected_rows(query, events, ["k"]))


def test_two_million_events_of_500_keys_answer_like_local_operators(spark, tmp_path):
    query = Query("15 minutes", "1 minute", thresholds=(1000.0,))
    events = events_of(3, 2_000_000, 500, 3600)
    write_files(tmp_path, [shuffled(events, 5).slice(start, 500_000) for start in range(0, 2_000_000, 500_000)])
    rows = rows_of(quantiles(spark.read.parquet(str(tmp_path)), query, value="v", time="ts", by="k"), ["k"])
    expected = expected_rows(query, events, ["k"])
    assert sum(row[3] for row in expected) > 2_000_000 * 10
    assert_same(rows, expected)


def test_partitions_shards_and_the_order_of_files_change_nothing(spark, tmp_path):
    query = Query("10 minutes", "1 minute")
    events = events_of(11, 3000, 15, 2 * 3600)
    expected = expected_rows(query, events, ["k"])
    for seed, (partitions, shards, shuffles) in enumerate([(1, 1, 1), (2, 16, 5), (5, 7, 3)]):
        with setting(spark, "spark.sql.shuffle.partitions", shuffles):
            assert_same(answers(spark, shuffled(events, seed), query, partitions=partitions, shards=shards), expected)
    write_files(tmp_path, [shuffled(events, 9).slice(start, 500) for start in (2500, 0, 2000, 500, 1500, 1000)])
    assert_same(
        rows_of(quantiles(spark.read.parquet(str(tmp_path)), query, value="v", time="ts", by="k"), ["k"]), expected
    )


def test_every_key_answers_up_to_the_latest_event_of_any_key(spark):
    """Idle keys answer each period while anything of them is in the window; no key answers beyond the last event."""
    query = Query("4 minutes", "1 minute")
    events = pa.concat_tables([tick(0, "early"), tick(90, "middle"), tick(180, "last"), tick(10, "early", 7)])
    rows = answers(spark, events, query)
    ends = {
        key: [(end_of(row) - NOON) // MINUTE for row in rows if row[0] == (repr(key),)]
        for key in ("early", "middle", "last")
    }
    assert ends == {"early": [1, 2, 3, 4], "middle": [2, 3, 4], "last": [4]}
    assert_same(rows, expected_rows(query, events, ["k"]))
    gone = answers(spark, pa.concat_tables([events, tick(3600, "much later")]), query)
    assert [(end_of(row) - NOON) // MINUTE for row in gone if row[0] == ("'early'",)] == [1, 2, 3, 4]
    assert [(end_of(row) - NOON) // MINUTE for row in gone if row[0] == ("'middle'",)] == [2, 3, 4, 5]


def test_windows_reach_across_everything_a_batch_works_on_at_once(spark):
    """A batch takes some hundred sub-windows at a time; bursts and windows go on over the seams."""
    query = Query("30 seconds", "1 second", quantiles=(0.5, 0.9), few_k=FewK(high=0.9))  # tails that can be compared
    events = events_of(13, 120_000, 3, 900)
    burst = np.where(np.asarray(events["ts"].cast(pa.int64())) // SECOND % 120 > 110, 20, 1)
    events = events.set_column(2, "v", pa.array(np.asarray(events["v"]) * burst))
    expected = expected_rows(query, events, ["k"])
    assert any(row[7] for row in expected)
    assert_same(answers(spark, events, query), expected)


def test_years_between_two_events_of_a_key_are_passed_over(spark):
    query = Query("1 minute", "1 second")
    events = pa.concat_tables([tick(0, "a"), tick(40 * 365 * 86_400.0, "a"), tick(20 * 365 * 86_400.0, "b")])
    rows = answers(spark, events, query)
    assert len(rows) == 60 + 1 + 60
    assert_same(rows, expected_rows(query, events, ["k"]))


def test_a_key_with_one_event_has_all_windows_that_contain_it(spark):
    query = Query("3 minutes", "1 minute")
    rows = answers(spark, pa.concat_tables([tick(i, f"key {i}", i) for i in range(50)] + [tick(600, "last")]), query)
    assert len(rows) == 50 * 3 + 1
    assert all(row[3] == 1 for row in rows)


def test_no_events_no_rows(spark):
    nothing = events_of(1, 0, 1, 1)
    for empty in (spark.createDataFrame(nothing), frame(spark, nothing, 3), frame(spark, tick(0)).where("v > 1")):
        results = quantiles(empty, Query(*WINDOW), value="v", time="ts", by="k")
        assert results.columns == [
            "k",
            "window",
            "count",
            "min",
            "max",
            "sub_windows",
            "burst",
            "p50",
            "p90",
            "p99",
            "p99_9",
        ]
        assert results.count() == 0


def test_events_without_a_finite_value_or_a_time_are_left_out(spark):
    query = Query("3 minutes", "1 minute", quantiles=(0.5, 1))
    good = [(NOON + i * 7 * SECOND, 100.0 + i) for i in range(60)]
    bad = [(None, 5.0), (NOON, None), (NOON + 9, np.nan), (NOON + 900 * SECOND, np.inf), (NOON + 901 * SECOND, -np.inf)]
    times, values = zip(*good, *bad, (None, None), strict=True)
    keys = ["a", "b"] * 33
    events = pa.table({"k": keys, "ts": instants(times), "v": pa.array(values, pa.float64(), from_pandas=False)})
    rows = answers(spark, events, query)
    assert max(map(end_of, rows)) == NOON + 7 * MINUTE, "refused events do not move time"
    assert_same(rows, expected_rows(query, events, ["k"]))
    assert answers(spark, events.slice(60), query) == []


def test_missing_numbers_take_their_places_in_windows_counted_in_events(spark):
    """A window covers `size` numbers; those that did not come, or were refused, take their places."""
    query = Query(40, 10, quantiles=(0.5, 1), thresholds=(150.0,))
    numbers = np.concatenate([np.arange(0, 95), np.arange(130, 160), np.arange(400, 411)])
    events = pa.table({"k": ["a"] * numbers.size, "ts": numbers, "v": 100.0 + numbers})
    missing = pa.table({"k": ["a"], "ts": pa.array([37], pa.int64()), "v": [float("nan")]})
    events = pa.concat_tables([events.filter(pa.array(numbers != 37)), missing])
    same = Operator(query.replace(size="40 us", period="10 us", lateness="1 day"))
    same.push(events["v"], events["ts"].cast(pa.timestamp("us")))
    assert_same(answers(spark, shuffled(events, 2), query), in_order(local_rows(same.finish(), ("'a'",))))


def test_events_go_through_transform(spark):
    query = Query(*WINDOW)
    events = events_of(2, 500, 3, 600)
    rows = frame(spark, events).transform(quantiles, query, value="v", time="ts", by=["k"])
    assert_same(rows_of(rows, ["k"]), expected_rows(query, events, ["k"]))


def test_the_columns_of_a_result(spark):
    query = Query("1 hour", "1 minute", quantiles=(0.5, 0.999, 0.9995, 0.005, 1), thresholds=(500, 0.25, -3))
    estimate = "struct<value:double,low:double,high:double,method:string>"
    share = "struct<value:double,low:double,high:double>"
    results = quantiles(frame(spark, tick(0)), query, value="v", time="ts", by="k")
    assert results.schema.simpleString() == (
        "struct<k:string,window:struct<start:timestamp,end:timestamp>,count:bigint,min:double,max:double,"
        f"sub_windows:int,burst:boolean,p50:{estimate},p99_9:{estimate},p99_95:{estimate},p0_5:{estimate},"
        f"p100:{estimate},below_500:{share},below_0_25:{share},below_minus_3:{share}>"
    )
    row = results.first()
    assert row["p100"].asDict() == {"value": 1.0, "low": 1.0, "high": 1.0, "method": "exact"}
    assert row["below_500"].asDict() == {"value": 1.0, "low": 1.0, "high": 1.0}
    counted = quantiles(frame(spark, numbered(tick(0))), Query(8, 4, guarantee=False), value="v", time="ts")
    assert counted.schema["window"].dataType.simpleString() == "struct<start:bigint,end:bigint>"
    assert counted.schema["p50"].dataType.names == ["value", "low", "high", "method", "bound", "bound_corrected"]


def test_names_may_contain_dots_spaces_and_backticks(spark):
    query = Query(*WINDOW)
    names = {"k": "pod.set", "ts": "the time`s name", "v": "rtt (us)"}
    events = events_of(4, 400, 4, 600)
    renamed = events.rename_columns([names[name] for name in events.column_names])
    renamed = renamed.append_column("``", pa.array(["x", "y"] * 200)).append_column("pod", pa.array([1] * 400))
    by = ["pod.set", "``"]
    rows = quantiles(frame(spark, renamed), query, value="rtt (us)", time="the time`s name", by=by)
    assert rows.columns[:2] == by
    assert_same(rows_of(rows, by), expected_rows(query, renamed, by, "rtt (us)", "the time`s name"))


@pytest.mark.parametrize(
    ("column", "query"),
    [
        ("p50", Query(*WINDOW)),
        ("P99_9", Query(*WINDOW)),
        ("Window", Query(*WINDOW)),
        ("burst", Query(*WINDOW)),
        ("below_0_5", Query(*WINDOW, thresholds=0.5)),
    ],
)
def test_a_by_column_that_is_named_like_a_result_is_refused(spark, column, query):
    events = frame(spark, tick(0)).withColumnRenamed("k", column)
    with pytest.raises(InputError, match=rf"by column '{column}' has the name .*withColumnRenamed\('{column}'"):
        quantiles(events, query, value="v", time="ts", by=column)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"value": "rtt"}, "no column 'rtt'; the events have k, ts, v"),
        ({}, {"time": "when"}, "no column 'when'; the events have k, ts, v"),
        ({}, {"by": ["k", "rack"]}, "no column 'rack'; the events have k, ts, v"),
        ({}, {"by": ["k", "k"]}, "names a column twice"),
        ({"v": "string(v)"}, {}, r"column 'v' is string; values must be numbers: cast it .*cast\('double'\)"),
        ({"v": "v > 1"}, {}, "column 'v' is boolean; values must be numbers"),
        ({"ts": "unix_micros(ts)"}, {}, r"column 'ts' is bigint; .* f.timestamp_micros\('ts'\)"),
        ({"ts": "string(ts)"}, {}, r"column 'ts' is string; .* f.to_timestamp\('ts'\)"),
        ({"ts": "date(ts)"}, {}, r"column 'ts' is date; .* must be a timestamp"),
        (
            {},
            {"query": Query(8, 4)},
            r"counted in events, so time='ts' must be a column of integers .*, not timestamp",
        ),
        (
            {"k": "map(k, v)"},
            {},
            "by column 'k' is map<string,bigint>, which Spark cannot group by; use one field of it",
        ),
        ({"k": "array(map(k, v))"}, {}, "cannot group by"),
        ({"k": "parse_json('1')"}, {}, "by column 'k' is variant, which Spark cannot group by"),
        ({"k": "k collate UTF8_LCASE"}, {}, r"f.collate\('k', 'UTF8_BINARY'\)"),
        ({}, {"query": "1 hour"}, "must be an aomg.Query, not str"),
        ({}, {"by": [1]}, "by must be the name of a column, such as .*, not 1"),
        ({}, {"time": "t"}, "did you mean ts"),
        ({}, {"shards": 0}, "shards=0 must be a whole number from 1"),
        ({}, {"shards": 2.0}, r"shards=2.0 must be a whole number from 1"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_an_invalid_call_is_refused_at_once_with_what_to_do(spark, change, arguments, message):
    events = frame(spark, tick(0)).withColumns({name: f.expr(text) for name, text in change.items()})
    arguments = {"query": Query(*WINDOW), "value": "v", "time": "ts", "by": ["k"], **arguments}
    with pytest.raises(InputError, match=message):
        quantiles(events, **arguments)


def test_a_clock_skew_that_is_no_duration_is_refused_in_a_batch_too(spark):
    with pytest.raises(QueryError, match="max_clock_skew: 10 has no unit"):
        quantiles(frame(spark, tick(0)), Query(*WINDOW), value="v", time="ts", max_clock_skew=10)
