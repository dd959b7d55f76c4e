"""The command line: parse, call, print."""

from typing import Annotated

import typer
from rich.console import Console

import aomg
from aomg import demo as _demo
from aomg import doctor as _doctor

_Events = Annotated[int, typer.Option(min=_demo.QUERY.size, help="How many events to push.")]
_Seed = Annotated[int, typer.Option(min=0, help="Which of the generated streams.")]
_Burst = Annotated[bool, typer.Option(help="Let the tail jump in mid-stream.")]
_Spark = Annotated[bool, typer.Option(help="Start Spark and run a job and a stream, which takes 10 to 20 seconds.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Quantiles of sliding windows, each with an interval that always holds.",
)


@app.command()
def demo(events: _Events = _demo.EVENTS, seed: _Seed = 1, burst: _Burst = True) -> None:
    """Watch the quantiles of a generated stream, then compare them with the exact ones."""
    _demo.run(Console(highlight=False), events, seed, burst)


@app.command()
def doctor(spark: _Spark = True, json: _Json = False) -> None:
    """Look whether everything needed is here, and say how to mend what is not. Exit code 1: something is wrong."""
    if not _doctor.run(Console(highlight=False), spark, json):
        raise typer.Exit(1)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(aomg.__version__)
