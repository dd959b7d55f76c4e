"""Value <-> code: every edge is where its decimal says, nothing is misplaced, intervals cover."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg import Operator, Query
from aomg.core.codes import DenseCodec, DigitsCodec, RawCodec, middles
from aomg.core.layout import new_words, table_of

INT64 = np.iinfo(np.int64)
LARGEST = float(np.finfo(np.float64).max)
finite_doubles = st.floats(allow_nan=False, allow_infinity=False)
int64s = st.integers(int(INT64.min), int(INT64.max))


def dense(digits: int, guarantee: float | None = None) -> DenseCodec:
    query = Query(1, 1, digits=digits, guarantee=guarantee)
    return DenseCodec(new_words(query), table_of(digits, query.guarantee))


CODECS = {digits: dense(digits) if digits <= 3 else DigitsCodec(digits) for digits in range(1, 7)}
every_resolution = pytest.mark.parametrize("digits", range(1, 7))


def edge(lead: int, power: int) -> float:
    """The double nearest to the decimal lead * 10^power."""
    return float(Decimal(lead).scaleb(power))


def truncated(value: int, digits: int) -> tuple[int, int]:
    """First and last integer that shares sign, length and leading digits with an integer other than 0."""
    scale = 10 ** max(len(str(abs(value))) - digits, 0)
    first = abs(value) // scale * scale
    last = first + scale - 1
    return (first, last) if value > 0 else (-last, -first)


def leads(digits: int) -> list[int]:
    """Leading digits to look at: all of them up to three digits, else ends, round ones and some between."""
    first, end = 10 ** (digits - 1), 10**digits
    if digits <= 3:
        return list(range(first, end))
    random = np.random.default_rng(digits)
    return sorted({first, first + 1, end - 1, end - 2, end // 2, *random.integers(first, end, 60).tolist()})


@every_resolution
def test_a_code_begins_exactly_at_its_decimal_edge(digits):
    """From 10^-22 to 10^22 the edge is the double nearest to the decimal; one unit below is another code."""
    codec = CODECS[digits]
    for power in range(-22, 23):
        at = np.array([edge(lead, power) for lead in leads(digits)])
        below = np.nextafter(at, 0.0)
        codes, before = codec.codes(at), codec.codes(below)
        assert (codes > before).all()
        assert (codec.codes(-at) < codec.codes(-below)).all()
        lows, _ = codec.intervals(codes, False)
        assert np.array_equal(lows, at)
        _, highs = codec.intervals(before, False)
        assert np.array_equal(highs, below)
        _, highs = codec.intervals(codec.codes(-at), False)
        assert np.array_equal(highs, -at)


@every_resolution
def test_no_code_begins_between_two_edges(digits):
    codec = CODECS[digits]
    random = np.random.default_rng(digits)
    for power in range(-22, 23):
        some = np.array(leads(digits))
        low = np.array([edge(int(lead), power) for lead in some])
        high = np.array([edge(int(lead) + 1, power) for lead in some])
        inside = np.minimum(low + (high - low) * random.random(some.size), np.nextafter(high, 0.0))
        assert np.array_equal(codec.codes(inside), codec.codes(low))


@every_resolution
def test_integers_are_exact_at_every_edge_up_to_both_ends_of_64_bits(digits):
    codec = CODECS[digits]
    edges = [lead * 10**power for power in range(19) for lead in leads(digits) if lead * 10**power <= INT64.max]
    near = np.array([e + d for e in edges for d in (-1, 0, 1) if 0 < e + d <= INT64.max])
    near = np.unique(np.concatenate([near, [INT64.max, INT64.max - 1, 2**53, 2**53 + 1, 131_071, 131_072]]))
    for values in (near, -near, np.array([INT64.min, INT64.min + 1])):
        codes = codec.codes(values)
        lows, highs = codec.intervals(codes, True)
        for value, low, high in zip(values.tolist(), lows.tolist(), highs.tolist(), strict=True):
            first, last = truncated(value, digits)
            assert low <= first and high >= last
            assert Fraction(low) >= Fraction(first) - abs(first) / 2**52 * (abs(first) > 2**53)
            assert Fraction(high) <= Fraction(last) + 1 + abs(last) / 2**52 * (abs(last) > 2**53)
            if abs(last) < 2**53 and abs(first) < 2**53:
                assert (low, high) == (first, last)
    ascending = codec.codes(near)
    changes = np.flatnonzero(np.diff(ascending))
    assert (np.diff(ascending) >= 0).all()
    expected = [
        i for i in range(near.size - 1) if truncated(int(near[i]), digits) != truncated(int(near[i + 1]), digits)
    ]
    assert changes.tolist() == expected


@every_resolution
def test_powers_of_ten_begin_a_code_in_every_decade(digits):
    """Also beyond 10^22 and below 10^-22, where an edge is within a unit of its decimal."""
    codec = CODECS[digits]
    for power in range(-307, 309):
        ten = float(f"1e{power}")
        around = ten + np.spacing(ten) * np.arange(-4, 5)
        codes = codec.codes(around)
        assert (np.diff(codes) >= 0).all()
        assert codes[0] < codes[-1]
        lows, highs = codec.intervals(codes, False)
        assert (lows <= around).all() and (around <= highs).all()
        assert (np.flatnonzero(np.diff(codes)).size) == 1


@every_resolution
@given(values=st.lists(finite_doubles, min_size=1, max_size=60))
def test_doubles_lie_in_the_interval_of_their_code_and_codes_are_ordered(digits, values):
    values = np.sort(np.array(values))
    codes = CODECS[digits].codes(values)
    assert (np.diff(codes) >= 0).all()
    lows, highs = CODECS[digits].intervals(codes, False)
    assert (lows <= values).all() and (values <= highs).all()
    assert np.array_equal(CODECS[digits].codes(lows), codes)
    assert np.array_equal(CODECS[digits].codes(highs), codes)
    assert np.array_equal(CODECS[digits].codes(-values)[::-1], np.sort(CODECS[digits].codes(-values)))


@every_resolution
@given(values=st.lists(int64s, min_size=1, max_size=60))
def test_integers_lie_in_the_interval_of_their_code_and_codes_are_ordered(digits, values):
    values = np.sort(np.array(values, np.int64))
    codes = CODECS[digits].codes(values)
    assert (np.diff(codes) >= 0).all()
    lows, highs = CODECS[digits].intervals(codes, True)
    for value, low, high in zip(values.tolist(), lows.tolist(), highs.tolist(), strict=True):
        assert low <= value <= high


@every_resolution
@given(value=st.integers(-(2**53), 2**53))
def test_an_integer_has_one_code_whether_it_comes_as_integer_or_double(digits, value):
    codec = CODECS[digits]
    assert codec.codes(np.array([value])) == codec.codes(np.array([float(value)]))


@every_resolution
@given(
    lead=st.integers(1, 10**6 - 1),
    power=st.integers(-22, 22),
    ulps=st.sampled_from([-1, 0, 1]),
)
def test_digits_are_cut_as_the_decimal_says(digits, lead, power, ulps):
    """Doubles near a short decimal: the code's lower edge is the largest decimal edge at or below them."""
    value = edge(lead, power)
    value = value if ulps == 0 else math.nextafter(value, math.inf * ulps)
    decade = Decimal(value).adjusted()
    scale = decade - digits + 1
    if not -22 <= scale <= 22:
        return
    cut = int(Decimal(value).scaleb(-scale))
    below = max(e for e in (edge(cut - 1, scale), edge(cut, scale), edge(cut + 1, scale)) if e <= value)
    low, _ = CODECS[digits].intervals(CODECS[digits].codes(np.array([value])), False)
    assert low[0] == below


