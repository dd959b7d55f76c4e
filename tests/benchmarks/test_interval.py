from math import comb

import numpy as np
import pytest
from benchmarks.against.interval import LEAST, of_median
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("n", [6, 7, 15, 41])
def test_the_interval_contains_the_true_median_as_often_as_the_binomial_distribution_says(n):
    samples = np.random.default_rng(n).standard_cauchy((4_000, n))  # heavy tails: outliers are usual; the median is 0
    intervals = [of_median(sample) for sample in samples.tolist()]
    covered = np.mean([interval.low <= 0 <= interval.high for interval in intervals])
    # the narrowest interval between order statistics that still misses at most once in 40 times at each end
    missed = [sum(comb(n, i) for i in range(k)) / 2**n for k in range(n // 2)]
    expected = 1 - 2 * max(share for share in missed if share <= 0.025)
    assert covered == pytest.approx(expected, abs=4 * (expected * (1 - expected) / len(samples)) ** 0.5)
    assert expected >= 0.95
    below = np.mean([interval.high < 0 for interval in intervals])
    assert below == pytest.approx((1 - expected) / 2, abs=4 * (0.025 / len(samples)) ** 0.5)


@given(st.lists(st.floats(0.1, 10), min_size=LEAST, max_size=60), st.randoms())
def test_the_interval_is_made_of_values_around_the_median_in_any_order(values, random):
    interval = of_median(values)
    assert interval.low <= interval.median <= interval.high
    assert {interval.low, interval.high} <= set(values)
    assert interval.median == np.median(values)
    random.shuffle(values)
    assert of_median(values) == interval


def test_many_rounds_make_a_narrow_interval():
    interval = of_median([float(i) for i in range(2_001)])
    assert (interval.low, interval.high) == (956, 1_044)


def test_too_few_values_are_refused_with_how_many_are_needed():
    with pytest.raises(ValueError, match="give 6 or more"):
        of_median([1.0] * (LEAST - 1))
