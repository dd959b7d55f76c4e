"""Runs the local demo: a stream with an incident, its quantiles, and the exact ones for comparison.

The stream is like Pingmesh (aomg.streams.pingmesh). For two sub-windows in mid-stream its slowest 2 % take eight times
as long: the median stays, and the 0.999-quantile is high until the incident has left the window.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from numba import njit
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from aomg import Estimate, Operator, Query, Result, Results
from aomg.numbers import NumberTexts, number_texts
from aomg.streams import pingmesh

Values = npt.NDArray[np.int64]

QUERY = Query(size=131_072, period=16_384)
EVENTS = 1 << 22
SLOWEST, TIMES, SUB_WINDOWS = 0.02, 8, 2  # the incident
ROWS = 12  # besides those around the incident
SECONDS = 4.0  # for the running table, on a terminal
REPEATS = 5
_WINDOW_WIDTH, _CELL_WIDTH, _MARK_WIDTH, _GAP = 15, 17, 5, 2
STYLES = {"exact": "green", "certified": "green", "band": "cyan", "envelope": "yellow"}


def run(console: Console, events: int = EVENTS, seed: int = 1, burst: bool = True) -> None:
    """Print windows as the stream runs, then errors and speed. Needs memory for the whole stream."""
    first = events // QUERY.period // 2 if burst else None
    with _status(console, "generating the stream and compiling (a minute at the first run)"):
        values = stream(events, seed, first)
        Operator(QUERY).push(values[: QUERY.size])
        _sum(values)
    console.print(
        f"{events:,} round-trip times in microseconds; "
        f"windows of {QUERY.size:,} events, one every {QUERY.period:,}.\n"
        "Each cell: the estimate and its method; below, the interval that contains the exact value.\n"
    )
    operator = Operator(QUERY)
    results = _run_table(console, operator, values, first)
    console.print()
    _compare(console, values, results)
    console.print()
    _print_state(console, operator)
    _print_speed(console, values)


def stream(events: int, seed: int, incident: int | None) -> Values:
    """Generate the stream; its tail is raised for two sub-windows from sub-window `incident`."""
    values = pingmesh(seed).take(events)
    if incident is not None:
        for number in range(incident, incident + SUB_WINDOWS):
            part = values[number * QUERY.period : (number + 1) * QUERY.period]
            part[part > np.quantile(part, 1 - SLOWEST)] *= TIMES
    return values


def exact(window: Values, quantile: object) -> int:
    """The ceil(phi n)-th smallest value, from the raw values."""
    rank = max(math.ceil(Fraction(str(quantile)) * window.size), 1)
    return int(np.partition(window, rank - 1)[rank - 1])


# -- as it goes --------------------------------------------------------------------------------------------


def _run_table(console: Console, operator: Operator, values: Values, incident: int | None) -> Results:
    """Push a sub-window at a time, and print some of the windows."""
    printed = _windows_to_print(values.size // QUERY.period, incident)
    results = operator.push(values[:0])
    shown = _quantiles_that_fit(console.width)
    console.print(_row(Text("window ends", "bold"), *(Text(_name(q), "bold") for q in shown), Text()))
    console.print(Rule(style="dim"))
    pause = SECONDS / max(values.size // QUERY.period, 1) if console.is_terminal else 0.0
    with _live(console) as update:
        for start in range(0, values.size, QUERY.period):
            closed = operator.push(values[start : start + QUERY.period])
            results += closed
            for result in closed:
                if result.end // QUERY.period - 1 in printed:
                    console.print(_result_row(result, shown))
                update(result, values.size)
            time.sleep(pause)
    if left_out := [_name(q) for q in QUERY.quantiles if q not in shown]:
        console.print(f"too narrow for {', '.join(left_out)}; use a wider terminal", style="dim")
    return results


def _quantiles_that_fit(width: int) -> list[float]:
    """The quantiles whose cells fit: the highest first, then the median, then the others from above."""
    room = max((width - _WINDOW_WIDTH - _GAP - _MARK_WIDTH) // (_CELL_WIDTH + _GAP), 1)
    quantiles: list[float] = list(QUERY.quantiles)
    chosen = [quantiles[-1], quantiles[0], *reversed(quantiles[1:-1])][:room]
    return [q for q in quantiles if q in chosen]


def _windows_to_print(windows: int, incident: int | None) -> set[int]:
    """Windows at regular distances, and those around the incident."""
    printed = set(range(windows - 1, -1, -max(windows // ROWS, 1)))
    if incident is not None:
        calm = incident + SUB_WINDOWS + QUERY.sub_windows
        printed |= {*range(incident - 1, incident + SUB_WINDOWS + 1), *range(calm - 2, calm + 1)}
    return printed


def _row(*cells: Text | Group) -> Table:
    """One row of the running table; its widths are fixed, because rows are printed one by one."""
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    for width in (_WINDOW_WIDTH, *[_CELL_WIDTH] * (len(cells) - 2), _MARK_WIDTH):
        grid.add_column(width=width, no_wrap=True)
    grid.add_row(*cells)
    return grid


def _result_row(result: Result, quantiles: list[float]) -> Table:
    window = Group(Text(f"{result.end:,}"), Text(f"{result.count:,} events", "dim"))
    mark = Text("burst", "bold white on red") if result.burst else Text()
    return _row(window, *(_cell(result[q]) for q in quantiles), mark)


def _cell(estimate: Estimate) -> Group:
    texts = _texts(estimate)
    value = Text(texts.value, "bold")
    value.append(f" {estimate.method}", STYLES.get(estimate.method, ""))
    return Group(value, Text(texts.interval, "dim"))


@contextmanager
def _live(console: Console) -> Iterator[Callable[[Result, int], None]]:
    """Show the progress of the stream in a line below the rows, if there is a terminal."""
    if not console.is_terminal:
        yield lambda result, events: None
        return
    with Live(console=console, transient=True, refresh_per_second=20) as live:

        def update(result: Result, events: int) -> None:
            now = Text(f"{result.end:>11,} events  ", "dim")
            now.append("  ".join(f"{_name(q)} {_texts(result[q]).value}" for q in QUERY.quantiles))
            live.update(Group(ProgressBar(total=events, completed=result.end), now))

        yield update


@contextmanager
def _status(console: Console, message: str) -> Iterator[None]:
    if not console.is_terminal:
        yield
        return
    with console.status(message):
        yield


# -- afterwards --------------------------------------------------------------------------------------------


def _compare(console: Console, values: Values, results: Results) -> None:
    """Compare the estimates with the exact quantiles, and print the largest error of all windows."""
    bursts = np.flatnonzero(results.bursts)
    chosen = {"last window": len(results) - 1}
    if bursts.size:
        chosen = {"burst window": int(bursts[-1]), **chosen}
    table = Table(title="Compared with the exact quantiles", title_justify="left", title_style="bold")
    table.add_column("")
    for name in chosen:
        for heading in (name, "exact", "error"):
            table.add_column(heading, justify="right")
    for quantile in QUERY.quantiles:
        cells = []
        for row in chosen.values():
            truth = exact(_window(values, results[row]), quantile)
            estimate = results[row][quantile]
            cells += [_texts(estimate).value, f"{truth:,}", f"{100 * abs(estimate.value / truth - 1):.2f} %"]
        table.add_row(_name(quantile), *cells)
    console.print(table)
    worst, worst_quantile, inside, checked = 0.0, QUERY.quantiles[0], 0, 0
    for result in results:
        window = _window(values, result)
        for quantile in QUERY.quantiles:
            truth, estimate = exact(window, quantile), result[quantile]
            error = abs(estimate.value / truth - 1)
            worst, worst_quantile = max((worst, worst_quantile), (error, quantile))
            inside += estimate.low <= truth <= estimate.high
            checked += 1
    console.print(
        f"Largest error of all {len(results):,} windows: {100 * worst:.2f} % at {_name(worst_quantile)}; "
        f"the guarantee is {100 * QUERY.guarantee:g} %.\n"
        f"The exact quantile was inside its interval {inside:,} times of {checked:,}."
    )


def _window(values: Values, result: Result) -> Values:
    return values[max(result.start, 0) : result.end]


def _print_state(console: Console, operator: Operator) -> None:
    console.print(
        f"State: {operator.variables():,} variables for {QUERY.size:,} events; "
        f"{operator.nbytes:,} bytes, of which summaries {operator.summary_nbytes:,}."
    )


def _print_speed(console: Console, values: Values) -> None:
    """Time a push of the same stream without output, in turn with a sum of it."""
    pushing, adding = [], []
    for _ in range(REPEATS):
        operator = Operator(QUERY)
        started = time.perf_counter()
        _sum(values)
        adding.append(time.perf_counter() - started)
        started = time.perf_counter()
        operator.push(values)
        pushing.append(time.perf_counter() - started)
    speed = values.size / min(pushing) / 1e6
    console.print(
        f"Speed: {speed:,.0f} million events a second on one thread, {min(adding) / min(pushing):.2f} "
        "times the speed of a compiled sum over the same array\n"
        f"(already compiled, best of {REPEATS}, the same stream without output)."
    )


@njit(cache=True)
def _sum(values: Values) -> int:
    total = 0
    for i in range(values.size):  # vectorised; a loop over the values themselves would be half as fast
        total += values[i]
    return total


def _name(quantile: object) -> str:
    return f"p{float(100 * Fraction(str(quantile))):g}"


def _texts(estimate: Estimate) -> NumberTexts:
    return number_texts(estimate.value, estimate.low, estimate.high)
