"""Shows a running monitor in a terminal: progress of the stream, the worst keys, and changes of alerts.

Without a terminal it prints a line for each alert, and a line on the stream every ten seconds. Before the first window
both say what is being done, and when the first window is due.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from aomg.durations import MICROSECONDS, duration_text
from aomg.monitor.alert import Alert
from aomg.monitor.alerts.judge import Active
from aomg.monitor.config.model import Config, QueryConfig
from aomg.monitor.results.display import estimate_cell, narrowed, that_fit, widest
from aomg.monitor.rules.rows import WindowRows
from aomg.monitor.run.background import repeating
from aomg.monitor.run.monitor import Monitor
from aomg.monitor.run.progress import Progress
from aomg.monitor.run.spark_log import log_of
from aomg.monitor.sinks.base import labels_text, title_of
from aomg.terminal import printable
from aomg.times import time_text

KEYS = 8
ALERTS = 8
QUIET_SECONDS = 10.0
_TICK_SECONDS = 0.5
_STYLES = {"pending": "yellow", "firing": "bold red", "resolved": "green", "inactive": "dim"}


class View(AbstractContextManager["View"]):
    """Shows what a monitor reports. Enter it before the monitor runs, and exit afterwards."""

    def __init__(self, console: Console, config: Config) -> None:
        self._console, self._config = console, config
        self.monitor: Monitor | None = None
        self._lock = threading.Lock()
        self._newest: dict[str, WindowRows] = {}
        self._active: Sequence[Active] = ()
        self._changes: deque[Alert] = deque(maxlen=ALERTS)
        self._refused = 0
        self._batch: int | None = None
        self._rows = 0
        self._events: dict[int, int] = {}  # of batches that Spark may not have reported yet
        self._started = self._printed = time.monotonic()
        self._stack = ExitStack()
        self._last_speed: float | None = None
        self._live = Live(console=console, refresh_per_second=2, get_renderable=self._picture, transient=True)

    def __enter__(self) -> "View":
        self._started = self._printed = time.monotonic()
        self._console.print(f"Spark's log: {log_of(self._config)}", style="dim", markup=False, soft_wrap=True)
        if self._console.is_terminal:
            self._live.start()
        else:
            self._stack.enter_context(repeating(self._tick, _TICK_SECONDS, "view"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if self._console.is_terminal:
            self._live.stop()
            if self._batch is not None:
                self._console.print(self._picture())

    def __call__(self, progress: Progress) -> None:
        """Take the report of a micro-batch."""
        with self._lock:
            self._batch = progress.batch
            self._newest.update(progress.newest)
            self._active = progress.active
            self._changes.extend(progress.alerts)
            self._refused += sum(progress.refused.values())
            self._events[progress.batch] = progress.events
            self._rows += progress.rows
        if not self._console.is_terminal:
            for alert in progress.alerts:
                self._console.print(_change(alert), soft_wrap=True)
            if progress.batch == 0:
                self._print_stream()

    def _tick(self) -> None:
        if time.monotonic() - self._printed >= QUIET_SECONDS:
            self._print_stream()

    def _print_stream(self) -> None:
        self._printed = time.monotonic()
        with self._lock:
            line = self._stream()
        self._console.print(line, soft_wrap=True)

    def _picture(self) -> Group:
        with self._lock:
            parts: list[Any] = [self._stream()]
            for name, rows in self._newest.items():
                parts += [Text(), self._worst(self._config.queries[name], rows)]
            if self._changes:
                parts += [Text(), *(_change(alert) for alert in self._changes)]
        return Group(*parts)

    def _stream(self) -> Text:
        """One line on the progress of the stream."""
        if self._batch is None:
            seconds = f"{time.monotonic() - self._started:.0f} s"
            if self.monitor is None or self.monitor.query is None:
                return Text(f"starting Spark ({seconds}); {self._first_window()}", style="dim")
            return Text(
                f"Spark has started; computing the first batch ({seconds}); {self._first_window()}", style="dim"
            )
        line = Text()
        speed = self._speed()
        if speed is not None:
            line.append(f"{speed:,.0f} events/s", style="bold")
            line.append(", ")
        ends = [rows.end for rows in self._newest.values()]
        if ends:
            line.append(f"windows up to {time_text(max(ends))}{self._lag(max(ends))}, ")
        else:
            line.append(f"{self._first_window()}, ")
        late = self.monitor.late if self.monitor is not None else None
        line.append(f"batch {self._batch:,}, {self._rows:,} rows, refused {self._refused:,}, late ")
        line.append("?" if late is None else f"{late:,}")
        firing = sum(alert.firing for alert in self._active)
        line.append(f", firing {firing}", style="bold red" if firing else "")
        pending = len(self._active) - firing
        line.append(f", pending {pending}", style="yellow" if pending else "")
        return line

    def _first_window(self) -> str:
        """When the first window is due: it must have ended, and late events have had their time."""
        queries = [query.query for query in self._config.queries.values()]
        due = min((query.period if query.partial else query.size) + query.lateness for query in queries)
        span = f"up to {duration_text(due)}"
        generated = self._config.source.generate
        if generated is None:
            return f"the first window is due {span} after the first event, by the times of events"
        clock = max(round(due / generated.speed / 1e6), 1)
        return f"the first window is due {span} of event time ({clock} s) after the first event"

    def _lag(self, end: int) -> str:
        """How far the newest window is behind the clock, or behind the newest generated event."""
        newest = self.monitor.newest_generated if self.monitor is not None else None
        if newest is not None:
            return f", {_lag_text(max(newest - end, 0))} behind the generated events"
        if self._config.clock is None or self._config.source.kind == "generate":
            return ""
        return f", {_lag_text(int(time.time() * 1e6) - end)} behind the clock"

    def _speed(self) -> float | None:
        query = self.monitor.query if self.monitor is not None else None
        try:
            last = query.lastProgress if query is not None else None
        except Exception:  # Spark has ended, which the monitor reports
            last = None
        events = None if last is None else self._events.get(last.batchId)
        if last is not None and events and last.batchDuration:
            self._last_speed = events / last.batchDuration * 1000
            self._events = {batch: count for batch, count in self._events.items() if batch >= last.batchId}
        return self._last_speed

    def _worst(self, query: QueryConfig, rows: WindowRows) -> Group:
        """The keys with the highest tail, in the newest window."""
        names = [name for name in rows.estimates if name.startswith("p")]
        rank_by = "p99" if "p99" in names else names[-1]
        order = np.argsort(-rows.estimates[rank_by][:, 0], kind="stable")[:KEYS]
        unit = f", in {query.unit}" if query.unit else ""
        end = time_text(rows.end)
        title = f"{query.name}: worst of {len(rows):,} keys by {title_of(rank_by)}, window ending {end}{unit}"
        places = order.tolist()
        labels = {
            label: [Text("-" if rows.labels[row][i] is None else printable(rows.labels[row][i])) for row in places]
            for i, label in enumerate(query.labels)
        }
        columns = {
            **{title_of(name): [estimate_cell(*rows.estimates[name][row]) for row in places] for name in names},
            "events": [Text(f"{int(rows.count[row]):,}") for row in places],
            "": [self._marks(query, rows, row) for row in places],
        }
        widths = {heading: widest(heading, cells) for heading, cells in columns.items()}
        chosen, width = title_of(rank_by), self._console.width
        room = narrowed([widest(label, cells) for label, cells in labels.items()], width - widths[chosen] - 2)
        optional = ["", *(heading for heading in columns if heading not in ("", chosen))]
        fits = that_fit(width, [*room, widths[chosen]], [widths[heading] for heading in optional])
        shown = {chosen, *(heading for heading, fit in zip(optional, fits, strict=True) if fit)}
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for label, column in zip(labels, room, strict=True):
            table.add_column(label, no_wrap=True, width=column, overflow="ellipsis")
        for heading in columns:
            if heading in shown:
                table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
        for cells in zip(*labels.values(), *(columns[heading] for heading in columns if heading in shown), strict=True):
            table.add_row(*cells)
        return Group(Text(title, style="bold"), table)

    def _marks(self, query: QueryConfig, rows: WindowRows, row: int) -> Text:
        marks = Text("burst " if rows.burst[row] else "", style="magenta")
        labels = dict(zip(query.labels, rows.labels[row], strict=True))
        for alert in self._active:
            if labels and labels.items() <= dict(alert.labels).items():
                marks.append(f"{alert.rule} ", style=_STYLES["firing" if alert.firing else "pending"])
        return marks


def _lag_text(lag: int) -> str:
    """A lag in days, minutes or seconds. Always days from two days on: `duration_text` writes 14 days as 2w.

    >>> [_lag_text(seconds * 1_000_000) for seconds in (21, 5_430, 80_261_440, 14 * 86_400)]
    ['21s', '1h30m', '928 days', '14 days']
    """
    if lag >= 2 * MICROSECONDS["day"]:
        return f"{lag // MICROSECONDS['day']:,} days"
    unit = MICROSECONDS["minute" if lag >= 10 * MICROSECONDS["minute"] else "second"]
    return duration_text(lag // unit * unit)


def _change(alert: Alert) -> Text:
    """A line for a transition of an alert."""
    line = Text(f"{time_text(alert.end)} ")
    line.append(f"{alert.transition:<9}", style=_STYLES[alert.transition])
    summary = alert.annotations.get("summary", "")
    line.append(printable(f"{alert.rule} {labels_text(dict(alert.labels))} {summary}".rstrip()))
    line.append(f" [{alert.certainty}]", style="dim")
    return line
