"""Reads the arguments, lets both sides take turns, and reports: python -m benchmarks against."""

import argparse
import contextlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.against.checkout import CheckoutError, Pair, pair
from benchmarks.against.interval import LEAST, Interval, of_median
from benchmarks.against.process import Process, SideError

ROOT = Path(__file__).parents[2]
LEAST_SECONDS = 0.2
"""A round of a case runs it so often that it takes at least this long."""


@dataclass(frozen=True)
class Benchmark:
    """Where the cases are, how many rounds fit into some minutes, and what speed is asked for.

    Spark computes in processes that go on running: their processor's seconds are not known.
    """

    module: str
    rounds: int
    bound: float
    clocks: tuple[str, ...] = ("wall", "cpu")


BENCHMARKS = {
    "throughput": Benchmark("throughput", 41, 0.97),
    "scaling": Benchmark("scaling", 41, 0.97),
    "few_k": Benchmark("few_k", 41, 0.97),
    "spark_batch": Benchmark("spark_batch", 11, 0.93, ("wall",)),
    "spark_stream": Benchmark("spark_stream", 11, 0.93, ("wall",)),
    "import": Benchmark("first_import", 21, 1.0),
    "compile": Benchmark("first_compilation", 7, 1.0),
}
USUAL = ("throughput", "scaling", "few_k")


