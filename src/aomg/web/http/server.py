"""The application, and the server it runs on: loopback, no access log, an end that open streams cannot hold up."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from aomg.errors import AomgError
from aomg.web.follow.live import Live
from aomg.web.http.access import Access
from aomg.web.http.guard import Guard
from aomg.web.http.routes import handlers, routes
from aomg.web.http.static_files import StaticFiles
from aomg.web.parameters import LONGEST_ADDRESS

PORT = 8765
_TRIED = 10
_END_SECONDS = 3


class ServerError(AomgError, RuntimeError):
    """A server that cannot listen where it was told to."""


def application(live: Live, access: Access, files: StaticFiles | None = None) -> ASGIApp:
    """What answers requests, guarded. It follows the files from its start to its end."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        live.start()
        try:
            yield
        finally:
            await asyncio.to_thread(live.stop)

    app = Starlette(routes=routes(live, files or StaticFiles()), exception_handlers=handlers(), lifespan=lifespan)
    app.router.redirect_slashes = False
    return Guard(app, access)


class Server(uvicorn.Server):
    """Tells open streams to end before it waits for them."""

    def __init__(self, live: Live, access: Access, files: StaticFiles | None = None) -> None:
        self._live = live
        super().__init__(
            uvicorn.Config(
                application(live, access, files),
                http="h11",
                ws="none",
                lifespan="on",
                log_level="error",
                access_log=False,
                server_header=False,
                date_header=True,
                timeout_graceful_shutdown=_END_SECONDS,
                h11_max_incomplete_event_size=2 * LONGEST_ADDRESS,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End. A step of the follower and answers at work are waited for; streams end at once."""
        self._live.dismiss()
        await super().shutdown(sockets)


def listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens. Without a port: 8765, or the next one that is free. Raises ServerError."""
    tried = range(PORT, PORT + _TRIED + 1) if port is None else (port,)
    for number in tried:
        try:
            return _bound(host, number)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise ServerError(_explained(host, number, error)) from None
    if port is not None:
        raise ServerError(f"something else listens on port {port} already; end it, or give --port 0 for any free one")
    raise ServerError(f"the ports {PORT} to {tried[-1]} are all taken; give --port 0 for any free one")


def _bound(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
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
        return f"{host} is no address of this machine; give --host 127.0.0.1, or one of its own"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} may not be used; give one from 1024 on, or --port 0 for any free one"
    return f"port {port} of {host} cannot be listened on: {error.strerror}"


def address_of(host: str, bound: socket.socket) -> str:
    """Where the page is, for people to open."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{bound.getsockname()[1]}/"
