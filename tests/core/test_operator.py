"""One stream, one query: splits, orders, saving and forgetting change nothing."""

import array

import numpy as np
import pyarrow as pa
import pytest
from arbitrary import counted_queries, cuts_of, streams, timed_queries
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Window, check_results, counted_windows, plain, push_in_parts

from aomg import FewK, FinishedError, Operator, Query


def told(operator: Operator) -> tuple:
    return operator.refused, operator.late, operator.open, operator.variables()


# -- splits and orders ---------------------------------------------------------------------------------------------


@given(query=counted_queries(), values=streams(), cuts=cuts_of())
def test_a_stream_in_parts_gives_the_results_of_the_whole_bit_for_bit(query, values, cuts):
    whole, parts = Operator(query), Operator(query)
    assert push_in_parts(parts, values, cuts) == whole.push(values)
    assert (parts.refused, parts.open) == (whole.refused, whole.open)
    assert parts.finish() == whole.finish()


@given(query=counted_queries((3, 20, 64)), values=streams(), seed=st.integers(0, 2**32))
def test_the_order_of_elements_inside_a_sub_window_changes_nothing(query, values, seed):
    random = np.random.default_rng(seed)
    shuffled = values.copy()
    for first in range(0, values.size, query.period):
        random.shuffle(shuffled[first : first + query.period])
    one, other = Operator(query), Operator(query)
    assert one.push(values) == other.push(shuffled)
    assert one.finish() == other.finish()


@given(values=streams(200), cuts=cuts_of(200))
def test_refused_elements_change_nothing_but_their_count(values, cuts):
    query = Query(30, 10, thresholds=(0,))
    dirty = np.insert(values.astype(float), [min(c, values.size) for c in cuts], np.nan)
    one, other = Operator(query), Operator(query)
    assert one.push(values.astype(float)) == other.push(dirty)
    assert other.refused == len(cuts)


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        lambda v: v.astype(np.int16),
        lambda v: v.astype(np.uint32),
        lambda v: v.astype(">i8"),
        lambda v: np.repeat(v, 2)[::2],
        pa.array,
        lambda v: pa.chunked_array([v[:10], v[10:]]),
        lambda v: np.ma.masked_array(v, mask=False),
        lambda v: range(int(v[0]), int(v[0]) + len(v)),
    ],
)
def test_any_array_or_sequence_of_integers_is_the_same_stream(convert):
    values = np.arange(100, 164)
    query = Query(20, 5)
    assert Operator(query).push(convert(values)) == Operator(query).push(values)


@pytest.mark.parametrize(
    "convert",
    [
        list,
        lambda v: v.astype(np.float32),
        lambda v: v.astype(">f8"),
        pa.array,
        lambda v: v[::-1][::-1],
    ],
)
def test_any_array_or_sequence_of_floats_is_the_same_stream(convert):
    values = np.arange(64) * 0.25
    query = Query(20, 5)
    assert Operator(query).push(convert(values)) == Operator(query).push(values)


def test_read_only_arrays_can_be_pushed_and_are_left_as_they_are():
    values = np.arange(64)
    values.flags.writeable = False
    query = Query(20, 5)
    assert Operator(query).push(values) == Operator(query).push(np.arange(64))
    assert (values == np.arange(64)).all()


def test_nulls_of_arrow_arrays_are_refused():
    query = Query(4, 2, quantiles=(0.5,))
    operator = Operator(query)
    results = operator.push(pa.array([1, None, 2, 3, None, 4]))
    check_results(query, results, counted_windows(query, [1, 2, 3, 4]))
    assert operator.refused == 2


def test_masked_elements_are_refused():
    query = Query(4, 2, quantiles=(0.5,))
    operator = Operator(query)
    results = operator.push(np.ma.masked_array([1, 9, 2, 3, 9, 4], mask=[0, 1, 0, 0, 1, 0]))
    check_results(query, results, counted_windows(query, [1, 2, 3, 4]))
    assert operator.refused == 2


# -- saving ---------------------------------------------------------------------------------------------------------


@settings(max_examples=120)
@given(query=counted_queries(), values=streams(), cut=st.integers(0, 400), cuts=cuts_of())
def test_saving_and_loading_at_any_point_changes_nothing(query, values, cut, cuts):
    operator = Operator(query)
    push_in_parts(operator, values[:cut], cuts)
    data = operator.save()
    loaded = Operator.load(query, data)
    assert loaded.save() == data
    assert told(loaded) == told(operator)
    assert loaded.push(values[cut:]) == operator.push(values[cut:])
    assert loaded.finish() == operator.finish()
    assert loaded.save() == operator.save()


