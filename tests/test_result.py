"""Results: a sequence in columns, each row an answer that can be read and compared."""

import numpy as np
import pytest

from aomg import Estimate, Operator, Query, Result, Results, Share, UnknownQuantileError
from aomg.core.kernels import registers
from aomg.result import (
    BURST,
    COUNT,
    FIXED,
    MAXIMUM,
    METHODS,
    MINIMUM,
    NUMBER,
    SCORE,
    SUB_WINDOWS,
    result_row,
)

QUERY = Query(40, 10, quantiles=(0.5, 0.99), thresholds=(25.0,))


def results_of(query: Query = QUERY, n: int = 100) -> Results:
    return Operator(query).push(np.arange(n))


def test_results_are_a_sequence():
    results = results_of()
    assert len(results) == 10 and bool(results)
    assert [r.end for r in results] == list(range(10, 101, 10)) == results.ends.tolist()
    assert results[0].end == 10 and results[-1].end == 100
    assert [r.end for r in reversed(results)] == list(range(100, 0, -10))
    assert results[3] in results
    assert results.index(results[3]) == 3
    with pytest.raises(ValueError):
        results[:3].index(results[3])
    for beyond in (10, -11):
        with pytest.raises(IndexError):
            results[beyond]


def test_a_slice_of_results_is_results():
    results = results_of()
    assert isinstance(results[2:5], Results)
    assert [r.end for r in results[2:5]] == [30, 40, 50]
    assert [r.end for r in results[::-3]] == [100, 70, 40, 10]
    assert len(results[5:5]) == 0
    assert results[2:5][0] == results[2]


def test_results_can_be_joined():
    results = results_of()
    assert results[:4] + results[4:] == results
    paper = results_of(Query.paper(40, 10, quantiles=(0.5,)))
    assert paper[:2] + paper[2:] == paper
    assert results + results[:0] == results


def test_results_are_equal_if_every_bit_is():
    assert results_of() == results_of()
    assert results_of()[0] == results_of()[0]
    assert results_of()[0] != results_of()[1]
    assert results_of() != results_of(n=90)
    assert results_of() != results_of(Query(40, 10, quantiles=(0.5, 0.9), thresholds=(25.0,)))
    assert results_of() != "results"
    assert results_of()[0] != 1


def test_no_results_are_an_empty_sequence():
    results = results_of(n=5)
    assert len(results) == 0 and list(results) == [] and not results
    assert repr(results) == "Results(0)"


def test_a_result_has_its_window_and_estimates():
    result = results_of()[-1]
    assert (result.start, result.end, result.count, result.sub_windows) == (60, 100, 40, 4)
    assert (result.minimum, result.maximum, result.burst) == (60.0, 99.0, False)
    assert result[0.5] == Estimate(79.0, 79.0, 79.0, "exact")
    assert result["0.5"] == result[0.5] == result[np.float64(0.5)]
    assert isinstance(result.start, int) and isinstance(result.count, int) and isinstance(result.minimum, float)
    assert isinstance(result[0.5].value, float) and isinstance(result.burst, bool)
    first = results_of()[0]
    assert (first.start, first.end, first.sub_windows) == (-30, 10, 1)


def test_a_result_has_the_share_at_or_below_a_threshold():
    shares = [r.below(25).value for r in results_of()]
    assert shares[:4] == [1.0, 1.0, 26 / 30, 26 / 40]
    assert shares[-1] == 0.0
    assert results_of()[2].below(25.0) == Share(26 / 30, 26 / 30, 26 / 30)


def test_columns_are_arrays():
    results = results_of()
    assert results.values(0.5).tolist() == [r[0.5].value for r in results]
    assert results.counts.tolist() == [r.count for r in results]
    assert results.minima.tolist() == [r.minimum for r in results]
    assert results.maxima.tolist() == [r.maximum for r in results]
    assert results.starts.tolist() == [r.start for r in results]
    assert results.shares(25)[:, 0].tolist() == [r.below(25).value for r in results]
    assert results.bursts.dtype == bool


def test_lows_and_highs_are_the_ends_of_the_intervals():
    results = Operator(QUERY).push(np.random.default_rng(1).lognormal(6, 1, 100))
    lows, highs = results.lows(0.99), results.highs("0.99")
    assert [(low, high) for low, high in zip(lows, highs, strict=True)] == [
        (r[0.99].low, r[0.99].high) for r in results
    ]
    assert (lows < highs).any() and (lows <= results.values(0.99)).all() and (results.values(0.99) <= highs).all()


@pytest.mark.parametrize("unknown", [0.9, "0.95", 50, "median", None, 2])
def test_the_error_for_an_unknown_quantile_lists_the_known_ones(unknown):
    with pytest.raises(UnknownQuantileError, match=r"it has 0\.5, 0\.99"):
        results_of()[0][unknown]
    for column in (results_of().values, results_of().lows, results_of().highs):
        with pytest.raises(KeyError):
            column(unknown)


