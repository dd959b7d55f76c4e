"""Windows in event time, against a plain model that takes one event after the other."""

import itertools
import time as clock
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from arbitrary import cuts_of, streams, timed_queries
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import SECOND, TimedModel, Window, check_results, end_of, plain

from aomg import Operator, Query

MINUTE = 60 * SECOND


def micros(times) -> np.ndarray:
    return np.asarray(times, np.int64).astype("datetime64[us]")


def times_near(random: np.random.Generator, n: int, start: int, gap: float, disorder: float) -> np.ndarray:
    """Times that grow by `gap` seconds on average, each up to `disorder` seconds early, many on whole seconds."""
    seconds = start + np.cumsum(random.exponential(gap, n)) - disorder * random.random(n)
    seconds = np.where(random.random(n) < 0.3, np.rint(seconds), seconds)
    return np.rint(seconds * SECOND).astype(np.int64)


timelines = st.builds(
    lambda seed, n, start, gap, disorder: times_near(np.random.default_rng(seed), n, start, gap, disorder),
    st.integers(0, 2**32),
    st.just(150),
    st.sampled_from([0, -1000, 1_700_000_000, -(10**10)]),
    st.sampled_from([0.01, 0.5, 5, 100]),
    st.sampled_from([0, 1, 15, 200]),
)


@settings(max_examples=120)
@given(
    query=timed_queries(),
    values=streams(150),
    times=timelines,
    cuts=cuts_of(150),
    ahead=st.integers(-100, 500),
)
def test_every_window_in_event_time_holds_what_the_model_says(query, values, times, cuts, ahead):
    times = times[: values.size]
    operator, model = Operator(query), TimedModel(query)
    places = [0, *sorted(min(c, values.size) for c in cuts), values.size]
    for step, (first, last) in enumerate(itertools.pairwise(places)):
        part, when = values[first:last], times[first:last]
        check_results(query, operator.push(part, micros(when)), model.push(plain(part), when.tolist()))
        if step == 2 and values.size:
            watermark = int(times.max()) // 2 + int(times.min()) // 2 + ahead * SECOND
            check_results(query, operator.advance(np.datetime64(watermark, "us")), model.advance(watermark))
        assert (operator.late, operator.refused, operator.open) == (model.late, model.refused, model.open)
    check_results(query, operator.finish(), model.finish())


@given(query=timed_queries(), values=streams(150), times=timelines, cuts=cuts_of(150))
def test_events_in_parts_give_the_results_of_the_whole_bit_for_bit(query, values, times, cuts):
    times = micros(times[: values.size])
    whole, parts = Operator(query), Operator(query)
    results = parts.push(values[:0], times[:0])
    places = [0, *sorted(min(c, values.size) for c in cuts), values.size]
    for first, last in itertools.pairwise(places):
        results = results + parts.push(values[first:last], times[first:last])
    assert results == whole.push(values, times)
    assert (parts.late, parts.open) == (whole.late, whole.open)
    assert parts.finish() == whole.finish()


@given(query=timed_queries(), values=streams(150), times=timelines, seed=st.integers(0, 2**32))
def test_disorder_within_the_lateness_changes_nothing(query, values, times, seed):
    """Events of one push may come in any order that makes none of them late."""
    times = np.sort(times[: values.size])
    order = np.argsort(times + np.random.default_rng(seed).uniform(0, query.lateness, times.size), kind="stable")
    sorted_, disordered = Operator(query), Operator(query)
    results = sorted_.push(values, micros(times)) + sorted_.finish()
    others = disordered.push(values[order], micros(times[order])) + disordered.finish()
    assert disordered.late == 0
    assert results == others


def test_a_late_event_is_counted_and_never_mixed_in():
    query = Query("4 s", "2 s", quantiles=(0.5, 1), lateness="1 s")
    operator, model = Operator(query), TimedModel(query)
    stamps = [0, 1 * SECOND, 3 * SECOND, 1_999_999, 2 * SECOND, 2_500_000, 5 * SECOND, 3_999_999, 4 * SECOND]
    values = [1, 2, 3, 999, 4, 5, 6, 999, 7]
    check_results(query, operator.push(values, micros(stamps)), model.push(values, stamps))
    assert operator.late == model.late == 2
    results = operator.finish()
    check_results(query, results, model.finish())
    assert results[-1].maximum < 999


def test_an_event_on_the_boundary_belongs_to_the_later_sub_window():
    query = Query("2 s", "1 s", quantiles=(0.5,), lateness="0 s")
    operator = Operator(query)
    results = operator.push([10, 20, 30], np.array([0, 1, 2], "datetime64[s]")) + operator.finish()
    assert [r.count for r in results] == [1, 2, 2]
    assert [r.maximum for r in results] == [10, 20, 30]
    assert results[0].end == np.datetime64("1970-01-01T00:00:01")
    assert results[0].start == np.datetime64("1969-12-31T23:59:59")
    assert results.ends.dtype == np.dtype("datetime64[us]")


