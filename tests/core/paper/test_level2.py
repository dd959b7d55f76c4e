"""Level 2 of fine parts: the compiled loops say what the slow reference says, bit for bit, and what the paper says."""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from arbitrary import FAMILIES, cuts_of, few_ks, settings_of_queries, streams
from fine_reference import SlowSliding
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import exact_quantile, plain, push_in_parts

from aomg import FewK, Operator, Query
from aomg.core.kernels.keys import restart
from aomg.core.kernels.paper.limbs import LIMBS, SUM_FIRST, SUM_WIDTH, add_to_sum, mean_of_sum
from aomg.core.kernels.paper.plans import (
    PLAN_COUNT,
    PLAN_FIRST,
    PLAN_LAST,
    PLAN_LOWER,
    PLAN_QUANTILE,
    PLAN_RANK,
    PLAN_TAIL,
    PLAN_TOP,
    PLAN_UPPER,
    PLAN_WORDS,
)
from aomg.core.kernels.paper.registers import AT_LIMBS, LEVEL_REGISTERS
from aomg.core.kernels.registers import METHOD_CERTIFIED, METHOD_EXACT, METHOD_MEAN, METHOD_SAMPLE_K, METHOD_TOP_K
from aomg.core.kernels.sortable import LARGEST_DOUBLE
from aomg.core.paper.few_k import rank_from_top, sample_positions, tail_sizes
from aomg.core.paper.plan import plan_of
from aomg.core.sliding import Sliding
from aomg.result import Results
from aomg.streams import pingmesh


def whole(drawn: Any) -> Any:
    """Settings of a query with a fine part, of any kind."""
    kind = drawn.draw(st.sampled_from(["raw", "digits", "lists", "free", "paper"]))
    settings = drawn.draw(settings_of_queries())
    if kind == "raw":
        settings |= {"digits": None}
    elif kind == "digits":
        settings |= {"digits": drawn.draw(st.sampled_from([4, 5, 6])), "guarantee": None}
    elif kind == "lists":
        settings |= {"few_k": replace(drawn.draw(few_ks()), always=True)}
    elif kind == "free":
        settings |= {"guarantee": False}
    else:
        settings |= {"digits": None, "guarantee": False, "as_paper": True}
    if drawn.draw(st.integers(0, 7)) == 0:
        settings |= {"as_paper": True}
    return settings


@dataclass
class Pair:
    """An operator and the slow Level 2 of the same query; every close of both is compared."""

    query: Query

    def __post_init__(self) -> None:
        self.operator, self.slow = Operator(self.query), SlowSliding(self.query)
        assert self.operator._sliding.has_fine

    def expect(self, number: int, parts: list[np.ndarray], *results: Results) -> None:
        """Close sub-window `number`, idle if it has no parts, and compare all that both know."""
        query, slow, sliding = self.query, self.slow, self.operator._sliding
        if parts:
            slow.close_as(number, parts)
        else:
            slow.expire(number)
        row = np.zeros(slow.columns, np.int64)
        densities = np.full((len(query.quantiles), 2), np.nan) if query.guarantee is None else None
        answers = slow.result(number, row, densities)
        results = [result for result in results if len(result)]
        assert sum(map(len, results)) == answers
        if answers:
            assert results[0].rows[0].tolist() == row.tolist(), (number, results[0][0])
            if densities is not None:
                assert results[0].densities[0].tobytes() == densities.tobytes()
        assert sliding.state.summaries() == slow.state.summaries()
        assert sliding.fine_variables() == slow.fine_variables()


def parts_of(random: np.random.Generator, size: int) -> list[np.ndarray]:
    """A sub-window's values of one temper or two: integers, doubles, or some of each."""
    cut = int(random.integers(0, size + 1)) if random.integers(4) == 0 else size
    families = random.choice(len(FAMILIES), 2)
    parts = [FAMILIES[family](random, n) for family, n in zip(families, (cut, size - cut), strict=True) if n]
    return [part + 0 for part in parts]


