"""Raw values as the paper ran them: the compiled loop says what closing sub-windows one by one says, bit for bit."""

from fractions import Fraction

import numpy as np
import pytest
from arbitrary import FAMILIES, QUANTILES, cuts_of, few_ks, streams
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import exact_quantile, plain, push_in_parts

from aomg import FewK, Operator, Query
from aomg.core.kernels.paper.limbs import LIMBS, SUM_FIRST, SUM_WIDTH, add_to_sum, mean_of_sum
from aomg.core.kernels.paper.plans import (
    PLAN_COUNT,
    PLAN_INDEX,
    PLAN_LOWER,
    PLAN_QUANTILE,
    PLAN_TAIL,
    PLAN_TOP,
    PLAN_UPPER,
    PLAN_WORDS,
)
from aomg.core.kernels.paper.registers import AT_LIMBS, LEVEL_REGISTERS
from aomg.core.kernels.registers import METHOD_MEAN, METHOD_SAMPLE_K, METHOD_TOP_K
from aomg.core.kernels.sortable import LARGEST_DOUBLE
from aomg.core.paper.few_k import rank_from_top, sample_positions, tail_sizes
from aomg.core.paper.raw import RawSliding, plan_of, suits
from aomg.core.sliding import Sliding


@st.composite
def raw_queries(draw) -> Query:
    """Queries that the loop takes: as the paper ran them, or weighted and from the first sub-window on."""
    period = draw(st.sampled_from([1, 2, 7, 20, 64]))
    size = period * draw(st.sampled_from([1, 2, 5, 20]))
    quantiles = draw(st.lists(st.sampled_from(QUANTILES), min_size=1, max_size=5, unique=True))
    few_k = draw(st.one_of(st.none(), few_ks()))
    if draw(st.booleans()):
        return Query.paper(size, period, quantiles, few_k)
    partial = draw(st.booleans())
    return Query(size, period, quantiles=quantiles, digits=None, guarantee=False, few_k=few_k, partial=partial)


def one_by_one(query: Query) -> Operator:
    """An operator that closes its sub-windows one by one, from counts, with core.refinement."""
    operator = Operator(query)
    operator._raw, operator._sliding = None, Sliding(query)
    operator._state = operator._sliding.state
    return operator


def told(operator: Operator) -> tuple:
    return operator.save(), operator.refused, operator.open, operator.variables_by_part(), operator.summary_nbytes


def same(one, other) -> bool:
    return np.array_equal(one.rows, other.rows) and one.densities.tobytes() == other.densities.tobytes()


@settings(max_examples=200)
@given(query=raw_queries(), values=streams(), cuts=cuts_of())
def test_the_loop_says_what_closing_one_by_one_says(query, values, cuts):
    loop, other = Operator(query), one_by_one(query)
    assert isinstance(loop._sliding, RawSliding) and not isinstance(other._sliding, RawSliding)
    assert same(push_in_parts(loop, values, cuts), push_in_parts(other, values, cuts))
    assert told(loop) == told(other)
    assert same(loop.finish(), other.finish())
    assert told(loop) == told(other)


@settings(max_examples=100)
@given(query=raw_queries(), values=streams(), cut=st.integers(0, 400), cuts=cuts_of())
def test_each_goes_on_from_what_the_other_saved(query, values, cut, cuts):
    loop, other = Operator(query), one_by_one(query)
    push_in_parts(loop, values[:cut], cuts)
    push_in_parts(other, values[:cut], cuts)
    loop = Operator.load(query, other.save())
    assert isinstance(loop._sliding, RawSliding)
    assert told(loop) == told(other)
    assert same(push_in_parts(loop, values[cut:], cuts), push_in_parts(other, values[cut:], cuts))
    assert told(loop) == told(other)


@given(query=raw_queries(), seed=st.integers(0, 2**32), parts=st.lists(st.integers(1, 150), min_size=2, max_size=8))
def test_integers_and_doubles_may_take_turns_inside_a_sub_window(query, seed, parts):
    random = np.random.default_rng(seed)
    loop, other = Operator(query), one_by_one(query)
    for size in parts:
        values = FAMILIES[random.integers(len(FAMILIES))](random, size)
        assert same(loop.push(values), other.push(values))
    assert told(loop) == told(other)


