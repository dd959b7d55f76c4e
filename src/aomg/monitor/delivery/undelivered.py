"""Alerts that a receiver will not get, each a line with the reason: `undelivered.jsonl` beside the outbox."""

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
_AT_ONCE = 1_000


class Undelivered:
    """The newest lines, 10 to 20 MB of them: a file that is full becomes `undelivered.1.jsonl`. Safe in threads."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._change = threading.Lock()

    def add(self, receiver: str, alerts: Sequence[Mapping[str, Any]], why: str) -> None:
        """Record alerts that a receiver will not get. Where that fails, it is logged: nothing else is held up."""
        head = {"at": time_text(int(time.time()) * 1_000_000), "receiver": receiver, "reason": why}
        with self._change:
            try:
                for first in range(0, len(alerts), _AT_ONCE):
                    some = alerts[first : first + _AT_ONCE]
                    lines = "".join(json.dumps({**head, "alert": alert}, ensure_ascii=False) + "\n" for alert in some)
                    self._append(lines.encode("utf-8", "backslashreplace"))
            except OSError as error:
                _LOG.warning("%s cannot be written (%s)", self._file, error.strerror)

    def _append(self, lines: bytes) -> None:
        if self._file.exists() and self._file.stat().st_size > _MOST_BYTES:
            self._file.replace(self._file.with_name("undelivered.1.jsonl"))
        with self._file.open("ab") as raw:
            raw.write(lines)
