"""Implements `aomg init`, `run`, `check`, `query`, `compact`, `fsck` and `demo`.

What needs PyYAML or Spark is loaded by the commands that use it: `query` and `compact` need neither.
"""

import json
import shutil
import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import track

from aomg.durations import duration_text, microseconds
from aomg.errors import AomgError, DurationError
from aomg.monitor.alert import Alert
from aomg.monitor.errors import ConfigError
from aomg.numbers import rounded
from aomg.terminal import Terminal

if TYPE_CHECKING:
    from aomg.monitor.config.model import Config
    from aomg.monitor.draft.draft import Settings
    from aomg.monitor.run.progress import Progress

MOST_ALERTS = 10_000  # in the summary of --json; a kilobyte each


def init(console: Console, data: str, file: Path, settings: "Settings", force: bool = False) -> None:
    """Write a configuration for some data, and print what was guessed. Raises ConfigError, and writes nothing then."""
    from aomg.monitor.config.reader import load
    from aomg.monitor.draft.draft import draft_of
    from aomg.monitor.draft.file import refuse_existing, write
    from aomg.monitor.draft.report import report

    refuse_existing(file, force)
    draft = draft_of(data, settings)
    write(draft, file, force)
    report(console, draft.guesses, file)
    state = load(file).state
    if state.exists():
        console.print(
            f"{state} is there from an earlier run: move it and the results away to begin anew",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )


def check(console: Console, file: Path, as_json: bool = False) -> None:
    """Print that a configuration can run here, and what it has. Raises ConfigError with all its problems."""
    from aomg.monitor.config.reader import load
    from aomg.monitor.run.check import inspect
    from aomg.monitor.source.header import with_header

    config = with_header(load(file))
    inspect(config)
    if as_json:
        console.out(json.dumps({"ok": True, **_outline(config)}), highlight=False)
        return
    console.print(f"{file} is valid.")
    for heading, names in _outline(config).items():
        console.print(f"  {heading}: {', '.join(names) or 'none'}", soft_wrap=True)


def _outline(config: "Config") -> dict[str, list[str]]:
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
    """Show stored results. Raises ConfigError for invalid arguments, ResultsError if there are none."""
    from aomg.monitor.results.display import show

    labels = {}
    for text in where or ():
        label, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--where {text!r}: write it as LABEL=VALUE, such as podset=17")
        labels[label] = value
    try:
        span = timedelta(microseconds=microseconds(last, limited=True)) if last is not None else None
    except DurationError as error:
        raise ConfigError(f"--last: {error}") from None
    show(console, results, name, by, labels, quantile, last=span, most=most, as_json=as_json)


def fsck(console: Console, state: Path, quarantine: Path | None, repair: bool, as_json: bool = False) -> bool:
    """Check a state folder and print what is damaged; returns whether all is well, or repaired."""
    from aomg.monitor.journal.remedies import fsck_command
    from aomg.monitor.run.fsck import check_folder

    checked = check_folder(state, quarantine, repair)
    if as_json:
        findings = [finding.to_json() for finding in checked.findings]
        notes = [note.to_json() for note in checked.notes]
        text = {"ok": checked.sound, "looked_at": list(checked.looked_at), "findings": findings, "notes": notes}
        console.out(json.dumps(text), highlight=False)
        return checked.sound
    console.print(f"looked at {', '.join(checked.looked_at)}", soft_wrap=True, markup=False)
    for finding in checked.findings:
        done = "repaired: " if finding.repaired else ""
        console.print(f"{finding.file}: {finding.problem}", style="red", markup=False, soft_wrap=True)
        console.print(f"  {done}{finding.remedy}", markup=False, soft_wrap=True)
    for note in checked.notes:
        console.print(f"{note.file}: {note.text}", style="yellow", markup=False, soft_wrap=True)
    if not checked.findings:
        console.print("nothing is damaged")
    elif any(finding.can_repair and not finding.repaired for finding in checked.findings):
        options = ["--repair"] if quarantine is None else ["--quarantine", str(quarantine), "--repair"]
        repair_command = fsck_command(state, *options)
        console.print(
            f"restore what you have a backup of, then repair the rest: {repair_command}", soft_wrap=True, markup=False
        )
    return checked.sound


def compact(console: Console, results: Path) -> None:
    """Join the files of every past day. Raises SinkError if there are none, or one cannot be read."""
    from aomg.monitor.atomic_files import SinkError
    from aomg.monitor.sinks.compaction import compact as join
    from aomg.monitor.sinks.compaction import past_days, remove_old_files

    if not results.is_dir():
        raise SinkError(f"there is no folder {results}")
    for day in track(past_days(results), "compacting", console=console, transient=True):
        done = join(results, day)
        if done is not None:
            console.print(f"{done.day}: joined {done.files:,} files, {done.rows:,} rows")
            remove_old_files(results)
    console.print("all past days are compacted")


