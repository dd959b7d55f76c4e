"""Conditions: certain never errs, possible never misses, and whatever is wrong is said before the start."""

import contextlib
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import MINUTE, queries, query, rows

from aomg.durations import UNITS
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.intervals import CERTAIN, POINT, POSSIBLE, Interval, compare
from aomg.monitor.rules.joins import Joined, Sufficient
from aomg.monitor.rules.language import DEEPEST, constant, parse

COMPARED = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
WORKED_OUT = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
NAMES = ("inbound.p50", "inbound.p99", "outbound.p99")
TWO = queries(query(unit=None), query("outbound", unit=None))


def truth(text, by_name=None, least=0, **tables):
    """The truth of a condition on rows given as query={label: {...}}, by label: (certain, point, possible)."""
    by_name = by_name or queries()
    windows = {name: rows(MINUTE, table, name) for name, table in tables.items()}
    joined = Joined(("podset",), dict.fromkeys(by_name, ("podset",)), windows)
    holds = parse(text, by_name).truth(Sufficient(joined, least)).holds
    return {label[0]: tuple(holds[:, row].tolist()) for row, label in enumerate(joined.labels)}


def one(text, by_name=None, **quantities):
    return truth(text, by_name, inbound={"a": quantities})["a"]


# -- certain and possible ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds, expected",
    [
        ((4001.0, 4100.0, 4200.0), (True, True, True)),
        ((3900.0, 4100.0, 4200.0), (False, True, True)),
        ((3900.0, 3950.0, 4200.0), (False, False, True)),
        ((3900.0, 3950.0, 4000.0), (False, False, False)),
        ((4000.0, 4000.0, 4000.0), (False, False, False)),
    ],
)
def test_a_comparison_is_certain_when_the_whole_interval_is_beyond_and_possible_when_a_part_is(bounds, expected):
    assert one("p99 > 4ms", p99=bounds) == expected


def test_the_tail_against_the_median_is_certain_only_when_its_low_is_beyond_ten_times_the_high():
    assert one("p99 > 10 * p50", p99=(1000.0, 1100.0, 1200.0), p50=(90.0, 95.0, 99.0)) == (True, True, True)
    assert one("p99 > 10 * p50", p99=(1000.0, 1100.0, 1200.0), p50=(90.0, 95.0, 100.0)) == (False, True, True)


def test_counts_and_bursts_are_exact():
    assert one("count < 100", count=99) == (True, True, True)
    assert one("2 * count == 200 and count / 4 == 25 and count - 1 != 100", count=100) == (True, True, True)
    assert one("burst and not (count > 100)", burst=True, count=100) == (True, True, True)
    assert one("not burst", burst=True) == (False, False, False)


def test_the_largest_of_longs_that_no_double_can_hold_is_not_taken_as_exact():
    rounded_up = 2.0**53 + 2
    assert one(f"max > {2**53 + 1}", max=rounded_up) == (False, True, True)
    assert one(f"min < {2**53 + 3}", min=rounded_up, max=1e18) == (False, True, True)


def test_what_has_no_bounds_is_possible_and_never_certain():
    unknown = (np.nan, 5000.0, np.nan)
    assert one("p99 > 4ms", p99=unknown) == (False, True, True)
    assert one("not (p99 > 4ms)", p99=unknown) == (False, False, True)


def test_where_the_divisor_may_be_zero_nothing_is_certain_and_everything_possible():
    divided = {"p99": 100.0, "p50": (0.0, 5.0, 10.0)}
    for text in ("p99 / p50 > 1000", "p99 / p50 < 1000", "not (p99 / p50 > 1000)"):
        certain, _, possible = one(text, **divided)
        assert (certain, possible) == (False, True)


bounded = (
    st.integers(-12, 12).map(lambda n: n / 4)
    | st.floats(-1e6, 1e6)
    | st.floats(allow_nan=False, width=32).filter(np.isfinite)
)
intervals = st.lists(bounded, min_size=3, max_size=3).map(sorted).map(tuple)
numbers = st.integers(0, 20).map(str) | st.sampled_from(["0.5", "0.25", "1024", "3.75"])
quantities = st.deferred(
    lambda: (
        st.sampled_from(NAMES)
        | numbers
        | st.tuples(quantities, st.sampled_from("+-*/"), quantities)
        | st.tuples(st.just("-"), quantities)
    )
)
comparisons = st.tuples(quantities, st.sampled_from(sorted(COMPARED)), quantities)
conditions = st.deferred(
    lambda: (
        comparisons
        | st.just("inbound.burst")
        | st.tuples(conditions, st.sampled_from(["and", "or"]), conditions)
        | st.tuples(st.just("not"), conditions)
    )
)


