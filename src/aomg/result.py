"""Results of windows: stored in columns, read as objects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np
import numpy.typing as npt

from aomg.core.paper.theorem import theorem_1
from aomg.errors import InputError, QueryError, UnknownQuantileError
from aomg.numbers import number_texts
from aomg.query import Query, decimal_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from plotly.graph_objects import Figure

METHODS = ("exact", "band", "envelope", "mean", "top-k", "sample-k", "sketch", "certified")
# columns of a row of results: these, then value, low, high and method of each quantile, then three for each threshold
NUMBER, COUNT, SUB_WINDOWS, BURST, MINIMUM, MAXIMUM, SCORE, FIXED = range(8)
_PER_QUANTILE, _METHOD, _PER_THRESHOLD = 4, 3, 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of one quantile. Always `low <= exact quantile <= high` and `low <= value <= high`.

    method
        How certain the value is, and how it was computed: "exact" (low == high), "certified" (right to the digits that
        the query keeps, low < high), "band" or "envelope" (within the guarantee), "mean" (Level 2), "top-k" or
        "sample-k" (few-k merging). The policies of `aomg.policies` have "exact" or "sketch", and NaN for low and high
        where they guarantee nothing.
    bound, bound_corrected
        The error bound of the paper's Theorem 1, with the paper's constant and with the constant that its proof needs;
        None where its assumptions cannot hold.
    """

    value: float
    low: float
    high: float
    method: str
    bound: float | None = None
    bound_corrected: float | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """The share of events at or below a threshold, from 0 to 1. Always `low <= exact share <= high`."""

    value: float
    low: float
    high: float


class Result:
    """The result of one window: `result[0.99]` is the estimate of a quantile. A view of a row of `Results`."""

    __slots__ = ("_results", "_row")

    def __init__(self, results: "Results", row: int) -> None:
        self._results = results
        self._row = row

    @property
    def start(self) -> Any:
        """Start of the window: the number of its first event, or a time."""
        return self._results.starts[self._row].item() if self._counted else self._results.starts[self._row]

    @property
    def end(self) -> Any:
        """End of the window (exclusive): the number of an event, or a time."""
        return self._results.ends[self._row].item() if self._counted else self._results.ends[self._row]

    @property
    def _counted(self) -> bool:
        return self._results.query.counted

    @property
    def count(self) -> int:
        """Number of events in the window."""
        return int(self._results.counts[self._row])

    @property
    def minimum(self) -> float:
        """Smallest value (integers beyond 2^53 are rounded down to a double)."""
        return float(self._results.minima[self._row])

    @property
    def maximum(self) -> float:
        """Largest value (integers beyond 2^53 are rounded up to a double)."""
        return float(self._results.maxima[self._row])

    @property
    def sub_windows(self) -> int:
        """Number of the window's sub-windows that have events."""
        return int(self._results.sub_windows[self._row])

    @property
    def burst(self) -> bool:
        """Whether the newest sub-window's tail is larger than the one before, or remains larger."""
        return bool(self._results.bursts[self._row])

    @property
    def burst_score(self) -> float:
        """Mean of sign(x - y) over pairs of the newest tail and the one before, in [-1, 1].

        The largest over the high quantiles. A tail of fewer than about 43 values counts only if it is significantly
        larger or smaller than the one before (`aomg.core.kernels.exceedances`); 0 if no tail counts.
        """
        return float(self._results.burst_scores[self._row])

    def __getitem__(self, quantile: Any) -> Estimate:
        """Return the estimate of one of the query's quantiles."""
        column = self._results.column_of(quantile)
        value, low, high = self._results.estimates(column)[self._row]
        method = METHODS[self._results.methods(column)[self._row]]
        return Estimate(float(value), float(low), float(high), method, *self._theorem(column))

    def _theorem(self, column: int) -> tuple[float | None, float | None]:
        """Theorem 1's two bounds, computed on access."""
        if self._results.densities is None or self.sub_windows < 2:
            return None, None
        inverse, spread = self._results.densities[self._row, column]
        quantile = self._results.query.quantiles[column]
        bounds = theorem_1(quantile, self.count, float(inverse), float(spread), self.sub_windows)
        return (None, None) if np.isnan(bounds[0]) else bounds

    def below(self, threshold: float) -> Share:
        """Return the share of events at or below one of the query's thresholds."""
        return Share(*map(float, self._results.shares(threshold)[self._row]))

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal, bit for bit."""
        if not isinstance(other, Result):
            return NotImplemented
        return self._results[self._row : self._row + 1] == other._results[other._row : other._row + 1]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the window and its quantiles, rounded as in `aomg.numbers`."""
        quantiles = ", ".join(f"{q}: {_text(self[q])}" for q in self._results.query.quantiles)
        return f"Result({self.start}..{self.end}, count={self.count}, {quantiles})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks: a row for each quantile and threshold."""
        from aomg.tables.html import result_html

        return result_html(self, self._results.query)


