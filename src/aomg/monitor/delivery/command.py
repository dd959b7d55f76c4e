"""The command receiver: runs a program for each alert."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from aomg.monitor.config.model import ReceiverConfig
from aomg.monitor.config.schema import Field, key
from aomg.monitor.config.secret import redacted
from aomg.monitor.config.values import listed, text
from aomg.monitor.delivery.base import TIMEOUT_HELP, NotDelivered, Receiver, attempt_timeout, json_text
from aomg.monitor.errors import ConfigError

_PLACE = re.compile(r"\{\{\s*\$(\w+)(?:\.(\w+))?\s*\}\}")
_KNOWN = ("alert", "group", "transition", "id", "labels", "annotations")
# Enough to find programs, a home, a language and a desktop; any other variable may be secret.
_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|DISPLAY|WAYLAND_DISPLAY|XDG_RUNTIME_DIR|"
    r"DBUS_SESSION_BUS_ADDRESS"
)


def _command(field: Field) -> tuple[str, ...]:
    if isinstance(field.node.value, str):
        field.refuse("must be a list, [program, argument, ...]; there is no shell")
    words = listed(text)(field)
    if not words:
        field.refuse("is empty; write a program and its arguments")
    return words


@dataclass(frozen=True, kw_only=True)
class CommandConfig(ReceiverConfig):
    """A command as configured: the program and its arguments. The timeout is in microseconds."""

    kind = "command"

    command: tuple[str, ...] = key(_command, help="a program and its arguments, which may have placeholders")
    timeout: int = key(attempt_timeout, 5_000_000, help=TIMEOUT_HELP)

    def build(self) -> "Command":
        """Return the receiver. Raises ConfigError if the program is missing, or a template is unknown."""
        return Command(self.command, self.timeout / 1e6)

    def check(self) -> None:
        """Check that the program exists, and the templates."""
        self.build()


class Command(Receiver):
    """Runs a program for each alert, without a shell; the alert is JSON on its standard input.

    Arguments may hold {{ $alert }}, {{ $group }}, {{ $transition }}, {{ $id }}, {{ $labels.NAME }} and
    {{ $annotations.NAME }}. A value never becomes an option: one that begins with a dash gets a space in front. Of the
    environment the program gets only the path, the home, the language and the names of the desktop. Exit code 0 means
    delivered.
    """

    kind = "command"
    patience = 600.0

    def __init__(self, arguments: Sequence[str], timeout: float = 10.0) -> None:
        if isinstance(arguments, str) or not arguments:
            raise ConfigError("command must be a list: the program, then its arguments")
        if shutil.which(arguments[0]) is None:
            raise ConfigError(f"command {arguments[0]!r} was not found; install it, or write its whole path")
        for argument in arguments:
            for place in _PLACE.finditer(argument):
                if place[1] not in _KNOWN or (place[1] in ("labels", "annotations")) != (place[2] is not None):
                    raise ConfigError(f"{place[0]} is unknown in a command; the values are ${', $'.join(_KNOWN[:4])}, "
                                      "$labels.NAME and $annotations.NAME")  # fmt: skip
        self._arguments = list(arguments)
        self._timeout = timeout
        self.identity = " ".join(takewhile(_is_plain_word, arguments)) or arguments[0]

    def __repr__(self) -> str:
        return f"command {self._arguments[0]}"  # arguments may hold a password

    def deliver(self, alert: Mapping[str, Any]) -> None:
        """Run the program once; it and all that it started are killed after the timeout."""
        arguments = [self._arguments[0], *(_filled(text, alert) for text in self._arguments[1:])]
        environment = {name: text for name, text in os.environ.items() if _PASSED_ON.fullmatch(name)}
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                raise NotDelivered(f"{self!r} cannot be run ({error.strerror})") from None
            try:
                process.communicate(json_text(alert).encode("utf-8", "backslashreplace"), self._timeout)
            except subprocess.TimeoutExpired:
                raise NotDelivered(f"{self!r} took longer than {self._timeout:g} s and was killed") from None
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.returncode:
                errors.seek(0)
                text = " ".join(errors.read(200).decode("utf-8", "replace").split())
                raise NotDelivered(f"{self!r} exited with code {process.returncode}" + (f": {text}" if text else ""))


def _is_plain_word(argument: str) -> bool:
    """Whether an argument cannot hold a password: options, and the words after them, may."""
    return not argument.startswith("-") and "{{" not in argument and redacted(argument) == argument


def _filled(text: str, alert: Mapping[str, Any]) -> str:
    def value(place: re.Match[str]) -> str:
        if place[2] is not None:
            content = (alert.get(place[1]) or {}).get(place[2])
        else:
            content = alert.get("rule" if place[1] == "alert" else place[1])
        return "" if content is None else str(content).replace("\x00", "\N{REPLACEMENT CHARACTER}")

    filled = _PLACE.sub(value, text)
    return f" {filled}" if filled.startswith("-") and not text.startswith("-") else filled