def written(tree):
    return tree if isinstance(tree, str) else "(" + " ".join(map(written, tree)) + ")"


def exact(tree, values):
    """The truth or quantity by exact arithmetic; raises ZeroDivisionError where there is none."""
    if isinstance(tree, str):
        return values[tree] if tree in values else Fraction(tree)
    if len(tree) == 2:
        part = exact(tree[1], values)
        return not part if tree[0] == "not" else -part
    left, right = exact(tree[0], values), exact(tree[2], values)
    if tree[1] in ("and", "or"):
        return (left and right) if tree[1] == "and" else (left or right)
    return (COMPARED | WORKED_OUT)[tree[1]](left, right)


def names_in(tree):
    return {tree} if isinstance(tree, str) else set().union(*map(names_in, tree))


@settings(max_examples=300)
@given(
    conditions,
    st.tuples(*[intervals] * 3),
    st.booleans(),
    st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=8),
)
def test_certain_holds_for_every_exact_value_in_the_intervals_and_what_holds_is_possible(tree, bounds, burst, shares):
    text = written(tree)
    assume(len(text) < 1000)
    try:
        parsed = parse(text, TWO)
    except ConfigError as refused:  # constants compared with constants, or divided by zero
        assume("two constants" not in str(refused) and "zero" not in str(refused) and "levels" not in str(refused))
        raise
    tables = {
        "inbound": {"a": {"p50": bounds[0], "p99": bounds[1], "burst": burst}},
        "outbound": {"a": {"p99": bounds[2]}},
    }
    windows = {name: rows(MINUTE, table, name) for name, table in tables.items()}
    joined = Joined(("podset",), dict.fromkeys(TWO, ("podset",)), windows)
    certain, _, possible = parsed.truth(Sufficient(joined, 0)).holds[:, 0]
    assert not certain or possible
    corners = [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 1.0)]
    for share in [*corners, *shares]:
        values = {"inbound.burst": burst}
        for name, (low, _, high), part in zip(NAMES, bounds, share, strict=True):
            values[name] = Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(part)
        try:
            true = exact(tree, values)
        except ZeroDivisionError:
            continue
        assert not certain or true, f"{text} is certain, and false at {values}"
        assert not true or possible, f"{text} is true at {values}, and not possible"


@given(conditions, st.tuples(*[intervals] * 3), st.booleans())
def test_with_exact_values_and_no_rounding_all_three_truths_agree(tree, bounds, burst):
    assume("/" not in written(tree) and len(written(tree)) < 500)
    whole = [float(np.round(np.clip(value, -100, 100))) for _, value, _ in bounds]
    values = {"inbound.burst": burst, **dict(zip(NAMES, map(Fraction, whole), strict=True))}
    assume(all("." not in name or name in values for name in names_in(tree)))
    try:
        truths_of_rows = truth(
            written(tree),
            TWO,
            inbound={"a": {"p50": whole[0], "p99": whole[1], "burst": burst}},
            outbound={"a": {"p99": whole[2]}},
        )
    except ConfigError:
        assume(False)
    largest = 20 ** written(tree).count("*") * 100 ** (1 + written(tree).count("*"))
    assume(largest < 2**50)
    assert truths_of_rows["a"] == (exact(tree, values),) * 3


ends = st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e308, 5e-324, 2.0**53]) | st.floats(-1e3, 1e3) | st.floats(-1e308, 1e308)
spans = st.lists(ends, min_size=2, max_size=2).map(sorted) | ends.map(lambda end: [end, end])
open_spans = st.tuples(spans, st.booleans(), st.booleans()).map(
    lambda part: (-np.inf if part[1] else part[0][0], np.inf if part[2] else part[0][1])
)


@settings(max_examples=400)
@given(st.sampled_from("+-*/"), open_spans, open_spans, st.lists(st.tuples(ends, ends), min_size=1, max_size=5))
def test_whatever_two_quantities_are_their_sum_product_and_quotient_lie_in_the_interval(sign, a, b, tried):
    sides = [Interval(np.array([low]), np.array([0.0]), np.array([high])) for low, high in (a, b)]
    interval = WORKED_OUT[sign](*sides)
    low, high = float(interval.low[0]), float(interval.high[0])
    known = [Fraction(end) for end in (*a, *b) if np.isfinite(end)]
    for x, y in [*tried, *((x, y) for x in known for y in known)]:
        x, y = np.clip(float(x), *a), np.clip(float(y), *b)
        if sign == "/" and y == 0:
            continue
        exact_result = WORKED_OUT[sign](Fraction(float(x)), Fraction(float(y)))
        assert low == -np.inf or Fraction(low) <= exact_result
        assert high == np.inf or exact_result <= Fraction(high)


