"""Defines what a plot of quantiles over time draws, and reads it from the results of one stream."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.errors import QueryError
from aomg.names import quantile_name
from aomg.query import listed
from aomg.result import METHODS, Results

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One quantile of one key over time, ordered by the end of the window.

    key
        The text of the key; empty without by columns.
    name
        The column of the quantile: p99.
    ends
        Microseconds since 1970, or numbers of events.
    methods, method_names
        The method of each window, as an index into the names.
    """

    key: str
    name: str
    ends: Integers
    values: Reals
    lows: Reals
    highs: Reals
    bursts: npt.NDArray[np.bool_]
    methods: npt.NDArray[Any]
    method_names: Sequence[str]


@dataclass(frozen=True)
class Curves:
    """All curves of a plot: those of a key one after the other, with the same quantiles for each key.

    size, period
        Of the windows, in microseconds or in events; 0 where a table does not say.
    by
        The by columns.
    choice
        Which keys these are, in words; empty if all.
    """

    curves: Sequence[Curve]
    counted: bool
    size: int
    period: int
    by: Sequence[str] = ()
    choice: str = ""


def chosen_quantiles(quantiles: Any) -> tuple[Any, ...]:
    """Return the quantiles that a plot was asked for: one, or several. Raises QueryError if there are none."""
    chosen = listed(quantiles, "quantiles")
    if not chosen:
        raise QueryError("quantiles is empty; give at least one, such as 0.99")
    return chosen


def curves_of_results(results: Results, quantiles: Any = None) -> Curves:
    """Return a curve for each of the query's quantiles, or for those that are given."""
    query = results.query
    columns = map(results.column_of, query.quantiles if quantiles is None else chosen_quantiles(quantiles))
    ends, bursts = results.ends.astype(np.int64), results.bursts
    curves = []
    for column in dict.fromkeys(columns):
        name, (values, lows, highs) = quantile_name(query.quantiles[column]), results.estimates(column).T
        curves.append(Curve("", name, ends, values, lows, highs, bursts, results.methods(column), METHODS))
    return Curves(curves, query.counted, query.size, query.period)
