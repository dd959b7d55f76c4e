"""Who is told of alerts: Alertmanager, a webhook, a command, a log file."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.alert import NOTIFIED, Alert
from aomg.monitor.config.secret import Secret, redacted
from aomg.monitor.delivery.base import NotDelivered
from aomg.monitor.delivery.http import HttpPost
from aomg.monitor.errors import ConfigError
from aomg.monitor.sinks.base import labels_text

_A_DAY = 86_400.0
_AT_ONCE = 100
_PLACE = re.compile(r"\{\{\s*\$(\w+)(?:\.(\w+))?\s*\}\}")
_KNOWN = ("alert", "group", "transition", "id", "labels", "annotations")
# Enough to find programs, a home, a language and a desktop; whatever else the environment holds may be secret.
_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|DISPLAY|WAYLAND_DISPLAY|XDG_RUNTIME_DIR|"
    r"DBUS_SESSION_BUS_ADDRESS"
)


def json_text(alert: Mapping[str, Any]) -> str:
    """An alert as one line of JSON."""
    return json.dumps(alert, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Webhook:
    """POSTs each alert as a JSON object, with its `id` in the body and as the header Idempotency-Key."""

    kind = "webhook"
    notified = frozenset(NOTIFIED)
    repeat_every: float | None = None
    patience = _A_DAY

    def __init__(
        self, url: str | Secret, headers: Mapping[str, str | Secret] | None = None, timeout: float = 5.0
    ) -> None:
        self._post = HttpPost(url, headers or {}, timeout)
        self.identity = self._post.shown.rstrip("/")

    def __repr__(self) -> str:
        return f"webhook {self._post.shown}"

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """POST one alert."""
        self._post.send(json_text(alert).encode("utf-8", "backslashreplace"), str(alert["id"]))

    def repeat(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Once is enough."""


class Alertmanager:
    """POSTs to Alertmanager's /api/v2/alerts. Pending alerts are not sent.

    Alertmanager takes an alert for resolved when it has not heard of it for a while. So a firing alert is sent with an
    end five minutes ahead, and again every minute until it is resolved, as Prometheus does.
    """

    kind = "alertmanager"
    notified = frozenset({"firing", "resolved"})
    repeat_every: float | None = 60.0
    patience = _A_DAY
    _AHEAD = 300_000_000

    def __init__(
        self, url: str | Secret, headers: Mapping[str, str | Secret] | None = None, timeout: float = 5.0
    ) -> None:
        plain = (url.reveal() if isinstance(url, Secret) else url).rstrip("/")
        if "?" not in plain and not plain.endswith("/api/v2/alerts"):
            plain += "/api/v2/alerts"
        self._post = HttpPost(Secret(plain, repr(url)) if isinstance(url, Secret) else plain, headers or {}, timeout)
        self.identity = self._post.shown.rstrip("/")

    def __repr__(self) -> str:
        return f"alertmanager {self._post.shown}"

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """POST one alert."""
        self._post.send(json.dumps([self._told(alert)]).encode(), str(alert["id"]))

    def repeat(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """POST all that are firing, some at a time."""
        for start in range(0, len(alerts), _AT_ONCE):
            told = [self._told(alert) for alert in alerts[start : start + _AT_ONCE]]
            self._post.send(json.dumps(told).encode())

    def _told(self, alert: Mapping[str, Any]) -> dict[str, Any]:
        try:
            known = Alert.from_json(alert)
        except StateError as error:
            raise NotDelivered(f"{self!r} was not told: {error}", final=True) from error
        now = int(time.time()) * 1_000_000
        # Event time may run ahead of the clock; an end that is later than now would not resolve the alert.
        ends = now + self._AHEAD if known.transition == "firing" else min(known.end, now)
        told = known.for_alertmanager(ends)
        return {**told, "annotations": {**told["annotations"], "aomg_id": known.id}}


class Command:
    """Runs a program for each alert, without a shell; the alert is JSON on its standard input.

    Arguments may hold {{ $alert }}, {{ $group }}, {{ $transition }}, {{ $id }}, {{ $labels.NAME }} and
    {{ $annotations.NAME }}. What is put in never becomes an option: a value that begins with a dash gets a space in
    front. Of the environment the program sees only the path, the home, the language and the desktop's names.
    Exit code 0 means delivered.
    """

    kind = "command"
    notified = frozenset(NOTIFIED)
    repeat_every: float | None = None
    patience = 600.0

    def __init__(self, arguments: Sequence[str], timeout: float = 10.0) -> None:
        if isinstance(arguments, str) or not arguments:
            raise ConfigError("command must be a list: the program, then its arguments")
        if shutil.which(arguments[0]) is None:
            raise ConfigError(f"command {arguments[0]!r} is not found; install it, or write its whole path")
        for argument in arguments:
            for place in _PLACE.finditer(argument):
                if place[1] not in _KNOWN or (place[1] in ("labels", "annotations")) != (place[2] is not None):
                    raise ConfigError(f"{place[0]} is unknown in a command; there are ${', $'.join(_KNOWN[:4])}, "
                                      "$labels.NAME and $annotations.NAME")  # fmt: skip
        self._arguments = list(arguments)
        self._timeout = timeout
        self.identity = " ".join(takewhile(_is_plain_word, arguments)) or arguments[0]

    def __repr__(self) -> str:
        return f"command {self._arguments[0]}"  # arguments may hold a password

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """Run the program once, and all that it started at most for the timeout."""
        arguments = [self._arguments[0], *(_filled(text, alert) for text in self._arguments[1:])]
        environment = {name: text for name, text in os.environ.items() if _PASSED_ON.fullmatch(name)}
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                raise NotDelivered(f"{self!r} cannot be run ({error.strerror})") from None
            try:
                process.communicate(json_text(alert).encode("utf-8", "backslashreplace"), self._timeout)
            except subprocess.TimeoutExpired:
                raise NotDelivered(f"{self!r} took longer than {self._timeout:g} s and was ended") from None
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.returncode:
                said.seek(0)
                text = " ".join(said.read(200).decode("utf-8", "replace").split())
                raise NotDelivered(f"{self!r} ended with code {process.returncode}" + (f": {text}" if text else ""))

    def repeat(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Once is enough."""


class Log:
    """Appends a line for each alert to a file: time, transition, rule, labels, summary, id."""

    kind = "log"
    notified = frozenset(NOTIFIED)
    repeat_every: float | None = None
    patience = _A_DAY

    def __init__(self, file: Path) -> None:
        self._file = file
        self.identity = str(file)

    def __repr__(self) -> str:
        return f"log {self._file}"

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """Append one line, after ending a line that was torn."""
        told = alert.get("annotations") or {}
        parts = [str(alert.get("end", "")), str(alert["transition"]), str(alert.get("rule", ""))]
        parts += [labels_text(alert.get("labels") or {}), str(told.get("summary", "")), f"id={alert['id']}"]
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

    def repeat(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Once is enough."""


def _is_plain_word(argument: str) -> bool:
    """Whether an argument says what a program does: options, and what follows them, may hold a password."""
    return not argument.startswith("-") and "{{" not in argument and redacted(argument) == argument


def _filled(text: str, alert: Mapping[str, Any]) -> str:
    def value(place: re.Match[str]) -> str:
        if place[2] is not None:
            found = (alert.get(place[1]) or {}).get(place[2])
        else:
            found = alert.get("rule" if place[1] == "alert" else place[1])
        return "" if found is None else str(found).replace("\x00", "\N{REPLACEMENT CHARACTER}")

    filled = _PLACE.sub(value, text)
    return f" {filled}" if filled.startswith("-") and not text.startswith("-") else filled
