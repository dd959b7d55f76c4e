"""Half-open, slow and too many connections: the page answers others, and neither its files nor its log run over."""

import errno
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from web.local_server import SECONDS, event_data, serving, wait_until
from web.monitor_files import monitor_files

from aomg.web.command import limits_of_options
from aomg.web.http.connections import ConnectionLimits, LimitsError, connection_limits
from aomg.web.http.log_limit import LogLimit

TOKEN = "a-token-of-these-tests"
HALF = b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    return monitor_files(tmp_path_factory.mktemp("made"), keys=3, windows=3)


@contextmanager
def half_open(address: str, count: int, begin: bytes = HALF):
    """Connections that never complete their request."""
    host, port = address.removeprefix("http://").rstrip("/").rsplit(":", 1)
    with ExitStack() as stack:
        sockets = []
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection((host, int(port)), SECONDS))
            connection.sendall(begin)
            sockets.append(connection)
        yield sockets


def status_of(address: str) -> int:
    """The status of a request on a connection of its own: one that was open before may be closed for others."""
    return httpx.get(f"{address}api/status", trust_env=False, timeout=SECONDS).status_code


def ends(connection: socket.socket) -> bytes:
    """What a server sends until it hangs up."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize("limits", [ConnectionLimits(12, 12, 5, 60.0), ConnectionLimits(500, 12, 5, 60.0)])
def test_half_open_connections_keep_nobody_out(monitor, limits):
    with serving(monitor.file, limits=limits) as served, half_open(served.address, 60) as sockets:
        assert status_of(served.address) == 200
        wait_until(lambda: len(served.server.server_state.connections) <= 12)
        assert ends(sockets[0]) == b"", "the oldest had to go"


@pytest.mark.parametrize(
    "begin",
    [HALF, b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 30\r\n\r\ntoken="],
    ids=["head", "body"],
)
def test_a_request_that_does_not_arrive_in_time_is_closed_though_bytes_trickle(monitor, begin):
    limits = ConnectionLimits(50, 50, 5, 0.4)
    with serving(monitor.results, TOKEN, limits=limits, wait=False) as served:
        with half_open(served.address, 1, begin) as (slow,):
            slow.settimeout(0.05)
            answer = b""
            for _ in range(400):
                try:
                    slow.sendall(b"x")
                    answer = slow.recv(65536)
                    break
                except TimeoutError:
                    continue
                except OSError:
                    break
            else:
                raise AssertionError("it was never closed")
            assert answer.startswith(b"HTTP/1.1 408 ") or answer == b""
        with half_open(served.address, 1, b"") as (silent,):
            assert ends(silent) == b""


def test_a_request_that_arrived_is_not_cut_off_by_the_timeout(monitor):
    limits = ConnectionLimits(50, 50, 5, 1.0)
    with serving(monitor.file, limits=limits) as served, served.client.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        event_data(lines)
        with half_open(served.address, 1, b"") as (silent,):
            assert ends(silent) == b"", "the timeout has passed"
        monitor.add_window()
        event_data(lines)


def test_if_all_connections_are_busy_a_new_one_is_refused_with_what_to_do(monitor, monkeypatch):
    limits, release, busy = ConnectionLimits(2, 2, 5, 60.0), threading.Event(), []
    with serving(monitor.file, limits=limits) as served:
        served.client.close()
        really = served.live.health

        def slow():
            busy.append(1)
            release.wait(SECONDS)
            return really()

        monkeypatch.setattr(served.live, "health", slow)
        request = b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        with half_open(served.address, 2, request) as waiting:
            wait_until(lambda: len(busy) == 2)
            with half_open(served.address, 1, b"") as (refused,):
                answer = ends(refused)
            assert answer.startswith(b"HTTP/1.1 503 ") and b"Retry-After" in answer and b"what_to_do" in answer
            release.set()
            assert all(ends(connection).startswith(b"HTTP/1.1 200 ") for connection in waiting)


def test_event_streams_have_an_allowance_of_their_own(monitor):
    with serving(monitor.file, limits=ConnectionLimits(4, 4, 3, 60.0)) as served, ExitStack() as stack:
        streams = [stack.enter_context(served.client.stream("GET", "/api/events")) for _ in range(3)]
        reading = [stream.iter_lines() for stream in streams]  # a stream is closed when nobody holds this
        for lines in reading:
            event_data(lines)
        refused = served.get("/api/events")
        assert refused.status_code == 503
        assert "--most-viewers" in refused.json()["what_to_do"]
        with half_open(served.address, 20):
            assert status_of(served.address) == 200
            assert served.live.viewers == 3, "half-open connections close no stream"


def test_clients_of_other_addresses_are_counted_apart(monitor):
    with serving(monitor.file, limits=ConnectionLimits(500, 10, 5, 60.0)) as served:
        port = int(served.address.rstrip("/").rsplit(":", 1)[1])
        with ExitStack() as stack:
            other = stack.enter_context(
                socket.create_connection(("127.0.0.1", port), SECONDS, source_address=("127.0.0.2", 0))
            )
            other.sendall(HALF)
            stack.enter_context(half_open(served.address, 40))
            assert status_of(served.address) == 200
            other.sendall(b"no more\r\nConnection: close\r\n\r\n")
            assert ends(other).startswith(b"HTTP/1.1 200 "), "it was first, and it stayed"


def test_the_page_survives_more_half_open_connections_than_files_and_logs_little(monitor, tmp_path):
    """Row 9 of the first fault campaign: the page was dead, and its log grew by 145 MB a minute."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); from pathlib import Path; "
        "from aomg.web.command import serve; serve(Path(sys.argv[1]), port=0)"
    )
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(monitor.results)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        )
        try:
            address = process.stdout.readline().split()[-1]
            with half_open(address, 300):
                for _ in range(5):
                    assert status_of(address) == 200
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)
            process.stdout.close()
    assert (tmp_path / "log").stat().st_size < 2_000


