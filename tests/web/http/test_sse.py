import asyncio
import json
import re
import socket
import threading
import time
from types import SimpleNamespace

import pytest
from web.local_server import event_data, serving, wait_until
from web.monitor_files import monitor_files

from aomg.web.http import sse as events


class FakeLive:
    """Versions without files."""

    def __init__(self):
        self.listeners = set()
        self.version, self.is_dismissing = 1, False
        self.listen, self.forget = self.listeners.add, self.listeners.discard

    def latest(self):
        return self.version, {"version": self.version}

    def change(self):
        self.version += 1
        for listener in list(self.listeners):
            listener()


@pytest.fixture
def monitor(tmp_path):
    return monitor_files(tmp_path, keys=14, windows=4)


def test_the_first_event_comes_at_once_and_the_next_when_a_sink_wrote(monitor):
    with serving(monitor.file) as served, served.client.stream("GET", "/api/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        first = event_data(lines)
        assert set(first) == {"version", "newest", "alerts"}
        assert first["newest"] == {"inbound": "2026-11-16T12:00:00Z", "outbound": "2026-11-16T12:00:00Z"}
        assert first["alerts"] == {"firing": 1, "pending": 1}
        monitor.add_window()
        response = event_data(lines)
        while response["newest"]["inbound"] != "2026-11-16T12:00:15Z":
            response = event_data(lines)
        assert response["version"] > first["version"]
        assert served.json("/api/status")["queries"][0]["newest_end"] == "2026-11-16T12:00:15Z"


def test_what_goes_over_the_wire_is_an_event_stream(monitor):
    with serving(monitor.file) as served, served.client.stream("GET", "/api/events") as stream:
        text = ""
        for part in stream.iter_text():
            text += part
            if text.count("\n\n") >= 2:
                break
    assert re.fullmatch(r"retry: 1000\n\nid: (\d+)\nevent: changed\ndata: \{\"version\": \1, .*\}\n\n", text)


def test_a_viewer_that_leaves_is_forgotten(monitor):
    with serving(monitor.file) as served:
        for _ in range(3):
            with served.client.stream("GET", "/api/events") as stream:
                lines = stream.iter_lines()  # the stream is closed when nobody holds this
                event_data(lines)
                assert served.live.viewers == 1
            wait_until(lambda: served.live.viewers == 0)


def test_asking_for_the_head_alone_opens_no_stream(monitor):
    with serving(monitor.file) as served:
        answer = served.client.head("/api/events")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        wait_until(lambda: served.live.viewers == 0)


def test_twenty_viewers_all_hear_of_every_newest_version(monitor):
    heard = [[] for _ in range(20)]

    def look(served, mine):
        with served.client.stream("GET", "/api/events") as stream:
            lines = stream.iter_lines()
            while not mine or mine[-1]["newest"]["inbound"] != "2026-11-16T12:00:45Z":
                mine.append(event_data(lines))

    with serving(monitor.file) as served:
        viewers = [threading.Thread(target=look, args=(served, mine), daemon=True) for mine in heard]
        for viewer in viewers:
            viewer.start()
        wait_until(lambda: served.live.viewers == 20)
        monitor.add_window(windows=3)
        for viewer in viewers:
            viewer.join(20)
    for mine in heard:
        assert mine[-1]["newest"]["inbound"] == "2026-11-16T12:00:45Z"
        assert [response["version"] for response in mine] == sorted({response["version"] for response in mine})


def test_the_server_ends_though_streams_are_open(monitor):
    with serving(monitor.file) as served:
        streams = [served.client.stream("GET", "/api/events") for _ in range(5)]
        reading = [stream.__enter__().iter_lines() for stream in streams]
        for lines in reading:
            event_data(lines)
        assert served.live.viewers == 5
        began = time.monotonic()
        served.end()
        # well within the time after which streams would be cut off
        assert time.monotonic() - began < 2.5
        assert served.live.viewers == 0


def test_a_viewer_that_does_not_read_holds_nobody_up(monitor):
    with serving(monitor.file) as served:
        host, port = served.address.removeprefix("http://").rstrip("/").split(":")
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            deaf.connect((host, int(port)))
            deaf.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            wait_until(lambda: served.live.viewers == 1)
            with served.client.stream("GET", "/api/events") as stream:
                lines = stream.iter_lines()
                for _ in range(50):
                    last = event_data(lines)["version"]
                    served.live._snapshot = SimpleNamespace(**{**vars(served.live.snapshot()), "version": last + 1})
                    served.live._notify()
                assert event_data(lines)["version"] == last + 1


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 20))


def version_of(text):
    return json.loads(re.search(r"data: (.*)", text)[1])["version"]


def test_a_slow_viewer_is_told_of_the_newest_version_only():
    async def slow():
        live = FakeLive()
        stream = events.changes(live, live.latest)
        assert await anext(stream) == "retry: 1000\n\n"
        assert version_of(await anext(stream)) == 1
        for _ in range(1000):
            live.change()
        await asyncio.sleep(0)
        assert version_of(await anext(stream)) == 1001
        pending = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        assert not pending.done()
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        await stream.aclose()
        assert not live.listeners

    run(slow())


def test_a_change_between_two_looks_is_not_lost():
    """The version may change while an event is made: there is one more event then."""

    async def busy():
        live = FakeLive()
        calls = []

        def response():
            before = live.latest()
            if len(calls) < 3:
                calls.append(before)
                live.change()
            return before

        stream = events.changes(live, response)
        await anext(stream)
        versions = [version_of(await anext(stream)) for _ in range(4)]
        assert versions == [1, 2, 3, 4]
        await stream.aclose()

    run(busy())


def test_a_quiet_stream_says_now_and_then_that_it_is_still_there():
    async def quiet():
        live = FakeLive()
        stream = events.changes(live, live.latest, beat=0.01)
        await anext(stream), await anext(stream)
        assert await anext(stream) == ": still here\n\n"
        assert await anext(stream) == ": still here\n\n"
        live.change()
        while (text := await anext(stream)).startswith(":"):
            pass
        assert version_of(text) == 2
        await stream.aclose()

    run(quiet())


def test_the_stream_ends_when_the_server_does():
    async def ending():
        live = FakeLive()
        stream = events.changes(live, live.latest)
        await anext(stream), await anext(stream)
        live.is_dismissing = True
        live.change()
        assert [part async for part in stream] == []
        assert not live.listeners

    run(ending())


def test_a_viewer_whose_loop_is_gone_does_not_stop_the_follower():
    live = FakeLive()

    async def leave():
        stream = events.changes(live, live.latest)
        await anext(stream)
        live.forget = lambda listener: None
        await stream.aclose()

    run(leave())
    assert live.listeners
    live.change()


def test_no_line_end_in_the_data_can_be_taken_for_a_field():
    text = events.event(3, {"newest": {"a\r\nevent: x\n\ndata: evil": "\u2028\n"}})
    assert text.count("\n") == 4
    assert "\r" not in text
    assert version_of(text.replace("newest", "version")) == {"a\r\nevent: x\n\ndata: evil": "\u2028\n"}
