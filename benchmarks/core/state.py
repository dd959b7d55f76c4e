"""How much space does the default query need, 128K by 16K: in variables, in bytes, in resident memory?"""

import os
from pathlib import Path

import numpy as np

from aomg import Operator, Query
from benchmarks.measure import Figure, pingmesh_values

SIZE, PERIOD = 131_072, 16_384
OPERATORS = 32


def run(quick: bool) -> list[Figure]:
    values = pingmesh_values((32 if quick else 128) * PERIOD)
    operator = Operator(Query(SIZE, PERIOD))
    operator.push(values[:SIZE])
    most, closed, live, parts = 0, 0, 0, {}
    for start in range(SIZE, values.size, PERIOD):
        operator.push(values[start : start + PERIOD - 1])  # the open sub-window as full as it gets
        if operator.variables() > most:
            most, parts = operator.variables(), operator.variables_by_part()
        live = max(live, operator.nbytes)
        operator.push(values[start + PERIOD - 1 : start + PERIOD])
        closed = max(closed, operator.summary_nbytes)
    figures = [
        Figure(
            "state with a full open sub-window, 128K by 16K",
            f"{most:,} variables",
            "<= 7,000",
            most <= 7_000,
            {"variables": most, "by_part": parts},
            "variables",
        ),
        Figure(
            "closed summaries, 128K by 16K",
            f"{closed:,} bytes",
            "<= 6 kB",
            closed <= 6_000,
            {"summary_bytes": closed, "live_bytes": live},
            "bytes",
        ),
    ]
    small = Operator(Query(SIZE, 1_024))
    small.push(values[: 2 * SIZE])
    figures.append(
        Figure(
            "state of the same window with 128 sub-windows, 128K by 1K",
            f"{small.variables():,} variables, {small.summary_nbytes:,} bytes of summaries",
            "",
            None,
            {"variables": small.variables(), "summary_bytes": small.summary_nbytes},
            "variables",
        )
    )
    figures += [*_sizes(quick), _day()]
    resident = _resident_bytes(values)
    if resident:
        figures.append(
            Figure(
                "resident memory of an operator, 128K by 16K",
                f"{resident / 1e3:,.0f} kB",
                "",
                None,
                {"resident_bytes": resident},
                "bytes",
            )
        )
    return figures


def _sizes(quick: bool) -> list[Figure]:
    """Bytes of a summary by the number of its events, which are lognormal."""
    random = np.random.default_rng(5)
    figures = []
    for events, most in ((1, 40), (5, 50), (60, 120), (200, 300), (1_000, 600)):
        sub_windows = 20 if quick else 200
        operator = Operator(Query(sub_windows * events, events))
        operator.push(800 * random.lognormal(0, 0.3, sub_windows * events))
        mean = operator.summary_nbytes / sub_windows
        figures.append(
            Figure(
                f"a closed sub-window of {events:,} event{'s' if events > 1 else ''}",
                f"{mean:,.0f} bytes",
                f"<= {most}",
                mean <= most,
                {"bytes": mean},
                "bytes",
            )
        )
    return figures


def _day() -> Figure:
    """A key with few events a minute, over a day."""
    operator = Operator(Query("24 hours", "1 minute"))
    times = np.datetime64("2026-05-01", "us") + np.arange(1_440 * 60) * np.timedelta64(1, "s")
    operator.push(800 * np.random.default_rng(6).lognormal(0, 0.3, times.size), times)
    operator.finish()
    size = operator.summary_nbytes
    return Figure(
        "summaries of a key, 24 hours by 1 minute, 60 events a minute",
        f"{size / 1e3:,.0f} kB",
        "<= 170 kB",
        size <= 170_000,
        {"summary_bytes": size},
        "bytes",
    )


def _resident_bytes(values: np.ndarray) -> int:
    """Return how many bytes the process grows per operator; 0 if the system does not report it."""
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        return 0

    def pages() -> int:
        return int(statistics.read_text().split()[1])

    query = Query(SIZE, PERIOD)
    operators = [Operator(query)]
    operators[0].push(values[:SIZE])
    before = pages()
    for _ in range(OPERATORS):
        operators.append(Operator(query))
        operators[-1].push(values[:SIZE])
    return (pages() - before) * os.sysconf("SC_PAGE_SIZE") // OPERATORS
