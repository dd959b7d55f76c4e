"""The burst detector: its score is the definition's, bursts are found, calm streams are left alone."""

import numpy as np
import pytest
from fine_reference import limit, score
from hypothesis import given
from hypothesis import strategies as st

from aomg import FewK, Operator, Query
from aomg.core.counts import count_codes
from aomg.streams import pingmesh, with_bursts

codes = st.one_of(
    st.lists(st.integers(-20, 20), min_size=1, max_size=40),
    st.lists(st.integers(-200, 200), min_size=1, max_size=60, unique=True),
)


@given(new=codes, old=codes)
def test_the_score_is_the_mean_sign_over_all_pairs(new, old):
    defined = sum((x > y) - (x < y) for x in new for y in old) / (len(new) * len(old))
    assert score(count_codes(np.array(new)), count_codes(np.array(old))) == pytest.approx(defined, abs=1e-12)


@pytest.mark.parametrize(
    "settings",
    [{}, {"digits": None}, {"guarantee": False}, {"guarantee": False, "digits": None, "few_k": None}],
)
def test_the_reported_score_is_that_of_the_two_newest_tails(settings):
    """With an envelope it is told from bucket counts, without one from samples: both near the raw definition."""
    period, sub_windows = 2_000, 5
    values = pingmesh(seed=4).take(6 * period)
    values[4 * period : 5 * period] = np.rint(values[4 * period : 5 * period] * 1.15)
    query = Query(sub_windows * period, period, quantiles=(0.99,), **settings)
    results = Operator(query).push(values)
    depth = int(period * sub_windows * 0.01) + 1
    tails = [np.sort(part)[-depth:] for part in values.reshape(-1, period)]
    for result, new, old in zip(results[1:], tails[1:], tails, strict=False):
        defined = np.sign(new[:, None] - old[None, :]).mean()
        assert result.burst_score == pytest.approx(defined, abs=0.12)
    assert results[0].burst_score == 0


@given(seed=st.integers(0, 2**32), shift=st.integers(0, 2))
def test_the_score_told_from_buckets_is_the_definitions_where_each_bucket_holds_one_value(seed, shift):
    """Ties everywhere, also where the tail begins: only its part of a tie is compared."""
    period, sub_windows = 1_000, 10
    random = np.random.default_rng(seed)
    levels = np.rint(1000 * 1.3 ** np.arange(14)).astype(np.int64)
    parts = [levels[np.minimum(random.geometric(0.25, period) + shift * (i == 3), 13)] for i in range(5)]
    results = Operator(Query(sub_windows * period, period, quantiles=(0.99,))).push(np.concatenate(parts))
    tails = [np.sort(part)[-(period * sub_windows // 100 + 1) :] for part in parts]
    for result, new, old in zip(results[1:], tails[1:], tails, strict=False):
        defined = np.sign(new[:, None] - old[None, :]).mean()
        assert result.burst_score == pytest.approx(defined, abs=1e-12)


def test_too_few_values_cannot_tell():
    assert limit(0.5, 9, 100, 1000) is None
    assert limit(0.5, 100, 9, 1000) is None
    assert limit(0.5, 10_000, 10_000, 100_000) == 0.5
    assert limit(0.5, 40, 40, 10_000) is None
    assert 0.5 < limit(0.5, 60, 60, 10_000) < 1


@pytest.mark.parametrize("settings", [{}, {"digits": None}, {"guarantee": False}, {"few_k": None}])
@pytest.mark.parametrize("period", [16_384, 4_096])
def test_every_burst_of_the_papers_injection_is_found_and_calm_gives_no_alarm(settings, period):
    size = 131_072 if period == 16_384 else 32_768
    stream = with_bursts(pingmesh(seed=2), size, period, quantile=0.999 if period == 16_384 else 0.99)
    results = Operator(Query(size, period, **settings)).push(stream.take(6 * size))
    newest = [r.burst for r in results]
    bursty = [(r.end // period) % (size // period) == 0 for r in results]
    assert newest == bursty


@pytest.mark.parametrize("query", [Query(131_072, 16_384), Query.paper(131_072, 16_384, few_k=FewK())])
def test_no_false_alarm_in_hundreds_of_calm_sub_windows(query):
    operator = Operator(query)
    for part in pingmesh(seed=9).chunks(300 * 16_384, 50 * 16_384):
        assert not operator.push(part).bursts.any()


@pytest.mark.parametrize("settings", [{}, {"guarantee": False}])
def test_a_burst_that_goes_on_is_told_until_the_tail_falls_back(settings):
    period = 4_000
    values = pingmesh(seed=3).take(12 * period)
    values[4 * period : 7 * period] *= 10
    results = Operator(Query(8 * period, period, **settings)).push(values)
    assert [r.burst for r in results] == [False] * 4 + [True] * 3 + [False] * 5


def test_a_new_normal_is_no_burst_for_ever():
    period, sub_windows = 2_000, 4
    values = pingmesh(seed=3).take(14 * period)
    values[4 * period :] *= 10
    for settings in ({}, {"guarantee": False}):
        results = Operator(Query(sub_windows * period, period, **settings)).push(values)
        assert [r.burst for r in results] == [False] * 4 + [True] * sub_windows + [False] * 6


def test_a_burst_stops_deciding_exactly_one_window_later():
    period, sub_windows = 8_192, 8
    values = pingmesh(seed=6).take(30 * period)
    tail = np.argsort(values[10 * period : 11 * period])[-100:]
    values[10 * period + tail] *= 10
    query = Query.paper(sub_windows * period, period, quantiles=(0.5, 0.999), few_k=FewK(threshold=0))
    results = Operator(query).push(values)
    methods = {r.end // period - 1: r[0.999].method for r in results}
    assert methods == {
        number: "sample-k" if 10 <= number < 10 + sub_windows else "mean" for number in range(sub_windows - 1, 30)
    }
    assert {r[0.5].method for r in results} == {"mean"}


def test_smaller_tails_are_no_burst():
    period = 4_000
    values = pingmesh(seed=3).take(8 * period)
    values[4 * period :] //= 10
    assert not Operator(Query(4 * period, period)).push(values).bursts.any()