@settings(max_examples=300)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_counted_windows_are_those_of_the_slow_reference_bit_for_bit(data, seed):
    period = data.draw(st.sampled_from([1, 2, 7, 20, 64, 200]))
    query = Query(period * data.draw(st.sampled_from([1, 2, 3, 8])), period, **whole(data))
    random, pair = np.random.default_rng(seed), Pair(query)
    steady = random.integers(len(FAMILIES)) if random.integers(2) else None
    for number in range(14):
        parts = parts_of(random, period) if steady is None else [FAMILIES[steady](random, period)]
        pair.expect(number, parts, *[pair.operator.push(part) for part in parts])
        if number == 9 and data.draw(st.booleans()):
            pair.operator = Operator.load(query, pair.operator.save())
            assert pair.operator._state.summaries() == pair.slow.state.summaries()
            return
    if period > 1:
        values = parts_of(random, period - 1)
        parts = [pair.operator.push(part) for part in values]
        assert not any(map(len, parts))
        results = pair.operator.finish()
        if not query.as_paper:
            pair.expect(14, values, results)


@settings(max_examples=200)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_windows_in_event_time_are_those_of_the_slow_reference_bit_for_bit(data, seed):
    sub_windows = data.draw(st.sampled_from([1, 2, 4, 9]))
    query = Query(f"{sub_windows} s", "1 s", lateness="0 s", **whole(data))
    random, pair = np.random.default_rng(seed), Pair(query)
    most = data.draw(st.sampled_from([2, 20, 150]))
    steady = random.integers(len(FAMILIES)) if random.integers(2) else None
    for number in range(3, 20):
        if random.integers(5) == 0 or 11 <= number < 11 + sub_windows // 2:
            parts = []
        elif steady is None:
            parts = parts_of(random, int(random.integers(1, most)))
        else:
            parts = [FAMILIES[steady](random, int(random.integers(1, most)))]
        moment = np.datetime64(number * 1_000_000, "us")
        results = [pair.operator.push(part, np.full(part.size, moment)) for part in parts]
        results.append(pair.operator.advance(moment + np.timedelta64(1, "s")))
        if parts or pair.slow.state.live:
            pair.expect(number, parts, *results)


@settings(max_examples=100)
@given(data=st.data(), values=streams(), cuts=cuts_of(), cut=st.integers(0, 400))
def test_cuts_and_saving_change_nothing(data, values, cuts, cut):
    period = data.draw(st.sampled_from([1, 2, 7, 20, 64]))
    query = Query(period * data.draw(st.sampled_from([1, 2, 5, 20])), period, **whole(data))
    one, other = Operator(query), Operator(query)
    expected = one.push(values)
    results = push_in_parts(other, values[:cut], cuts)
    other = Operator.load(query, other.save())
    results = results + push_in_parts(other, values[cut:], cuts)
    if not any(result.burst for result in expected):  # a burst of long ago is not saved
        assert np.array_equal(results.rows, expected.rows)
    assert other.save() == one.save()
    assert other.variables_by_part() == one.variables_by_part()


@given(data=st.data(), seed=st.integers(0, 2**32))
def test_a_state_that_starts_again_is_as_good_as_new(data, seed):
    query = Query(40, 10, **whole(data))
    random = np.random.default_rng(seed)
    used, new = Sliding(query), Sliding(query)
    values = [FAMILIES[random.integers(len(FAMILIES))](random, 70) for _ in range(2)]
    for summary in all_summaries(query, values[0]):
        used.enter(summary)
    restart(used.state.words, used.level)
    for number, summary in enumerate(all_summaries(query, values[1])):
        answers = []
        for sliding in (used, new):
            sliding.enter(summary)
            sliding.state.check()
            answers.append(sliding.answer_empty(number, number + 1))
        (rows, densities), (new_rows, new_densities) = answers
        assert np.array_equal(rows, new_rows) and densities.tobytes() == new_densities.tobytes()
        assert used.fine_variables() == new.fine_variables()
        assert used.state.summaries() == new.state.summaries()


