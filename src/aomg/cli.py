"""The command line: parse, call, print."""

import json as _json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

import aomg
from aomg import demo as _demo
from aomg import doctor as _doctor
from aomg import generator as _generate
from aomg.errors import AomgError
from aomg.evaluation import command as _evaluate

_Events = Annotated[int, typer.Option(min=_demo.QUERY.size, help="How many events to push.")]
_Local = Annotated[bool, typer.Option("--local", help="One stream in this process, without Spark.")]
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
_Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which experiments; unless told, all.")]
_Quick = Annotated[bool, typer.Option("--quick", help="Small sizes: all of it within 5 minutes on 2 cores.")]
_Full = Annotated[bool, typer.Option("--full", help="The paper's sizes: hours.")]
_Data = Annotated[Path | None, typer.Option(help="A file of your own (.parquet, .csv, .jsonl) instead of the streams.")]
_Value = Annotated[str | None, typer.Option(metavar="COLUMN", help="The file's column of numbers.")]
_Folder = Annotated[Path, typer.Option(metavar="DIR", help="Where results go, and are found again.")]
_Check = Annotated[bool, typer.Option("--check", help="List the paper's claims. Exit code 1: one does not hold.")]
_List = Annotated[bool, typer.Option("--list", help="List the experiments.")]
_Config = Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="What to read, compute, watch and write.")]
_Once = Annotated[bool, typer.Option("--once", help="Take what is there and end, instead of waiting for more.")]
_Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="The folder of a parquet sink of results.")]
_By = Annotated[list[str] | None, typer.Option("--by", metavar="LABEL", help="What names a line: labels of the keys.")]
_Where = Annotated[list[str] | None, typer.Option("--where", metavar="LABEL=VALUE", help="Only keys with this label.")]
_Query = Annotated[str | None, typer.Option("--query", metavar="NAME", help="Only this query of the configuration.")]
_Quantile = Annotated[
    str | None, typer.Option(metavar="p99", help="Estimate used to rank keys: a quantile, or a share (below_250).")
]
_Last = Annotated[str | None, typer.Option(metavar="2h", help="So much before the newest window; else a day.")]
_Most = Annotated[int, typer.Option(min=1, help="How many keys at most.")]
_Web = Annotated[bool, typer.Option("--web", help="Serve a live page beside it.")]
_DemoWeb = Annotated[bool, typer.Option("--web/--no-web", help="Serve a live page beside it.")]
_Keep = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where to keep what it writes; unless told, nowhere.")
]
_Place = Annotated[Path, typer.Argument(metavar="PLACE", help="A folder of results, or a configuration (.yaml).")]
_Host = Annotated[str, typer.Option(help="The address to listen on; another than this machine's own needs a token.")]
_Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Of the page; unless told 8765, or the next free one; 0 is any.")
]
_Token = Annotated[Path | None, typer.Option("--token-file", help="A file with the token; or set AOMG_WEB_TOKEN.")]
_Allow = Annotated[
    list[str] | None, typer.Option("--allow-host", metavar="NAME", help="A name that browsers may call the page by.")
]
_Memory = Annotated[str, typer.Option(metavar="1GB", help="How much of the past is kept in memory.")]
_MostSeries = Annotated[int, typer.Option(min=1, help="How many series /metrics has at most.")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Quantiles of sliding windows, each with an interval that always holds.",
)