@given(query=timed_queries(), values=streams(150), cut=st.integers(0, 150), seed=st.integers(0, 2**32))
def test_saving_in_event_time_at_any_point_changes_nothing(query, values, cut, seed):
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(-60, 900, values.size)) + random.integers(-20, 1, values.size)
    times = times.astype("datetime64[s]")
    operator = Operator(query)
    operator.push(values[:cut], times[:cut])
    data = operator.save()
    loaded = Operator.load(query, data)
    assert loaded.save() == data
    assert told(loaded) == told(operator)
    assert loaded.push(values[cut:], times[cut:]) == operator.push(values[cut:], times[cut:])
    assert loaded.advance(np.datetime64(1000, "s")) == operator.advance(np.datetime64(1000, "s"))
    assert loaded.finish() == operator.finish()


def test_a_finished_operator_stays_finished_when_loaded():
    query = Query(4, 2)
    operator = Operator(query)
    operator.push([1, 2, 3])
    operator.finish()
    with pytest.raises(FinishedError, match="new one"):
        Operator.load(query, operator.save()).push([1])


def test_saving_does_not_disturb_the_operator():
    query = Query(60, 10, digits=None, few_k=FewK(always=True))
    values = np.random.default_rng(0).lognormal(3, 1, 333)
    saved, left = Operator(query), Operator(query)
    for first in range(0, 333, 7):
        saved.save()
        assert saved.push(values[first : first + 7]) == left.push(values[first : first + 7])


# -- the past is forgotten ------------------------------------------------------------------------------------------


@given(query=counted_queries(), values=streams(), drop=st.integers(0, 300))
def test_a_result_depends_on_its_window_and_the_sub_window_before_it_alone(query, values, drop):
    """Element numbers decide where sampling starts: the fresh stream begins a multiple of all intervals later."""
    if query.keeps_lists or (query.guarantee is None and query.high):
        query = Query(
            query.size,
            query.period,
            query.quantiles,
            query.thresholds,
            query.digits,
            few_k=None,
            partial=query.partial,
        )
    drop = drop // query.period * query.period
    old = Operator(query).push(values)
    fresh = Operator(query).push(values[drop:])
    skipped = query.sub_windows + 1 if query.partial else 2
    shift = drop // query.period
    for row in range(skipped, len(fresh)):
        was, now = old.rows[row + shift], fresh.rows[row].copy()
        now[0] += shift
        assert np.array_equal(was, now)


@pytest.mark.parametrize("settings_", [{}, {"digits": None, "few_k": FewK(always=True)}, {"guarantee": False}])
def test_a_result_after_many_slides_is_that_of_a_fresh_operator_fed_the_last_window(settings_):
    random = np.random.default_rng(11)
    query = Query("40 s", "5 s", thresholds=(500.0,), lateness="0 s", **settings_)
    times = np.cumsum(random.integers(0, 400, 20_000)).astype("datetime64[ms]")
    values = np.exp(np.cumsum(random.normal(0, 0.02, 20_000))) * random.lognormal(5, 1, 20_000)
    whole = Operator(query)
    results = whole.push(values, times) + whole.finish()
    for cut in (5_000, 12_345, 19_000):
        begin = times[cut].astype("datetime64[us]").astype(np.int64) // query.period * query.period
        first = int(np.searchsorted(times.astype("datetime64[us]").astype(np.int64), begin))
        operator = Operator(query)
        fresh = operator.push(values[first:], times[first:]) + operator.finish()
        settled = len(fresh) - query.sub_windows - 1
        assert fresh[-settled:] == results[-settled:]


def test_a_million_slides_leave_no_trace():
    query = Query(64, 2, thresholds=(1000,))
    random = np.random.default_rng(5)
    values = np.rint(random.lognormal(6.7, 0.8, 2_000_000)).astype(np.int64)
    operator = Operator(query)
    last = operator.push(values)[-1:]
    fresh = Operator(query).push(values[-2 * 33 :])[-1:]
    assert last[0].end == 2_000_000
    assert np.array_equal(last.rows[:, 1:], fresh.rows[:, 1:])
    check_results(query, last, [Window(2_000_000, plain(values[-64:]), 32)])