@pytest.mark.parametrize("unknown", [26, None, "x", float("nan")])
def test_the_error_for_an_unknown_threshold_lists_the_known_ones(unknown):
    with pytest.raises(UnknownQuantileError, match=r"it has 25\.0"):
        results_of()[0].below(unknown)


def test_the_error_for_a_query_without_thresholds_says_so():
    with pytest.raises(UnknownQuantileError, match="none"):
        results_of(Query(4, 2))[0].below(1)


def test_an_error_message_is_readable():
    with pytest.raises(UnknownQuantileError) as caught:
        results_of()[0][0.9]
    assert str(caught.value) == "0.9 is not a quantile of this query; it has 0.5, 0.99"


def test_the_repr_of_a_result_is_readable():
    text = repr(results_of()[-1])
    assert text.startswith("Result(60..100, count=40, 0.5: 79 [79..79] exact, 0.99: 99 [99..99] exact")
    assert repr(results_of()).startswith("Results(10, last Result(60..100")


def test_no_value_is_printed_outside_of_its_interval():
    """Six digits are 1940 [1939.99..1940]."""
    results = results_of()
    results.estimates(0)[-1] = 1939.996, 1939.99, 1939.998
    assert "0.5: 1939.996 [1939.99..1939.998] " in repr(results[-1])
    results.estimates(0)[-1] = 1939.996, np.nan, np.nan
    assert "0.5: 1940 [nan..nan] " in repr(results[-1])


def test_times_of_results_are_instants():
    query = Query("2 s", "1 s", lateness="0 s")
    results = Operator(query).push([1, 2], np.array(["2024-01-01T00:00:00", "2024-01-01T00:00:05"], "datetime64[s]"))
    assert results[0].end == np.datetime64("2024-01-01T00:00:01")
    assert results[0].start == np.datetime64("2023-12-31T23:59:59")
    assert "2024-01-01T00:00:01" in repr(results[0])
    assert results.starts.dtype == results.ends.dtype == np.dtype("datetime64[us]")


def test_results_do_not_change_when_the_stream_continues():
    operator = Operator(QUERY)
    results = operator.push(np.arange(100))
    before = results.rows.copy()
    operator.push(np.arange(1000))
    assert np.array_equal(results.rows, before)
    assert isinstance(results[0], Result)


def test_the_columns_of_a_row_are_those_that_the_kernels_write():
    columns = (NUMBER, COUNT, SUB_WINDOWS, BURST, MINIMUM, MAXIMUM, SCORE, FIXED)
    names = ("NUMBER", "COUNT", "SUMMARIES", "BURST", "MINIMUM", "MAXIMUM", "SCORE", "FIXED")
    assert columns == tuple(getattr(registers, f"OUT_{name}") for name in names)


def test_a_row_that_others_compute_reads_as_a_result():
    query = Query(30, 10, quantiles=(0.5, 0.9))
    estimates = [(2.0, 1.0, 3.0, METHODS.index("sketch")), (5.0, 5.0, 5.0, METHODS.index("exact"))]
    (result,) = Results(query, result_row(4, 29, 3, (0.5, 7.0), estimates)[np.newaxis])
    assert (result.start, result.end, result.count, result.sub_windows) == (20, 50, 29, 3)
    assert (result.minimum, result.maximum, result.burst) == (0.5, 7.0, False)
    half, most = result[0.5], result[0.9]
    assert (half.value, half.low, half.high, half.method) == (2.0, 1.0, 3.0, "sketch")
    assert (most.value, most.low, most.high, most.method) == (5.0, 5.0, 5.0, "exact")


def test_the_core_writes_the_methods_that_results_read():
    names = [name for name in METHODS if name != "sketch"]
    codes = [getattr(registers, "METHOD_" + name.upper().replace("-", "_")) for name in names]
    assert [METHODS[code] for code in codes] == names


def test_exact_is_only_where_low_is_high_and_certified_where_the_digits_are_right():
    values = np.tile(np.arange(100_000, 110_000), 4)
    results = Operator(Query(20_000, 10_000, quantiles=(0.5, 1))).push(values)
    assert [result[0.5].method for result in results] == ["certified"] * len(results)
    assert all(result[0.5].low < result[0.5].high for result in results)
    assert {result[1].method for result in results} <= {"exact", "certified"}
    raw = Operator(Query(20_000, 10_000, quantiles=(0.5, 1), digits=None)).push(values)
    assert [result[0.5].method for result in raw] == ["exact"] * len(raw)
    assert all(result[0.5].low == result[0.5].value == result[0.5].high for result in raw)