@dataclass(frozen=True)
class Comparison:
    """What came out for one case. Seconds are those of one run, of each round."""

    case: str
    bound: float
    ratio: Interval
    new: list[float]
    old: list[float]

    @property
    def verdict(self) -> str:
        """Say whether the interval reaches the bound; "unsure" if it does and the median does not."""
        if self.ratio.high < self.bound:
            return "no"
        return "yes" if self.ratio.median >= self.bound else "unsure"


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Return 0 if every interval reaches its bound, 1 if one does not, 2 if it cannot be measured."""
    asked = _arguments(arguments)
    console = Console(highlight=False, width=80)
    build = root / "build" / "against"
    found: list[Comparison] = []
    try:
        sides = pair(root, asked.revision, build, asked.same_environment)
        _print_sides(console, sides)
        for name in asked.names:
            rounds = asked.rounds or BENCHMARKS[name].rounds
            bound = asked.bound or BENCHMARKS[name].bound
            comparisons = _compare(console, root, build, sides, name, rounds, bound, asked)
            console.print(_table(f"{name}, {rounds} rounds, {asked.clock} clock", comparisons))
            _write(build, sides, name, asked.clock, comparisons)
            found += comparisons
    except (CheckoutError, SideError) as error:
        Console(stderr=True, highlight=False).print(f"[red]error:[/] {escape(str(error))}", soft_wrap=True)
        return 2
    _print_verdict(console, found)
    return int(any(comparison.verdict == "no" for comparison in found))


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks against",
        description="Compare the speed of this checkout (new) with that of another revision (old). Both take turns; "
        "reported is the median of the ratios new / old of the rounds, with an interval that contains the true median "
        "at least 95 times in 100 (order statistics, as in the sign test). Exits with 1 if an interval lies below its "
        "bound.",
    )
    add = parser.add_argument
    add("revision", metavar="REV", help="a branch, tag or commit")
    known = f"{', '.join(BENCHMARKS)}; {', '.join(USUAL)} by default, about 10 minutes"
    add("names", nargs="*", metavar="NAME", help=known)
    usual = ", ".join(f"{name} {benchmark.rounds}" for name, benchmark in BENCHMARKS.items())
    add("--rounds", type=int, metavar="N", help=f"{LEAST} or more; by default: {usual}")
    bounds = ", ".join(f"{name} {benchmark.bound:g}" for name, benchmark in BENCHMARKS.items())
    add(
        "--bound", type=float, metavar="RATIO", help=f"met if the interval's upper end reaches it; by default: {bounds}"
    )
    clock = "wall: what a user waits for (default); cpu: the processor's seconds, where the machine does other work"
    add("--clock", choices=("wall", "cpu"), default="wall", help=clock)
    same = "use this environment for both sides even if their constraints or dependencies differ"
    add("--same-environment", action="store_true", help=same)
    add("--quick", action="store_true", help="smaller inputs, to try it")
    asked = parser.parse_args(arguments)
    asked.names = list(dict.fromkeys(asked.names)) or list(USUAL)
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"against has no benchmark {', '.join(unknown)}; it has {', '.join(BENCHMARKS)}")
    timeless = [name for name in asked.names if asked.clock not in BENCHMARKS[name].clocks]
    if timeless:
        parser.error(f"--clock {asked.clock} does not see what Spark's processes use: leave out {', '.join(timeless)}")
    if asked.rounds is not None and asked.rounds < LEAST:
        parser.error(f"--rounds is {asked.rounds}; an interval of 95 % needs {LEAST} or more")
    if asked.bound is not None and not 0 < asked.bound < math.inf:
        parser.error(f"--bound is {asked.bound}; give a ratio above 0, such as 0.97")
    return asked


# -- measuring -----------------------------------------------------------------------------------------------------


def turns(rounds: int) -> Iterator[tuple[str, str]]:
    """Return who runs first and who second in each round: old new, new old, old new, ..."""
    for number in range(rounds):
        yield ("new", "old") if number % 2 else ("old", "new")


def _compare(
    console: Console,
    root: Path,
    build: Path,
    sides: Pair,
    name: str,
    rounds: int,
    bound: float,
    asked: argparse.Namespace,
) -> list[Comparison]:
    with contextlib.ExitStack() as stack:
        status = stack.enter_context(console.status(f"{name}: both sides prepare"))
        processes = {
            side.side: stack.enter_context(
                Process(side, root, name, BENCHMARKS[name].module, build / f"{name}-{side.side}.log", asked.quick)
            )
            for side in (sides.old, sides.new)
        }
        for process in processes.values():
            process.prepare()
        cases, _ = [process.cases() for process in processes.values()]  # the same: both run these benchmarks
        times = {case: _times(case, list(processes.values())) for case in cases}
        seconds: dict[str, dict[str, list[float]]] = {case: {"old": [], "new": []} for case in cases}
        for number, order in enumerate(turns(rounds), 1):
            status.update(f"{name}: round {number} of {rounds}")
            for case in cases:
                for side in order:
                    measured = processes[side].measure(case, times[case])
                    seconds[case][side].append(measured[asked.clock] / times[case])
    return [Comparison(case, bound, ratio_of_speeds(**sides), **sides) for case, sides in seconds.items()]


def _times(case: str, processes: Sequence[Process]) -> int:
    """Return how often a round runs the case, the same for both sides."""
    best = math.inf
    for process in processes:
        for _ in range(3):
            best = min(best, process.measure(case, 1)["elapsed"])
            if best >= LEAST_SECONDS:
                break
    return max(1, math.ceil(LEAST_SECONDS / best))


def ratio_of_speeds(new: Sequence[float], old: Sequence[float]) -> Interval:
    """Return how fast new is beside old, from the seconds of each round: below 1 it is slower."""
    return of_median([before / now for now, before in zip(new, old, strict=True)])


# -- reporting -----------------------------------------------------------------------------------------------------


def _print_sides(console: Console, sides: Pair) -> None:
    for side in (sides.new, sides.old):
        console.print(f"{side.side}: {escape(side.revision)}")
    console.print(f"environment: {escape(sides.environments)}\n")


def _table(title: str, comparisons: Sequence[Comparison]) -> Table:
    table = Table(show_edge=False, title=title, title_justify="left", title_style="bold")
    table.add_column("case", overflow="fold")
    for column in ("new / old", "95 % interval", "bound"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("reached", no_wrap=True)
    colours = {"yes": "green", "unsure": "yellow", "no": "red"}
    for found in comparisons:
        ratio, verdict = found.ratio, found.verdict
        interval = f"{ratio.low:.3f}..{ratio.high:.3f}"
        table.add_row(found.case, f"{ratio.median:.3f}", interval, f"{found.bound:g}", verdict, style=colours[verdict])
    return table


def _print_verdict(console: Console, found: Sequence[Comparison]) -> None:
    verdicts = [comparison.verdict for comparison in found]
    reached = len(found) - verdicts.count("no")
    console.print(f"\n{reached} of {len(found)} intervals reach their bound")
    if "unsure" in verdicts:
        console.print("unsure: the interval reaches the bound, the median does not; more rounds make it narrower")


def _write(build: Path, sides: Pair, name: str, clock: str, comparisons: Sequence[Comparison]) -> None:
    content: dict[str, Any] = {
        "name": name,
        "clock": clock,
        "new": sides.new.revision,
        "old": sides.old.revision,
        "environments": sides.environments,
        "cases": [asdict(comparison) | {"reached": comparison.verdict} for comparison in comparisons],
    }
    (build / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