@every_resolution
def test_zero_has_its_own_code_and_minus_zero_is_zero(digits):
    codec = CODECS[digits]
    codes = codec.codes(np.array([-5e-324, -0.0, 0.0, 5e-324]))
    assert codes[1] == codes[2] == codec.codes(np.array([0]))[0]
    assert codes[0] < codes[1] < codes[3]
    assert [x.tolist() for x in codec.intervals(codes[1:2], False)] == [[0.0], [0.0]]


@every_resolution
def test_the_ends_of_the_doubles_are_coded(digits):
    codec = CODECS[digits]
    values = np.array([-LARGEST, -9e307, -5e-324, 5e-324, 1e-320, 2.2250738585072014e-308, 9e307, LARGEST])
    codes = codec.codes(values)
    assert (np.diff(codes) > 0).all()
    lows, highs = codec.intervals(codes, False)
    assert np.isfinite(lows).all() and np.isfinite(highs).all()
    assert (lows <= values).all() and (values <= highs).all()
    assert np.isfinite(middles(codec, codes, False)).all()


@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize("guarantee", [None, "finest", 0.9])
def test_a_dense_code_means_the_same_whatever_the_guarantee(digits, guarantee):
    guarantee = 0.5 * 10.0 ** (1 - digits) if guarantee == "finest" else guarantee
    codec, plain = dense(digits, guarantee), CODECS[digits]
    values = np.concatenate([10.0 ** np.linspace(-320, 308, 5000), np.arange(1.0, 3000), [0.0]])
    values = np.sort(np.concatenate([values, -values]))
    codes = codec.codes(values)
    assert (np.diff(codes) >= 0).all()
    for integral in (False, True):
        one, other = codec.intervals(codes, integral), plain.intervals(plain.codes(values), integral)
        assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


