"""A summary of few codes is a list of them: smaller, and the answers are those of rows."""

import numpy as np
import pytest
from arbitrary import cuts_of, streams
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import exact_quantile

from aomg import Operator, Query, StateError
from aomg.core.codes import middles
from aomg.core.kernels import registers as r
from aomg.core.kernels.code_lists import ALWAYS_LISTED
from aomg.core.keyed import LIVE, KeyedWindows, KeyRows
from aomg.core.recast import Recast
from aomg.core.sliding import Sliding
from aomg.core.summary import checked_summary

HOUR = Query("1 hour", "1 minute")
PERIODS = (1, 2, 5, 20, 60, 200, 300, 900)


def with_rows(query: Query) -> Operator:
    """An operator whose summaries are rows, whatever they hold."""
    operator = Operator(query)
    operator._state.words[r.LISTS_CODES] = 0
    return operator


def listed(operator: Operator) -> list[bool]:
    state = operator._state
    return [state.is_listed(start) for start in state.summary_starts().tolist()]


def totals(operator: Operator) -> list:
    """The sliding totals of every super with live counts: of its buckets, and of the codes of the band."""
    words = operator._state.words
    supers = []
    for super_ in operator._state._active_supers(words).tolist():
        place = int(words[words[r.AT_PLACE] + super_])
        buckets, codes = int(words[r.AT_TOTAL]) + 16 * place, int(words[r.AT_FINE]) + 256 * place
        supers.append((super_, words[buckets : buckets + 16].tolist(), words[codes : codes + 256].tolist()))
    return supers


@st.composite
def queries(draw):
    period = draw(st.sampled_from(PERIODS))
    quantiles = draw(
        st.lists(st.sampled_from([0.001, 0.1, 0.25, 0.5, 0.501, 0.502, 0.9, 0.99, 0.999, 1.0]), min_size=1, unique=True)
    )
    thresholds = draw(st.lists(st.sampled_from([0.0, 10.0, 99.5, 1e4, -3.0]), unique=True))
    guarantee, digits = draw(st.sampled_from([(0.02, 3), (0.05, 3), (0.1, 2), (0.6, 1), (0.005, 3)]))
    size = period * draw(st.sampled_from([1, 2, 7]))
    return Query(size, period, quantiles=quantiles, thresholds=thresholds, guarantee=guarantee, digits=digits)


@settings(max_examples=150)
@given(query=queries(), values=streams(2_000), cuts=cuts_of(2_000))
def test_answers_do_not_depend_on_the_form_of_a_summary(query, values, cuts):
    lists, rows = Operator(query), with_rows(query)
    for part in np.split(values, sorted(cut for cut in cuts if cut <= values.size)):
        assert np.array_equal(lists.push(part).rows, rows.push(part).rows)
        lists.check()
        assert totals(lists) == totals(rows)
    assert np.array_equal(lists.finish().rows, rows.finish().rows)
    assert not any(listed(rows))
    if query.period <= ALWAYS_LISTED:
        assert all(listed(lists))
    assert lists.summary_nbytes <= rows.summary_nbytes or query.period > ALWAYS_LISTED


@settings(max_examples=60)
@given(query=queries(), values=streams(2_000), cut=st.integers(0, 2_000))
def test_rows_of_before_and_lists_are_live_together(query, values, cut):
    """Saved with rows only, loaded, and continued with lists."""
    before = with_rows(query)
    first = before.push(values[:cut])
    loaded = Operator.load(query, before.save())
    results = loaded.push(values[cut:]) + loaded.finish()
    loaded.check()
    whole = Operator(query)
    assert np.array_equal((first + results).rows, (whole.push(values) + whole.finish()).rows)


def summary_of(values, query: Query = HOUR) -> bytes:
    """The bytes of the summary of one sub-window."""
    operator = Operator(query)
    operator.push(values, np.full(len(values), "2026-05-01T12:00", "datetime64[us]"))
    operator.finish()
    (summary,) = operator._state.summaries()
    return summary


@pytest.mark.parametrize(("events", "most"), [(1, 40), (5, 50), (60, 120), (200, 300), (1_000, 600)])
@pytest.mark.parametrize("median", [0.8, 800, 1e9])
@pytest.mark.parametrize("integers", [False, True])
def test_a_summary_is_as_small_as_promised(events, most, median, integers):
    random = np.random.default_rng(events)
    for _ in range(20):
        values = median * random.lognormal(0, 0.3, events)
        assert len(summary_of(values.astype(np.int64) if integers else values)) <= most


def test_a_day_of_sparse_minutes_is_small():
    operator = Operator(Query("24 hours", "1 minute"))
    random = np.random.default_rng(3)
    times = np.datetime64("2026-05-01", "us") + np.arange(1_440 * 60) * np.timedelta64(1, "s")
    operator.push(random.lognormal(6.7, 0.4, times.size), times)
    operator.finish()
    assert operator._state.live == 1_440
    assert operator.summary_nbytes <= 170_000


