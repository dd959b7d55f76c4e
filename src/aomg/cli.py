"""Defines the command line: parses arguments, calls, prints errors."""

import json as _json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

import aomg
from aomg import demo as _demo
from aomg import doctor as _doctor
from aomg import generator as _generate
from aomg import warm as _warm
from aomg.compile_notice import report_to
from aomg.errors import AomgError
from aomg.evaluation import command as _evaluate
from aomg.packages import named_missing, need
from aomg.terminal import Terminal, escape_log, report_error

_Events = Annotated[int, typer.Option(min=_demo.QUERY.size, help="Number of events (with --local).")]
_Local = Annotated[bool, typer.Option("--local", help="Run without Spark: one stream in this process.")]
_Seed = Annotated[int, typer.Option(min=0, help="Seed of the generated stream.")]
_Burst = Annotated[bool, typer.Option(help="Add a burst in the middle of the stream (with --local).")]
_Spark = Annotated[bool, typer.Option(help="Start Spark and run a job and a stream (10 to 20 seconds).")]
_Name = Annotated[str | None, typer.Argument(help="Name of the stream. Without it, list all streams.")]
_Count = Annotated[str, typer.Option("--events", help="Number of events, such as 500k, 10M or 1e6.")]
_Out = Annotated[Path | None, typer.Option(help="Output: a file (.parquet, .csv, .jsonl) or a folder.")]
_Format = Annotated[str | None, typer.Option(help="parquet, csv or jsonl (default: by the file name).")]
_Files = Annotated[int, typer.Option(min=1, help="Number of files, if the output is a folder.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
_Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter of the stream.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Experiments to run (default: all).")]
_Quick = Annotated[bool, typer.Option("--quick", help="Small sizes: all experiments in 5 minutes on 2 cores.")]
_Full = Annotated[bool, typer.Option("--full", help="The paper's sizes: about an hour.")]
_Data = Annotated[Path | None, typer.Option(help="Your own file (.parquet, .csv, .jsonl) instead of the streams.")]
_Value = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the file that has the values.")]
_Folder = Annotated[Path, typer.Option(metavar="DIR", help="Folder for results; existing results are reused.")]
_Check = Annotated[bool, typer.Option("--check", help="Check the paper's claims. Exit code 1 if one does not hold.")]
_List = Annotated[bool, typer.Option("--list", help="List the experiments.")]
_Config = Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="The configuration file.")]
_Once = Annotated[bool, typer.Option("--once", help="Process existing data, then exit.")]
_Results = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="The folder that the parquet sink writes results to.")
]
_By = Annotated[
    list[str] | None, typer.Option("--by", metavar="LABEL", help="Group keys by this label. Can be repeated.")
]
_Where = Annotated[
    list[str] | None, typer.Option("--where", metavar="LABEL=VALUE", help="Only keys with this value of a label.")
]
_Query = Annotated[str | None, typer.Option("--query", metavar="NAME", help="Only results of this query.")]
_Quantile = Annotated[
    str | None,
    typer.Option(metavar="p99", help="Estimate used to rank keys: a quantile, or a share such as below_250."),
]
_Last = Annotated[
    str | None, typer.Option(metavar="2h", help="How far back to read from the newest window (default: 1 day).")
]
_Most = Annotated[int, typer.Option(min=1, help="Maximum number of keys.")]
_Web = Annotated[bool, typer.Option("--web", help="Also serve a live page.")]
_DemoWeb = Annotated[bool, typer.Option("--web/--no-web", help="Also serve a live page.")]
_Keep = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Keep all files in this folder (default: delete them).")
]
_Place = Annotated[Path, typer.Argument(metavar="PLACE", help="A folder of results, or a configuration (.yaml).")]
_Host = Annotated[str, typer.Option(help="Address to listen on. Any but a loopback address needs a token.")]
_Port = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Port of the page (default: 8765, or the next free one). 0: any free port."),
]
_Token = Annotated[Path | None, typer.Option("--token-file", help="File with the access token; or set AOMG_WEB_TOKEN.")]
_Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host", metavar="NAME", help="Host name under which browsers may open the page. Can be repeated."
    ),
]
_Memory = Annotated[str, typer.Option(metavar="1GB", help="Maximum memory for past results.")]
_MostSeries = Annotated[int, typer.Option(min=1, help="Maximum number of series in /metrics.")]
_State = Annotated[Path, typer.Argument(metavar="STATE", help="The state folder of a monitor.")]
_Quarantine = Annotated[
    Path | None, typer.Option("--quarantine", metavar="FOLDER", help="Refused rows, if not in the state folder.")
]
_Repair = Annotated[bool, typer.Option("--repair", help="Rebuild what can be rebuilt; accept the loss of the rest.")]
_MostConnections = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of connections (default: by the limit of open files).")
]
_MostPerClient = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of connections of one address (default: half of all).")
]
_MostViewers = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of open pages (default: by the limit of open files).")
]
_HeaderTimeout = Annotated[str, typer.Option(metavar="10s", help="How long a client may take to send a request.")]
_Source = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A file or folder of CSV, JSON lines or Parquet, or kafka://HOST:PORT/TOPIC."),
]
_NewConfig = Annotated[Path, typer.Argument(metavar="[OUT.yaml]", help="The configuration to write.")]
_Time = Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="Column of event times.")]
_TimeFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="iso, epoch_s, epoch_ms, epoch_us, epoch_ns, or a pattern of Spark."),
]
_TimeZone = Annotated[str | None, typer.Option(metavar="ZONE", help="Of times without one, such as Europe/Berlin.")]
_ValueOf = Annotated[str | None, typer.Option("--value", metavar="COLUMN", help="Column of numbers.")]
_Unit = Annotated[str | None, typer.Option(metavar="UNIT", help="Unit of the values: us, ms, s or none.")]
_Key = Annotated[list[str] | None, typer.Option("--by", metavar="COLUMN", help="Column of the key. Can be repeated.")]
_OneKey = Annotated[bool, typer.Option("--one-key", help="All events are one key.")]
_Size = Annotated[str | None, typer.Option(metavar="5m", help="Size of the window.")]
_Period = Annotated[str | None, typer.Option(metavar="1m", help="How often there is a result.")]
_Lateness = Annotated[str | None, typer.Option(metavar="10s", help="How long a window waits for late events.")]
_Kind = Annotated[str | None, typer.Option("--format", metavar="FORMAT", help="csv, jsonl or parquet.")]
_Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line of a CSV names the columns.")
]
_Separator = Annotated[str | None, typer.Option(metavar="CHARACTER", help="Between the fields of a CSV.")]
_Overwrite = Annotated[bool, typer.Option("--force", help="Replace an existing configuration.")]
_Kinds = Annotated[list[str] | None, typer.Argument(metavar="[KIND]...", help="What to compile (default: all).")]
_Processes = Annotated[int | None, typer.Option(min=1, help="Number of processes (default: one for each core).")]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
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
    """Run the monitor on generated telemetry with two incidents, and show a live page. Takes about two minutes.

    With --local it needs no Spark: it computes the quantiles of one stream and compares them with the exact ones.

    Exit code 1: an incident was not detected, or there was a false alarm.
    """
    console = Terminal()
    if local:
        _demo.run(console, events, seed, burst)
        return
    from aomg.monitor import command

    with _reported("cannot run the demo"), ExitStack() as stack:
        need("monitor", *(["web"] if web else []))
        folder = keep or Path(stack.enter_context(TemporaryDirectory(prefix="aomg-demo-"))) / "demo"
        example = command.example_in(folder)
        address = stack.enter_context(_page(console, example, port)) if web else None
        passed = command.demo(console, example)
        if keep is not None:
            console.print(f"all files are in {keep}; to see the page again: aomg web {example}", soft_wrap=True)
        elif address is not None:
            console.print("the page has ended; to keep the files for later: aomg demo --keep FOLDER", soft_wrap=True)
    if not passed:
        raise typer.Exit(1)


