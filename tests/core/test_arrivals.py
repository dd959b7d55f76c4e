"""Events are assigned to the sub-windows of their times, however they arrive."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import TimedModel, check_results

from aomg import InputError, Operator, Query
from aomg.core.arrivals import NEVER, Clock, arrivals
from aomg.core.kernels.arrivals import RUN_END, RUN_NUMBER, RUN_START, number_events

START = 1_700_000_000_000_000
SECOND = 1_000_000
UNITS = {"us": 1, "ns": 1_000}


def assigned(values, times, clock):
    """What `arrivals` promises, one event after the other: values by sub-window, late events, the latest time."""
    numbers, late, latest = {}, 0, clock.latest
    for value, time in zip(values.tolist(), times.tolist(), strict=True):
        watermark = max(clock.watermark, NEVER if latest == NEVER else latest - clock.lateness)
        number = time // clock.period
        latest = max(latest, time)
        if (number + 1) * clock.period <= watermark:
            late += 1
        else:
            numbers.setdefault(number, []).append(value)
    return numbers, late, latest


def by_sub_window(events):
    values_of = {}
    for run in events.runs:
        values_of.setdefault(int(run[RUN_NUMBER]), []).extend(events.run(run[RUN_START], run[RUN_END])[0].tolist())
    return values_of


@st.composite
def event_times(draw):
    """Times with gaps and runs of many lengths; in order, nearly so, or in none."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from([0, 1, 2, 31, 33, 200, 1_500, 5_000]))
    step = draw(st.sampled_from([0, 1, 1_000, SECOND // 3, SECOND, 40 * SECOND]))
    times = START + np.cumsum(random.integers(0, step + 1, size)) * draw(st.sampled_from([1, 1, 30]))
    grid = draw(st.sampled_from([1, 1, SECOND // 2]))  # some times are boundaries
    times = times // grid * grid
    disorder = draw(st.sampled_from(["none", "few", "near", "all"]))
    if disorder == "few" and size:
        moved = random.integers(0, size, 3)
        times[moved] -= random.integers(0, 20 * SECOND, 3)
    elif disorder == "near":
        times = times[np.argsort(times + random.integers(0, 5 * SECOND, size), kind="stable")]
    elif disorder == "all":
        times = random.permutation(times)
    return times


@st.composite
def clocks(draw):
    latest = draw(st.sampled_from([NEVER, START - 5 * SECOND, START + 3 * SECOND]))
    watermark = NEVER if latest == NEVER else draw(st.sampled_from([latest - 10**9, latest, latest + SECOND // 2]))
    lateness = draw(st.sampled_from([0, SECOND, 5 * SECOND, 100 * SECOND]))
    return Clock(draw(st.sampled_from([1, SECOND // 2, SECOND, 60 * SECOND])), lateness, watermark, latest)


@settings(max_examples=300)
@given(times=event_times(), clock=clocks(), unit=st.sampled_from(list(UNITS)), rest=st.integers(0, 999))
def test_every_event_goes_to_the_sub_window_of_its_time_or_is_late(times, clock, unit, rest):
    values = np.arange(times.size)
    ticks = times * UNITS[unit] + (rest if unit == "ns" else 0)
    events = arrivals(values, ticks, clock, UNITS[unit])
    numbers, late, latest = assigned(values, times, clock)
    assert events.late == late and events.latest == latest
    assert by_sub_window(events) == numbers
    assert np.all(np.diff(events.runs[:, RUN_NUMBER]) >= 0)


def test_times_in_no_order_that_are_far_apart_are_sorted():
    random = np.random.default_rng(5)
    times = START + random.integers(0, 10**15, 3_000)
    clock = Clock(SECOND, 10**15, NEVER, NEVER)
    values = np.arange(times.size)
    events = arrivals(values, times, clock)
    assert (by_sub_window(events), events.late, events.latest) == assigned(values, times, clock)


@pytest.mark.parametrize("odd", [np.datetime64("NaT", "us").astype(np.int64), 2**61, -(2**61)])
@pytest.mark.parametrize("position", [0, 7, 4_000])
def test_a_time_that_is_none_or_too_far_away_is_noticed_wherever_it_is(odd, position):
    times = START + np.arange(5_000) * 1_000
    times[position] = odd
    assert arrivals(np.arange(5_000), times, Clock(SECOND, 0, NEVER, NEVER)) is None
    shuffled = np.random.default_rng(1).permutation(times)
    assert arrivals(np.arange(5_000), shuffled, Clock(1_000, 10 * SECOND, NEVER, NEVER)) is None


@pytest.mark.parametrize("period", [1, 7, 60_000_000, 10**15, 3 * 10**15 + 1])
def test_events_on_both_sides_of_a_boundary_are_numbered_without_rounding(period):
    first = START // period
    boundaries = (first + np.arange(1, 200)) * period
    times = np.concatenate([boundaries - 1, boundaries, boundaries + 1])
    groups, sizes = np.empty(times.size, np.int64), np.zeros(300, np.int64)
    number_events(times, period, 2**61, NEVER, NEVER, first, groups, sizes)
    assert groups.tolist() == (times // period - first).tolist()
    assert sizes.sum() == times.size and sizes[-1] == 0


@pytest.mark.parametrize("before", [0, 1, 40, 600, 1_200])
def test_a_run_ends_before_an_event_on_the_boundary(before):
    times = np.full(before + 3_000, START + 2 * SECOND)
    times[:before] = START + 1
    values = np.arange(times.size)
    clock = Clock(2 * SECOND, SECOND, NEVER, NEVER)
    assert by_sub_window(arrivals(values, times, clock)) == assigned(values, times, clock)[0]


# -- through the operator ---------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    sub_windows=st.integers(1, 12),
    events=st.sampled_from([1, 3, 60, 700]),
    unit=st.sampled_from(["us", "ns", "s"]),
    real=st.booleans(),
)
def test_event_time_gives_the_results_of_counted_windows(seed, sub_windows, events, unit, real):
    random = np.random.default_rng(seed)
    values = random.lognormal(3, 2, sub_windows * events)
    values = values if real else values.astype(np.int64)
    counted = Operator(Query(3 * events, events)).push(values)
    offsets = np.sort(random.integers(0, 60, (sub_windows, events)), axis=1) + 60 * np.arange(sub_windows)[:, None]
    times = (np.datetime64("2026-05-01T12:00", "s") + offsets.ravel()).astype(f"datetime64[{unit}]")
    operator = Operator(Query("3 minutes", "1 minute"))
    timed = operator.push(values, times) + operator.finish()
    operator.check()
    assert np.array_equal(timed.rows[:, 1:], counted.rows[:, 1:])  # all but the number


@settings(max_examples=60)
@given(times=event_times(), seed=st.integers(0, 2**32), late=st.sampled_from(["0s", "2s", "90s"]), fine=st.booleans())
def test_results_and_counts_are_those_of_the_model_however_pushes_are_cut(times, seed, late, fine):
    random = np.random.default_rng(seed)
    times = times[:600]
    values = random.integers(0, 5_000, times.size)
    query = Query("8s", "2s", quantiles=(0.5, 0.9), lateness=late, digits=4 if fine else 3)
    model, whole, parts = TimedModel(query), Operator(query), Operator(query)
    windows = model.push(values.tolist(), times.tolist())
    results = whole.push(values, times.astype("datetime64[us]"))
    cuts = [0, *sorted(random.integers(0, times.size + 1, 4).tolist()), times.size]
    cut = parts.push(values[:0], times[:0].astype("datetime64[us]"))
    for start, stop in itertools.pairwise(cuts):
        cut += parts.push(values[start:stop], times[start:stop].astype("datetime64[us]").astype("datetime64[ns]"))
    for operator in (whole, parts):
        operator.check()
        assert (operator.late, operator.open) == (model.late, model.open)
    windows, results, cut = windows + model.finish(), results + whole.finish(), cut + parts.finish()
    check_results(query, results, windows)
    assert results == cut


@pytest.mark.parametrize("digits", [3, 4])
def test_an_event_before_the_sub_window_that_is_counted_now_is_used(digits):
    query = Query("3 minutes", "1 minute", lateness="1 minute", digits=digits)
    operator, model = Operator(query), TimedModel(query)
    pushes = [([5], [70]), ([6, 7], [50, 250]), ([8], [245])]
    results, windows = [], []
    for values, seconds in pushes:
        times = [START // (60 * SECOND) * 60 * SECOND + second * SECOND for second in seconds]
        results += operator.push(values, np.array(times, "datetime64[us]"))
        windows += model.push(values, times)
    assert operator.late == model.late == 0
    check_results(query, [*results, *operator.finish()], windows + model.finish())


@pytest.mark.parametrize("advanced", [False, True])
def test_finish_emits_no_window_after_the_time_of_advance(advanced):
    operator = Operator(Query("3 minutes", "1 minute"))
    operator.push([5], np.array(["2026-05-01T12:00:30"], "datetime64[us]"))
    ends = [result.end for result in operator.advance("2026-05-01T12:02")] if advanced else []
    ends += [result.end for result in operator.finish()]
    expected = ["2026-05-01T12:01", "2026-05-01T12:02"] if advanced else ["2026-05-01T12:01"]
    assert ends == [np.datetime64(end, "us") for end in expected]


def test_finish_emits_the_window_that_an_advance_has_reached():
    operator = Operator(Query("3 minutes", "1 minute"))
    operator.push([5], np.array(["2026-05-01T12:00:30"], "datetime64[us]"))
    operator.advance("2026-05-01T12:01:20")
    assert [result.end for result in operator.finish()] == [np.datetime64("2026-05-01T12:02", "us")]


def test_an_event_on_the_boundary_of_an_advance_has_its_window():
    operator = Operator(Query("3 minutes", "1 minute"))
    times = np.array(["2026-05-01T12:00:30", "2026-05-01T12:01:00"], "datetime64[us]")
    operator.push([5, 6], times)
    operator.advance("2026-05-01T12:01")
    assert [result.end for result in operator.finish()] == [np.datetime64("2026-05-01T12:02", "us")]


@pytest.mark.parametrize("moment", ["2026-05-01T12:01", "2026-05-01T12:01:20"])
@pytest.mark.parametrize("with_event", [False, True])
def test_an_operator_that_was_advanced_or_finished_can_be_saved(moment, with_event):
    query = Query("3 minutes", "1 minute")
    operator = Operator(query)
    if with_event:
        operator.push([5], np.array(["2026-05-01T12:00:30"], "datetime64[us]"))
    operator.advance(moment)
    loaded = Operator.load(query, operator.save())
    assert loaded.finish() == operator.finish()
    assert Operator.load(query, loaded.save()).save() == operator.save()


def test_nanoseconds_far_from_now_are_taken_as_microseconds():
    query = Query("3 minutes", "1 minute")
    times = np.array(["2200-01-01T12:00:30", "2200-01-01T12:01:10"], "datetime64[ns]")
    results = []
    for unit in ("ns", "us"):
        operator = Operator(query)
        results.append(operator.push([1, 2], times.astype(f"datetime64[{unit}]")) + operator.finish())
    assert results[0] == results[1] and len(results[0]) == 2


def test_nulls_nan_and_nat_are_refused_and_do_not_move_time():
    operator = Operator(Query("3 minutes", "1 minute", lateness="0s"))
    times = np.array(["2026-05-01T12:00:30", "2027-01-01", "NaT", "2026-05-01T12:00:40"], "datetime64[ns]")
    operator.push([1.0, np.nan, 2.0, 3.0], times)
    assert (operator.refused, operator.late, operator.open) == (2, 0, 2)


def test_times_beyond_reach_are_refused_and_change_nothing():
    operator = Operator(Query("3 minutes", "1 minute"))
    times = np.array([START, 2**61], "datetime64[us]")
    with pytest.raises(InputError, match="73,000 years"):
        operator.push([1, 2], times)
    assert (operator.refused, operator.late, operator.open) == (0, 0, 0)


@pytest.mark.parametrize("unit", ["us", "ns", "s"])
def test_times_of_another_byte_order_are_the_same_times(unit):
    times = (np.datetime64("2026-05-01T12:00", "s") + 7 * np.arange(40)).astype(f"datetime64[{unit}]")
    results = []
    for array in (times, times.astype(times.dtype.newbyteorder())):
        operator = Operator(Query("3 minutes", "1 minute"))
        results.append(operator.push(np.arange(40), array) + operator.finish())
        assert operator.late == 0
    assert results[0] == results[1] and len(results[0]) == 5


def test_the_nat_of_pandas_is_refused():
    pd = pytest.importorskip("pandas")
    times = pd.Series(pd.to_datetime(["2026-05-01T12:00", None, "2026-05-01T12:01"], utc=True))
    for form in (times, times.dt.tz_localize(None), times.tolist()):
        operator = Operator(Query("3 minutes", "1 minute"))
        operator.push([1, 2, 3], form)
        assert (operator.refused, operator.open) == (1, 2)


def test_nanoseconds_in_no_order_over_centuries_are_those_of_microseconds():
    random = np.random.default_rng(3)
    times = random.integers(-(2**62) + 1, 2**62, 4_000) // 1_000
    for days in (2, 10, 50):
        query = Query(f"{3 * days} days", f"{days} days", lateness="300 days")
        results = []
        for unit in ("us", "ns"):
            operator = Operator(query)
            array = times.astype("datetime64[us]").astype(f"datetime64[{unit}]")
            results.append((operator.push(np.arange(4_000), array) + operator.finish(), operator.late))
        assert results[0] == results[1]


def test_a_lateness_of_centuries_counts_in_nanoseconds_too():
    times = np.array(["1830-01-01", "2100-01-01", "1830-01-01"], "datetime64[ns]")
    operator = Operator(Query("30 days", "10 days", lateness="110000 days"))
    operator.push([1, 2, 3], times)
    assert (operator.late, operator.open) == (0, 3)


def test_a_sub_window_may_have_more_events_than_32_bits_can_count():
    query = Query("3 minutes", "1 minute", quantiles=(0.5,))
    operator = Operator(query)
    times = np.array(["2026-05-01T12:00:30"] * 3, "datetime64[us]")
    operator.push([1, 2, 2], times)
    counts = operator._open_counts()
    counts.numbers[:] = [2**30, 2**30 - 4]
    operator._merge_open(counts)
    operator.push([1], times[:1])
    assert operator.open == 2**31, "as many as fit, and one"
    assert Operator.load(query, operator.save()).open == 2**31
    results = operator.push([2, 2, 3], times)
    results += operator.finish()
    assert results.counts.tolist() == [2**31 + 3]
    assert results[0][0.5].low <= 1 <= results[0][0.5].high