def test_windows_before_1970_are_aligned_to_the_epoch_too():
    query = Query("2 min", "1 min", quantiles=(0.5,), lateness="0 s")
    operator = Operator(query)
    operator.push([1], np.array(["1969-12-31T23:58:30"], "datetime64[s]"))
    results = operator.push([2], np.array(["1969-12-31T23:59:00"], "datetime64[s]")) + operator.finish()
    assert [str(r.end) for r in results] == ["1969-12-31T23:59:00.000000", "1970-01-01T00:00:00.000000"]


def test_an_idle_stream_is_answered_each_period_until_its_last_event_has_left():
    query = Query("5 s", "1 s", quantiles=(0.5,), lateness="0 s")
    operator = Operator(query)
    operator.push([7], np.array([0], "datetime64[s]"))
    results = operator.advance(np.datetime64(3, "s"))
    assert [(end_of(r) // SECOND, r.count, r.sub_windows) for r in results] == [
        (1, 1, 1),
        (2, 1, 1),
        (3, 1, 1),
    ]
    results = operator.advance(np.datetime64(100, "s"))
    assert [end_of(r) // SECOND for r in results] == [4, 5]
    assert len(operator.advance(np.datetime64(200, "s"))) == 0
    assert len(operator.finish()) == 0


def test_the_next_event_tells_an_idle_stream_the_time():
    query = Query("3 s", "1 s", quantiles=(0.5,), lateness="0 s")
    operator = Operator(query)
    operator.push([7], np.array([0], "datetime64[s]"))
    results = operator.push([9], np.array([50], "datetime64[s]"))
    assert [end_of(r) // SECOND for r in results] == [1, 2, 3]
    assert [r.maximum for r in operator.finish()] == [9]


def test_jumps_of_years_are_passed_over_at_once():
    query = Query("10 s", "1 s", lateness="0 s")
    operator, model = Operator(query), TimedModel(query)
    began = clock.perf_counter()
    stamps = [0, 40 * 365 * 86_400 * SECOND, 80 * 365 * 86_400 * SECOND, 25_000 * 365 * 86_400 * SECOND]
    for value, stamp in enumerate(stamps):
        check_results(query, operator.push([value], micros([stamp])), model.push([value], [stamp]))
    operator.advance(np.datetime64("60000-01-01"))
    assert clock.perf_counter() - began < 5


def test_finish_closes_the_sub_window_of_the_latest_time_and_invents_none_beyond():
    query = Query("10 s", "1 s", lateness="1 min")
    operator, model = Operator(query), TimedModel(query)
    stamps = [5 * SECOND, 2 * SECOND, 4_500_000, 5_999_999]
    check_results(query, operator.push([1, 2, 3, 4], micros(stamps)), model.push([1, 2, 3, 4], stamps))
    results = operator.finish()
    check_results(query, results, model.finish())
    assert [end_of(r) // SECOND for r in results] == [3, 4, 5, 6]


def test_a_watermark_is_the_latest_time_that_finish_answers_for():
    query = Query("10 s", "1 s", lateness="0 s", quantiles=(0.5,))
    operator = Operator(query)
    operator.push([1], micros([0]))
    operator.advance(np.datetime64(3_500_000, "us"))
    assert [end_of(r) // SECOND for r in operator.finish()] == [4]


def test_full_windows_only_means_that_no_sub_window_is_empty():
    query = Query("3 s", "1 s", lateness="0 s", partial=False, quantiles=(0.5,))
    operator = Operator(query)
    seconds = np.array([0, 1, 2, 3, 5, 6, 7, 8])
    results = operator.push(seconds, seconds.astype("datetime64[s]")) + operator.finish()
    assert [end_of(r) // SECOND for r in results] == [3, 4, 8, 9]


def test_an_event_before_the_first_one_is_taken_while_its_sub_window_is_open():
    query = Query("4 s", "1 s", lateness="10 s", quantiles=(0.5, 1))
    operator, model = Operator(query), TimedModel(query)
    stamps = [100 * SECOND, 92 * SECOND, 80 * SECOND, 95 * SECOND]
    check_results(query, operator.push([1, 2, 3, 4], micros(stamps)), model.push([1, 2, 3, 4], stamps))
    assert operator.late == model.late == 1
    check_results(query, operator.finish(), model.finish())


def test_a_watermark_before_any_event_makes_older_events_late():
    query = Query("4 s", "1 s", lateness="10 s")
    operator = Operator(query)
    assert len(operator.advance(np.datetime64(100, "s"))) == 0
    operator.push([1, 2, 3], np.array([98, 99, 100], "datetime64[s]"))
    assert (operator.late, operator.open) == (2, 1)


def test_time_never_runs_backwards():
    query = Query("4 s", "1 s", lateness="0 s", quantiles=(0.5,))
    operator = Operator(query)
    operator.push([1], micros([10 * SECOND]))
    operator.advance(np.datetime64(12, "s"))
    assert len(operator.advance(np.datetime64(5, "s"))) == 0
    operator.push([1], np.array([11], "datetime64[s]"))
    assert operator.late == 1


def test_events_without_a_value_or_a_time_are_refused_and_tell_no_time():
    query = Query("4 s", "1 s", lateness="0 s", quantiles=(0.5,))
    operator = Operator(query)
    times = np.array([0, "NaT", 100, 200, 1], "datetime64[s]")
    results = operator.push([1.0, 2.0, np.nan, np.inf, 3.0], times)
    assert operator.refused == 3
    assert [end_of(r) // SECOND for r in results + operator.finish()] == [1, 2]
    operator = Operator(query)
    operator.push([1, None, 3, None], pa.array([0, 1, None, None], pa.timestamp("s")))
    assert (operator.refused, operator.open) == (3, 1)
    operator = Operator(query)
    operator.push([1, 2], [datetime(1970, 1, 1), None])
    assert (operator.refused, operator.open) == (1, 1)


STAMPS = [datetime(2024, 5, 1, 12, 0, s, tzinfo=UTC) for s in (0, 1, 1, 3, 7)]


@pytest.mark.parametrize(
    "times",
    [
        np.array([s.replace(tzinfo=None) for s in STAMPS], "datetime64[s]"),
        np.array([s.replace(tzinfo=None) for s in STAMPS], "datetime64[ms]"),
        np.array([s.replace(tzinfo=None) for s in STAMPS], "datetime64[ns]"),
        [s.replace(tzinfo=None) for s in STAMPS],
        STAMPS,
        [s.astimezone(timezone(timedelta(hours=5, minutes=30))) for s in STAMPS],
        pa.array(STAMPS, pa.timestamp("s")),
        pa.array(STAMPS, pa.timestamp("ms", tz="UTC")),
        pa.array(STAMPS, pa.timestamp("ns", tz="Asia/Tokyo")),
        pa.chunked_array([pa.array(STAMPS[:2], pa.timestamp("us")), pa.array(STAMPS[2:], pa.timestamp("us"))]),
        pd.Series(STAMPS),
        pd.Series([s.replace(tzinfo=None) for s in STAMPS]),
        pd.DatetimeIndex(STAMPS).tz_localize(None),
    ],
    ids=lambda times: f"{type(times).__name__}",
)
def test_times_of_every_kind_name_the_same_instants(times):
    query = Query("4 s", "1 s", lateness="0 s", quantiles=(0.5,))
    expected, operator = Operator(query), Operator(query)
    exact = np.array([s.replace(tzinfo=None) for s in STAMPS], "datetime64[us]")
    assert operator.push([1, 2, 3, 4, 5], times) == expected.push([1, 2, 3, 4, 5], exact)
    assert operator.finish() == expected.finish()


def test_nanoseconds_are_rounded_down_also_before_1970():
    query = Query("2 us", "1 us", lateness="0 s", quantiles=(0.5,))
    operator = Operator(query)
    results = operator.push([1, 2], np.array([-1, 1999], "datetime64[ns]")) + operator.finish()
    assert [end_of(r) for r in results] == [0, 1, 2]


@pytest.mark.parametrize(
    "moment",
    [
        np.datetime64(3, "s"),
        np.datetime64(3_000, "ms"),
        datetime(1970, 1, 1, 0, 0, 3),
        datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC),
        datetime(1970, 1, 1, 5, 0, 3, tzinfo=timezone(timedelta(hours=5))),
        pd.Timestamp(3, unit="s"),
        pd.Timestamp(3, unit="s", tz="UTC"),
        "1970-01-01T00:00:03",
    ],
)
def test_a_watermark_may_be_any_kind_of_time(moment):
    query = Query("4 s", "1 s", lateness="0 s", quantiles=(0.5,))
    operator = Operator(query)
    operator.push([1], micros([0]))
    assert len(operator.advance(moment)) == 3


def test_uneven_sub_windows_weigh_by_their_counts():
    query = Query("2 s", "1 s", lateness="0 s", quantiles=(0.5,), guarantee=False, digits=None, few_k=None)
    operator = Operator(query)
    values = [10] * 9 + [20] * 3
    results = operator.push(values, np.array([0] * 9 + [1] * 3, "datetime64[s]")) + operator.finish()
    assert results[-1][0.5].value == (9 * 10 + 3 * 20) / 12
    assert results[-1][0.5].method == "mean"


def test_empty_sub_windows_take_no_part():
    query = Query("10 s", "1 s", lateness="0 s", quantiles=(0.5,), guarantee=False, digits=None, few_k=None)
    operator = Operator(query)
    results = operator.push([10, 30], np.array([0, 9], "datetime64[s]")) + operator.finish()
    assert (results[-1].count, results[-1].sub_windows, results[-1][0.5].value) == (2, 2, 20)


def test_windows_of_a_year_by_the_second_can_be_asked_for():
    query = Query("40 days", "1 s", quantiles=(0.5,), lateness="0 s")
    operator = Operator(query)
    check_results(query, operator.push([1, 2], micros([0, SECOND])), [Window(SECOND, [1], 1)])
