"""Buckets of leading digits: without gaps, and narrow enough for the guarantee."""

import pytest

from aomg.core.envelope import WIDEST, partition

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
