"""Level 1: counts merge exactly, in any order and any tree."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aomg import Operator, Query
from aomg.core.counts import Counts, FineCounts, count_codes, merge_pairs
from aomg.core.kernels.registers import BOTH, INTEGERS, NOTHING, REALS

codes_lists = st.lists(st.integers(-5, 30), max_size=40)


def counts_of(codes: list[int]) -> Counts:
    pairs = count_codes(np.array(codes, np.int64))
    low, high = (min(codes), max(codes)) if codes else (np.inf, -np.inf)
    kinds = {INTEGERS if code % 2 else REALS for code in codes}
    domain = BOTH if len(kinds) == 2 else kinds.pop() if kinds else NOTHING
    return Counts(*pairs, *count_codes(3 * np.array(codes, np.int64)), domain, low, high)


def said(counts: Counts) -> tuple:
    return (
        counts.codes.tolist(),
        counts.numbers.tolist(),
        counts.fine_codes.tolist(),
        counts.fine_numbers.tolist(),
        counts.domain,
        counts.minimum,
        counts.maximum,
    )


@given(codes=codes_lists)
def test_codes_are_counted(codes):
    pairs = count_codes(np.array(codes, np.int64))
    assert dict(zip(*(p.tolist() for p in pairs), strict=True)) == Counter(codes)
    assert pairs[0].tolist() == sorted(set(codes))


@given(parts=st.lists(codes_lists, min_size=1, max_size=8), data=st.data())
def test_counts_from_many_places_merge_in_any_tree_to_the_counts_of_the_whole(parts, data):
    whole = said(counts_of([code for part in parts for code in part]))
    forest = [counts_of(part) for part in parts]
    while len(forest) > 1:
        one = forest.pop(data.draw(st.integers(0, len(forest) - 1)))
        other = forest.pop(data.draw(st.integers(0, len(forest) - 1)))
        forest.append(one.merge(other))
    merged = said(forest[0])
    assert merged == whole
    assert forest[0].total == sum(map(len, parts))


@given(parts=st.lists(codes_lists, max_size=6))
def test_pairs_with_equal_codes_are_added_up(parts):
    pairs = [count_codes(np.array(p, np.int64)) for p in parts] or [(np.empty(0, np.int64), np.empty(0, np.int64))]
    codes, counts = merge_pairs(np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs]))
    assert dict(zip(codes.tolist(), counts.tolist(), strict=True)) == Counter(c for p in parts for c in p)
    assert (np.diff(codes) > 0).all()


@given(parts=st.lists(st.tuples(st.booleans(), codes_lists), max_size=8))
def test_fine_counts_are_the_same_however_they_come(parts):
    fine = FineCounts()
    for merged, codes in parts:
        array = np.array(codes, np.int64)
        if merged:
            fine.merge(*count_codes(array))
        else:
            fine.add(array)
    codes, ends = fine.ordered()
    codes = codes if ends is None else np.repeat(codes, np.diff(ends, prepend=0))
    assert codes.tolist() == sorted(c for _, p in parts for c in p)
    codes, numbers = fine.pairs()
    assert dict(zip(codes.tolist(), numbers.tolist(), strict=True)) == Counter(c for _, p in parts for c in p)
    assert fine.variables == 2 * codes.size
    fine.clear()
    assert fine.pairs()[0].size == 0


def test_a_long_buffer_is_sorted_away():
    fine = FineCounts()
    for _ in range(5):
        fine.add(np.arange(30_000) % 7)
    assert fine.variables < 130_000
    assert fine.pairs()[1].sum() == 150_000


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    others=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    digits=st.sampled_from([3, 5, None]),
)
def test_open_sub_windows_of_two_operators_merge_as_if_counted_in_one(values, others, digits):
    query = Query("2 s", "1 s", digits=digits, quantiles=(0.5, 0.99), thresholds=(0,))
    zero = np.zeros(1, "datetime64[s]")

    def opened(content):
        operator = Operator(query)
        operator.push(content, np.repeat(zero, len(content)))
        return operator

    one, other, whole = opened(values), opened(others), opened(values + others)
    assert said(one._open_counts().merge(other._open_counts())) == said(whole._open_counts())
    one._merge_open(other._open_counts())
    assert one.finish() == whole.finish()