def test_that_files_have_run_out_is_logged_once_a_minute(monitor, caplog):
    with serving(monitor.results, wait=False) as served:
        error = OSError(errno.EMFILE, "Too many open files")
        for _ in range(5_000):
            served.server._handle(None, {"message": "socket.accept() out of system resource", "exception": error})
    texts = [record.getMessage() for record in caplog.records if record.name == "aomg.web"]
    assert [text for text in texts if text.startswith("no connection")] == [
        "no connection can be accepted: Too many open files; raise the limit with `ulimit -n`"
    ]


def test_limits_follow_from_the_files_that_may_be_open():
    for files in (256, 1024, 4096, 1 << 20):
        limits = connection_limits(files=files)
        assert limits.most + limits.viewers < files - 150 and limits.per_client <= limits.most <= 1000
    assert connection_limits(most=10, files=1024) == ConnectionLimits(10, 5, 822, 10.0)
    assert connection_limits(viewers=10, per_client=7, files=1024) == ConnectionLimits(822, 7, 10, 10.0)
    with pytest.raises(LimitsError, match=r"need 2,192 open files, but this process may open 1,024; .*ulimit -n"):
        connection_limits(most=1000, viewers=1000, files=1024)
    with pytest.raises(LimitsError, match="ulimit -n"):
        connection_limits(files=64)


def test_options_are_checked():
    assert limits_of_options(20, 5, 10, "1500ms") == ConnectionLimits(20, 5, 10, 1.5)
    for wrong in ("soon", "0s", "2h"):
        with pytest.raises(LimitsError, match="--header-timeout"):
            limits_of_options(None, None, None, wrong)


def test_a_fault_that_repeats_is_logged_a_few_times_and_counted():
    now, passed = 0.0, []
    limit = LogLimit(most=3, seconds=60.0, clock=lambda: now)
    for number in range(10):
        record = logging.LogRecord("aomg.web", logging.ERROR, "", 0, "fault %d", (number,), None)
        if limit.filter(record):
            passed.append(record.getMessage())
    now = 61.0
    record = logging.LogRecord("aomg.web", logging.ERROR, "", 0, "fault %d", (11,), None)
    assert limit.filter(record)
    assert passed == ["fault 0", "fault 1", "fault 2"]
    assert record.getMessage() == "(7 messages before this one were left out) fault 11"
