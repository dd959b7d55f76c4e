"""Which keys are worst: each key's worst window by one quantile, and how the quantile went over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aomg.monitor.result_rows import codes, labels_key, records
from aomg.monitor.results import ResultsError, label, there_are


@dataclass(frozen=True)
class Ranked:
    """A key, or several keys of which the worst counts at each window end.

    worst
        The stored row (as JSON has it) of the window where the chosen quantile was highest.
    series
        End in microseconds, value, low, high of the chosen quantile at each window end, in their order.
    """

    query: str
    labels: dict[str, str | None]
    worst: dict[str, Any]
    series: list[tuple[int, float, float, float]]


def chosen_quantile(rows: pa.Table, asked: str | None) -> str:
    """The name of a quantile as it is stored, for p99, p99.9, p99_9 or 0.999; unless asked, p99 or the highest."""
    names = list(dict.fromkeys(rows["estimates"].combine_chunks().flatten().field("name").to_pylist()))
    quantiles = [name for name in names if name.startswith("p")]
    if asked is None:
        if not quantiles:
            raise ResultsError("these results hold no quantiles")
        return "p99" if "p99" in quantiles else quantiles[-1]
    name = asked.strip().replace(".", "_")
    try:
        if not asked.startswith(("p", "below")):
            name = "p" + format((Decimal(asked) * 100).normalize(), "f").replace(".", "_")
    except InvalidOperation:
        pass
    if name not in names:
        raise ResultsError(f"these results hold no {asked!r}; {there_are(name, names)}")
    return name


def ranked(rows: pa.Table, by: Sequence[str] | None = None, quantile: str | None = None) -> list[Ranked]:
    """Keys with the highest value of a quantile first. `rows` are those of one query, as `results.read` gives them.

    With fewer labels in `by` than the keys have, keys that share them are one, and the worst of them counts at each
    end: the quantile of all their events together cannot be told from results (but from summaries).
    """
    name = chosen_quantile(rows, quantile)
    labels = list(by) if by else label_names(rows)
    columns = [label(rows, one) for one in labels]
    keys = [list(key) for key in zip(*columns, strict=True)] if columns else [[] for _ in range(len(rows))]
    group = codes(labels_key(pa.array(keys, pa.list_(pa.string()))))
    ends = codes(rows["end"])
    numbers = _numbers(rows, name)
    value = np.where(np.isnan(numbers[:, 0]), -np.inf, numbers[:, 0])
    order = np.lexsort((value, ends, group))
    is_worst = np.ones(len(order), bool)
    is_worst[:-1] = (np.diff(group[order]) != 0) | (np.diff(ends[order]) != 0)
    order = order[is_worst & np.isfinite(value[order])]
    found = []
    for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if order.size else []:
        at = int(part[np.argmax(value[part])])
        times = ends[part].tolist()
        series = [
            (end, value, low, high) for end, (value, low, high) in zip(times, numbers[part].tolist(), strict=True)
        ]
        found.append((at, {one: column[at] for one, column in zip(labels, columns, strict=True)}, series))
    found.sort(key=lambda one: (-value[one[0]], one[0]))
    return [Ranked(rows["query"][at].as_py(), named, _row(rows, at), series) for at, named, series in found]


def label_names(rows: pa.Table) -> list[str]:
    """The labels of the newest row: all that the keys have."""
    if not len(rows):
        return []
    newest = int(np.argmax(codes(rows["end"])))
    return list(rows["label_names"][newest].as_py() or ())


def _numbers(rows: pa.Table, name: str) -> NDArray[np.float64]:
    """Value, low and high of one estimate in every row; NaN where a row lacks it."""
    whole = rows["estimates"].combine_chunks()
    parts, row = (
        whole.flatten(),
        np.repeat(np.arange(len(rows)), whole.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)),
    )
    mine = np.asarray(parts.field("name").to_numpy(zero_copy_only=False)) == name
    numbers = np.full((len(rows), 3), np.nan)
    for column, key in enumerate(("value", "low", "high")):
        numbers[row[mine], column] = parts.field(key).to_numpy(zero_copy_only=False)[mine]
    return numbers


def _row(rows: pa.Table, at: int) -> dict[str, Any]:
    return next(records(rows.slice(at, 1)))