def bursting(size: int) -> np.ndarray:
    """Alike, then ten times as large for a while, twice."""
    values = np.random.default_rng(4).lognormal(6.7, 0.4, size)
    for first in (size // 3, 2 * size // 3):
        values[first : first + size // 20] *= 10
    return values


@pytest.mark.parametrize("fraction", [0.05, 0.2, 1])
@pytest.mark.parametrize("rounded", [False, True])
def test_every_outcome_of_the_papers_selection_is_reached_and_the_same(fraction, rounded):
    query = Query.paper(20_000, 500, few_k=FewK(fraction=fraction, high=0.9))
    values = np.rint(bursting(90_000)).astype(np.int64) if rounded else bursting(90_000)
    loop, other = Operator(query), one_by_one(query)
    results = push_in_parts(loop, values, range(0, values.size, 7_777))
    assert same(results, other.push(values))
    assert told(loop) == told(other)
    methods = {int(method) for column in range(4) for method in results.methods(column)}
    assert methods == {METHOD_MEAN, METHOD_TOP_K, METHOD_SAMPLE_K}
    assert results.bursts.any() and not results.bursts.all()


def test_lists_that_fill_the_ring_again_and_again_stay_the_same():
    query = Query.paper(4_000, 40, few_k=FewK(fraction=1, high=0.5, threshold=1e6))
    random = np.random.default_rng(1)
    ties, spread = random.integers(0, 3, 9_000), random.integers(0, 10**9, 9_000)
    values = np.concatenate([ties, spread, ties, spread])
    loop, other = Operator(query), one_by_one(query)
    assert same(loop.push(values), other.push(values))
    assert told(loop) == told(other)


# -- what the paper says, worked out in fractions ---------------------------------------------------------------------


def papers_answers(query: Query, window: list[list[float]], first: int) -> dict:
    """The mean of the sub-windows' quantiles, and what merged lists say, as the paper defines them."""
    answers = {}
    total = sum(map(len, window))
    ordered = [sorted(part, reverse=True) for part in window]
    sizes = {q: [tail_sizes(query, q, len(part)) for part in window] for q in query.high}
    entries = [max((sizes[q][i].top for q in query.high), default=0) for i in range(len(window))]
    merged = sorted((v for part, n in zip(ordered, entries, strict=True) for v in part[:n]), reverse=True)
    for q in query.quantiles:
        rank = rank_from_top(q, total)
        quantiles = [Fraction(exact_quantile(part, q)) for part in window]
        answers[q, "mean"] = float(sum(quantiles) / len(quantiles))
        if all(entries) and rank <= len(merged):
            answers[q, "top-k"] = merged[rank - 1]
        if q in query.high:
            samples = []
            for i, part in enumerate(ordered):
                places = sample_positions(sizes[q][i].depth, sizes[q][i].samples, first + i, query.few_k.offset)
                samples += [part[place - 1] for place in places]
            sampled = -(-rank * len(samples) // sum(size.depth for size in sizes[q]))
            if sampled <= len(samples):
                answers[q, "sample-k"] = sorted(samples, reverse=True)[sampled - 1]
    return answers


@pytest.mark.parametrize("offset", ["rotate", "paper"])
@pytest.mark.parametrize("fraction", [0.1, 0.37, 1])
def test_means_and_merged_lists_are_those_that_the_paper_defines(fraction, offset):
    query = Query.paper(6_000, 300, few_k=FewK(fraction=fraction, high=0.9, offset=offset))
    values = bursting(24_000)
    seen = set()
    for result in Operator(query).push(values):
        window = [plain(part) for part in values[result.start : result.end].reshape(-1, 300)]
        answers = papers_answers(query, window, result.start // 300)
        for q in query.quantiles:
            estimate = result[q]
            seen.add(estimate.method)
            assert estimate.value == min(max(answers[q, estimate.method], estimate.low), estimate.high)
    assert seen == {"mean", "top-k", "sample-k"}


# -- sums without rounding --------------------------------------------------------------------------------------------


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30),
    weight=st.integers(1, 2**31 - 1),
    gone=st.integers(0, 29),
)
def test_a_mean_is_the_exact_one_rounded_once_whatever_has_left(values, weight, gone):
    sum_ = np.zeros(LEVEL_REGISTERS + SUM_WIDTH + LIMBS, np.int64)
    at = LEVEL_REGISTERS
    sum_[AT_LIMBS], sum_[at + SUM_FIRST] = at + SUM_WIDTH, LIMBS
    for value in values:
        add_to_sum(sum_, at, value, weight, 1)
    for value in values[:gone]:
        add_to_sum(sum_, at, value, weight, -1)
    for divisor in (1, len(values), weight, 2**32 - 1):
        exact = sum(map(Fraction, values[gone:])) * weight / divisor
        if abs(exact) <= Fraction(LARGEST_DOUBLE):
            assert mean_of_sum(sum_, at, divisor) == float(exact)


# -- which queries it takes, and what is read -------------------------------------------------------------------------


def test_the_loop_takes_raw_values_without_a_guarantee_counted_in_elements():
    assert suits(Query.paper(100, 10)) and suits(Query(100, 10, digits=None, guarantee=False))
    assert not suits(Query.paper("100 s", "10 s"))
    assert not suits(Query(100, 10, guarantee=False))
    assert not suits(Query(100, 10, digits=None))
    assert not suits(Query(100, 10, digits=None, guarantee=False, thresholds=(1,)))


@given(query=raw_queries(), count=st.integers(1, 64))
def test_a_plan_reads_inside_the_sub_window(query, count):
    plan = plan_of(query, count)
    columns = plan[PLAN_WORDS:][: PLAN_QUANTILE * len(query.quantiles)].reshape(-1, PLAN_QUANTILE)
    tails = plan[PLAN_WORDS + columns.size :][: PLAN_TAIL * len(query.high)].reshape(-1, PLAN_TAIL)
    assert plan[PLAN_COUNT] == count and 0 <= plan[PLAN_TOP] <= count
    for column in (PLAN_INDEX, PLAN_LOWER, PLAN_UPPER):
        assert (columns[:, column] >= 0).all() and (columns[:, column] < count).all()
    for depth, samples, turn, ranks in tails:
        assert 1 <= depth <= count and 0 <= samples <= depth and turn >= 0
        if turn:
            read = plan[ranks : ranks + samples]
            assert read.size == samples and (read >= 1).all() and (read + turn - 1 <= depth).all()