def all_summaries(query: Query, values: np.ndarray) -> list[bytes]:
    operator, summaries = Operator(query), []
    for part in values.reshape(-1, query.period):
        operator.push(part)
        summaries.append(operator._state.summaries()[-1])
    return summaries


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
    pair, results = Pair(query), Operator(query).push(values)
    for number, part in enumerate(values.reshape(-1, 500)):
        pair.expect(number, [part], pair.operator.push(part))
    methods = {int(method) for column in range(4) for method in results.methods(column)}
    assert methods == {METHOD_MEAN, METHOD_TOP_K, METHOD_SAMPLE_K}
    assert results.bursts.any() and not results.bursts.all()


@pytest.mark.parametrize(
    ("digits", "parts", "method"),
    [(None, 1, METHOD_EXACT), (5, 1, METHOD_EXACT), (None, 7, METHOD_EXACT), (5, 7, METHOD_CERTIFIED)],
)
def test_the_exact_code_is_found_in_the_bands_of_many_sub_windows(digits, parts, method):
    query = Query(40_000, 200, digits=digits, few_k=None)
    values = pingmesh(seed=8).take(60_000)
    values = values if parts == 1 else values / parts
    pair, methods = Pair(query), Counter()
    for number, part in enumerate(values.reshape(-1, 200)):
        results = pair.operator.push(part)
        pair.expect(number, [part], results)
        methods.update(int(results.methods(column)[0]) for column in range(4))
    assert methods[method] > 600


def test_lists_that_fill_the_ring_again_and_again_stay_the_same():
    random = np.random.default_rng(1)
    ties, spread = random.integers(0, 3, 4_000), random.integers(0, 10**9, 4_000)
    values = np.concatenate([ties, spread, ties, spread])
    for guarantee in (False, 0.02):
        few_k = FewK(fraction=1, high=0.5, threshold=1e6, always=True)
        pair = Pair(Query(2_000, 40, digits=None, guarantee=guarantee, few_k=few_k))
        for number, part in enumerate(values.reshape(-1, 40)):
            pair.expect(number, [part], pair.operator.push(part))


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
    offset = LEVEL_REGISTERS
    sum_[AT_LIMBS], sum_[offset + SUM_FIRST] = offset + SUM_WIDTH, LIMBS
    for value in values:
        add_to_sum(sum_, offset, value, weight, 1)
    for value in values[:gone]:
        add_to_sum(sum_, offset, value, weight, -1)
    for divisor in (1, len(values), weight, 2**32 - 1, 2**32, 2**32 + weight, 2**52 + 12345, 2**53 - 1, 2**53):
        exact = sum(map(Fraction, values[gone:])) * weight / divisor
        if abs(exact) <= Fraction(LARGEST_DOUBLE):
            assert mean_of_sum(sum_, offset, divisor) == float(exact)


# -- what is read from a sub-window ------------------------------------------------------------------------------------


@given(data=st.data(), count=st.integers(1, 64))
def test_a_plan_reads_inside_the_sub_window(data, count):
    query = Query(640, 64, **whole(data))
    plan = plan_of(query, count)
    columns = plan[PLAN_WORDS:][: PLAN_QUANTILE * len(query.quantiles)].reshape(-1, PLAN_QUANTILE)
    tails = len(query.high) if query.guarantee is None or query.keeps_lists else 0
    tails = plan[PLAN_WORDS + columns.size :][: PLAN_TAIL * tails].reshape(-1, PLAN_TAIL)
    assert plan[PLAN_COUNT] == count and 0 <= plan[PLAN_TOP] <= count
    around = (PLAN_LOWER, PLAN_UPPER) if query.guarantee is None else (PLAN_FIRST, PLAN_LAST)
    for column in (PLAN_RANK, *around):
        assert (columns[:, column] >= 1).all() and (columns[:, column] <= count).all()
    for depth, samples, turn, ranks in tails:
        assert 1 <= depth <= count and 0 <= samples <= depth and turn >= 0
        if turn:
            read = plan[ranks : ranks + samples]
            assert read.size == samples and (read >= 1).all() and (read + turn - 1 <= depth).all()
