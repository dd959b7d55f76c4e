"""A real HTTP receiver on the loopback address, which fails as told."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OK, HANG_UP = 200, 0
SLOW, HEARD_BUT_SILENT = -1, -2


@dataclass
class Heard:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes
    answer: int

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Listening:
    """What was heard, and what is answered: a status, HANG_UP without looking, HEARD_BUT_SILENT, or SLOW."""

    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    answer: Callable[[int], int] = lambda number: OK
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: threading.Event = field(default_factory=threading.Event)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def accepted(self) -> list[dict]:
        """The alerts that the receiver has taken, in order; each id once, as a receiver that looks at ids sees them."""
        by_id: dict[str, dict] = {}
        for one in self.heard:
            if one.answer in (OK, 204, HEARD_BUT_SILENT):
                by_id.setdefault(one.headers["Idempotency-Key"], one.json)
        return list(by_id.values())

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.heard) >= count, 30)


@contextmanager
def listening(answer: Callable[[int], int] = lambda number: OK, **more) -> Iterator[Listening]:
    state = Listening(answer=answer, **more)
    numbers = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            with numbers:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = state.answer(len(state.heard))
                with state.changed:
                    state.heard.append(Heard(self.path, dict(self.headers.items()), body, answer))
                    state.changed.notify_all()
            if answer in (HANG_UP, HEARD_BUT_SILENT):
                # the connection is reset, with no answer
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                return
            if answer == SLOW:
                state.ended.wait(20)
                self.close_connection = True
                return
            self.send_response(answer)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(state.body)))
            self.end_headers()
            self.wfile.write(state.body)

        do_GET = do_POST  # noqa: N815  a redirect that is followed would come like this

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
