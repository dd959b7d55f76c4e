"""Ranks keys by the worst window of one estimate.

The highest value of a quantile is the worst; of a share below a threshold the lowest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aomg.monitor.results.reader import ResultsError, label
from aomg.monitor.sinks.result_rows import codes, records
from aomg.suggestions import there_are


@dataclass(frozen=True)
class RankedKey:
    """A key, or several keys of which the worst counts at each window end.

    worst
        The stored row, as JSON, of the window where the chosen estimate was worst.
    series
        End in microseconds, value, low, high of the chosen estimate at each window end, in order.
    """

    query: str
    labels: dict[str, str | None]
    worst: dict[str, Any]
    series: list[tuple[int, float, float, float]]


@dataclass(frozen=True)
class Ranking:
    """The worst keys, worst first, and the number of all keys."""

    first: list[RankedKey]
    keys: int


def stored_name(rows: pa.Table, estimate: str | None) -> str | None:
    """The name of a stored estimate, for p99, p99.9, p99_9, 0.999 or below_-0.5; None if it is not stored.

    The default is p99, or the highest quantile.
    """
    names = _names(rows)
    if estimate is None:
        quantiles = [name for name in names if name.startswith("p")]
        return "p99" if "p99" in quantiles else next(reversed(quantiles), None)
    name = _column_name(estimate)
    return name if name in names else None


def no_estimate(rows: pa.Table, estimate: str | None) -> ResultsError:
    """The error for an estimate that no row has."""
    if estimate is None:
        return ResultsError("these results have no quantiles")
    return ResultsError(f"these results have no {estimate!r}; {there_are(_column_name(estimate), _names(rows))}")


def _names(rows: pa.Table) -> list[str]:
    names: list[str] = pc.unique(rows["estimates"].combine_chunks().flatten().field("name")).to_pylist()
    return names


def _column_name(estimate: str) -> str:
    """The name of an estimate as stored: 0.999 and p99.9 are p99_9."""
    try:
        if not estimate.startswith(("p", "below")):
            return "p" + format((Decimal(estimate) * 100).normalize(), "f").replace(".", "_")
    except InvalidOperation:
        pass
    return estimate.strip().replace("-", "minus_").replace(".", "_")


def is_share(name: str) -> bool:
    """Whether an estimate is a share of events at or below a threshold: the lower, the worse."""
    return name.startswith("below_")


def ranked(
    rows: pa.Table, by: Sequence[str] | None = None, quantile: str | None = None, most: int | None = None
) -> Ranking:
    """Rank keys by an estimate, the worst first. `rows` are those of one query, from `results.reader.read`.

    With fewer labels in `by` than the keys have, keys that share them are one, and the worst of them counts at each
    end: results cannot give the quantile of all their events together (stored summaries can).

    Takes a few operations on columns for all rows, and some tenths of a millisecond for each of the `most` first keys.
    """
    name = stored_name(rows, quantile)
    if name is None:
        raise no_estimate(rows, quantile)
    labels = list(by) if by else label_names(rows)
    columns = [label(rows, label_name) for label_name in labels]
    group = _groups(columns, len(rows))
    ends = codes(rows["end"])
    numbers = _numbers(rows, name)
    badness = -numbers[:, 0] if is_share(name) else numbers[:, 0]
    value = np.where(np.isfinite(badness), badness, -np.inf)
    order = np.lexsort((value, ends, group))
    is_worst = np.ones(len(order), bool)
    is_worst[:-1] = (np.diff(group[order]) != 0) | (np.diff(ends[order]) != 0)
    order = order[is_worst & np.isfinite(value[order])]
    if not order.size:
        return Ranking([], 0)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(group[order])) + 1])
    highest = np.maximum.reduceat(value[order], starts)
    reached = value[order] == np.repeat(highest, np.diff([*starts, len(order)]))
    first = np.minimum.reduceat(np.where(reached, np.arange(len(order)), len(order)), starts)
    worst_rows = order[first]
    query = rows["query"][0].as_py()
    keys: list[RankedKey] = []
    for key in np.lexsort((worst_rows, -highest))[:most].tolist():
        row = int(worst_rows[key])
        part = order[starts[key] : starts[key + 1] if key + 1 < len(starts) else None]
        series = [
            (end, *bounds) for end, bounds in zip(ends[part].tolist(), map(tuple, numbers[part].tolist()), strict=True)
        ]
        values = {name: column[row].as_py() for name, column in zip(labels, columns, strict=True)}
        keys.append(RankedKey(query, values, _record(rows, row), series))
    return Ranking(keys, len(starts))


def label_names(rows: pa.Table) -> list[str]:
    """The names of the labels of the newest row."""
    if not len(rows):
        return []
    newest = int(np.argmax(codes(rows["end"])))
    return list(rows["label_names"][newest].as_py() or ())


def _groups(columns: Sequence[pa.Array], count: int) -> NDArray[np.int64]:
    """A number for each row, equal where all its labels are."""
    group = np.zeros(count, np.int64)
    for column in columns:
        text = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        _, group = np.unique(group * (int(text.max(initial=0)) + 1) + text, return_inverse=True)
    return group


def _numbers(rows: pa.Table, name: str) -> NDArray[np.float64]:
    """Value, low and high of one estimate in every row; NaN where a row lacks it."""
    whole = rows["estimates"].combine_chunks()
    parts = whole.flatten()
    matches = pc.equal(parts.field("name"), name).fill_null(False).to_numpy(zero_copy_only=False)
    row = whole.value_parent_indices().to_numpy(zero_copy_only=False)[matches]
    numbers = np.full((len(rows), 3), np.nan)
    for column, key in enumerate(("value", "low", "high")):
        numbers[row, column] = parts.field(key).filter(pa.array(matches)).to_numpy(zero_copy_only=False)
    return numbers


def _record(rows: pa.Table, row: int) -> dict[str, Any]:
    return next(records(rows.slice(row, 1)))
