"""The band: whole codes around each quantile, wide enough that most answers are exact."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import exact_quantile, plain

from aomg import Operator, Query
from aomg.core.band import EXTRA, Z, fine_band
from aomg.core.counts import count_codes
from aomg.streams import pingmesh


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
def test_nearly_every_answer_on_a_calm_stream_is_certified_exact(settings):
    query = Query(16_384, 2_048, **settings)
    results = Operator(query).push(pingmesh(seed=5).take(5 * 16_384))
    for quantile in query.quantiles:
        exact = sum(r[quantile].method == "exact" for r in results)
        assert exact >= 0.95 * len(results)


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
