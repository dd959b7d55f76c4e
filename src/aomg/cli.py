"""The command line: parse, call, print."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import aomg
from aomg import demo as _demo
from aomg import doctor as _doctor
from aomg import generate as _generate

_Events = Annotated[int, typer.Option(min=_demo.QUERY.size, help="How many events to push.")]
_Seed = Annotated[int, typer.Option(min=0, help="Which of the generated streams.")]
_Burst = Annotated[bool, typer.Option(help="Let the tail jump in mid-stream.")]
_Spark = Annotated[bool, typer.Option(help="Start Spark and run a job and a stream, which takes 10 to 20 seconds.")]
_Name = Annotated[str | None, typer.Argument(help="Which stream; without one, all are listed.")]
_Count = Annotated[str, typer.Option("--events", help="How many, such as 500k, 10M or 1e6.")]
_Out = Annotated[Path | None, typer.Option(help="A file (.parquet, .csv, .jsonl) or a folder.")]
_Format = Annotated[str | None, typer.Option(help="parquet, csv or jsonl; unless told, as the file is named.")]
_Files = Annotated[int, typer.Option(min=1, help="How many files, in a folder.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
_Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the stream.")]
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
def generate(
    name: _Name = None,
    events: _Count = "1M",
    out: _Out = None,
    format: _Format = None,
    seed: _Seed = 1,
    files: _Files = 1,
    force: _Force = False,
    settings: _Set = None,
) -> None:
    """Write a generated stream to Parquet, CSV or JSON lines: the same values for the same seed, on every run."""
    console = Console(highlight=False)
    if name is None:
        _generate.list_streams(console)
        return
    try:
        if out is None:
            raise _generate.GenerateError(f"say where it goes: --out {name}.parquet, or a folder")
        _generate.run(console, name, _generate.count(events), out, format, seed, files, force, settings)
    except _generate.GenerateError as error:
        typer.echo(f"cannot generate: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("stopped; nothing was left behind", err=True)
        raise typer.Exit(130) from None


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(aomg.__version__)
