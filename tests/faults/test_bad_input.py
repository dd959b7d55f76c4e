"""Bad input: an error of this package that says what to do, and nothing of the call is kept."""

from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aomg import AomgError, FewK, FinishedError, InputError, Operator, Query

COUNTED = Query(6, 3, quantiles=(0.5, 0.99), thresholds=(5,))
TIMED = Query("6 s", "3 s", quantiles=(0.5, 0.99), lateness="0 s")
SECONDS = np.arange(4).astype("datetime64[s]")


def named(part: object) -> str:
    """A name that is the same in every process: objects that print their address say their type."""
    text = repr(part).replace("\n", "")
    return type(part).__name__ if " at 0x" in text else text[:40]


BAD_VALUES = [
    ("12", "array or a sequence"),
    (b"12", "array or a sequence"),
    (7, "one dimension"),
    (None, "dimension|array"),
    ([[1, 2], [3, 4]], "one dimension"),
    (np.zeros((2, 2)), r"ravel"),
    ([[1], [2, 3]], "array"),
    (["a", "b"], "integers or 64-bit floats"),
    ([1, "b"], "integers or 64-bit floats|numbers"),
    ([1, object()], "numbers"),
    ([1j], "integers or 64-bit floats"),
    (np.array([1, 2], np.longdouble), "64-bit floats"),
    (np.array(["2024-01-01"], "datetime64[s]"), "integers or 64-bit floats"),
    (np.array([1], "timedelta64[s]"), "integers or 64-bit floats"),
    ([datetime(2024, 1, 1)], "integers or 64-bit floats"),
    ([10**30], r"from -2\^63 to 2\^63 - 1; .*asarray\(values, 'float64'\)"),
    ([-(2**63) - 1], r"from -2\^63"),
    ([2**63], r"has 9223372036854775808, but integers"),
    (np.array([1, 2**63], np.uint64), r"from -2\^63"),
    (pa.array([None, 2**64 - 1], pa.uint64()), r"from -2\^63"),
    (pd.Series([None, 2**63], dtype="UInt64"), r"from -2\^63"),
    (np.array([2**70], object), r"from -2\^63"),
    ([2**53 + 1, 0.5], r"floats and 9007199254740993, an integer beyond 2\^53"),
    ([2**53 + 1, None, float("nan")], "None and not NaN"),
    ([np.uint64(2**63 + 1), np.int64(1)], "has 9223372036854775809, but integers"),
    ([Decimal("0.5"), 2**53 + 1], "floats and 9007199254740993"),
    ([Decimal("999.9999999999999999")], r"up to 15 digits; round .*float\(entry\) for entry in values"),
    ([Decimal("1E-400")], "would round"),
    ([Decimal("1E400")], "would round"),
    (pa.array([Decimal("999.9999999999999999")]), r"decimal128\(15, 3\).*cast\('double'\)"),
    (pa.array([Decimal(1)], pa.decimal256(16, 0)), r"cast to integers: values\.cast\('int64'\)"),
    (pa.array([], pa.decimal128(38, 16)), "would round"),
    (pd.Series([Decimal(1)], dtype=pd.ArrowDtype(pa.decimal128(20, 2))), r"values\.round\(2\)\.astype"),
    (pc.run_end_encode(pa.array([2**53 + 1, None])), "run_end_decode"),
    (np.ma.masked_array([[1, 2], [3, 4]], [[True, False], [False, False]]), "ravel"),
    ([{}, {}], "numbers"),
    (pa.array(["a", "b"]), "integers or 64-bit floats|numbers"),
    (pa.array([{"a": 1}]), "integers or 64-bit floats|numbers"),
    (pa.array([[1], [2]]), "integers or 64-bit floats|numbers|array"),
    (np.array([(1, 2)], [("a", int), ("b", int)]), "integers or 64-bit floats"),
]


@pytest.mark.parametrize(("values", "hint"), BAD_VALUES, ids=named)
@pytest.mark.parametrize("settings", [{}, {"digits": None}, {"guarantee": False}])
def test_values_of_a_wrong_kind_are_refused_and_change_nothing(values, hint, settings):
    query = Query(6, 3, quantiles=(0.5, 0.99), **settings)
    operator, other = Operator(query), Operator(query)
    operator.push([1, 2, 3, 4])
    other.push([1, 2, 3, 4])
    before = operator.save()
    with pytest.raises(InputError, match=hint):
        operator.push(values)
    assert operator.save() == before
    assert operator.push(range(20)) == other.push(range(20))