def test_many_equal_values_are_a_list():
    assert len(summary_of(np.full(1_000_000, 17))) <= 40


@given(values=streams(200))
def test_a_list_does_not_depend_on_the_quantiles_and_thresholds_of_the_query(values):
    values = values[np.isfinite(values)] if values.dtype == np.float64 else values
    if values.size:
        other = Query("2 hours", "1 minute", quantiles=(0.25, 1.0), thresholds=(5.0,))
        assert summary_of(values) == summary_of(values, other)


@settings(max_examples=60)
@given(values=streams(200), seed=st.integers(0, 2**32))
def test_rolled_up_lists_are_the_list_of_all_events(values, seed):
    values = values[np.isfinite(values)] if values.dtype == np.float64 else values
    if values.size == 0:
        return
    query = Query("1 hour", "1 minute")
    requested = query.replace(quantiles=(0.1, 0.5, 0.999), size="2 hours")
    keys = np.random.default_rng(seed).integers(0, 3, values.size)
    parts = [summary_of(values[keys == key]) for key in range(3) if np.any(keys == key)]
    assert Recast(query, requested)(parts) == summary_of(values)


@settings(max_examples=60)
@given(values=streams(200), quantile=st.sampled_from([0.01, 0.25, 0.6, 0.95, 1.0]))
def test_other_quantiles_of_lists_are_exact(values, quantile):
    values = values[np.isfinite(values)] if values.dtype == np.float64 else values
    if values.size == 0:
        return
    query = Query("1 minute", "1 minute")
    requested = query.replace(quantiles=(quantile,))
    sliding = Sliding(requested)
    summary = Recast(query, requested)([summary_of(values, query)])
    windows = KeyedWindows(requested)
    content = np.frombuffer(summary, np.uint8)
    one, none = np.zeros(1, np.int64), np.zeros(1, np.int64)
    rows = KeyRows(none, one, np.full(1, 2), none, np.array([0, content.size]), content)
    (result,) = windows.slide(rows, none, np.ones(1, np.int64)).results
    exact = exact_quantile(values.tolist(), quantile)
    code = sliding.dense.codes(np.array([exact], values.dtype))
    domain = 1 if values.dtype == np.int64 else 0
    low, high = sliding.dense.intervals(code, domain)
    assert low[0] <= result[quantile].low <= exact <= result[quantile].high <= high[0]
    assert np.isfinite(middles(sliding.dense, code, domain)).all()


def test_sums_of_lists_stand_in_for_them():
    query = Query("1 hour", "1 minute", thresholds=(900.0,))
    windows = KeyedWindows(query)
    random = np.random.default_rng(4)
    operator = Operator(query)
    times = np.datetime64("2026-05-01T12:00", "us") + np.arange(40 * 30) * np.timedelta64(2, "s")
    operator.push(random.lognormal(6.7, 0.4, times.size), times)
    operator.finish()
    summaries = operator._state.summaries()
    assert all(listed(operator))
    data = np.frombuffer(b"".join(summaries), np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(summary) for summary in summaries])])
    size = len(summaries)
    first = int(np.frombuffer(summaries[0], np.int64)[0])
    numbers = first + np.arange(size)
    zeros = np.zeros(size, np.int64)
    live = KeyRows(zeros, numbers, np.full(size, LIVE), zeros, offsets, data)
    counts, minima, maxima = live.heads()
    assert counts.tolist() == [30] * size and np.all(minima < maxima)
    sums = windows.add_up(live)
    assert sums.keys.size == 2
    live_to, ends = np.array([first + size]), np.array([first + size + 10])
    results = [windows.slide(rows, live_to, ends).results for rows in (live, sums)]
    assert len(results[0]) == 10 and results[0] == results[1]


@settings(max_examples=200)
@given(values=streams(100), position=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_damaged_lists_are_refused_or_read_to_their_end(values, position, byte):
    values = values[np.isfinite(values)] if values.dtype == np.float64 else values
    if values.size == 0:
        return
    query = Query("1 hour", "1 minute")
    summary = bytearray(summary_of(values))
    summary[position % len(summary)] ^= byte
    state = Sliding(query).state.words
    try:
        checked_summary(state, None, bytes(summary))
    except StateError:
        return
    sliding = Sliding(query)
    sliding.enter(bytes(summary))
    sliding.check()


@pytest.mark.parametrize("change", ["shorter", "longer", "padding", "another query"])
def test_bytes_that_are_no_list_are_refused(change):
    summary = summary_of(np.arange(1, 30))
    query = Query("1 hour", "1 minute")
    state = Sliding(query).state.words
    checked_summary(state, None, summary)
    if change == "shorter":
        summary = summary[:-8]
    elif change == "longer":
        summary += bytes(8)
    elif change == "padding":
        assert summary[-1] == 0
        summary = summary[:-1] + b"\x01"
    else:
        state = Sliding(query.replace(digits=4)).state.words
    with pytest.raises(StateError):
        checked_summary(state, None, summary)