class Changes:
    """Counts the rows and alerts of a run, and keeps the newest `most` alerts. A watcher of the monitor."""

    def __init__(self, most: int = 0) -> None:
        self.rows = self.refused = self.fired = self.resolved = self.left_out = 0
        self.alerts: deque[Alert] = deque(maxlen=most)

    def __call__(self, progress: "Progress") -> None:
        """Add a micro-batch."""
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
    """Run a configuration until it ends, and print a summary. Ctrl-C and SIGTERM end it; the next start resumes.

    The summary has the newest `most_alerts` alerts; by default 10,000 for JSON, and none otherwise. Raises ConfigError
    before anything is started, and RunError or SinkError if it had to stop.
    """
    from aomg.monitor.config.reader import load
    from aomg.monitor.run.monitor import Monitor
    from aomg.monitor.run.spark_log import log_of, messages_to
    from aomg.monitor.run.view import View

    config = load(file, folder=folder)
    if most_alerts is None:
        most_alerts = MOST_ALERTS if as_json else 0
    changes = Changes(most_alerts)
    view = View(console, config)
    monitor = Monitor(config, console, [changes, view], once=once)
    view.monitor = monitor
    with messages_to(log_of(config)):
        try:
            with _compiled_meanwhile(console), view, _stopped_by_signals(monitor):
                monitor.run()
            accounts = _accounts(monitor)
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
        "alerts": [_with_rounded_quantities(alert.to_json()) for alert in changes.alerts],
        "alerts_left_out": changes.left_out,
    }
    if as_json:
        Terminal().out(json.dumps(summary), highlight=False)
    else:
        _sum_up(console, summary)
    return summary


def _with_rounded_quantities(alert: dict[str, Any]) -> dict[str, Any]:
    """An alert for the summary: the numbers of its quantities (low, value, high) without digits that say nothing."""
    quantities = {}
    for name, (low, value, high) in alert["quantities"].items():
        value, low, high = rounded(value, low, high)
        quantities[name] = [low, value, high]
    return {**alert, "quantities": quantities}


def _accounts(monitor: Any) -> dict[str, Any]:
    """What became of the events, by query; empty if Spark ended with a requested stop, before it could count them."""
    try:
        return {name: vars(counts) for name, counts in monitor.accounts().items()}
    except AomgError:
        if not monitor.stopped:
            raise
        return {}


def example_in(folder: Path) -> Path:
    """Copy the example configuration into a folder, which is created. Raises ConfigError if it is not empty."""
    from aomg.monitor.config.reader import EXAMPLE

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not empty; choose a new folder, or empty it")
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(EXAMPLE, folder / EXAMPLE.name))


def demo(console: Console, example: Path) -> bool:
    """Run the example in its folder, then print which incidents were detected. True if all were, without false alarms.

    Takes about two minutes. A run that was stopped counts as passed without false alarms.
    """
    from aomg.monitor.config.reader import load
    from aomg.monitor.run.rehearsal import rehearsed
    from aomg.streams import podsets

    summary = run(console, example, most_alerts=MOST_ALERTS)
    settings = load(example).source.generate
    incidents = podsets(seed=settings.seed, rate=settings.rate).incidents if settings is not None else ()
    rehearsal = rehearsed(incidents, [Alert.from_json(alert) for alert in summary["alerts"]])
    console.print()
    for detection in rehearsal.detections:
        outcome = "[yellow]not detected yet" if summary["stopped"] else "[red]not detected"
        if detection.alert is not None and detection.delay is not None:
            outcome = f"[green]detected[/] {duration_text(detection.delay)} after it began: {detection.alert.rule}"
        console.print(f"{detection.incident}: {outcome}", soft_wrap=True)
    for alert in rehearsal.false_alarms:
        console.print(f"[red]false alarm[/]: {alert.rule} {dict(alert.labels)}", soft_wrap=True)
    if not rehearsal.false_alarms:
        console.print("no false alarms")
    if summary["stopped"]:
        console.print("the demo was stopped before its end")
        return not rehearsal.false_alarms
    return rehearsal.passed


def _sum_up(console: Console, summary: dict[str, Any]) -> None:
    for query, counts in summary["accounts"].items():
        accounts = ", ".join(f"{name} {number:,}" for name, number in counts.items() if number or name == "came")
        console.print(f"{query}: {accounts}", soft_wrap=True)
    if not summary["accounts"]:
        console.print(
            "the events were not counted, because Spark ended first; the next start continues", soft_wrap=True
        )
    console.print(f"{summary['rows']:,} rows; alerts: {summary['fired']} fired, {summary['resolved']} resolved")
    for receiver, waiting in summary["undelivered"].items():
        alerts = "1 alert is" if waiting == 1 else f"{waiting:,} alerts are"
        console.print(f"[yellow]{alerts} not yet delivered to {receiver}; the next start continues", soft_wrap=True)


@contextmanager
def _compiled_meanwhile(console: Console) -> Iterator[None]:
    """Compile what Spark's workers need while Spark starts, if this machine has not yet."""
    from aomg.warm import KEYED, compilations, is_warm

    if is_warm(KEYED):
        yield
        return
    console.print("compiling for the first run on this machine; the first windows wait for it", style="dim")
    processes = compilations([KEYED])
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@contextmanager
def _stopped_by_signals(monitor: Any) -> Iterator[None]:
    """Stop the monitor on Ctrl-C and SIGTERM; a second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(received: int, frame: object) -> None:
        signal.signal(received, before[received])
        monitor.stop()

    before: dict[int, Any] = {}
    for wanted in (signal.SIGINT, signal.SIGTERM):
        before[wanted] = signal.signal(wanted, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