BAD_TIMES = [
    (SECONDS[:3], "one time for each value"),
    (np.append(SECONDS, SECONDS), "one time for each value"),
    ([], "one time for each value"),
    ([0, 1, 2, 3], r"no unit.*datetime64\[s\]"),
    ([0.0, 1.0, 2.0, 3.0], "no unit"),
    (["a", "b", "c", "d"], "unit|array"),
    (np.arange(4).astype("timedelta64[s]"), "no unit"),
    (np.array(["NaT"] * 4, "datetime64"), "unit"),
    (pa.array([0, 1, 2, 3]), "no unit"),
    (np.array([0, 1, 2, 2**62], "datetime64[s]"), "check their unit"),
    (np.array([0, 1, 2, 10**6], "datetime64[Y]"), "check their unit"),
    (np.zeros((4, 1), "datetime64[s]"), "one dimension"),
    ("2024-01-01", "array or a sequence"),
    ([datetime(2024, 1, 1), 5, 6, 7], "times"),
]


@pytest.mark.parametrize(("times", "hint"), BAD_TIMES, ids=named)
def test_times_of_a_wrong_kind_are_refused_and_change_nothing(times, hint):
    operator, other = Operator(TIMED), Operator(TIMED)
    for one in (operator, other):
        one.push([1, 2, 3, 4], SECONDS)
    before = operator.save()
    with pytest.raises(InputError, match=hint):
        operator.push([5, None, 7, 8], times)
    assert operator.save() == before
    assert (operator.refused, operator.late) == (0, 0)
    later = SECONDS + np.timedelta64(10, "s")
    assert operator.push([5, 6, 7, 8], later) == other.push([5, 6, 7, 8], later)


def test_bad_values_with_good_times_change_nothing():
    operator = Operator(TIMED)
    operator.push([1, 2, 3, 4], SECONDS)
    before = operator.save()
    with pytest.raises(InputError):
        operator.push(["a", "b", "c", "d"], SECONDS)
    assert operator.save() == before


def test_times_belong_to_windows_in_event_time_only():
    counted, timed = Operator(COUNTED), Operator(TIMED)
    with pytest.raises(InputError, match="without times"):
        counted.push([1, 2, 3, 4], SECONDS)
    with pytest.raises(InputError, match=r"push\(values, times\)"):
        timed.push([1, 2, 3, 4])
    with pytest.raises(InputError, match="event time"):
        counted.advance(np.datetime64(5, "s"))
    assert counted.save() == Operator(COUNTED).save() and timed.save() == Operator(TIMED).save()


@pytest.mark.parametrize(
    "moment", [5, 5.0, None, "soon", "NaT", np.datetime64("NaT"), np.datetime64(2**62, "s"), [1], {}]
)
def test_a_watermark_that_is_no_time_is_refused_and_changes_nothing(moment):
    operator = Operator(TIMED)
    operator.push([1, 2, 3, 4], SECONDS)
    before = operator.save()
    with pytest.raises(InputError, match=r"datetime|unit"):
        operator.advance(moment)
    assert operator.save() == before


def test_a_finished_stream_takes_nothing_more():
    operator = Operator(TIMED)
    operator.push([1, 2, 3, 4], SECONDS)
    operator.finish()
    before = operator.save()
    for call in (
        lambda: operator.push([1], SECONDS[:1]),
        lambda: operator.advance(SECONDS[0]),
        operator.finish,
    ):
        with pytest.raises(FinishedError, match="create a new one"):
            call()
    assert operator.save() == before


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([1.0, np.nan, 2.0], 1),
        ([np.inf, -np.inf, 2.0], 2),
        ([None, 1, 2], 1),
        ([None, None], 2),
        ([None, 1.5, float("nan")], 2),
        (np.array([np.nan] * 9), 9),
        (np.array([np.inf, 1], np.float32), 1),
        (pa.array([1, None, 3]), 1),
        (pa.array([None, None], pa.int64()), 2),
        (pa.array([1.0, None, float("nan")]), 2),
        (pa.array([Decimal("1.5"), None]), 1),
        (pa.nulls(3), 3),
        (np.ma.masked_array([1, 2, 3], [True, False, True]), 2),
        (np.ma.masked_array([1.0, np.nan, 3], [True, False, False]), 2),
        ([], 0),
        (np.array([], "U1"), 0),
        (np.array([], object), 0),
        (pa.array([], pa.int32()), 0),
        (pa.chunked_array([], pa.int32()), 0),
    ],
    ids=named,
)
@pytest.mark.parametrize("settings", [{}, {"digits": None, "few_k": FewK(always=True)}])
def test_what_is_null_or_not_finite_is_refused_counted_and_the_stream_goes_on(values, refused, settings):
    query = Query(6, 3, quantiles=(0.5, 0.99), **settings)
    operator = Operator(query)
    operator.push([1, 2])
    operator.push(values)
    assert operator.refused == refused
    assert operator.open == (2 + len(values) - refused) % 3
    timed = Operator(TIMED)
    timed.push(values, np.zeros(len(values), "datetime64[s]"))
    assert timed.refused == refused
    assert timed.open == len(values) - refused


def test_every_error_is_one_of_this_package():
    for wrong in (InputError, FinishedError):
        assert issubclass(wrong, AomgError)
    with pytest.raises(TypeError):
        Operator(COUNTED).push("values")
