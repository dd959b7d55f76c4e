"""Values of every type that can be pushed keep low <= exact <= high, or are refused and change nothing."""

import array
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import check_results, counted_windows, finite

from aomg import InputError, Operator, Query

try:
    import polars as pl
except ImportError:
    pl = None

EXACT, LONGEST = 2**53, 2**63
QUERIES = [
    Query(6, 3, quantiles=(0.01, 0.34, 0.5, 1), thresholds=(float(EXACT),), **more)
    for more in ({}, {"digits": 6}, {"digits": None})
]


def near(*edges: int) -> st.SearchStrategy[int]:
    return st.builds(int.__add__, st.sampled_from(edges), st.integers(-3, 3))


INTEGERS = st.one_of(st.integers(-50, 2000), near(EXACT, -EXACT, 10**18), st.integers(-LONGEST, LONGEST - 1))
UNSIGNED = st.one_of(st.integers(0, 2000), near(EXACT, 10**18), st.integers(0, LONGEST - 1))
UNITS = st.one_of(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 200).map(lambda less: 10**15 - 1 - less))


def with_nulls(numbers: st.SearchStrategy) -> st.SearchStrategy[list]:
    return st.lists(st.one_of(numbers, numbers, numbers, st.none()), max_size=24)


def chunked(values: list, kind: pa.DataType) -> pa.ChunkedArray:
    third = len(values) // 3
    return pa.chunked_array([values[:third], [], values[third:]], kind)


def sliced(values: list, kind: pa.DataType) -> pa.Array:
    """An array whose buffers begin before it, with nulls and others around."""
    return pa.array([values[0] if values else None, None, *values, None], kind)[2:-1]


def dictionary(values: list, kind: pa.DataType) -> pa.DictionaryArray:
    """Every entry is in the dictionary, nulls also there."""
    indices = pa.array([None if value is None and i % 2 else i for i, value in enumerate(values)], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(values, kind))


