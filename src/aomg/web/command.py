"""Runs `aomg web`: serves the page until it is stopped."""

import os
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from aomg.durations import microseconds
from aomg.errors import DurationError
from aomg.monitor.config.secret import Secret
from aomg.web.follow.live import LiveData
from aomg.web.http.access import Access, AccessError
from aomg.web.http.connections import ConnectionLimits, LimitsError, connection_limits
from aomg.web.http.log_limit import limit_logs
from aomg.web.http.server import Server, address_of, listening
from aomg.web.metrics.exposition import MOST_SERIES
from aomg.web.places import places

TOKEN = "AOMG_WEB_TOKEN"
MEMORY = 1 << 30
LEAST_MEMORY = 16 << 20
LEAST_HEADER_SECONDS, MOST_HEADER_SECONDS = 0.1, 3600.0


def _print(address: str) -> None:
    print(address, flush=True)  # also if the output is a pipe


def serve(
    place: Path,
    host: str = "127.0.0.1",
    port: int | None = None,
    token_file: Path | None = None,
    allowed: Sequence[str] = (),
    memory: int = MEMORY,
    most_series: int = MOST_SERIES,
    limits: ConnectionLimits | None = None,
    report: Callable[[str], None] = _print,
    until: Callable[[], None] | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; calls `report` with the address once the server listens.

    until
        Blocks until the server should end for another reason: a child ends with the process that started it.

    Raises PlaceError, ConfigError, AccessError, LimitsError or ServerError before anything listens.
    """
    served = places(place)
    access = Access(host, token_of(token_file), allowed)
    limits = limits or connection_limits()
    bound = listening(host, port)
    server = Server(LiveData(served, memory, most_series), access, limits=limits)
    limit_logs()
    if until is not None:
        threading.Thread(target=_end, args=[server, until], name="aomg parent", daemon=True).start()
    report(address_of(host, bound))
    try:
        server.run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    finally:
        bound.close()


def token_of(file: Path | None) -> Secret | None:
    """Return the token from a file, or else from the environment; None where there is neither."""
    if file is None:
        text = os.environ.get(TOKEN, "")
        return Secret(text) if text else None
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise AccessError(f"the token file {file} cannot be read; check its path and permissions") from error
    if not text:
        raise AccessError(f"the token file {file} is empty; put a token into it")
    return Secret(text)


def limits_of_options(
    most: int | None, per_client: int | None, viewers: int | None, header_timeout: str
) -> ConnectionLimits:
    """Return the limits of connections from the options. Raises LimitsError."""
    try:
        seconds = microseconds(header_timeout, limited=True) / 1e6
    except DurationError as error:
        raise LimitsError(f"--header-timeout: {error}") from None
    if not LEAST_HEADER_SECONDS <= seconds <= MOST_HEADER_SECONDS:
        raise LimitsError(f"--header-timeout {header_timeout!r} must be from 100ms to 1h; write one such as 10s")
    return connection_limits(most, per_client, viewers, seconds)


def memory_of(text: str) -> int:
    """Return the bytes of 512MB, 2GB or a plain number.

    >>> memory_of("512MB"), memory_of("1.5 GB")
    (536870912, 1610612736)
    """
    parts = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,3})?)\s*([kmgt]?)i?b?\s*", text.lower())
    size = int(float(parts[1]) * 1024 ** " kmgt".index(parts[2] or " ")) if parts else 0
    if size < LEAST_MEMORY:
        raise AccessError(f"--memory {text!r} is not a size; write one such as 512MB or 2GB, at least 16MB")
    return size


def _end(server: Server, until: Callable[[], None]) -> None:
    until()
    server.should_exit = True