def _text(estimate: Estimate) -> str:
    texts = number_texts(estimate.value, estimate.low, estimate.high, digits=6, grouped=False, missing="nan")
    return f"{texts.value} [{texts.interval}] {estimate.method}"


def row_width(query: Query) -> int:
    """Return how many columns a row of results has."""
    return FIXED + _PER_QUANTILE * len(query.quantiles) + _PER_THRESHOLD * len(query.thresholds)


def result_row(
    number: int, count: int, sub_windows: int, extremes: tuple[float, float], estimates: Sequence[tuple[float, ...]]
) -> npt.NDArray[np.int64]:
    """Return a row of results, for code that computes results without the core.

    number
        The number of the window's newest sub-window: its end, divided by the period, less one.
    estimates
        Value, low, high and the index of the method in METHODS, for each quantile.
    """
    row = np.zeros(FIXED + _PER_QUANTILE * len(estimates), np.int64)
    reals = row.view(np.float64)
    row[NUMBER], row[COUNT], row[SUB_WINDOWS] = number, count, sub_windows
    reals[MINIMUM], reals[MAXIMUM] = extremes
    for column, (*interval, method) in enumerate(estimates):
        first = FIXED + _PER_QUANTILE * column
        reals[first : first + _METHOD] = interval
        row[first + _METHOD] = method
    return row