@every_resolution
def test_a_code_of_one_integer_reports_it_and_any_other_its_middle(digits):
    codec = CODECS[digits]
    few = np.arange(1, min(10**digits, 2000))
    assert np.array_equal(middles(codec, codec.codes(few), True), few)
    many = np.array([10**digits * 12])
    assert middles(codec, codec.codes(many), True)[0] > many[0]


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 6, None])
def test_a_stream_of_one_element_sub_windows_reports_the_code_of_each(digits):
    """The counting loops place values as the codec does."""
    random = np.random.default_rng(2)
    tens = [float(f"1e{p}") for p in range(-320, 309)]
    reals = np.array([x for t in tens for x in (t, np.nextafter(t, 0), np.nextafter(t, np.inf))])
    reals = np.concatenate([reals, random.integers(1, 10**5, 300) / 1000, [0.0, -0.0]])
    longs = np.array([10**p + d for p in range(19) for d in (-1, 0, 1)] + [INT64.max, INT64.min, 131_071, 131_072])
    codec = RawCodec() if digits is None else CODECS[digits]
    query = Query(1, 1, digits=digits, quantiles=(0.5,))
    for values in (reals, -reals, longs, -longs):
        results = Operator(query).push(values)
        lows, highs = codec.intervals(codec.codes(values), values.dtype == np.int64)
        for value, low, high, result in zip(values.tolist(), lows, highs, results, strict=True):
            estimate = result[0.5]
            assert low <= estimate.low <= value <= estimate.high <= high, (value, estimate)
            assert result.minimum <= value <= result.maximum


def test_raw_values_are_their_own_codes():
    codec = RawCodec()
    values = np.sort(np.array([-LARGEST, -1.5, -5e-324, 0.0, 5e-324, 1.5, LARGEST]))
    codes = codec.codes(values)
    assert (np.diff(codes) > 0).all()
    for bound in codec.intervals(codes, False):
        assert np.array_equal(bound, values)
    assert codec.codes(np.array([-0.0]))[0] == codec.codes(np.array([0.0]))[0]


@given(value=int64s)
def test_the_interval_of_a_raw_long_covers_its_rounding(value):
    codec = RawCodec()
    low, high = codec.intervals(codec.codes(np.array([value])), True)
    assert low[0] <= value <= high[0]
