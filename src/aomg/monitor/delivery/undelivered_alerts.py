"""Records alerts that were given up, each a line with the reason: `undelivered.jsonl` in the outbox."""

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aomg.times import time_text

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 10_000_000
_LINES_PER_WRITE = 1_000


class UndeliveredAlerts:
    """Keeps the newest lines, 10 to 20 MB: a full file becomes `undelivered.1.jsonl`. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._change = threading.Lock()

    def add(self, receiver: str, alerts: Sequence[Mapping[str, Any]], why: str) -> None:
        """Record alerts that are not delivered to a receiver. A write error is logged, not raised."""
        head = {"at": time_text(int(time.time()) * 1_000_000), "receiver": receiver, "reason": why}
        with self._change:
            try:
                for first in range(0, len(alerts), _LINES_PER_WRITE):
                    part = alerts[first : first + _LINES_PER_WRITE]
                    lines = "".join(json.dumps({**head, "alert": alert}, ensure_ascii=False) + "\n" for alert in part)
                    self._append(lines.encode("utf-8", "backslashreplace"))
            except OSError as error:
                _LOG.warning("%s cannot be written (%s)", self._file, error.strerror)

    def _append(self, lines: bytes) -> None:
        if self._file.exists() and self._file.stat().st_size > _MOST_BYTES:
            self._file.replace(self._file.with_name("undelivered.1.jsonl"))
        with self._file.open("ab") as raw:
            raw.write(lines)