@app.command()
def demo(
    local: _Local = False,
    events: _Events = _demo.EVENTS,
    seed: _Seed = 1,
    burst: _Burst = True,
    web: _DemoWeb = True,
    port: _Port = None,
    keep: _Keep = None,
) -> None:
    """Watch the monitor find two incidents in generated telemetry, on Spark and on a live page; about two minutes.

    With --local, without Spark: the quantiles of one stream, compared with the exact ones; --events, --seed and
    --burst are for that one. Exit code 1: an incident was missed, or there was a false alarm.
    """
    console = Console(highlight=False)
    if local:
        _demo.run(console, events, seed, burst)
        return
    from aomg.monitor import command

    with _told("cannot run the demo"), ExitStack() as left:
        folder = keep or Path(left.enter_context(TemporaryDirectory(prefix="aomg-demo-"))) / "demo"
        example = command.example_in(folder)
        address = left.enter_context(_page(console, example, port)) if web else None
        found = command.demo(console, example)
        if keep is not None:
            console.print(f"all of it is in {keep}; look at it again: aomg web {example}", soft_wrap=True)
        elif address is not None:
            console.print("the page is gone with it; to look at it again: aomg demo --keep FOLDER", soft_wrap=True)
    if not found:
        raise typer.Exit(1)


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
def evaluate(
    names: _Names = None,
    quick: _Quick = False,
    full: _Full = False,
    data: _Data = None,
    value: _Value = None,
    out: _Folder = _evaluate.OUT,
    check: _Check = False,
    list_them: _List = False,
    json: _Json = False,
) -> None:
    """Measure the paper's tables and figures again, or the same on a file of your own; write a report."""
    # with --json, standard output is for the document alone
    console = Console(highlight=False, stderr=json and not list_them)
    try:
        if list_them:
            _evaluate.list_experiments(console, json)
            return
        scale = _evaluate.scale_of(quick, full)
        results, claims = _evaluate.run(console, names or [], scale, data, value, out, check)
        if json:
            typer.echo(_evaluate.as_json(results, claims, out))
    except AomgError as error:
        typer.echo(f"cannot evaluate: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt as stopped:
        typer.echo(str(stopped) or "stopped", err=True)
        raise typer.Exit(130) from None
    if any(claim.fails for claim in claims):
        raise typer.Exit(1)


@app.command()
def run(config: _Config, once: _Once = False, json: _AsJson = False, web: _Web = False, port: _Port = None) -> None:
    """Watch telemetry: quantiles of every key on Spark, rules, alerts. Ctrl-C ends it; a restart goes on from there.

    With --web also a live page, whose address is printed; it ends with the monitor, and `aomg web` shows it again.

    Exit codes: 0 it ended or was stopped, 1 it had to stop, 2 the configuration cannot run.
    """
    from aomg.monitor import command
    from aomg.monitor.config.reader import load

    if port is not None and not web:
        raise typer.BadParameter("a port is that of the page; give --web, too", param_hint="--port")
    console = Console(highlight=False, stderr=json)
    with _told("cannot run", json):
        if web:
            load(config)  # what is wrong is said once, by the monitor
        with _page(console, config, port) if web else nullcontext():
            command.run(console, config, once, json)


@app.command()
def web(
    place: _Place,
    host: _Host = "127.0.0.1",
    port: _Port = None,
    token_file: _Token = None,
    allow_host: _Allow = None,
    memory: _Memory = "1GB",
    most_series: _MostSeries = 10_000,
) -> None:
    """Serve a live page of stored results: quantiles of every key, alerts, health; and /metrics for Prometheus.

    Of a configuration it also shows alerts, limits and health. Nothing is changed, and no Spark is needed; a monitor
    may be running or not. Ctrl-C ends it.
    """
    with _told("cannot serve the page", extra="web"):
        from aomg.web import command

        bytes_kept = command.memory_of(memory)
        command.serve(place, host, port, token_file, allow_host or (), bytes_kept, most_series, _say_page)


@app.command()
def check(config: _Config, json: _AsJson = False) -> None:
    """Check a configuration without running it: every line, its source, and the folders. Exit code 2: it cannot run."""
    from aomg.monitor import command

    with _told("cannot run", json):
        command.check(Console(highlight=False), config, json)


@app.command()
def query(
    results: _Results,
    by: _By = None,
    where: _Where = None,
    name: _Query = None,
    quantile: _Quantile = None,
    last: _Last = None,
    most: _Most = 20,
    json: _AsJson = False,
) -> None:
    """Show stored results: the worst keys first, with their intervals, and how they went over time."""
    from aomg.monitor import command

    with _told("cannot show", json):
        command.query(Console(highlight=False), results, by, where, name, quantile, last, most, json)


@app.command()
def compact(results: _Results) -> None:
    """Join the many small files of stored results, day by day; a monitor may go on writing meanwhile."""
    from aomg.monitor import command

    with _told("cannot compact"):
        command.compact(Console(highlight=False), results)


@contextmanager
def _page(console: Console, config: Path, port: int | None) -> Iterator[str | None]:
    """The page of a configuration, as a child process; its address, or None where it cannot be served."""
    from aomg.web.child import page_of

    with page_of(config, port, lambda told: console.print(told, style="yellow", markup=False, soft_wrap=True)) as found:
        if found is not None:
            _say_page(found, console)
        yield found


def _say_page(address: str, console: Console | None = None) -> None:
    (console or Console(highlight=False)).print(f"the page is at {address}", markup=False, soft_wrap=True)


@contextmanager
def _told(what: str, json: bool = False, extra: str = "monitor") -> Iterator[None]:
    """Let errors be lines on standard error and an exit code: 2 for a configuration or an argument, else 1.

    For programs, they are JSON on standard output besides.
    """
    from aomg.monitor.errors import ConfigError, RunError

    def tell(message: str, code: int) -> typer.Exit:
        if json:
            typer.echo(_json.dumps({"ok": False, "error": message, "exit_code": code}))
        typer.echo(message, err=True)
        return typer.Exit(code)

    try:
        yield
    except ModuleNotFoundError as error:
        raise tell(f"{what}: the package {error.name} is missing; run: pip install 'aomg[{extra}]'", 1) from None
    except ConfigError as error:
        raise tell(f"{what}:\n{error}", 2) from None
    except RunError as error:
        raise tell(f"the monitor had to stop: {error}", 1) from None
    except AomgError as error:
        raise tell(f"{what}: {error}", 1) from None


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(aomg.__version__)
