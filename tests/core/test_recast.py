"""Summaries answer other queries: other quantiles, longer windows, several keys in one."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg import FewK, Query
from aomg.core.keyed import SUMMARY, TALLY, KeyedWindows, KeyRows
from aomg.core.recast import Recast, is_same_summary
from aomg.core.tally import tally
from aomg.errors import QueryError, StateError

WRITTEN = Query(1000, 100, quantiles=(0.5, 0.99), thresholds=(400.0, 1000.0))


def summaries_of(query, keys, numbers, values):
    """The summary of each key and sub-window, as bytes."""
    fleet, span = KeyedWindows(query), int(numbers.max()) + 1
    tallies = tally(fleet.sliding, keys * span + numbers, values)
    nothing = np.zeros(tallies.groups.size, np.int64)
    rows = KeyRows(
        tallies.groups // span, tallies.groups % span, nothing + TALLY, nothing, tallies.offsets, tallies.data
    )
    size = int(keys.max()) + 1
    closed = fleet.slide(rows, np.zeros(size, np.int64), np.zeros(size, np.int64), answering=False)
    bounds = closed.summaries.offsets
    return {
        (int(closed.summaries.keys[i]), int(closed.summaries.numbers[i])): closed.summaries.data[
            bounds[i] : bounds[i + 1]
        ].tobytes()
        for i in range(closed.summaries.keys.size)
    }


def windows_of(query, records, end):
    """The results of one key whose summaries these are."""
    numbers = np.array(sorted(records), np.int64)
    content = [records[int(number)] for number in numbers]
    nothing = np.zeros(numbers.size, np.int64)
    offsets = np.cumsum([0, *map(len, content)], dtype=np.int64)
    data = np.frombuffer(b"".join(content), np.uint8).copy()
    rows = KeyRows(nothing, numbers, nothing + SUMMARY, nothing, offsets, data)
    return KeyedWindows(query).slide(rows, np.zeros(1, np.int64), np.array([end], np.int64)).results


FINE = {
    "five digits": WRITTEN.replace(digits=5),
    "raw values": WRITTEN.replace(digits=None),
    "the finest guarantee": WRITTEN.replace(digits=4, guarantee=0.005),
    "a coarse guarantee": WRITTEN.replace(digits=None, guarantee=0.3),
    "few-k lists": WRITTEN.replace(few_k=FewK(always=True)),
    "few-k lists of two digits": WRITTEN.replace(digits=2, few_k=FewK(always=True)),
    "few-k lists of raw values": WRITTEN.replace(digits=None, few_k=FewK(budget=50, always=True)),
}


def coarse(query):
    """The query that the fine summaries of another can answer."""
    return query.replace(digits=2 if query.digits == 2 else 3, few_k=None)


def rank(quantile, size):
    return max(math.ceil(Fraction(str(quantile)) * size), 1)


def drawn(seed, real):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(20, 3000))
    values = rng.lognormal(6, rng.uniform(0.1, 3), size)
    return rng.integers(0, 4, size), rng.integers(0, 12, size), values if real else values.astype(np.int64)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 12))
def test_a_roll_up_with_other_quantiles_keeps_interval_and_guarantee(seed, real, sub_windows):
    keys, numbers, values = drawn(seed, real)
    asked = Query(100 * sub_windows, 100, quantiles=(0.999, 0.1, 0.5, 0.95, 1), thresholds=(1000.0,))
    recast, stored = Recast(WRITTEN, asked), summaries_of(WRITTEN, keys, numbers, values)
    for record in stored.values():
        recast.check(record)
    rolled_up = {n: recast([r for (_, m), r in sorted(stored.items()) if m == n]) for n in {n for _, n in stored}}
    results = windows_of(asked, rolled_up, 12)
    assert len(results) > 0
    for result in results:
        end = result.end // 100
        window = np.sort(values[(numbers < end) & (numbers >= end - sub_windows)])
        assert (result.count, result.minimum, result.maximum) == (window.size, window[0], window[-1])
        for quantile in asked.quantiles:
            exact, estimate = window[rank(quantile, window.size) - 1], result[quantile]
            assert estimate.low <= exact <= estimate.high
            assert abs(estimate.value - exact) <= 0.02 * exact
        share = result.below(1000.0)
        assert share.low <= np.mean(window <= 1000) <= share.high


@settings(deadline=None, max_examples=12)
@pytest.mark.parametrize("name", FINE)
@given(seed=st.integers(0, 10_000), real=st.booleans(), sub_windows=st.integers(1, 12))
def test_fine_summaries_answer_a_query_of_three_digits_with_their_guarantee(name, seed, real, sub_windows):
    keys, numbers, values = drawn(seed, real)
    if seed % 2:  # sub-windows of which the band knows only a part
        keys, numbers, values = keys.repeat(9) % 2, numbers.repeat(9) % 3, (values[:, None] * np.arange(1, 10)).ravel()
    if seed % 3 == 0:
        values = -values
    written = FINE[name]
    changes = {"size": 100 * sub_windows, "quantiles": (0.999, 0.1, 0.5, 0.95, 1), "thresholds": (1000.0,)}
    recast, asked = Recast(written, coarse(written).replace(**changes)), coarse(written).replace(**changes)
    stored = summaries_of(written, keys, numbers, values)
    for record in stored.values():
        recast.check(record)
    rolled_up = {n: recast([r for (_, m), r in sorted(stored.items()) if m == n]) for n in {n for _, n in stored}}
    for result in windows_of(asked, rolled_up, 12):
        end = result.end // 100
        window = np.sort(values[(numbers < end) & (numbers >= end - sub_windows)])
        assert (result.count, result.minimum, result.maximum) == (window.size, window[0], window[-1])
        for quantile in asked.quantiles:
            exact, estimate = window[rank(quantile, window.size) - 1], result[quantile]
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.low <= exact <= estimate.high
            assert abs(estimate.value - exact) <= written.guarantee * abs(exact) * (1 + 1e-12)
        share = result.below(1000.0)
        assert share.low <= np.mean(window <= 1000) <= share.high


@pytest.mark.parametrize("name", FINE)
def test_one_fine_summary_has_its_own_quantiles_to_their_code(name):
    keys, numbers, values = drawn(8, True)
    written = FINE[name]
    recast, asked = Recast(written, coarse(written)), coarse(written)
    kept = summaries_of(written, np.zeros_like(keys), numbers, values)
    own = summaries_of(asked, np.zeros_like(keys), numbers, values)
    converted = windows_of(asked, {n: recast([record]) for (_, n), record in kept.items()}, 12)
    for quantile in asked.quantiles:
        expected = windows_of(asked, {n: record for (_, n), record in own.items()}, 12)
        np.testing.assert_array_equal(converted.values(quantile), expected.values(quantile))


@pytest.mark.parametrize("long", [10**18 - 1, 2**53 + 1, -(2**62)])
def test_raw_longs_beyond_2_to_the_53_are_refused_where_a_code_might_not_cover_them(long):
    keys, numbers = np.zeros(40, np.int64), np.zeros(40, np.int64)
    values = np.array([long, 5] * 20)
    written = WRITTEN.replace(digits=None)
    ((_, record),) = summaries_of(written, keys, numbers, values).items()
    with pytest.raises(StateError, match=r"raw integers beyond 2\^53"):
        Recast(written, coarse(written))([record])
    assert Recast(written, written)([record]) == record
    six = WRITTEN.replace(digits=6)
    ((_, record),) = summaries_of(six, keys, numbers, values).items()
    result = windows_of(coarse(six), {0: Recast(six, coarse(six))([record])}, 1)[0]
    assert result[0.5].low <= np.sort(values)[19] <= result[0.5].high
    assert result[0.99].low <= np.sort(values)[39] <= result[0.99].high


@pytest.mark.parametrize("name", FINE)
def test_a_fine_query_gets_no_converted_summaries_and_the_error_says_what_to_ask_for(name):
    written = FINE[name]
    keys, numbers, values = drawn(9, False)
    records = list(summaries_of(written, keys, numbers, values).values())[:2]
    for requested, given_records in ((written, records), (written.replace(quantiles=(0.9,)), records[:1])):
        with pytest.raises(StateError, match=r"^use query\.replace\((.*?)\): other quantiles") as refused:
            Recast(written, requested)(given_records)
        advised = eval(re.search(r"query\.replace\(.*?\)", str(refused.value))[0], {"query": written})
        assert Recast(written, advised)(records)


def test_the_same_query_gets_the_same_bytes():
    keys, numbers, values = drawn(1, False)
    recast = Recast(WRITTEN, WRITTEN.replace(size=500, partial=False))
    for record in summaries_of(WRITTEN, keys, numbers, values).values():
        assert recast([record]) == record


def test_fewer_quantiles_answer_as_if_they_had_been_asked_alone_and_exactly_where_the_band_knows():
    keys, numbers, values = drawn(3, False)
    keys = np.zeros_like(keys)
    asked = WRITTEN.replace(quantiles=(0.99,), thresholds=())
    recast = Recast(WRITTEN, asked)
    stored = summaries_of(WRITTEN, keys, numbers, values)
    own = summaries_of(asked, keys, numbers, values)
    told = windows_of(asked, {n: recast([record]) for (_, n), record in stored.items()}, 12)
    alone = windows_of(asked, {n: record for (_, n), record in own.items()}, 12)
    np.testing.assert_array_equal(told.values(0.99), alone.values(0.99))


def test_the_order_of_the_keys_does_not_matter():
    keys, numbers, values = drawn(4, True)
    recast = Recast(WRITTEN, WRITTEN.replace(quantiles=(0.9,)))
    stored = summaries_of(WRITTEN, keys, numbers, values)
    records = [record for (_, n), record in stored.items() if n == 5]
    assert len(records) > 1
    assert recast(records) == recast(records[::-1])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Query(1000, 200), "period"),
        (Query(1000, 100, digits=2, guarantee=0.2), "digits"),
        (Query(1000, 100, guarantee=0.05), "guarantee"),
        (Query("1 hour", "1 minute"), "counted in events, the query asks for windows in time"),
        (Query(1000, 100, thresholds=(77.0,)), "threshold 77"),
    ],
)
def test_what_the_summaries_cannot_answer_is_refused_by_name(asked, said):
    with pytest.raises(StateError, match=said):
        Recast(WRITTEN, asked)


def test_a_refusal_has_durations_as_people_write_them_and_a_query_that_can_be_asked():
    written = Query("1 hour", "1 minute", guarantee=False)
    with pytest.raises(StateError) as refused:
        Recast(written, Query("1 hour", "5m", guarantee=False))
    assert str(refused.value) == (
        "the summaries have period '1m', the query asks for '5m'; use theirs: "
        "Query(size, period='1m', digits=3, guarantee=False)"
    )


def test_a_damaged_summary_is_refused():
    keys, numbers, values = drawn(5, False)
    recast = Recast(WRITTEN, WRITTEN)
    record = next(iter(summaries_of(WRITTEN, keys, numbers, values).values()))
    for damaged in (b"", record[:-8], record + bytes(8), record[:8] + b"\xff" * 8 + record[16:]):
        with pytest.raises(StateError):
            recast.check(damaged)


def test_lists_belong_to_the_query_that_kept_them():
    kept = Query(1000, 100, few_k=FewK(always=True))
    assert is_same_summary(kept, kept)
    assert not is_same_summary(kept, kept.replace(size=2000))
    assert is_same_summary(WRITTEN, WRITTEN.replace(size=2000))
    keys, numbers, values = drawn(6, False)
    records = list(summaries_of(kept, keys, numbers, values).values())[:2]
    with pytest.raises(StateError, match="few-k lists"):
        Recast(kept, kept)(records)


@pytest.mark.parametrize("digits", [3, 5, None])
def test_summaries_without_a_guarantee_answer_only_their_own_query(digits):
    free = WRITTEN.replace(digits=digits, guarantee=False)
    keys, numbers, values = drawn(6, False)
    records = list(summaries_of(free, keys, numbers, values).values())[:2]
    assert Recast(free, free)(records[:1]) == records[0]
    for requested in (free, free.replace(quantiles=(0.9,)), free.replace(size=2000)):
        with pytest.raises(StateError, match="without a guarantee have no sums"):
            Recast(free, requested)(records)
    with pytest.raises(StateError, match="the summaries have"):
        Recast(free, WRITTEN)


@pytest.mark.parametrize(
    "query",
    [
        Query("1 hour", "1 minute", thresholds=(0.25, 1e300)),
        Query.paper(1000, 100, few_k=FewK(budget=7, offset="paper")),
        Query(1000, 100, digits=5, guarantee=0.01, few_k=FewK(always=True, threshold=3), lateness="3 hours"),
        Query(1000, 100, quantiles=("0.000000001", 1), few_k=None),
    ],
)
def test_the_text_of_a_query_says_all_of_it(query):
    assert Query.parse(query.text()) == query
    assert Query.parse(query.text()).fingerprint == query.fingerprint


def test_the_text_of_another_version_is_refused():
    with pytest.raises(QueryError, match="version 1"):
        Query.parse(WRITTEN.text().replace("aomg 1", "aomg 2"))
