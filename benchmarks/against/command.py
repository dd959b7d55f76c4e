"""Reads the arguments, lets both sides take turns, and reports: python -m benchmarks against."""

import argparse
import contextlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
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
    """Where the cases are, how often they are measured in some minutes, and what speed is asked for.

    Spark computes in processes that go on running: their processor's seconds are not known.
    """

    module: str
    starts: int
    rounds: int  # of each start
    bound: float
    short: bool = True  # a round runs a case several times
    clocks: tuple[str, ...] = ("wall", "cpu")


BENCHMARKS = {
    "throughput": Benchmark("throughput", 9, 5, 0.97),
    "scaling": Benchmark("scaling", 9, 5, 0.97),
    "few_k": Benchmark("few_k", 9, 5, 0.97),
    "spark_batch": Benchmark("spark_batch", 6, 2, 0.93, short=False, clocks=("wall",)),
    "spark_stream": Benchmark("spark_stream", 6, 2, 0.93, short=False, clocks=("wall",)),
    # every round of these starts a fresh process anyway
    "import": Benchmark("first_import", 1, 21, 1.0, short=False),
    "compile": Benchmark("first_compilation", 1, 7, 1.0, short=False),
}
USUAL = ("throughput", "scaling", "few_k")


Seconds = list[list[float]]


@dataclass(frozen=True)
class Comparison:
    """What came out for one case. Seconds are those of one run, in each round of each start."""

    case: str
    bound: float
    ratio: Interval
    new: Seconds
    old: Seconds

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
            benchmark = _chosen(name, asked)
            comparisons = _compare(console, sides, name, benchmark, asked)
            often = f"{benchmark.starts} x {benchmark.rounds}" if benchmark.starts > 1 else f"{benchmark.rounds}"
            console.print(_table(f"{name}, {often} rounds, {asked.clock} clock", comparisons))
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
        description="Compare the speed of this checkout (new) with that of another revision (old). Both take turns. "
        "Each start of their processes gives one ratio of speeds, new / old: the median of its rounds. Reported is the "
        "median over the starts, with an interval that contains the true median at least 95 times in 100 (order "
        "statistics, as in the sign test). With a single start, its rounds take the place of starts. Exits with 1 if "
        "an interval lies below its bound.",
    )
    add = parser.add_argument
    add("revision", metavar="REV", help="a branch, tag or commit")
    known = f"{', '.join(BENCHMARKS)}; {', '.join(USUAL)} by default, about 10 minutes"
    add("names", nargs="*", metavar="NAME", help=known)
    usual = _defaults("starts")
    add("--starts", type=int, metavar="N", help=f"{LEAST} or more, or 1; by default: {usual}")
    usual = _defaults("rounds")
    add("--rounds", type=int, metavar="N", help=f"of each start; by default: {usual}")
    usual = _defaults("bound")
    add("--bound", type=float, metavar="RATIO", help=f"met if the interval's upper end reaches it; by default: {usual}")
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
    for name in asked.names:
        benchmark = _chosen(name, asked)
        if benchmark.rounds < 1 or (benchmark.starts if benchmark.starts != 1 else benchmark.rounds) < LEAST:
            parser.error(
                f"{name} has {benchmark.starts} x {benchmark.rounds} rounds; an interval of 95 % needs {LEAST} starts "
                f"or more, or one start of {LEAST} rounds or more"
            )
    if asked.bound is not None and not 0 < asked.bound < math.inf:
        parser.error(f"--bound is {asked.bound}; give a ratio above 0, such as 0.97")
    return asked


def _defaults(field: str) -> str:
    return ", ".join(f"{name} {getattr(benchmark, field):g}" for name, benchmark in BENCHMARKS.items())


def _chosen(name: str, asked: argparse.Namespace) -> Benchmark:
    """Return the benchmark with what was asked for in place of its defaults."""
    options = {field: getattr(asked, field) for field in ("starts", "rounds", "bound")}
    return replace(BENCHMARKS[name], **{field: value for field, value in options.items() if value is not None})


# -- measuring -----------------------------------------------------------------------------------------------------


def turns(rounds: int) -> Iterator[tuple[str, str]]:
    """Return who runs first and who second in each round: old new, new old, old new, ..."""
    for number in range(rounds):
        yield ("new", "old") if number % 2 else ("old", "new")


def _compare(
    console: Console, sides: Pair, name: str, benchmark: Benchmark, asked: argparse.Namespace
) -> list[Comparison]:
    seconds: dict[str, dict[str, Seconds]] = {}
    times: dict[str, int] = {}
    orders = turns(benchmark.starts * benchmark.rounds)
    for start in range(1, benchmark.starts + 1):
        where = f"{name}, start {start} of {benchmark.starts}"
        with console.status(f"{where}: both sides prepare") as status, contextlib.ExitStack() as stack:
            processes = {
                side.side: stack.enter_context(Process(side, sides.benchmarks, name, benchmark.module, asked.quick))
                for side in (sides.old, sides.new)
            }
            for process in processes.values():
                process.prepare()
            cases, _ = [process.cases() for process in processes.values()]  # the same: both run these benchmarks
            for case in cases:
                if case not in times:
                    times[case] = _times(case, processes) if benchmark.short else 1
                for found in seconds.setdefault(case, {"old": [], "new": []}).values():
                    found.append([])
            for number, order in enumerate(itertools.islice(orders, benchmark.rounds), 1):
                status.update(f"{where}: round {number} of {benchmark.rounds}")
                for case in cases:
                    for side in order:
                        measured = processes[side].measure(case, times[case])
                        seconds[case][side][-1].append(measured[asked.clock] / times[case])
    return [Comparison(case, benchmark.bound, ratio_of_speeds(**both), **both) for case, both in seconds.items()]


def _times(case: str, processes: Mapping[str, Process]) -> int:
    """Return how often a round runs the case, the same for both sides."""
    best = min(process.measure(case, 1)["wall"] for process in processes.values() for _ in range(3))
    return max(1, math.ceil(LEAST_SECONDS / best))


def ratio_of_speeds(new: Seconds, old: Seconds) -> Interval:
    """Return how fast new is beside old: below 1 it is slower.

    The rounds of one start are not independent of each other; so each start counts once, by its median.
    """
    starts = [[before / now for now, before in zip(*rounds, strict=True)] for rounds in zip(new, old, strict=True)]
    return of_median([median(ratios) for ratios in starts] if len(starts) > 1 else starts[0])


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
        text = "unsure: the interval reaches the bound, the median does not; more starts or rounds make it narrower"
        console.print(text)


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
