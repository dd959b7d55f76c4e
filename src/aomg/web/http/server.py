"""Builds the application and runs its server: no access log, limited connections, and a shutdown without delay."""

import asyncio
import errno
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from aomg.errors import AomgError
from aomg.web.follow.live import LiveData
from aomg.web.http.access import Access
from aomg.web.http.connections import BACKLOG, ConnectionLimits, LimitedConnection, LimitedState, connection_limits
from aomg.web.http.guard import Guard
from aomg.web.http.routes import exception_handlers, routes
from aomg.web.http.static_files import StaticFiles
from aomg.web.parameters import LONGEST_ADDRESS, LONGEST_HEADERS

PORT = 8765
_MORE_PORTS = 10
_END_SECONDS = 3
_LOG_SECONDS = 60.0
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_LOG = logging.getLogger("aomg.web")


class ServerError(AomgError, RuntimeError):
    """The server cannot listen on the given host and port."""


def application(
    live: LiveData, access: Access, files: StaticFiles | None = None, most_viewers: int | None = None
) -> ASGIApp:
    """Return the ASGI application behind its guard. It follows the files while it runs."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        live.start()
        try:
            yield
        finally:
            await asyncio.to_thread(live.stop)

    files = files or StaticFiles()
    app = Starlette(
        routes=routes(live, files, most_viewers),
        exception_handlers=exception_handlers(files),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return Guard(app, access)


class Server(uvicorn.Server):
    """A uvicorn server with limited connections that ends open event streams before it waits for them."""

    def __init__(
        self, live: LiveData, access: Access, files: StaticFiles | None = None, limits: ConnectionLimits | None = None
    ) -> None:
        self._live = live
        self._logged: float | None = None
        limits = limits or connection_limits()
        super().__init__(
            uvicorn.Config(
                application(live, access, files, limits.viewers),
                http=LimitedConnection,
                loop="asyncio",
                ws="none",
                lifespan="on",
                log_level="error",
                access_log=False,
                server_header=False,
                date_header=True,
                timeout_graceful_shutdown=_END_SECONDS,
                h11_max_incomplete_event_size=LONGEST_ADDRESS + LONGEST_HEADERS,
                backlog=BACKLOG,
            )
        )
        self.server_state = LimitedState(limits)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening."""
        asyncio.get_running_loop().set_exception_handler(self._handle)
        await super().startup(sockets)

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the loop. Once files run out, accepting fails many times a second: log that once a minute."""
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in _OUT_OF_FILES):
            loop.default_exception_handler(context)
        elif self._logged is None or time.monotonic() - self._logged >= _LOG_SECONDS:
            self._logged = time.monotonic()
            _LOG.error("no connection can be accepted: %s; raise the limit with `ulimit -n`", error.strerror)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down: waits for running requests and the follower's current step; event streams end at once."""
        self._live.dismiss()
        await super().shutdown(sockets)


def listening(host: str, port: int | None) -> socket.socket:
    """Return a listening socket. Without a port: 8765, or the next free one of the ten after it. Raises ServerError."""
    tried = range(PORT, PORT + _MORE_PORTS + 1) if port is None else (port,)
    for number in tried:
        try:
            return _bound(host, number)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise ServerError(_explained(host, number, error)) from None
    if port is not None:
        raise ServerError(f"port {port} is already in use; stop the other program, or give --port 0 for any free port")
    raise ServerError(f"the ports {PORT} to {tried[-1]} are all in use; give --port 0 for any free port")


def _bound(host: str, port: int) -> socket.socket:
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = addresses[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(2048)
    except OSError:
        bound.close()
        raise
    return bound


def _explained(host: str, port: int, error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine; give --host 127.0.0.1, or one of its own"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"no permission to use port {port}; give one from 1024 on, or --port 0 for any free port"
    return f"cannot listen on port {port} of {host}: {error.strerror}"


def address_of(host: str, bound: socket.socket) -> str:
    """Return the page's address, to open in a browser."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{bound.getsockname()[1]}/"
