"""The log receiver: appends a line to a file for each alert."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aomg.monitor.config import values
from aomg.monitor.config.model import ReceiverConfig
from aomg.monitor.config.schema import key
from aomg.monitor.delivery.base import NotDelivered, Receiver
from aomg.monitor.sinks.base import labels_text


@dataclass(frozen=True, kw_only=True)
class LogConfig(ReceiverConfig):
    """A log as configured."""

    kind = "log"

    path: Path = key(values.path, name="log", help="a file that gets a line for each alert")

    def build(self) -> "Log":
        """Return the receiver."""
        return Log(self.path)


class Log(Receiver):
    """Appends a line for each alert to a file: time, transition, rule, labels, summary, id."""

    kind = "log"

    def __init__(self, file: Path) -> None:
        self._file = file
        self.identity = str(file)

    def __repr__(self) -> str:
        return f"log {self._file}"

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """Append one line, and first end a line that a crash left incomplete."""
        annotations = alert.get("annotations") or {}
        parts = [str(alert.get("end", "")), str(alert["transition"]), str(alert.get("rule", ""))]
        parts += [labels_text(alert.get("labels") or {}), str(annotations.get("summary", "")), f"id={alert['id']}"]
        line = " ".join(part for part in parts if part)
        line = "".join(c if c.isprintable() else " " for c in line) + "\n"
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a+b") as raw:
                torn = False
                if raw.seek(0, os.SEEK_END):
                    raw.seek(-1, os.SEEK_END)
                    torn = raw.read(1) != b"\n"
                raw.write((b"\n" if torn else b"") + line.encode("utf-8", "backslashreplace"))
                raw.flush()
                os.fsync(raw.fileno())
        except OSError as error:
            raise NotDelivered(f"{self!r} cannot be written ({error.strerror})") from None