truths = st.tuples(intervals, intervals, st.sampled_from(sorted(COMPARED)), st.booleans())


def truth_of(parts):
    left, right, sign, present = parts
    sides = [Interval(*(np.array([bound]) for bound in (low, value, high))) for low, value, high in (left, right)]
    return compare(sign, *sides).where(np.array([present]))


def same(one_truth, other):
    return np.array_equal(one_truth.holds, other.holds) and np.array_equal(one_truth.fails, other.fails)


@given(truths, truths, truths)
def test_and_or_not_keep_the_laws_of_logic_for_rows_that_are_there_and_for_those_that_are_not(a, b, c):
    a, b, c = truth_of(a), truth_of(b), truth_of(c)
    assert same(a & b, b & a) and same(a | b, b | a)
    assert same(a & (b & c), (a & b) & c) and same(a | (b | c), (a | b) | c)
    assert same(a & (b | c), (a & b) | (a & c)) and same(a | (b & c), (a | b) & (a | c))
    assert same(~(a & b), ~a | ~b) and same(~(a | b), ~a & ~b)
    assert same(~~a, a)
    for truth_found in (a & b, a | b, ~a):
        assert not (truth_found.holds[CERTAIN] & ~truth_found.holds[POSSIBLE]).any()
        assert not (truth_found.holds[CERTAIN] & truth_found.fails[POSSIBLE]).any()
        assert not (truth_found.holds & truth_found.fails)[[CERTAIN, POINT]].any()


def test_a_part_that_reads_a_missing_row_holds_neither_as_it_is_nor_negated():
    present = {"a": {"p99": 5000.0}}
    by_name = queries(query(), query("outbound"))
    nothing, all_three = (False,) * 3, (True,) * 3
    for text, expected in {
        "inbound.p99 > 4ms and outbound.p99 > 4ms": nothing,
        "inbound.p99 > 4ms or outbound.p99 > 4ms": all_three,
        "not (outbound.p99 > 4ms)": nothing,
        "not outbound.burst": nothing,
        "not (inbound.p99 > 4ms or outbound.p99 > 4ms)": nothing,
        "not (inbound.p99 < 4ms and outbound.p99 > 4ms)": all_three,
        "inbound.p99 > 4ms and not (outbound.p99 > 4ms)": nothing,
        "inbound.p99 + outbound.p99 > 1us": nothing,
    }.items():
        assert truth(text, by_name, inbound=present)["a"] == expected, text
        assert truth(text, by_name, inbound=present, outbound={"b": {"p99": 1.0}})["a"] == expected, text


# -- units -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit, value", [("us", 4000.0), ("ms", 4.0), ("s", 0.004)])
def test_a_duration_is_compared_in_the_unit_of_the_query(unit, value):
    by_name = queries(query(unit=unit))
    assert one("p99 == 4ms and p99 >= 4000 us and p99 < 2 * 4ms - 3ms", by_name, p99=value) == (True,) * 3
    assert one("p99 > 4ms", by_name, p99=value) == (False,) * 3
    assert one("p99 > 4ms", by_name, p99=np.nextafter(value, 9e9)) == (True,) * 3


@given(
    number=st.decimals(0, 10**9, places=6, allow_nan=False),
    written=st.sampled_from([*UNITS]),
    kept=st.sampled_from([*UNITS]),
)
def test_a_limit_is_the_nearest_double_of_the_exact_number_in_its_unit(number, written, kept):
    exact = Fraction(number) * UNITS[written] / UNITS[kept]
    assert constant(f"{number:f}{written}", kept) == float(exact)


def test_a_limit_without_a_unit_to_be_compared_in_is_refused():
    with pytest.raises(ConfigError, match="add unit: us, ms or s to the query"):
        constant("4ms", None)


def test_queries_with_different_units_are_compared_as_times():
    by_name = queries(query(unit="ms"), query("outbound", unit="us"))
    both = {"inbound": {"a": {"p99": 4.0}}, "outbound": {"a": {"p99": 4000.0}}}
    assert truth("inbound.p99 == outbound.p99 and inbound.p99 / outbound.p99 == 1", by_name, **both)["a"] == (True,) * 3
    assert truth("inbound.p99 - outbound.p99 < 1us", by_name, **both)["a"] == (True,) * 3


