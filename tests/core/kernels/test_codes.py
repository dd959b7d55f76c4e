"""The table finds the code that the decimal text of a value says, at every edge, at every slice and at its own ends."""

import numpy as np
import pytest
from decimal_codes import DecimalCodes
from hypothesis import given
from hypothesis import strategies as st

from aomg import Query
from aomg.core.codes import DenseCodec
from aomg.core.kernels.codes import FIRST_BITS, FIRST_SLICE, LAST_BITS, LOW_BITS, SLICES, TABLE_REACH, code_of_double
from aomg.core.layout import new_words, table_of

INT64 = np.iinfo(np.int64)
GEOMETRIES = [(3, 0.02), (3, 0.005), (3, 0.9), (2, 0.05), (2, 0.3), (1, 0.5), (1, 0.9)]
every_geometry = pytest.mark.parametrize(("digits", "guarantee"), GEOMETRIES)
FIRST, LAST = np.array([FIRST_BITS, LAST_BITS]).view(np.float64)


def codec_of(digits: int, guarantee: float) -> DenseCodec:
    return DenseCodec(new_words(Query(1, 1, digits=digits, guarantee=guarantee)), table_of(digits, guarantee))


def slow_codes(digits: int, guarantee: float, values: np.ndarray) -> list[int]:
    """The codes of doubles by their decade and leading digits, without the table."""
    state = new_words(Query(1, 1, digits=digits, guarantee=guarantee))
    return [code_of_double(state, value) for value in values.tolist()]


def with_neighbours(values: np.ndarray) -> np.ndarray:
    """Return doubles, and the doubles before and after each."""
    return np.concatenate([np.nextafter(values, 0), values, np.nextafter(values, np.inf)])


def slice_starts() -> np.ndarray:
    """Where each slice begins, and where the last one ends."""
    return ((FIRST_SLICE + np.arange(int(SLICES) + 1, dtype=np.uint64)) << LOW_BITS).view(np.float64)


@every_geometry
def test_doubles_next_to_every_edge_of_the_table_have_the_code_of_their_decimal(digits, guarantee):
    codec, decimal = codec_of(digits, guarantee), DecimalCodes(digits, guarantee)
    values = with_neighbours(decimal.edges[1:])
    assert values.min() < FIRST and values.max() > LAST
    for signed in (values, -values):
        assert np.array_equal(codec.codes(signed), decimal.of_doubles(signed))


@every_geometry
def test_doubles_at_both_ends_of_every_slice_have_the_code_of_their_decimal(digits, guarantee):
    codec, decimal = codec_of(digits, guarantee), DecimalCodes(digits, guarantee)
    values = with_neighbours(slice_starts())
    for signed in (values, -values):
        assert np.array_equal(codec.codes(signed), decimal.of_doubles(signed))


@every_geometry
def test_doubles_anywhere_in_a_slice_have_the_code_of_their_decimal(digits, guarantee):
    codec, decimal = codec_of(digits, guarantee), DecimalCodes(digits, guarantee)
    starts = slice_starts()
    for share in np.random.default_rng(digits).random(5):
        values = starts[:-1] + share * np.diff(starts)
        assert np.array_equal(codec.codes(values), decimal.of_doubles(values))


@every_geometry
def test_integers_next_to_every_edge_and_every_slice_have_the_code_of_their_decimal(digits, guarantee):
    codec, decimal = codec_of(digits, guarantee), DecimalCodes(digits, guarantee)
    edges = [lead * 10**power for power in range(19) for lead in range(10 ** (digits - 1), 10**digits)]
    starts = [int(start) for start in slice_starts().tolist() if start >= 1]
    powers = [2**power for power in range(64)]
    near = {value + step for value in [0, *edges, *starts, *powers, TABLE_REACH, 2**63 - 1] for step in range(-3, 4)}
    values = np.array([value for value in near if -3 <= value <= INT64.max])
    for signed in (values, -values, np.array([INT64.min, INT64.min + 1])):
        assert codec.codes(signed).tolist() == [decimal.of_integer(value) for value in signed.tolist()]


@every_geometry
def test_doubles_beyond_the_table_have_the_code_of_their_decade_and_leading_digits(digits, guarantee):
    codec = codec_of(digits, guarantee)
    scales = np.exp2(np.arange(-1074.0, 1024.0))
    ends = np.array([FIRST, LAST, 5e-324, 2.2250738585072014e-308, np.finfo(np.float64).max])
    values = np.concatenate([scales, np.nextafter(scales, 0)[1:], np.nextafter(scales, np.inf), 1.7 * scales, ends])
    values = np.concatenate([values[np.isfinite(values)], [0.0]])
    for signed in (values, -values):
        assert codec.codes(signed).tolist() == slow_codes(digits, guarantee, signed)


@every_geometry
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40))
def test_any_double_has_the_code_of_its_decade_and_leading_digits(digits, guarantee, values):
    values = np.array(values)
    assert codec_of(digits, guarantee).codes(values).tolist() == slow_codes(digits, guarantee, values)


@every_geometry
@given(values=st.lists(st.integers(int(INT64.min), int(INT64.max)), min_size=1, max_size=40))
def test_any_integer_has_the_code_of_its_decimal(digits, guarantee, values):
    decimal = DecimalCodes(digits, guarantee)
    codes = codec_of(digits, guarantee).codes(np.array(values))
    assert codes.tolist() == [decimal.of_integer(value) for value in values]


def test_every_finest_geometry_fits_the_table():
    for digits in (1, 2, 3):
        table_of(digits, 0.5 * 10.0 ** (1 - digits))


def test_codes_of_four_digits_do_not_fit_the_slices():
    with pytest.raises(OverflowError, match="does not fit into 1 bits"):
        table_of(4, 0.02)