def chunks_of_dictionaries(values: list, kind: pa.DataType) -> pa.ChunkedArray:
    parts = [values[: len(values) // 2], values[len(values) // 2 :]]
    return pa.chunked_array([dictionary(part, kind) for part in parts], pa.dictionary(pa.int32(), kind))


def masked(values: list, kind: str) -> np.ma.MaskedArray:
    filled = np.array([7 if value is None else value for value in values], kind)
    return np.ma.masked_array(filled, [value is None for value in values])


def series(values: list, kind: object) -> pd.Series:
    return pd.Series(values, dtype=kind, index=np.arange(len(values))[::-1])


WHOLE = {
    "list": list,
    "tuple": tuple,
    "objects": lambda values: np.array(values, object),
    "list of numpy": lambda values: [None if value is None else np.int64(value) for value in values],
    "masked": lambda values: masked(values, "int64"),
    "masked objects": lambda values: masked(values, "object"),
    "arrow": lambda values: pa.array(values, pa.int64()),
    "arrow, sliced": lambda values: sliced(values, pa.int64()),
    "arrow, chunked": lambda values: chunked(values, pa.int64()),
    "arrow, dictionary": lambda values: dictionary(values, pa.int64()),
    "arrow, chunks of dictionaries": lambda values: chunks_of_dictionaries(values, pa.int64()),
    "pandas Int64": lambda values: series(values, "Int64"),
    "pandas array": lambda values: pd.array(values, "Int64"),
    "pandas index": lambda values: pd.Index(pd.array(values, "Int64")),
    "pandas pyarrow": lambda values: series(values, "int64[pyarrow]"),
    "pandas pyarrow array": lambda values: pd.array(values, "int64[pyarrow]"),
    "pandas objects": lambda values: series([pd.NA if value is None else value for value in values], object),
    "pandas category": lambda values: pd.Series(pd.Categorical(values)),
}
NATURAL = {
    "masked": lambda values: masked(values, "uint64"),
    "arrow": lambda values: pa.array(values, pa.uint64()),
    "pandas UInt64": lambda values: series(values, "UInt64"),
    "pandas pyarrow": lambda values: series(values, "uint64[pyarrow]"),
}
DECIMAL = {
    "list": lambda values, kind: values,
    "objects": lambda values, kind: np.array(values, object),
    "pandas objects": lambda values, kind: series(values, object),
    "pandas pyarrow": lambda values, kind: series(values, pd.ArrowDtype(kind)),
    "arrow": pa.array,
    "arrow, sliced": sliced,
    "arrow, chunked": chunked,
    "arrow, dictionary": dictionary,
}
if pl is not None:
    WHOLE["polars"] = lambda values: pl.Series(values, dtype=pl.Int64)
    NATURAL["polars"] = lambda values: pl.Series(values, dtype=pl.UInt64)
    DECIMAL["polars"] = lambda values, kind: pl.Series(values, dtype=pl.Decimal(kind.precision, kind.scale))


def check_pushed(data: object, exact: list) -> None:
    """What is pushed is answered as these Python numbers, of which None is refused."""
    for query in QUERIES:
        operator = Operator(query)
        results = operator.push(data) + operator.finish()
        used = [value for value in exact if finite(value)]
        check_results(query, results, counted_windows(query, used, finish=True))
        assert operator.refused == len(exact) - len(used)


def check_refused(data: object) -> None:
    operator = Operator(QUERIES[0])
    operator.push([1, 2, None])
    before = operator.save()
    with pytest.raises(InputError, match="if rounding does not matter"):
        operator.push(data)
    assert operator.save() == before


@pytest.mark.skipif(pl is None, reason="polars is not installed: pip install polars tests its Series, too")
def test_series_of_polars_may_be_times():
    times = pl.Series([datetime(2024, 1, 1, tzinfo=UTC), None, datetime(2024, 1, 3, tzinfo=UTC)])
    for each in (times, times.cast(pl.Datetime("ns")), times.cast(pl.Date)):
        operator = Operator(Query("3 days", "1 day", quantiles=(1,)))
        results = operator.push([5, 6, 7], each) + operator.finish()
        ends = [str(result.end)[:10] for result in results]
        assert (operator.refused, ends) == (1, ["2024-01-02", "2024-01-03", "2024-01-04"])


@settings(max_examples=25)
@pytest.mark.parametrize("container", WHOLE)
@given(values=with_nulls(INTEGERS))
def test_integers_are_not_rounded_in_any_container(container, values):
    check_pushed(WHOLE[container](values), values)


@settings(max_examples=25)
@pytest.mark.parametrize("container", NATURAL)
@given(values=with_nulls(UNSIGNED), large=st.integers(LONGEST, 2 * LONGEST - 1), place=st.integers(0, 24))
def test_unsigned_longs_are_taken_below_2_to_the_63_and_refused_from_there(container, values, large, place):
    check_pushed(NATURAL[container](values), values)
    check_refused(NATURAL[container]([*values[:place], large, *values[place:]]))


@pytest.mark.parametrize(
    "name", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i8", ">u8", ">f8"]
)
def test_arrays_of_every_type_of_numpy_are_exact(name):
    kind = np.dtype(name)
    if kind.kind == "f":
        limits = np.finfo(kind)
        numbers = np.array([0, limits.max, limits.min, limits.smallest_subnormal, 1 + limits.eps, np.nan], kind)
    else:
        limits = np.iinfo(kind)
        most = min(int(limits.max), LONGEST - 1)
        numbers = np.array([0, limits.min, most, most - 1, most // 2 + 1, most // 1000 + 1], kind)
    exact = [None if number != number else number for number in numbers.tolist()]
    for data in (numbers, np.repeat(numbers, 2)[::2], list(numbers), pd.Series(numbers), numbers.astype(object)):
        check_pushed(data, exact)
    check_pushed(np.ma.masked_array(numbers, [True] + [False] * 5), [None, *exact[1:]])
    check_pushed(memoryview(numbers) if kind.isnative else numbers, exact)
    if kind.isnative:
        check_pushed(pa.array(numbers), exact)
        check_pushed(array.array("d" if kind.kind == "f" else "q", numbers.tolist()), exact)


FLOATS = st.one_of(st.floats(), st.sampled_from([0.5, float(EXACT), 2.0**63, 1e300]))


@given(
    values=st.lists(st.one_of(FLOATS, INTEGERS, st.integers(LONGEST, 2 * LONGEST), st.none()), min_size=1, max_size=9)
)
def test_integers_beside_floats_are_exact_or_refused(values):
    reals = any(isinstance(value, float) for value in values)
    large = any(isinstance(value, int) and value >= LONGEST for value in values)
    rounded = reals and any(isinstance(value, int) and int(float(value)) != value for value in values)
    for data in (values, np.array(values, object), series(values, object)):
        if large or rounded:
            check_refused(data)
        else:
            check_pushed(data, values)


KINDS = [(pa.decimal32, 9), (pa.decimal64, 15), (pa.decimal128, 15), (pa.decimal256, 15)]


@settings(max_examples=25)
@pytest.mark.parametrize("container", DECIMAL)
@given(units=with_nulls(UNITS), scale=st.integers(0, 15), kind=st.sampled_from(KINDS))
def test_decimals_of_15_digits_are_the_doubles_with_their_text(container, units, scale, kind):
    make, precision = kind
    scale = min(scale, precision)
    units = [None if unit is None else int(str(unit)[: precision + (unit < 0)]) for unit in units]
    values = [None if unit is None else Decimal(unit).scaleb(-scale) for unit in units]
    data = DECIMAL[container](values, make(precision, scale))
    assert all(value is None or Decimal(repr(float(value))) == value for value in values)
    check_pushed(data, [None if value is None else float(str(value)) for value in values])


@pytest.mark.parametrize("scale", [-20, -3, 22, 23, 38])
def test_decimals_of_arrow_may_have_any_scale(scale):
    values = [Decimal(unit).scaleb(-scale) for unit in (1, 7, 35, 99_999, -12_345, 3)]
    check_pushed(pa.array(values, pa.decimal128(5, scale)), [float(str(value)) for value in values])


@pytest.mark.parametrize("container", [name for name in DECIMAL if "list" not in name and "objects" not in name])
@pytest.mark.parametrize("kind", [pa.decimal128(16, 0), pa.decimal128(20, 2), pa.decimal128(38, 16)], ids=str)
def test_types_of_more_than_15_digits_are_refused_whatever_they_hold(container, kind):
    for values in ([], [None], [Decimal(1), None, Decimal(2)]):
        check_refused(DECIMAL[container](values, kind))


@pytest.mark.parametrize("container", ["arrow", "arrow, chunked", "pandas pyarrow", *(["polars"] if pl else [])])
@pytest.mark.parametrize("kind", [pa.decimal128(20, 0), pa.decimal128(38, 16)], ids=str)
def test_the_casts_of_the_error_can_be_pushed(container, kind):
    numbers = [Decimal("2000"), None, Decimal("12")] if kind.scale == 0 else [Decimal("1999.9999999999999999"), None]
    values = DECIMAL[container](numbers, kind)
    with pytest.raises(InputError) as refused:
        Operator(QUERIES[0]).push(values)
    names = {"values": values, "pyarrow": pyarrow, "pandas": pd, "polars": pl}
    for code in re.search(": (.+), or to doubles.*: (.+)", str(refused.value).split(";")[1]).groups():
        operator = Operator(QUERIES[0])
        (result,) = operator.push(eval(code, names)) + operator.finish()  # as a user would paste it
        assert (result.maximum, operator.refused) == (2000, 1)


@given(units=st.integers(10**15, 10**20), scale=st.integers(0, 30))
def test_decimal_objects_are_taken_if_their_double_has_their_text(units, scale):
    value = Decimal(units).scaleb(-scale)
    if Decimal(repr(float(value))) == value:
        check_pushed([value, None], [float(value), None])
    else:
        check_refused([value, None])


def test_decimals_that_are_not_finite_are_refused_and_counted():
    check_pushed([Decimal(text) for text in ("NaN", "sNaN", "Infinity", "-Infinity", "1.5")], [None] * 4 + [1.5])


@pytest.mark.parametrize(
    "times",
    [
        [date(2024, 1, 1), date(2024, 1, 3)],
        [date(2024, 1, 1), datetime(2024, 1, 3, 5)],
        [date(2024, 1, 1), datetime(2024, 1, 3, 5, tzinfo=UTC)],
        np.array([date(2024, 1, 1), date(2024, 1, 3)], object),
        np.array(["2024-01-01", "2024-01-03"], "datetime64[D]"),
        pa.array([date(2024, 1, 1), date(2024, 1, 3)]),
        pd.Series([date(2024, 1, 1), date(2024, 1, 3)], dtype=pd.ArrowDtype(pa.date32())),
        pd.Series([datetime(2024, 1, 1), datetime(2024, 1, 3)], dtype=pd.ArrowDtype(pa.timestamp("us"))),
        pd.Series([datetime(2024, 1, 1), datetime(2024, 1, 3)]).dt.tz_localize("UTC"),
    ],
    ids=str,
)
def test_dates_are_times_at_midnight_in_utc(times):
    operator = Operator(Query("3 days", "1 day", quantiles=(1,), lateness=timedelta(0)))
    results = operator.push([5, 7], times) + operator.finish()
    assert [(str(result.end)[:10], result.maximum, result.count) for result in results] == [
        ("2024-01-02", 5, 1),
        ("2024-01-03", 5, 1),
        ("2024-01-04", 7, 2),
    ]


def test_the_first_nanosecond_is_in_1677():
    operator = Operator(Query("2 days", "1 day", quantiles=(1,)))
    (result,) = operator.push([5], np.array([-(2**63) + 1]).view("datetime64[ns]")) + operator.finish()
    assert str(result.end)[:10] == "1677-09-22"


def test_dates_with_a_missing_one_and_dates_as_values():
    operator = Operator(Query("3 days", "1 day", quantiles=(1,)))
    operator.push([5, 7], [None, date(2024, 1, 3)])
    assert (operator.refused, operator.open) == (1, 1)
    with pytest.raises(InputError, match="integers or 64-bit floats"):
        operator.push([date(2024, 1, 3)], [date(2024, 1, 3)])


@pytest.mark.parametrize("values", [{1, 2}, (number for number in [1]), None], ids=["set", "generator", "None"])
def test_what_is_no_array_is_refused_with_what_to_pass(values):
    with pytest.raises(InputError, match=r"values must be an array.*not (set|generator|NoneType); pass list\(values\)"):
        Operator(Query(2, 1)).push(values)


def test_entries_that_are_no_numbers_are_refused_with_what_they_may_be():
    with pytest.raises(InputError, match="not numbers; integers, floats, Decimals and None can be used"):
        Operator(Query(2, 1)).push([Fraction(1, 3), 5])