@app.command()
def doctor(spark: _Spark = True, json: _Json = False) -> None:
    """Check this machine and explain how to fix what is missing. Exit code 1: something is wrong."""
    if not _doctor.run(Terminal(), spark, json):
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
    """Write a generated stream to Parquet, CSV or JSON lines. The same seed always gives the same values."""
    console = Terminal()
    if name is None:
        _generate.list_streams(console)
        return
    try:
        if out is None:
            raise _generate.GenerateError(f"the output is missing: add --out {name}.parquet, or a folder")
        _generate.run(console, name, _generate.count(events), out, format, seed, files, force, settings)
    except _generate.GenerateError as error:
        report_error(f"cannot generate: {error}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        report_error("stopped; no files were written")
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
    """Reproduce the paper's tables and figures, on generated streams or your own file, and write a report."""
    # with --json, standard output is for the document alone
    console = Terminal(stderr=json and not list_them)
    try:
        if list_them:
            _evaluate.list_experiments(console, json)
            return
        scale = _evaluate.scale_of(quick, full)
        results, claims = _evaluate.run(console, names or [], scale, data, value, out, check)
        if json:
            typer.echo(_evaluate.as_json(results, claims, out))
    except AomgError as error:
        report_error(f"cannot evaluate: {error}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt as stopped:
        report_error(str(stopped) or "stopped")
        raise typer.Exit(130) from None
    if any(claim.fails for claim in claims):
        raise typer.Exit(1)


@app.command()
def init(
    data: _Source,
    out: _NewConfig = Path("aomg.yaml"),
    time: _Time = None,
    time_format: _TimeFormat = None,
    time_zone: _TimeZone = None,
    value: _ValueOf = None,
    unit: _Unit = None,
    by: _Key = None,
    one_key: _OneKey = False,
    size: _Size = None,
    period: _Period = None,
    lateness: _Lateness = None,
    format: _Kind = None,
    header: _Header = None,
    separator: _Separator = None,
    force: _Overwrite = False,
) -> None:
    """Look at data and write a configuration for it, with comments: times, value, key, windows and two example rules.

    It reads a small part of the data, and needs no Spark. It says what it guessed, why, and what is uncertain; each
    option replaces a guess. Then run `aomg check` and `aomg run`.

    Exit code 2: there is nothing to write a configuration for, or the file exists.
    """
    with _reported("cannot write a configuration"):
        from aomg.monitor import command
        from aomg.monitor.draft.draft import Settings

        settings = Settings(
            time,
            time_format,
            time_zone,
            value,
            unit,
            tuple(by or ()),
            one_key,
            size,
            period,
            lateness,
            format,
            header,
            separator,
        )
        command.init(Terminal(), data, out, settings, force)


@app.command()
def run(config: _Config, once: _Once = False, json: _AsJson = False, web: _Web = False, port: _Port = None) -> None:
    """Run the monitor: compute quantiles of every key on Spark, evaluate rules, deliver alerts.

    Ctrl-C stops it; the next start resumes where it stopped. With --web it also serves a live page until it ends;
    `aomg web` shows the page later.

    Exit codes: 0 it ended or was stopped, 1 it failed, 2 the configuration is invalid.
    """
    from aomg.monitor import command

    if port is not None and not web:
        raise typer.BadParameter("--port needs --web: it is the port of the page", param_hint="--port")
    console = Terminal(stderr=json)
    with _reported("cannot run", json):
        need("monitor", *(["web"] if web else []))
        if web:
            from aomg.monitor.config.reader import load

            load(config)  # so that only the monitor reports errors, not the page too
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
    most_connections: _MostConnections = None,
    most_per_client: _MostPerClient = None,
    most_viewers: _MostViewers = None,
    header_timeout: _HeaderTimeout = "10s",
) -> None:
    """Serve a live page of stored results, and /metrics for Prometheus.

    With a configuration it also shows alerts, limits and health. It only reads files and needs no Spark. The monitor
    may be running or not. Ctrl-C stops it.
    """
    with _reported("cannot serve the page", extra="web"):
        need("web")
        from aomg.web import command

        bytes_kept = command.memory_of(memory)
        limits = command.limits_of_options(most_connections, most_per_client, most_viewers, header_timeout)
        command.serve(place, host, port, token_file, allow_host or (), bytes_kept, most_series, limits, _print_page)


@app.command()
def check(config: _Config, json: _AsJson = False) -> None:
    """Check a configuration without running it: every key, the source, and the folders. Exit code 2: it is invalid."""
    from aomg.monitor import command

    with _reported("cannot run", json):
        command.check(Terminal(), config, json)


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
    """Show stored results: the worst keys first, with intervals and a curve over time."""
    from aomg.monitor import command

    with _reported("cannot show results", json):
        command.query(Terminal(), results, by, where, name, quantile, last, most, json)


@app.command()
def compact(results: _Results) -> None:
    """Join the small files of stored results, day by day. The monitor may run meanwhile."""
    from aomg.monitor import command

    with _reported("cannot compact"):
        command.compact(Terminal(), results)


@app.command()
def fsck(state: _State, quarantine: _Quarantine = None, repair: _Repair = False, json: _AsJson = False) -> None:
    """Check a state folder: journal, checkpoint, and every file of results and summaries that the journal names.

    Says what is damaged and how to go on. Stop the monitor first.

    Exit codes: 0 nothing is damaged, or all was repaired; 1 something is damaged; 2 the folder cannot be checked.
    """
    from aomg.monitor import command

    with _reported("cannot check", json, code=2):
        sound = command.fsck(Terminal(), state, quarantine, repair, json)
    if not sound:
        raise typer.Exit(1)


@contextmanager
def _page(console: Terminal, config: Path, port: int | None) -> Iterator[str | None]:
    """Serve the page of a configuration in a child process. Yields its address, or None if it cannot be served."""
    from aomg.web.child import page_of

    def warn(message: str) -> None:
        console.print(message, style="yellow", markup=False, soft_wrap=True)

    with page_of(config, port, warn) as address:
        if address is not None:
            _print_page(address, console)
        yield address


def _print_page(address: str, console: Terminal | None = None) -> None:
    (console or Terminal()).print(f"the page is at {address}", markup=False, soft_wrap=True)


@contextmanager
def _reported(failure: str, json: bool = False, extra: str = "monitor", code: int = 1) -> Iterator[None]:
    """Print errors to standard error and exit: with 2 for a configuration or an argument, else with `code`.

    With `json`, print them as JSON on standard output too.
    """
    from aomg.monitor.errors import ConfigError, RunError

    def exit_with(message: str, code: int) -> typer.Exit:
        if json:
            typer.echo(_json.dumps({"ok": False, "error": message, "exit_code": code}))
        report_error(message)
        return typer.Exit(code)

    escape_log()
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "aomg":
            raise
        raise exit_with(f"{failure}: {named_missing(error.name, extra)}", code) from None
    except ConfigError as error:
        raise exit_with(f"{failure}:\n{error}", 2) from None
    except RunError as error:
        raise exit_with(f"the monitor failed: {error}", 1) from None
    except AomgError as error:
        raise exit_with(f"{failure}: {error}", code) from None


@app.command()
def warm(kinds: _Kinds = None, processes: _Processes = None) -> None:
    """Compile ahead what usual queries need, on all cores: their first results then wait for nothing.

    Kinds: counted (one stream, windows counted in events), timed (one stream, event time), keyed (many keys, Spark).
    """
    try:
        _warm.run(Terminal(), kinds or [], processes)
    except AomgError as error:
        report_error(f"cannot compile: {error}")
        raise typer.Exit(1) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(aomg.__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Sliding-window quantiles, each with an interval that always contains the exact value."""
    report_to(report_error)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(aomg.__version__)