class Results:
    """Results ordered by the end of their window. `results[i]` is a Result, a slice is Results.

    They behave as a sequence, but are no `collections.abc.Sequence`: Polars would take them for a list of objects.

    Columns (`ends`, `counts`, `values(0.99)`, `lows(0.99)`, ...) are NumPy arrays with an item for each window.
    """

    def __init__(self, query: Query, rows: npt.NDArray[np.int64], densities: npt.NDArray[np.float64] | None = None):
        self.query = query
        self.rows = rows
        self.densities = densities  # 1/f and the sub-windows' spread at each quantile, for Theorem 1

    @property
    def _reals(self) -> npt.NDArray[np.float64]:
        return self.rows.view(np.float64)

    @property
    def ends(self) -> npt.NDArray[Any]:
        """End of each window (exclusive): the number of an event, or datetime64[us] in UTC."""
        ends: npt.NDArray[Any] = (self.rows[:, NUMBER] + 1) * self.query.period
        return ends if self.query.counted else ends.astype("datetime64[us]")

    @property
    def starts(self) -> npt.NDArray[Any]:
        """Start of each window."""
        return self.ends - (self.query.size if self.query.counted else np.timedelta64(self.query.size, "us"))

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of events in each window."""
        return self.rows[:, COUNT]

    @property
    def sub_windows(self) -> npt.NDArray[np.int64]:
        """Number of sub-windows with events in each window."""
        return self.rows[:, SUB_WINDOWS]

    @property
    def bursts(self) -> npt.NDArray[np.bool_]:
        """Whether each window has a burst; see `Result.burst`."""
        return self.rows[:, BURST].astype(np.bool_)

    @property
    def minima(self) -> npt.NDArray[np.float64]:
        """Smallest value of each window."""
        return self._reals[:, MINIMUM]

    @property
    def maxima(self) -> npt.NDArray[np.float64]:
        """Largest value of each window."""
        return self._reals[:, MAXIMUM]

    @property
    def burst_scores(self) -> npt.NDArray[np.float64]:
        """The burst detector's score for the newest sub-window of each window; see `Result.burst_score`."""
        return self._reals[:, SCORE]

    def column_of(self, quantile: Any) -> int:
        """Index of a quantile among the query's quantiles."""
        try:
            return self.query.quantiles.index(decimal_of(quantile))  # type: ignore[no-any-return]
        except (ValueError, QueryError):
            quantiles = ", ".join(map(str, self.query.quantiles))
            raise UnknownQuantileError(f"{quantile!r} is not a quantile of this query; it has {quantiles}") from None

    def estimates(self, column: int) -> npt.NDArray[np.float64]:
        """Value, low and high of the quantile with this index: a row for each window."""
        first = FIXED + _PER_QUANTILE * column
        return self._reals[:, first : first + _METHOD]

    def methods(self, column: int) -> npt.NDArray[np.int64]:
        """Method of the quantile with this index, as an index into METHODS, for each window."""
        return self.rows[:, FIXED + _PER_QUANTILE * column + _METHOD]

    def values(self, quantile: Any) -> npt.NDArray[np.float64]:
        """Values of one quantile, for each window: results.values(0.99)."""
        return self.estimates(self.column_of(quantile))[:, 0]

    def lows(self, quantile: Any) -> npt.NDArray[np.float64]:
        """Lower ends of the intervals of one quantile, for each window."""
        return self.estimates(self.column_of(quantile))[:, 1]

    def highs(self, quantile: Any) -> npt.NDArray[np.float64]:
        """Upper ends of the intervals of one quantile, for each window."""
        return self.estimates(self.column_of(quantile))[:, 2]

    def shares(self, threshold: float) -> npt.NDArray[np.float64]:
        """Value, low and high of the share at or below one of the query's thresholds: a row for each window."""
        try:
            index = self.query.thresholds.index(float(threshold))
        except (ValueError, TypeError):
            thresholds = ", ".join(map(str, self.query.thresholds)) or "none"
            raise UnknownQuantileError(f"{threshold!r} is not a threshold of this query; it has {thresholds}") from None
        first = FIXED + _PER_QUANTILE * len(self.query.quantiles) + _PER_THRESHOLD * index
        return self._reals[:, first : first + _PER_THRESHOLD]

    def __len__(self) -> int:
        """Number of windows."""
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> "Results": ...
    def __getitem__(self, index: int | slice) -> "Result | Results":
        """Return one Result, or the Results of a slice."""
        if isinstance(index, slice):
            return Results(self.query, self.rows[index], None if self.densities is None else self.densities[index])
        try:
            return Result(self, range(len(self.rows))[index])
        except IndexError:
            raise IndexError(f"there is no result {index}; there are {len(self.rows)}") from None

    def __iter__(self) -> Iterator[Result]:
        """Iterate over the results, ordered by the end of their window."""
        for row in range(len(self.rows)):
            yield Result(self, row)

    def index(self, result: Result) -> int:
        """Index of the first result that equals this one. Raises ValueError if there is none."""
        return list(self).index(result)

    def __add__(self, other: "Results") -> "Results":
        """Concatenate results of the same query."""
        densities = None
        if self.densities is not None and other.densities is not None:
            densities = np.concatenate([self.densities, other.densities])
        return Results(self.query, np.concatenate([self.rows, other.rows]), densities)

    def __eq__(self, other: object) -> bool:
        """Whether the queries and all fields are equal, bit for bit."""
        if not isinstance(other, Results):
            return NotImplemented
        if self.query != other.query or not np.array_equal(self.rows, other.rows):
            return False
        if self.densities is None or other.densities is None:
            return self.densities is other.densities
        return np.array_equal(self.densities, other.densities, equal_nan=True)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the number of results, and the last one."""
        return f"Results({len(self)}{', last ' + repr(self[-1]) if len(self) else ''})"

    def to_arrow(self, *, flat: bool = False) -> "pa.Table":
        """Return a table of Arrow with the columns that `aomg.spark` gives (`aomg.tables.columns`).

        flat
            Instead of structs: `window_start` and `window_end`; `p99`, `p99_low`, `p99_high` and `p99_method` for each
            quantile; `below_500`, `below_500_low` and `below_500_high` for each threshold.

        Times have the time zone UTC.
        """
        from aomg.tables.results import arrow_table

        return arrow_table(self, flat)

    def to_pandas(self, *, flat: bool = True) -> "pd.DataFrame":
        """Return a DataFrame of pandas. It is flat by default: pandas has no structs, and would have dictionaries."""
        from aomg.tables.results import pandas_table

        frame: pd.DataFrame = pandas_table(self, flat)
        return frame

    def to_polars(self, *, flat: bool = False) -> "pl.DataFrame":
        """Return a DataFrame of Polars, with the columns of `to_arrow`."""
        from aomg.tables.results import polars_table

        frame: pl.DataFrame = polars_table(self, flat)
        return frame

    def plot(self, quantiles: Any = None) -> "Figure":
        """Plot quantiles over time with their intervals: all, or those given. Returns a figure of Plotly.

        See `aomg.plot`, which also plots tables with keys. Raises SettingsError where Plotly is missing.
        """
        from aomg.tables.plot import plot

        return plot(self, quantiles)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give `to_arrow()` to any library that reads Arrow: pa.table(results), pl.DataFrame(results), DuckDB."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        """Raises InputError: an array of results has no use. `pd.DataFrame(results)` calls it."""
        raise InputError(
            "results are not an array; for a DataFrame call results.to_pandas(), for an array results.values(0.99)"
        )

    def _repr_html_(self) -> str:
        """Return a table for notebooks: the last windows, with the interval of each estimate."""
        from aomg.tables.html import results_html

        return results_html(self)