def test_percentages_and_shares_are_plain_numbers():
    by_name = queries(query(thresholds=(500,)))
    assert one("below_500 < 10%", by_name, below_500=0.09) == (True,) * 3
    assert constant("90%", None) == 0.9
    assert (constant("200ms", "us"), constant("200ms", "s"), constant("5", "ms")) == (200_000.0, 0.2, 5.0)


def test_names_without_a_prefix_belong_to_the_rules_query_or_to_the_only_one():
    assert parse("p99 > 1", queries()).queries == ("inbound",)
    assert parse("p99 > outbound.p50", queries(query(), query("outbound")), "inbound").queries == (
        "inbound",
        "outbound",
    )


# -- refusals ----------------------------------------------------------------------------------------------------------

REFUSED = {
    "inbound.p95 > 4ms": "unknown name 'inbound.p95' at character 1; inbound has p50, p99, min, max, below_500, "
    "count, sub_windows, burst; add 0.95 to quantiles of inbound",
    "count > 3 and inbound.p99.9 > 4ms": "'count' at character 1 needs a query; write inbound.count",
    "inbound.p99.9 > 4ms": "write inbound.p99_9",
    "inbound.below_600 > 0.5": "add 600 to thresholds of inbound",
    "inbound.cuont > 3": "did you mean count?",
    "inbond.p99 > 3": "unknown query 'inbond' at character 1; did you mean inbound? there are inbound, load",
    "inbound > 3": "'inbound' at character 1 is a query; write one of its quantities",
    "load.p99 > 4ms": "'4ms' at character 12 is compared with load.p99, but the query load has no unit; add unit: us",
    "load.count > 4ms": "which is not a time; write a plain number",
    "inbound.p99 > load.p99": "inbound.p99 (in us) and load.p99 (without a unit) cannot be compared",
    "inbound.p99 * inbound.p50 > 3": "multiplies two times",
    "3 / inbound.p99 > 3": "divides a number by a time",
    "inbound.p99 > 3 / 0": "'0' at character 19 is zero",
    "inbound.p99 > 4ms + 1": "cannot be compared or added",
    "1 > 2": "'>' at character 3 compares two constants",
    "inbound.p99 = 3": "'=' at character 13 is not allowed; write ==",
    "load.burst && load.burst": "'&&' at character 12 is not allowed; write and",
    "load.burst AND load.burst": "'AND' at character 12 is unexpected; join conditions with and, or",
    "!load.burst": "'!' at character 1 is not allowed; write not",
    "inbound.p99": "the quantity at character 1 is not a condition; compare it",
    "load.burst > 1": "the condition at character 1 is true or false",
    "load.burst and load.p99": "the quantity at character 16 is not a condition",
    "1 < load.p99 < 2": "is a second comparison; write a < b and b < c",
    "(load.p99 > 1": ") is missing before the end; the ( is at character 1",
    "load.p99 > 1)": "')' at character 13 is unexpected",
    "load.p99 >": "a quantity such as p99 or 4ms is missing before the end",
    "": "is missing before the end",
    "load.p99 > 4 min": "'4 min' at character 12 is not a number; its unit may be us, ms, s, m, h or %",
    "load.p99 > 4x": "is not a number",
    "load.p99 > 1e400": "is too large",
    "load.p99 > 1e200 * 1e200": "is too large",
    "__import__('os')": "is not allowed",
    "(" * 60 + "load.burst" + ")" * 60: f"more than {DEEPEST} levels deep",
    "not " * 60 + "load.burst": f"more than {DEEPEST} levels deep",
    "load.p99 > " + "-" * 60 + "1": f"more than {DEEPEST} levels deep",
    "load.burst or " * 100 + "load.burst": "characters; the limit is 1,000",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_condition_that_cannot_be_meant_is_refused_with_what_to_write(text):
    by_name = queries(query(thresholds=(500,)), query("load", unit=None))
    with pytest.raises(ConfigError) as refused:
        parse(text, by_name)
    assert REFUSED[text] in str(refused.value)


def test_the_longest_condition_there_can_be_is_worked_out():
    by_name = queries(query(quantiles=("0.5",)))
    text = "+".join(["p50"] * 248) + ">1"
    assert one(text, by_name, p50=1.0) == (True,) * 3


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["p99", "(", ")", "not", "and", ">", "4ms", "-", "/", "0", "burst", "."])).map(" ".join)
)
def test_whatever_is_written_is_either_read_or_refused(text):
    with contextlib.suppress(ConfigError):
        parse(text, queries())
