"""Prints an evaluation in the terminal: progress with the time left, tables, findings and claims."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.table import Table as Grid
from rich.text import Text

from aomg.evaluation.experiment import Experiment, Piece
from aomg.evaluation.outcome import Claim, Outcome, Table
from aomg.evaluation.report.tables import fitted, headings, is_number, is_papers_row, parts, texts
from aomg.evaluation.run import Watch


class TimeLeft:
    """Estimates the remaining time from the seconds per unit of work so far; None before the first piece."""

    def __init__(self, work: float) -> None:
        self._left = work
        self._done = self._seconds = 0.0
        self._since = time.monotonic()

    def known(self, piece: Piece, seconds: float) -> None:
        """Learn from a stored piece."""
        self._done += piece.work
        self._seconds += seconds

    def done(self, piece: Piece, seconds: float) -> None:
        """Count a piece that was just measured."""
        self.known(piece, seconds)
        self._left = max(self._left - piece.work, 0.0)
        self._since = time.monotonic()

    def seconds(self) -> float | None:
        """Return the remaining seconds, None if unknown."""
        if not self._done:
            return None
        return max(self._left * self._seconds / self._done - (time.monotonic() - self._since), 0.0)


@contextmanager
def progress(console: Console, missing: Sequence[tuple[Experiment, Piece]]) -> Iterator[Watch]:
    """Show the progress of the missing pieces on a terminal; yield the function to call after each piece."""
    left = TimeLeft(sum(piece.work for _, piece in missing))
    waiting = [(experiment.name, piece.name) for experiment, piece in missing]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[number]} of {task.fields[pieces]} pieces,"),
        _TimeLeftColumn(left),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        total = sum(piece.work for _, piece in missing)
        task = bars.add_task("", total=total or 1, number=0, pieces=len(waiting), visible=bool(waiting))

        def name_next() -> None:
            bars.update(task, description=escape(": ".join(waiting[0])) if waiting else "")

        def watch(name: str, piece: Piece, seconds: float) -> None:
            if (name, piece.name) not in waiting:
                left.known(piece, seconds)
                return
            waiting.remove((name, piece.name))
            left.done(piece, seconds)
            bars.update(task, advance=piece.work, number=len(missing) - len(waiting))
            name_next()

        name_next()
        yield watch


class _TimeLeftColumn(ProgressColumn):
    def __init__(self, left: TimeLeft) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:
        """Return the remaining time in hours, minutes and seconds."""
        seconds = self._left.seconds()
        return Text("time left unknown" if seconds is None else f"{clock(seconds)} left")


def clock(seconds: float) -> str:
    """Format seconds for people.

    >>> clock(5), clock(65), clock(7300)
    ('5 s', '1:05 min', '2:01 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60}:{whole % 60:02d} min" if whole < 3600 else f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def show(console: Console, experiment: Experiment, outcome: Outcome) -> None:
    """Print an experiment's tables, findings and claims."""
    where = f" ({experiment.paper})" if experiment.paper else ""
    console.print(f"\n[bold]{escape(experiment.title)}[/]{escape(where)}", soft_wrap=True)
    console.print(escape(experiment.question), style="dim", soft_wrap=True)
    for table in outcome.tables:
        show_table(console, table)
    for finding in outcome.findings:
        console.print(_item("-", finding))
    for claim in outcome.claims:
        console.print(_item(*_verdict(claim)))


def show_table(console: Console, table: Table) -> None:
    """Print a table; if it is too wide, continue below with the key columns and the rows with more cells."""
    cells = texts(table)
    width_limit = console.width - 2
    console.print()
    groups = parts(table, width_limit)
    keys = sum(all(column in columns for columns in groups) for column in groups[0])
    for number, columns in enumerate(groups):
        console.print(escape(table.title if number == 0 else "... the other columns"), style="italic")
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
        for column, width in zip(columns, fitted(table, columns, width_limit), strict=True):
            side: JustifyMethod = "right" if is_number(table, column) else "left"
            # a fixed width: rich would crop a least one; longer texts are folded
            grid.add_column(escape(headings(table)[column]), justify=side, width=width, overflow="fold")
        continued = [row for row in cells if any(row[column] for column in columns[keys:])]
        for row in continued if number else cells:
            grid.add_row(*(escape(row[column]) for column in columns), style="dim" if is_papers_row(row) else "")
        console.print(grid)
    if table.note:
        console.print(escape(table.note), style="dim")


def _verdict(claim: Claim) -> tuple[str, str]:
    color = {True: "green", False: "red", None: "yellow"}[claim.holds]
    sign = f"[{color}]{claim.verdict}[/]"
    reason = f" ({claim.reason})" if claim.reason else ""
    return sign, f"{claim.name}: the paper {claim.paper}, here {claim.measured}{reason}"


def _item(sign: str, text: str) -> Grid:
    """Return a sentence beside its sign, with a hanging indent."""
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(sign, escape(text))
    return grid
