"""A real server on the loopback address, in a thread; it ends with the `with`."""

import json
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from aomg.monitor.config.secret import Secret
from aomg.web.follow.live import LiveData
from aomg.web.http.access import Access
from aomg.web.http.connections import ConnectionLimits
from aomg.web.http.server import Server, listening
from aomg.web.http.static_files import StaticFiles
from aomg.web.places import places

SECONDS = 20.0


@dataclass
class Served:
    """A running server, and a client that asks it."""

    address: str
    live: LiveData
    server: Server
    thread: threading.Thread
    client: httpx.Client = field(repr=False)

    def get(self, path: str, **more) -> httpx.Response:
        return self.client.get(path, **more)

    def json(self, path: str, **more):
        answer = self.client.get(path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def raw(self, request: bytes) -> bytes:
        """What comes back for these bytes, until the server hangs up."""
        host, port = self.address.removeprefix("http://").rstrip("/").rsplit(":", 1)
        with socket.create_connection((host, int(port)), SECONDS) as response:
            response.sendall(request)
            parts = []
            while part := response.recv(65536):
                parts.append(part)
        return b"".join(parts)

    def end(self) -> None:
        self.server.should_exit = True
        self.thread.join(SECONDS)
        assert not self.thread.is_alive(), "the server did not end"


def wait_until(holds: Callable[[], object]) -> None:
    """Wait, within bounds, for what another thread or process brings about."""
    until = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.02)


def loaded(live: LiveData) -> bool:
    """Whether the follower has read all that was there at its first look."""
    now = live.snapshot()
    return bool(now.queries) and now.loading[0] == now.loading[1]


@contextmanager
def serving(
    place: Path,
    token: str | None = None,
    host: str = "127.0.0.1",
    allowed: Collection[str] = (),
    files: StaticFiles | None = None,
    wait: bool = True,
    limits: ConnectionLimits | None = None,
) -> Iterator[Served]:
    """Serve a place; unless told otherwise, once all of it is read. `host` is what is served as, always on loopback."""
    bound = listening("127.0.0.1", 0)
    live = LiveData(places(place))
    server = Server(live, Access(host, None if token is None else Secret(token), allowed), files, limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{bound.getsockname()[1]}/"
    with httpx.Client(base_url=address, timeout=SECONDS, trust_env=False) as client:
        served = Served(address, live, server, thread, client)
        try:
            wait_until(lambda: server.started)
            if wait:
                wait_until(lambda: loaded(live))
            yield served
        finally:
            served.end()
            bound.close()


def event_data(lines: Iterator[str]) -> dict:
    """The data of the next event `changed`."""
    for line in lines:
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended")