@pytest.mark.soak
@pytest.mark.parametrize("settings_", [{"digits": None}, {"guarantee": False}])
def test_many_slides_at_full_resolution_leave_no_trace(settings_):
    query = Query(32, 2, few_k=None, **settings_)
    values = np.random.default_rng(5).lognormal(6.7, 0.8, 200_000)
    last = Operator(query).push(values)[-1:]
    fresh = Operator(query).push(values[-2 * 17 :])[-1:]
    assert np.array_equal(last.rows[:, 1:], fresh.rows[:, 1:])


# -- the ring ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings_",
    [{"guarantee": 0.005}, {"digits": 6, "guarantee": 0.005}, {"digits": 2}, {"guarantee": False}],
)
@pytest.mark.parametrize("period", [5, 97])
def test_nothing_goes_wrong_when_summaries_need_more_and_more_room(settings_, period):
    random = np.random.default_rng(period)
    query = Query(120 * period, period, few_k=None, **settings_)
    wide = 10.0 ** random.uniform(-12, 12, 170 * period)
    narrow = 10.0 ** random.uniform(0, 1, 130 * period)
    values = np.concatenate([narrow, wide, narrow, wide * random.choice([-1, 1], wide.size)])
    operator = Operator(query)
    results = push_in_parts(operator, values, range(0, values.size, 701))
    windows = counted_windows(query, plain(values))
    check_results(query, results[::17], windows[::17])
    check_results(query, results[-3:], windows[-3:])


@settings(max_examples=30)
@given(
    sizes=st.lists(st.tuples(st.integers(-300, 300), st.integers(0, 40), st.integers(1, 60)), min_size=1, max_size=12),
    sub_windows=st.sampled_from([2, 9, 40]),
)
def test_summaries_of_any_size_may_follow_each_other(sizes, sub_windows):
    random = np.random.default_rng(1)
    parts = [10.0 ** random.uniform(low, min(low + span, 308), n * 4) for low, span, n in sizes]
    values = np.concatenate(parts)
    query = Query(8 * sub_windows, 8, quantiles=(0.5, 0.99), guarantee=0.005)
    results = Operator(query).push(values)
    windows = counted_windows(query, plain(values))
    check_results(query, results[-25:], windows[-25:])


# -- living and ending ---------------------------------------------------------------------------


def test_finish_answers_for_what_is_open_and_ends_the_stream():
    query = Query(10, 5, quantiles=(0.5,))
    operator = Operator(query)
    operator.push(range(7))
    check_results(query, operator.finish(), counted_windows(query, range(7), finish=True)[-1:])
    for call in (operator.finish, lambda: operator.push([1])):
        with pytest.raises(FinishedError, match="new one"):
            call()


def test_finish_owes_nothing_when_nothing_is_open():
    operator = Operator(Query(10, 5))
    assert len(operator.finish()) == 0
    operator = Operator(Query(10, 5))
    operator.push(range(10))
    assert len(operator.finish()) == 0


def test_state_is_a_few_thousand_variables_and_says_for_what():
    operator = Operator(Query(131_072, 16_384))
    from aomg.streams import pingmesh

    operator.push(pingmesh().take(262_144 + 8_000))
    assert sum(operator.variables_by_part().values()) == operator.variables() < 20_000
    assert 0 < operator.summary_nbytes < operator.nbytes


def test_a_constant_stream_keeps_one_pair_open_and_is_told_exactly():
    for digits in (1, 3, 6, None):
        query = Query(100, 10, digits=digits)
        operator = Operator(query)
        results = operator.push([4242] * 205)
        operator.save()  # what waits to be sorted is counted
        assert operator.variables_by_part()["open sub-windows"] == (2 if digits in (1, 3) else 4)
        if digits is None:
            assert all(r[q].value == 4242 for r in results for q in query.quantiles)
        assert all(r[q].low <= 4242 <= r[q].high for r in results for q in query.quantiles)
        assert all(r.minimum == r.maximum == 4242 for r in results)


def test_operators_are_made_of_queries_only():
    from aomg import InputError

    with pytest.raises(InputError, match="Query"):
        Operator("1 hour")


@pytest.mark.parametrize("values", [array.array("q", range(1000)), np.arange(1000, dtype=np.longlong)])
def test_integers_of_any_64_bit_type_are_integers(values):
    (result,) = Operator(Query(1000, 1000)).push(values)
    assert (result[0.5].low, result[0.5].high) == (499.0, 499.0)
