"""Limits the connections of the server: how many there are, and how long a client may take to send a request.

A connection that does not send a whole request in time is closed. Beyond the number of connections, of all clients or
of one, the one that has waited longest for a request is closed for the new one; if all have a request in progress, the
new one gets status 503. So half-open connections never keep others out. Event streams have an allowance of their own.

All numbers are derived from the number of files that the process may open, so that it never runs out of them.
"""

import asyncio
import ipaddress
import logging
import resource
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from aomg.errors import AomgError

BACKLOG = 128  # connections that the loop accepts at once, before the limits apply
HEADER_SECONDS = 10.0
_OTHER_FILES = 64  # results, the follower, the loop
_MOST = 1000
_FEWEST = 8
_IPV6_NETWORK = 64  # bits: one client may use all addresses of its network
_LOG = logging.getLogger("aomg.web")
_FULL = b'{"error": "the server has too many connections", "what_to_do": "try again in some seconds"}'
_SLOW = b'{"error": "the request took too long to arrive", "what_to_do": "send it at once"}'


class LimitsError(AomgError, ValueError):
    """Limits that this process cannot keep."""


@dataclass(frozen=True)
class ConnectionLimits:
    """The limits of a server. `connection_limits` returns the defaults.

    most
        Connections of all clients, without event streams.
    per_client
        Connections of one address, or of one network of IPv6.
    viewers
        Event streams: visible pages.
    header_seconds
        How long a client may take to send a request.
    """

    most: int
    per_client: int
    viewers: int
    header_seconds: float = HEADER_SECONDS


def connection_limits(
    most: int | None = None,
    per_client: int | None = None,
    viewers: int | None = None,
    header_seconds: float = HEADER_SECONDS,
    files: int | None = None,
) -> ConnectionLimits:
    """Return the limits; those that are not given follow from `files`, the files that the process may open.

    Raises LimitsError if connections and viewers need more files than that.

    >>> connection_limits(files=1024)
    ConnectionLimits(most=416, per_client=208, viewers=416, header_seconds=10.0)
    """
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if files is None else files
    if allowed == resource.RLIM_INFINITY:
        allowed = 1 << 20
    free = allowed - BACKLOG - _OTHER_FILES
    if most is None:
        most = max(min(_MOST, free // 2 if viewers is None else free - viewers), _FEWEST)
    if viewers is None:
        viewers = max(min(_MOST, free - most), _FEWEST)
    if most + viewers > free:
        raise LimitsError(
            f"{most:,} connections and {viewers:,} viewers need {most + viewers - free + allowed:,} open files, but "
            f"this process may open {allowed:,}; raise that with `ulimit -n`, or give smaller numbers with "
            "--most-connections and --most-viewers"
        )
    return ConnectionLimits(most, min(most, per_client or max(most // 2, 1)), viewers, header_seconds)


class LimitedState(ServerState):
    """The state that all connections of a server share, with its limits."""

    def __init__(self, limits: ConnectionLimits) -> None:
        super().__init__()
        self.limits = limits

    def admits(self, new: "LimitedConnection") -> bool:
        """Whether a new connection may stay. May close another one for it. Costs little unless a limit is reached."""
        limits = self.limits
        if len(self.connections) <= min(limits.most, limits.per_client):
            return True
        counted = [other for other in self.connections if isinstance(other, LimitedConnection) and other.is_counted]
        of_client = [other for other in counted if other.network == new.network]
        crowd = of_client if len(of_client) > limits.per_client else counted if len(counted) > limits.most else []
        if not crowd:
            return True
        idle = [other for other in crowd if other.is_waiting and other is not new]
        if idle:
            min(idle, key=lambda other: other.waiting_since).drop()
        return bool(idle)


class LimitedConnection(H11Protocol):
    """A connection of uvicorn's that keeps the limits of its server."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(server_state, LimitedState)
        self._state = server_state
        self._deadline: asyncio.TimerHandle | None = None
        self._is_dropped = False
        self.network = ""
        self.waiting_since = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for a request, or for the rest of one."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    @property
    def is_counted(self) -> bool:
        """Whether it counts as a connection: not if it is an event stream, or about to be closed."""
        streams = not self.is_waiting and self.scope is not None and self.scope["path"] == "/api/events"
        return not self._is_dropped and not (streams and self.cycle.response_started)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit or refuse the connection."""
        super().connection_made(transport)
        self.network = network_of(self.client[0] if self.client else "")
        if self._state.admits(self):
            self._wait()
        else:
            self._refuse(503, _FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle a part of a request. The whole request has to arrive in time, not only its first part."""
        super().data_received(data)
        if not self.is_waiting:
            self._stop_waiting()
        elif self._deadline is None and not self._is_dropped:
            self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request; uvicorn closes a connection that sends nothing for some seconds."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()

    def drop(self) -> None:
        """Close the connection at once."""
        self._is_dropped = True
        self._stop_waiting()
        self.transport.abort()

    def _wait(self) -> None:
        self.waiting_since = self.loop.time()
        self._deadline = self.loop.call_later(self._state.limits.header_seconds, self._time_out)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _time_out(self) -> None:
        self._deadline = None
        has_begun = self.conn.trailing_data[0] or self.conn.their_state is h11.SEND_BODY
        is_answered = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if has_begun and not is_answered:
            self._refuse(408, _SLOW)
        else:
            self.drop()

    def _refuse(self, status: int, body: bytes) -> None:
        self._is_dropped = True
        phrase = {408: b"Request Timeout", 503: b"Service Unavailable"}[status]
        self.transport.write(
            b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\nCache-Control: no-store\r\n"
            b"Retry-After: 5\r\nConnection: close\r\n\r\n%b" % (status, phrase, len(body), body)
        )
        self.transport.close()


def network_of(address: str) -> str:
    """Return what stands for a client: its address, or the network of an IPv6 address.

    >>> network_of("203.0.113.7"), network_of("2001:db8::1:2:3:4"), network_of("::ffff:203.0.113.7")
    ('203.0.113.7', '2001:db8::/64', '203.0.113.7')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_NETWORK), strict=False))
