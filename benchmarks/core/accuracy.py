"""How far are the estimates of the default query from the exact quantiles of the raw values?

Compares every full window, on a Pingmesh-like stream without and with the paper's bursts, or on Parquet files:
--data FILE_OR_FOLDER --value COLUMN.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from aomg import FewK, Operator, Query
from aomg.result import METHODS
from aomg.streams import pingmesh, with_bursts
from benchmarks.measure import QUANTILES, Array, Figure, exact, pingmesh_values

SIZE, PERIOD = 131_072, 16_384
SHORT = 4 * SIZE  # shorter files get windows of 32K
AIMS = (0.05, 0.1, 0.1, 0.1)
AIM_WITH_BURSTS = 0.2
AIM_WORST = 1.5


def run(quick: bool) -> list[Figure]:
    events = (40 if quick else 512) * PERIOD
    query = Query(SIZE, PERIOD)
    bursts = with_bursts(pingmesh(seed=1), SIZE, PERIOD).take(events)
    mean, few_k = Query.paper(SIZE, PERIOD), Query.paper(SIZE, PERIOD, few_k=FewK())
    fewer = bursts[: events // 4]
    return [
        _average("Pingmesh-like, 128K by 16K", compare(query, pingmesh_values(events)), AIMS),
        _average("Pingmesh-like with the paper's bursts, 128K by 16K", compare(query, bursts), (AIM_WITH_BURSTS,) * 4),
        _average("same bursts, paper mode without few-k", compare(mean, fewer)),
        _average("same bursts, paper mode with few-k", compare(few_k, fewer)),
    ]


def run_on(paths: list[Path], columns: list[str], quick: bool) -> list[Figure]:
    """Return the worst window of every file, at periods of 16K and 1K."""
    files = [file for path in paths for file in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])]
    figures = []
    for file in files:
        values = _column(file, columns)
        size = SIZE if values.size >= SHORT else 32_768
        for period in (16_384, 1_024):
            errors = compare(Query(size, period), values, every=(8 if period < 2_000 else 1) if quick else 1)
            worst = max(errors["worst"])
            figures.append(
                Figure(
                    f"value error in the worst window, {file.stem}, {size // 1024}K by {period // 1024}K",
                    f"{worst:.2f} % (average {_listed(errors['average'])} %)",
                    f"<= {AIM_WORST:g} %",
                    worst <= AIM_WORST and errors["outside"] == 0,
                    {**errors, "events": values.size},
                    "%",
                    "exact quantiles; 2 % is guaranteed",
                )
            )
    return figures


def compare(query: Query, values: Array, every: int = 1) -> dict[str, Any]:
    """Return the value errors of each quantile in %, the share of each method, and the intervals that failed."""
    results = Operator(query).push(values)
    first = query.sub_windows - 1 if query.partial else 0
    rows = range(first, len(results), every)
    truth = np.array([exact(values[results[i].start : results[i].end], query.quantiles) for i in rows])
    columns = range(len(query.quantiles))
    estimates = np.stack([results.estimates(c)[rows.start :: every] for c in columns], axis=1)
    outside = int(((truth < estimates[:, :, 1]) | (truth > estimates[:, :, 2])).sum())
    zero = truth == 0
    errors = np.abs(estimates[:, :, 0] - truth) / np.where(zero, 1, np.abs(truth)) * 100
    used = [Counter(results.methods(c)[rows.start :: every].tolist()) for c in columns]
    return {
        "windows": len(rows),
        "average": np.where(zero, 0, errors).mean(axis=0).tolist(),
        "worst": np.where(zero, 0, errors).max(axis=0).tolist(),
        "outside": outside,
        "zeros": int(zero.sum()),
        "methods": {
            str(q): {METHODS[m]: n / len(rows) for m, n in sorted(used[c].items())}
            for c, q in zip(columns, query.quantiles, strict=True)
        },
    }


def _average(stream: str, errors: dict[str, Any], aims: tuple[float, ...] = ()) -> Figure:
    met = errors["outside"] == 0 and bool(np.all(np.array(errors["average"]) <= aims)) if aims else None
    return Figure(
        f"average value error at {QUANTILES}, {stream}",
        f"{_listed(errors['average'])} % (worst window {_listed(errors['worst'])} %)",
        "<= " + " / ".join(f"{aim:g}" for aim in aims) + " %" if aims else "",
        met,
        errors,
        "%",
        "exact quantiles",
    )


def _listed(errors: list[float]) -> str:
    return " / ".join(f"{error:.2f}" for error in errors)


def _column(file: Path, columns: list[str]) -> Array:
    """Return the first of these columns that a file has, without nulls, in the file's order."""
    names = pq.read_schema(file).names
    name = next((column for column in columns if column in names), None)
    if name is None:
        raise SystemExit(f"{file.name} has no column {' or '.join(columns)}; give --value one of {', '.join(names)}")
    return pq.read_table(file, columns=[name]).column(name).drop_null().to_numpy()
