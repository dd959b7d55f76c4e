"""What `aomg run` and `aomg check` do: load, inspect, run with a view, and sum up."""

import json
import shutil
import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from aomg.durations import duration_text, microseconds
from aomg.errors import DurationError
from aomg.monitor.alert import Alert
from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import EXAMPLE, load
from aomg.monitor.errors import ConfigError
from aomg.monitor.run.check import inspect
from aomg.monitor.run.progress import Progress

MOST_ALERTS = 10_000  # in a summary for programs; a kilobyte each


def check(console: Console, file: Path, as_json: bool = False) -> None:
    """Say that a configuration can run here, and what it will do. Raises ConfigError with all that is wrong."""
    config = load(file)
    inspect(config)
    if as_json:
        console.out(json.dumps({"ok": True, **_outline(config)}), highlight=False)
        return
    console.print(f"{file} is fine.")
    for what, names in _outline(config).items():
        console.print(f"  {what}: {', '.join(names) or 'none'}", soft_wrap=True)


def _outline(config: Config) -> dict[str, list[str]]:
    return {
        "queries": list(config.queries),
        "rules": [rule.name for rule in config.rules],
        "receivers": [receiver.kind for receiver in config.receivers],
    }


def query(
    console: Console,
    results: Path,
    by: list[str] | None = None,
    where: list[str] | None = None,
    name: str | None = None,
    quantile: str | None = None,
    last: str | None = None,
    most: int = 20,
    as_json: bool = False,
) -> None:
    """Show stored results. Raises ConfigError for arguments that mean nothing, ResultsError where there are none."""
    from aomg.monitor.results.display import show

    labels = {}
    for text in where or ():
        label, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"{text!r} names no label; write it as LABEL=VALUE, such as podset=17")
        labels[label] = value
    try:
        span = timedelta(microseconds=microseconds(last, limited=True)) if last is not None else None
    except DurationError as error:
        raise ConfigError(f"--last: {error}") from None
    show(console, results, name, by, labels, quantile, last=span, most=most, as_json=as_json)


def compact(console: Console, results: Path) -> None:
    """Join the files of every day that is over. Raises SinkError where there are none, or one cannot be read."""
    from aomg.monitor.atomic import SinkError
    from aomg.monitor.sinks.compaction import compact as join
    from aomg.monitor.sinks.compaction import days_over

    if not results.is_dir():
        raise SinkError(f"there is no folder {results}")
    for day in track(days_over(results), "compacting", console=console, transient=True):
        done = join(results, day)
        if done is not None:
            console.print(f"{done.day}: {done.files:,} files are one, {done.rows:,} rows")
    console.print("every day that is over is compact")


class Changes:
    """Counts what a run brought: a watcher. Of the alerts it keeps the newest `most`, however long the run is."""

    def __init__(self, most: int = 0) -> None:
        self.rows = self.refused = self.fired = self.resolved = self.left_out = 0
        self.alerts: deque[Alert] = deque(maxlen=most)

    def __call__(self, progress: Progress) -> None:
        """Take what a micro-batch brought."""
        self.rows += progress.rows
        self.refused += sum(progress.refused.values())
        self.fired += sum(alert.transition == "firing" for alert in progress.alerts)
        self.resolved += sum(alert.transition == "resolved" for alert in progress.alerts)
        known = len(self.alerts) + len(progress.alerts)
        self.alerts.extend(progress.alerts)
        self.left_out += known - len(self.alerts)


def run(
    console: Console,
    file: Path,
    once: bool = False,
    as_json: bool = False,
    folder: Path | None = None,
    most_alerts: int | None = None,
) -> dict[str, Any]:
    """Run a configuration until it ends, and sum up. Ctrl-C and SIGTERM end it; the next start goes on from there.

    The summary has the newest `most_alerts` alerts: unless told, some for JSON, and none for people, who saw them.
    Raises ConfigError before anything is started, and RunError or SinkError where it had to stop.
    """
    from aomg.monitor.run.monitor import Monitor
    from aomg.monitor.run.view import View

    config = load(file, folder=folder)
    if most_alerts is None:
        most_alerts = MOST_ALERTS if as_json else 0
    changes = Changes(most_alerts)
    view = View(console, config)
    monitor = Monitor(config, console, [changes, view], once=once)
    view.monitor = monitor
    try:
        with view, _stopped_by_signals(monitor):
            monitor.run()
        accounts = {name: vars(counts) for name, counts in monitor.accounts().items()}
    finally:
        monitor.close()
    summary = {
        "rows": changes.rows,
        "refused": changes.refused,
        "fired": changes.fired,
        "resolved": changes.resolved,
        "stopped": monitor.stopped,
        "undelivered": monitor.undelivered,
        "accounts": accounts,
        "alerts": [alert.to_json() for alert in changes.alerts],
        "alerts_left_out": changes.left_out,
    }
    if as_json:
        Console().out(json.dumps(summary), highlight=False)
    else:
        _sum_up(console, summary)
    return summary


def example_in(folder: Path) -> Path:
    """A copy of the shipped example in a folder, which is made if need be. Raises ConfigError if it is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not empty; give a folder that is new, or empty it")
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(EXAMPLE, folder / EXAMPLE.name))


def demo(console: Console, example: Path) -> bool:
    """Run the example where it lies, then say which incidents were found. True if all, and no other.

    Takes about two minutes. What it writes is beside it. One that is stopped has missed nothing yet.
    """
    from aomg.monitor.run.rehearsal import rehearsed
    from aomg.streams import podsets

    summary = run(console, example, most_alerts=MOST_ALERTS)
    asked = load(example).source.generate
    incidents = podsets(seed=asked.seed, rate=asked.rate).incidents if asked is not None else ()
    found = rehearsed(incidents, [Alert.from_json(alert) for alert in summary["alerts"]])
    console.print()
    for finding in found.findings:
        told = "[yellow]not found yet" if summary["stopped"] else "[red]not found"
        if finding.alert is not None and finding.after is not None:
            told = f"[green]found[/] {duration_text(finding.after)} after it began: {finding.alert.rule}"
        console.print(f"{finding.incident}: {told}", soft_wrap=True)
    for alert in found.false_alarms:
        console.print(f"[red]false alarm[/]: {alert.rule} {dict(alert.labels)}", soft_wrap=True)
    if not found.false_alarms:
        console.print("no false alarm")
    if summary["stopped"]:
        console.print("it was stopped before its end")
        return not found.false_alarms
    return found.passed


def _sum_up(console: Console, summary: dict[str, Any]) -> None:
    for query, counts in summary["accounts"].items():
        told = ", ".join(f"{name} {number:,}" for name, number in counts.items() if number or name == "came")
        console.print(f"{query}: {told}", soft_wrap=True)
    console.print(f"{summary['rows']:,} rows; alerts: {summary['fired']} fired, {summary['resolved']} resolved")
    for receiver, waiting in summary["undelivered"].items():
        alerts = "1 alert still waits" if waiting == 1 else f"{waiting:,} alerts still wait"
        console.print(f"[yellow]{alerts} for {receiver}; told after the next start", soft_wrap=True)


@contextmanager
def _stopped_by_signals(monitor: Any) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM ask the monitor to stop; a second one stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: object) -> None:
        signal.signal(number, before[number])
        monitor.stop()

    before: dict[int, Any] = {}
    for asked in (signal.SIGINT, signal.SIGTERM):
        before[asked] = signal.signal(asked, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
