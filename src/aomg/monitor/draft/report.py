"""Prints what was guessed, why, and which guesses are uncertain, at any width of the terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aomg.monitor.draft.guess import Guess


def report(console: Console, guesses: Sequence[Guess], file: Path) -> None:
    """Print a line for each guess, then what to do next."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=True, header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("guess", overflow="fold", ratio=2)
    table.add_column("because", overflow="fold", ratio=3)
    for guess in guesses:
        why = Text(guess.why)
        if guess.doubt:
            why.append(f"\n? {guess.doubt}", style="yellow")
        table.add_row(guess.what, Text(guess.value, style="" if guess.is_given else "bold"), why)
    table.expand = True
    console.print(table)
    doubtful = [guess for guess in guesses if guess.doubt]
    if doubtful:
        names = ", ".join(guess.what for guess in doubtful)
        options = ", ".join(dict.fromkeys(guess.option for guess in doubtful if guess.option))
        console.print(f"\nuncertain (?): {names}. Set them with {options}, or edit the file.", markup=False)
    console.print(f"\nwrote {file}, which aomg check accepts. Now: aomg run {file} --once", markup=False)
