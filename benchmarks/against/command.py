"""Parses the arguments, measures both sides in turns, and reports: python -m benchmarks against."""

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
"""A round repeats a short case until it takes at least this long."""


@dataclass(frozen=True)
class Benchmark:
    """The module of the cases, the default number of measurements, and the bound of the ratio.

    Spark computes in processes that keep running, so their CPU time is not known.
    """

    module: str
    starts: int
    rounds: int  # of each start
    bound: float
    short: bool = True  # a round repeats a case
    clocks: tuple[str, ...] = ("wall", "cpu")


BENCHMARKS = {
    "throughput": Benchmark("core.throughput", 9, 5, 0.97),
    "scaling": Benchmark("core.scaling", 9, 5, 0.97),
    "few_k": Benchmark("core.few_k", 9, 5, 0.97),
    "event_time": Benchmark("core.event_time", 9, 5, 0.97),
    "magnitudes": Benchmark("core.magnitudes", 9, 5, 0.97),
    "spark_batch": Benchmark("spark.batch", 6, 2, 0.93, short=False, clocks=("wall",)),
    "spark_stream": Benchmark("spark.stream", 6, 2, 0.93, short=False, clocks=("wall",)),
    # every round of these starts a fresh process
    "import": Benchmark("core.import_time", 1, 21, 1.0, short=False),
    "compile": Benchmark("core.compilation", 1, 7, 1.0, short=False),
}
DEFAULT = ("throughput", "scaling", "few_k")


Seconds = list[list[float]]


