"""Buckets without gaps, narrow enough for the guarantee; a band that certifies most answers; sliding extremes."""

from decimal import Decimal

import numpy as np
import pytest
from fine_reference import SlidingMaximum, fine_band
from hypothesis import given
from hypothesis import strategies as st
from reference import exact_quantile, plain

from aomg import Operator, Query
from aomg.core.certainty import EXTRA, WIDEST, Z, partition
from aomg.core.counts import count_codes
from aomg.streams import pingmesh

CASES = [(1, 2.0), (1, 0.5), (2, 0.2), (2, 0.05), (3, 0.02), (3, 0.005), (3, 0.0051), (3, 0.011), (3, 0.9)]


@pytest.mark.parametrize(("digits", "guarantee"), CASES)
def test_buckets_cover_every_lead_once_in_order(digits, guarantee):
    leads = [lead for first, width in partition(digits, guarantee) for lead in range(first, first + width)]
    assert leads == list(range(10 ** (digits - 1), 10**digits))


@pytest.mark.parametrize(("digits", "guarantee"), CASES)
def test_one_value_of_a_bucket_is_within_the_guarantee_of_all_of_it(digits, guarantee):
    for first, width in partition(digits, guarantee):
        assert 1 <= width <= WIDEST
        assert (first + width) * (1 - guarantee) <= first * (1 + guarantee) * (1 + 1e-12)


def test_the_default_has_95_buckets_a_decade():
    assert len(partition(3, 0.02)) == 95


@given(seed=st.integers(0, 2**32), n=st.integers(1, 400), phi=st.sampled_from(["0.1", "0.5", "0.99", "1"]))
def test_whole_coarse_codes_from_reach_below_to_reach_above_are_kept(seed, n, phi):
    values = np.random.default_rng(seed).integers(0, 300, n).tolist()
    codes, counts = count_codes(np.array(values))
    ordered = sorted(values)
    rank = max(-(-n * Decimal(phi) // 1), 1)
    reach = int(Z * float(n * Decimal(phi) * (1 - Decimal(phi))) ** 0.5) + EXTRA
    kept, numbers = fine_band((Decimal(phi),), np.array([int(rank)]), codes // 10, codes, counts)
    low, high = ordered[max(int(rank) - reach, 1) - 1], ordered[min(int(rank) + reach, n) - 1]
    assert kept.tolist() == [c for c in codes.tolist() if low // 10 <= c // 10 <= high // 10]
    assert numbers.tolist() == [values.count(c) for c in kept.tolist()]


@pytest.mark.parametrize("settings", [{}, {"digits": 5}, {"digits": None}, {"digits": 3, "guarantee": 0.005}])
def test_nearly_every_answer_on_a_calm_stream_is_certified(settings):
    query = Query(16_384, 2_048, **settings)
    results = Operator(query).push(pingmesh(seed=5).take(5 * 16_384))
    for quantile in query.quantiles:
        methods = [r[quantile].method for r in results]
        assert sum(method in ("exact", "certified") for method in methods) >= 0.95 * len(results)
        assert all((r[quantile].low == r[quantile].high) == (r[quantile].method == "exact") for r in results)


def test_certified_raw_answers_are_the_exact_values():
    query = Query(4_096, 512, digits=None)
    values = np.random.default_rng(2).lognormal(6, 0.5, 6 * 4_096)
    seen = 0
    for result in Operator(query).push(values)[8::5]:
        window = plain(values[result.start : result.end])
        for quantile in query.quantiles:
            if result[quantile].method == "exact":
                seen += 1
                assert result[quantile].value == exact_quantile(window, quantile)
    assert seen > 20


@given(values=st.lists(st.integers(-9, 9), min_size=1, max_size=60), width=st.integers(1, 12), data=st.data())
def test_the_sliding_maximum_is_the_largest_live_value(values, width, data):
    sliding, live, number = SlidingMaximum(), {}, 0
    for value in values:
        number += data.draw(st.integers(1, 3))
        sliding.expire(number - width + 1)
        sliding.push(number, value)
        live[number] = value
        live = {n: v for n, v in live.items() if n > number - width}
        assert sliding.value == max(live.values())
        assert len(sliding) <= len(live)
