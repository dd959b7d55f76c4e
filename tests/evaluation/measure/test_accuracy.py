"""The yardstick itself: exact ranks, exact quantiles, errors by rank and by value, and what is counted how."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.evaluation.measure import accuracy
from aomg.evaluation.measure.accuracy import QUANTILES, Windows, exact, exact_answers, measure, rank_error, ranks
from aomg.evaluation.measure.contenders import MODERN_RIVALS, PAPERS_RIVALS, default_aomg, paper_aomg, rival
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.result import Estimate

numbers = st.one_of(
    st.lists(st.integers(-20, 20), min_size=1, max_size=60),
    st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=60),
    st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60),
)
decimals = st.integers(1, 1000).map(lambda thousandths: f"{thousandths / 1000:.3f}")


def fixed(values, name="fixed"):
    """A source of these values."""
    values = np.asarray(values)
    return ValueSource(name, name, lambda events, start: values[start : start + events], values.size, str(hash(name)))


def slow_rank_error(window, answer, rank):
    """How far one must go from the rank, to both sides alike, until the answer lies between what is met."""
    ordered = [-math.inf] * window.size + sorted(window.tolist()) + [math.inf] * (window.size + 1)
    place = window.size + rank - 1
    return next(d for d in range(window.size + 1) if ordered[place - d] <= answer <= ordered[place + d]) / window.size


@given(content=numbers, data=st.data())
def test_a_rank_error_is_the_distance_to_where_the_answer_stands(content, data):
    window = np.array(content)
    rank = data.draw(st.integers(1, window.size))
    near = st.one_of(st.sampled_from(content), st.floats(-25, 25), st.floats(-1e13, 1e13))
    answer = float(data.draw(near))
    assert rank_error(window, answer, rank) == slow_rank_error(window, answer, rank)


def test_ties_do_not_make_a_right_answer_wrong():
    window = np.array([1, 5, 5, 5, 5, 5, 9])
    assert [rank_error(window, 5.0, rank) for rank in range(1, 8)] == [1 / 7, 0, 0, 0, 0, 0, 1 / 7]


@given(size=st.integers(1, 5_000), quantile=decimals)
def test_ranks_are_those_of_the_written_decimal(size, quantile):
    (rank,) = ranks((quantile,), size)
    smallest = next(r for r in range(max(rank - 1, 1), size + 1) if Fraction(r, size) >= Fraction(quantile))
    assert rank == smallest


def test_rank_55_of_100_is_not_56():
    assert ranks(("0.55", "0.999"), 100) == [55, 100]
    assert ranks(("0.999",), 131_072) == [131_072 - 131]


@given(content=numbers, phi=st.lists(decimals, min_size=1, max_size=5))
def test_the_exact_quantile_is_the_one_of_the_sorted_window(content, phi):
    window = np.array(content)
    before = window.copy()
    ordered = sorted(content)
    expected = [float(ordered[math.ceil(Fraction(quantile) * len(content)) - 1]) for quantile in phi]
    assert exact(window, tuple(phi)).tolist() == expected
    assert (window == before).all()


@pytest.mark.parametrize(("every", "ends"), [(1, [8, 10, 12, 14, 16]), (2, [8, 12, 16]), (9, [8])])
def test_windows_end_at_full_ones_only(every, ends):
    assert Windows(8, 2, 17, every).ends.tolist() == ends


def test_a_source_that_fills_no_window_has_no_answers():
    assert exact_answers(fixed(np.arange(7), "short"), Windows(8, 2, 7), QUANTILES).shape == (0, 4)


@dataclass
class ScriptedResult:
    """A result with one estimate."""

    estimate: Estimate
    burst: bool = False

    def __getitem__(self, quantile):
        return self.estimate


class Scripted:
    """A contender, and its own operator, that answers what it is told to, whatever comes."""

    title = "scripted"
    nbytes = 17

    @property
    def open(self):
        return self.seen % self.period

    def __init__(self, period, results):
        self.period, self.results, self.seen = period, list(results), 0

    def start(self, size, period, phi):
        return self

    def push(self, values):
        before, self.seen = self.seen, self.seen + values.size
        return self.results[before // self.period : self.seen // self.period]

    def variables(self):
        return 3

    def variables_by_part(self):
        return {"all": 3}


@pytest.mark.filterwarnings("error")
def test_errors_are_of_the_value_and_leave_out_exact_zeros():
    source = fixed([10, 0, -20, 40], "four")
    scripted = [ScriptedResult(Estimate(value, -50, 50, "mean", None, None)) for value in (11.0, 5.0, -30.0, 40.0)]
    measured = measure(Scripted(1, scripted), source, Windows(1, 1, 4), ("0.5",))
    assert measured["windows"] == 4
    assert measured["value_error"] == [pytest.approx((10 + 50 + 0) / 3)]
    assert measured["worst_value_error"] == [pytest.approx(50)]
    assert measured["bias"] == [pytest.approx((10 - 50 + 0) / 3)]
    assert measured["without_value_error"] == [1]
    assert measured["interval_width"] == [pytest.approx((1000 + 500 + 250) / 3)]
    assert (measured["variables"], measured["nbytes"], measured["analytical"]) == (3, 17, None)


def test_where_every_exact_value_is_zero_there_is_no_value_error():
    scripted = [ScriptedResult(Estimate(1.0, 0, 1, "mean", None, None))] * 3
    measured = measure(Scripted(1, scripted), fixed([0, 0, 0], "zeros"), Windows(1, 1, 3), ("0.5",))
    assert measured["value_error"] == [None]
    assert measured["without_value_error"] == [3]


def test_intervals_bounds_methods_and_bursts_are_counted():
    scripted = [
        ScriptedResult(Estimate(11.0, 10, 12, "exact", 1.0, 2.0)),
        ScriptedResult(Estimate(12.0, 11, 13, "mean", 1.0, 2.0), burst=True),
        ScriptedResult(Estimate(13.0, math.nan, math.nan, "mean", None, None)),
    ]
    measured = measure(Scripted(1, scripted), fixed([10, 10, 10], "tens"), Windows(1, 1, 3), ("0.5",), by_rank=True)
    assert (measured["intervals"], measured["intervals_kept"]) == ([2], [1])
    assert (measured["bounded"], measured["covered"], measured["covered_corrected"]) == ([2], [1], [2])
    assert measured["methods"] == [{"exact": 1, "mean": 2}]
    assert measured["bursts"] == 1
    assert measured["rank_error"] == [1.0]


def test_every_second_window_is_compared_with_its_own_truth():
    source = fixed(np.arange(1, 101), "ascending")
    scripted = [ScriptedResult(Estimate(float(end), 0, 200, "mean", None, None)) for end in range(10, 101, 10)]
    measured = measure(Scripted(10, scripted), source, Windows(10, 10, 100, every=3), ("1",))
    assert (measured["windows"], measured["value_error"]) == (4, [0.0])


@pytest.mark.parametrize("policy", ["exact", "exact-sorted"])
def test_an_exact_policy_has_no_error_of_any_kind(policy):
    measured = measure(rival(policy), of_stream("pingmesh"), Windows(8_192, 1_024, 30_000), by_rank=True)
    assert measured["windows"] == 22
    for kind in ("value_error", "worst_value_error", "rank_error", "worst_rank_error"):
        assert measured[kind] == [0.0] * 4
    assert measured["intervals_kept"] == measured["intervals"] == [22] * 4


@pytest.mark.parametrize("contender", [default_aomg(), paper_aomg()], ids=lambda one: one.title)
def test_aomg_answers_as_many_windows_as_there_are_and_keeps_its_intervals(contender):
    measured = measure(contender, of_stream("search"), Windows(16_384, 2_048, 60_000))
    assert measured["windows"] == 22
    assert measured["intervals_kept"] == measured["intervals"] == [22] * 4
    assert measured["nbytes"] > 0


@pytest.mark.parametrize("policy", [*PAPERS_RIVALS, *MODERN_RIVALS])
def test_every_rival_is_measured_on_the_same_windows(policy):
    measured = measure(rival(policy), of_stream("normal"), Windows(16_384, 4_096, 40_000), by_rank=True)
    assert measured["windows"] == 6
    assert max(measured["value_error"]) < 5
    assert max(measured["worst_rank_error"]) < 0.05  # 1 % of the value, around the median, is 8 % of the ranks
    assert measured["nbytes"] > 0


@pytest.mark.parametrize("contender", [default_aomg(), paper_aomg(), rival("exact")], ids=lambda one: one.title)
def test_space_is_the_most_that_was_held_before_any_close(contender):
    """In the third sub-window all values differ, in the others few do: it is long gone at the end."""
    random = np.random.default_rng(9)
    values = random.integers(1, 10, 20_000)
    values[2_000:3_000] = random.permutation(np.arange(1_000, 11_000, 10))
    measured = measure(contender, fixed(values, "one of many"), Windows(4_000, 1_000, 20_000))
    runner = contender.start(4_000, 1_000, ("0.5", "0.9", "0.99", "0.999"))
    runner.push(values[:2_999])
    assert measured["variables"] >= runner.variables()
    if measured["variables_by_part"] is not None:
        assert sum(measured["variables_by_part"].values()) == measured["variables"]
    runner.push(values[2_999:19_999])
    assert measured["variables"] > runner.variables()


def test_of_very_many_sub_windows_some_are_looked_at_and_the_answers_are_the_same(monkeypatch):
    source, windows = of_stream("pingmesh"), Windows(8_192, 1_024, 60_000)
    all_of_them = measure(default_aomg(), source, windows)
    monkeypatch.setattr(accuracy, "MOST_LOOKS", 7)
    some = measure(default_aomg(), source, windows)
    space = {"variables", "variables_by_part"}
    assert {key: some[key] for key in some if key not in space} == {k: all_of_them[k] for k in some if k not in space}
    assert 0.8 * all_of_them["variables"] < some["variables"] <= all_of_them["variables"]
