"""Few-k: how much of a tail is kept, what is read from it, and merged lists that come and go."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from fine_reference import OrderedCounts, largest, sample
from hypothesis import given
from hypothesis import strategies as st

from aomg import FewK, Query
from aomg.core.counts import count_codes
from aomg.core.paper.few_k import BURST_SAMPLES, rank_from_top, sample_positions, tail_sizes
from aomg.streams import pingmesh

some_codes = st.lists(st.integers(-9, 40), min_size=1, max_size=60)


def expanded(pairs) -> list[int]:
    return np.repeat(*pairs).tolist()


@pytest.mark.parametrize("phi", ["0.01", "0.5", "0.55", "0.9", "0.99", "0.999", "1", "0.000000001"])
def test_ranks_are_those_of_exact_decimals(phi):
    for n in range(1, 2001):
        rank = max(math.ceil(Fraction(phi) * n), 1)
        assert rank_from_top(Decimal(phi), n) == n - rank + 1
        if phi != "1" and n * Fraction(phi) >= 1:
            assert rank_from_top(Decimal(phi), n) == math.floor(n * (1 - Fraction(phi))) + 1


def test_the_papers_ranks_come_out():
    assert rank_from_top(Decimal("0.999"), 131_072) == 132
    assert rank_from_top(Decimal("0.999"), 1_000) == 2


@given(codes=some_codes, entries=st.integers(1, 70))
def test_the_largest_are_kept_with_their_multiplicity(codes, entries):
    kept = largest(*count_codes(np.array(codes)), min(entries, len(codes)))
    assert expanded(kept) == sorted(codes)[-min(entries, len(codes)) :]


@given(depth=st.integers(1, 500), samples=st.integers(1, 500), number=st.integers(0, 10**9))
def test_samples_are_as_many_as_asked_and_spread_over_the_depth(depth, samples, number):
    samples = min(samples, depth)
    for offset in ("rotate", "paper"):
        positions = sample_positions(depth, samples, number, offset)
        assert positions.size == samples
        assert positions.min() >= 1 and positions.max() <= depth
        assert (np.diff(positions) >= 1).all()
        assert np.diff(positions).max(initial=0) <= depth // samples + 1
        if samples == depth:
            assert positions.tolist() == list(range(1, depth + 1))
    assert sample_positions(depth, samples, number, "paper")[-1] == depth


def test_the_paper_takes_the_even_ranks_of_an_interval_of_two():
    assert sample_positions(10, 5, 3, "paper").tolist() == [2, 4, 6, 8, 10]


@pytest.mark.parametrize(("depth", "samples"), [(12, 4), (100, 10), (132, 66)])
def test_rotation_visits_every_position_equally_often(depth, samples):
    interval = depth // samples
    seen = Counter(p for number in range(interval) for p in sample_positions(depth, samples, number, "rotate").tolist())
    assert seen == dict.fromkeys(range(1, depth + 1), 1)


@pytest.mark.parametrize(("depth", "samples"), [(132, 50), (1311, 393), (7, 3)])
def test_rotation_is_unbiased_for_uneven_intervals_too(depth, samples):
    rounds = 4000
    seen = Counter(p for n in range(rounds) for p in sample_positions(depth, samples, n, "rotate").tolist())
    shares = np.cumsum([seen[p] for p in range(1, depth + 1)]) / rounds
    assert np.abs(shares - np.arange(1, depth + 1) * samples / depth).max() < 0.6
    assert abs(shares[depth // 2] - (depth // 2 + 1) * samples / depth) < 0.3


@given(codes=some_codes, data=st.data())
def test_samples_are_the_values_at_their_ranks(codes, data):
    positions = data.draw(st.lists(st.integers(1, len(codes)), min_size=1, max_size=10))
    picked = sample(*count_codes(np.array(codes)), np.array(sorted(positions)))
    descending = sorted(codes, reverse=True)
    assert expanded(picked) == sorted(descending[p - 1] for p in positions)


def test_a_fraction_of_the_exact_need_is_kept():
    query = Query.paper(131_072, 16_384, few_k=FewK(fraction=0.5))
    sizes = tail_sizes(query, Decimal("0.999"), 16_384)
    assert (sizes.depth, sizes.samples) == (132, 66)
    assert sizes.top == 0  # 16.4 values lie beyond: no statistical inefficiency
    query = Query.paper(131_072, 1_024, few_k=FewK(fraction=0.5))
    sizes = tail_sizes(query, Decimal("0.999"), 1_024)
    assert (sizes.depth, sizes.top, sizes.samples) == (132, 66, 66)


def test_top_lists_are_kept_where_fewer_than_the_threshold_lie_beyond():
    for period, wanted in ((8_192, True), (16_384, False)):
        query = Query.paper(131_072, period, few_k=FewK())
        assert (tail_sizes(query, Decimal("0.999"), period).top > 0) == wanted


@given(
    budget=st.integers(1, 4000),
    period=st.sampled_from([1024, 4096, 16_384]),
    phi=st.sampled_from(["0.99", "0.999"]),
)
def test_a_budget_is_shared_by_the_sub_windows_top_first(budget, period, phi):
    query = Query.paper(131_072, period, few_k=FewK(budget=budget))
    sizes = tail_sizes(query, Decimal(phi), period)
    entries = max(budget // query.sub_windows, 1)
    assert sizes.top + sizes.samples <= entries
    assert sizes.samples <= sizes.depth
    if sizes.top:
        assert sizes.top == entries or sizes.samples >= 0


def test_a_fraction_keeps_enough_entries_to_read_the_answer():
    for fraction in (0.01, 0.1, 0.5, 1):
        query = Query.paper(10_000, 100, few_k=FewK(fraction=fraction))
        need = rank_from_top(Decimal("0.999"), 10_000)
        assert tail_sizes(query, Decimal("0.999"), 100).top * query.sub_windows >= need


def test_without_few_k_samples_are_kept_for_the_burst_detector_only():
    query = Query(131_072, 16_384, guarantee=False, few_k=None)
    sizes = tail_sizes(query, Decimal("0.99"), 16_384)
    assert (sizes.depth, sizes.top, sizes.samples) == (1311, 0, BURST_SAMPLES)


@given(data=st.data())
def test_merged_lists_are_those_that_have_entered_and_not_left(data):
    merged, model, inside = OrderedCounts(), Counter(), []
    for _ in range(data.draw(st.integers(1, 12))):
        if inside and data.draw(st.booleans()):
            pairs = inside.pop(0)
            merged.remove(*pairs)
            model -= Counter(expanded(pairs))
        else:
            pairs = count_codes(np.array(data.draw(some_codes)))
            inside.append(pairs)
            merged.add(*pairs)
            model += Counter(expanded(pairs))
        assert dict(zip(merged.codes.tolist(), merged.counts.tolist(), strict=True)) == model
        assert (np.diff(merged.codes) > 0).all()
        assert merged.total == model.total()
        descending = sorted(model.elements(), reverse=True)
        assert [merged.largest(rank) for rank in range(1, merged.total + 1)] == descending
        low, high = sorted((data.draw(st.integers(-10, 41)), data.draw(st.integers(-10, 41))))
        assert expanded(merged.between(low, high)) == sorted(v for v in model.elements() if low <= v <= high)


def test_the_largest_are_found_deep_in_a_long_list():
    merged = OrderedCounts()
    merged.add(np.arange(5000), np.full(5000, 3))
    assert [merged.largest(r) for r in (1, 3, 4, 192, 193, 15_000)] == [4999, 4999, 4998, 4936, 4935, 0]


def test_rotation_removes_the_bias_of_the_papers_samples():
    """The paper takes the last of each interval: with many sub-windows its answers are too low on average."""
    period, sub_windows, phi = 2_048, 32, Decimal("0.999")
    need = rank_from_top(phi, period * sub_windows)
    samples = -(-need // 10)
    errors = {"rotate": [], "paper": []}
    for window in range(8):
        values = pingmesh(seed=window).take(period * sub_windows)
        exact = np.sort(values)[-need]
        for offset, signed in errors.items():
            merged = OrderedCounts()
            for number, part in enumerate(values.reshape(-1, period)):
                merged.add(*sample(*count_codes(part), sample_positions(need, samples, number, offset)))
            rank = -(-need * merged.total // (need * sub_windows))
            signed.append(merged.largest(rank) / exact - 1)
    assert np.mean(errors["paper"]) < -0.2
    assert abs(np.mean(errors["rotate"])) < 0.1