@dataclass(frozen=True)
class Comparison:
    """The outcome of one case. Seconds are per run, for each round of each start."""

    case: str
    bound: float
    ratio: Interval
    new: Seconds
    old: Seconds

    @property
    def verdict(self) -> str:
        """Whether the interval reaches the bound: "yes", "no", or "unsure" if the median does not."""
        if self.ratio.high < self.bound:
            return "no"
        return "yes" if self.ratio.median >= self.bound else "unsure"


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Run the command; return 0 if every interval reaches its bound, 1 if one does not, 2 on an error."""
    options = _arguments(arguments)
    console = Console(highlight=False, width=80)
    build = root / "build" / "against"
    outcomes: list[Comparison] = []
    try:
        sides = pair(root, options.revision, build, options.same_environment)
        _print_sides(console, sides)
        for name in options.names:
            benchmark = _chosen(name, options)
            comparisons = _compare(console, sides, name, benchmark, options)
            often = f"{benchmark.starts} x {benchmark.rounds}" if benchmark.starts > 1 else f"{benchmark.rounds}"
            console.print(_table(f"{name}, {often} rounds, {options.clock} clock", comparisons))
            _write(build, sides, name, options.clock, comparisons)
            outcomes += comparisons
    except (CheckoutError, SideError) as error:
        Console(stderr=True, highlight=False).print(f"[red]error:[/] {escape(str(error))}", soft_wrap=True)
        return 2
    _print_verdict(console, outcomes)
    return int(any(comparison.verdict == "no" for comparison in outcomes))


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks against",
        description="Compare the speed of this checkout (new) with that of another revision (old). Both take turns. "
        "Each start of their processes gives one ratio of speeds, new / old: the median of its rounds. The report has "
        "the median over the starts, with an interval that contains the true median at least 95 times in 100 (order "
        "statistics, as in the sign test). With a single start, its rounds count instead of starts. The exit code is 1 "
        "if an interval is below its bound.",
    )
    add = parser.add_argument
    add("revision", metavar="REV", help="a branch, tag or commit")
    known = f"{', '.join(BENCHMARKS)}; default: {', '.join(DEFAULT)}, about 10 minutes"
    add("names", nargs="*", metavar="NAME", help=known)
    defaults = _defaults("starts")
    add("--starts", type=int, metavar="N", help=f"{LEAST} or more, or 1; default: {defaults}")
    defaults = _defaults("rounds")
    add("--rounds", type=int, metavar="N", help=f"rounds per start; default: {defaults}")
    defaults = _defaults("bound")
    add(
        "--bound",
        type=float,
        metavar="RATIO",
        help=f"reached if the interval's upper end reaches it; default: {defaults}",
    )
    clock = "wall: elapsed time (default); cpu: CPU time, for a machine with other work"
    add("--clock", choices=("wall", "cpu"), default="wall", help=clock)
    same = "use this environment for both sides even if their dependencies differ"
    add("--same-environment", action="store_true", help=same)
    add("--quick", action="store_true", help="smaller inputs, to try the command")
    options = parser.parse_args(arguments)
    options.names = list(dict.fromkeys(options.names)) or list(DEFAULT)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"against has no benchmark {', '.join(unknown)}; it has {', '.join(BENCHMARKS)}")
    unmeasurable = [name for name in options.names if options.clock not in BENCHMARKS[name].clocks]
    if unmeasurable:
        parser.error(f"--clock {options.clock} does not include Spark's processes: leave out {', '.join(unmeasurable)}")
    for name in options.names:
        benchmark = _chosen(name, options)
        if benchmark.rounds < 1 or (benchmark.starts if benchmark.starts != 1 else benchmark.rounds) < LEAST:
            parser.error(
                f"{name} has {benchmark.starts} x {benchmark.rounds} rounds; an interval of 95 % needs {LEAST} starts "
                f"or more, or one start of {LEAST} rounds or more"
            )
    if options.bound is not None and not 0 < options.bound < math.inf:
        parser.error(f"--bound is {options.bound}; give a ratio above 0, such as 0.97")
    return options


def _defaults(field: str) -> str:
    return ", ".join(f"{name} {getattr(benchmark, field):g}" for name, benchmark in BENCHMARKS.items())


def _chosen(name: str, options: argparse.Namespace) -> Benchmark:
    """Return the benchmark with the options in place of its defaults."""
    values = {field: getattr(options, field) for field in ("starts", "rounds", "bound")}
    return replace(BENCHMARKS[name], **{field: value for field, value in values.items() if value is not None})


# -- measuring -----------------------------------------------------------------------------------------------------


def turns(rounds: int) -> Iterator[tuple[str, str]]:
    """Yield the order of the sides in each round: old new, new old, old new, ..."""
    for number in range(rounds):
        yield ("new", "old") if number % 2 else ("old", "new")


def _compare(
    console: Console, sides: Pair, name: str, benchmark: Benchmark, options: argparse.Namespace
) -> list[Comparison]:
    seconds: dict[str, dict[str, Seconds]] = {}
    times: dict[str, int] = {}
    orders = turns(benchmark.starts * benchmark.rounds)
    for start in range(1, benchmark.starts + 1):
        position = f"{name}, start {start} of {benchmark.starts}"
        with console.status(f"{position}: both sides prepare") as status, contextlib.ExitStack() as stack:
            processes = {
                side.side: stack.enter_context(Process(side, sides.benchmarks, name, benchmark.module, options.quick))
                for side in (sides.old, sides.new)
            }
            for process in processes.values():
                process.prepare()
            cases, _ = [process.cases() for process in processes.values()]  # the same: both run these benchmarks
            for case in cases:
                if case not in times:
                    times[case] = _times(case, processes) if benchmark.short else 1
                for starts in seconds.setdefault(case, {"old": [], "new": []}).values():
                    starts.append([])
            for number, order in enumerate(itertools.islice(orders, benchmark.rounds), 1):
                status.update(f"{position}: round {number} of {benchmark.rounds}")
                for case in cases:
                    for side in order:
                        measured = processes[side].measure(case, times[case])
                        seconds[case][side][-1].append(measured[options.clock] / times[case])
    return [Comparison(case, benchmark.bound, ratio_of_speeds(**both), **both) for case, both in seconds.items()]


def _times(case: str, processes: Mapping[str, Process]) -> int:
    """Return how often a round repeats the case, the same for both sides."""
    best = min(process.measure(case, 1)["wall"] for process in processes.values() for _ in range(3))
    return max(1, math.ceil(LEAST_SECONDS / best))


def ratio_of_speeds(new: Seconds, old: Seconds) -> Interval:
    """Return the ratio of speeds, new / old; below 1, new is slower.

    The rounds of one start are not independent, so each start counts once, by its median.
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
    for comparison in comparisons:
        ratio, verdict = comparison.ratio, comparison.verdict
        interval = f"{ratio.low:.3f}..{ratio.high:.3f}"
        cells = (comparison.case, f"{ratio.median:.3f}", interval, f"{comparison.bound:g}", verdict)
        table.add_row(*cells, style=colours[verdict])
    return table


def _print_verdict(console: Console, comparisons: Sequence[Comparison]) -> None:
    verdicts = [comparison.verdict for comparison in comparisons]
    reached = len(comparisons) - verdicts.count("no")
    console.print(f"\n{reached} of {len(comparisons)} intervals reach their bound")
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
