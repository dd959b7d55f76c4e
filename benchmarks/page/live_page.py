"""How fast is the live page with 10,000 keys by 24 hours, how much memory does it need, and do 20 viewers miss any?

The server reads 1,440 files of 10,000 rows (`benchmarks.page.result_files`). Headless Chromium opens the page. First
paint is the time from the request to the first painted row of the table. An update is the time from the server's
`changed` event to the changed table on the screen. Then 20 viewers listen while windows are written one after the
other, and each requests the table again, as the page does.
"""

import asyncio
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from playwright.sync_api import Page

from aomg.evaluation.report.pictures import browser
from aomg.times import time_of, time_text
from benchmarks.measure import Figure
from benchmarks.page import result_files

KEYS, WINDOWS = 10_000, 1_440
LOADS, UPDATES = 5, 5
VIEWERS, WRITES = 20, 10
FIRST_PAINT, UPDATE = 2.0, 0.2  # seconds: the aims
LIMIT = 300  # seconds, the longest wait
END = time_of("2026-11-16")


class _Writer:
    """Writes one window after another."""

    def __init__(self, results: Path, keys: int, windows: int) -> None:
        self._results, self._keys, self._windows, self.more = results, keys, windows, 0

    def write(self) -> str:
        """Write one more window; return its end."""
        end = END + (self.more + 1) * result_files.MINUTE
        result_files.write(self._results, self._keys, 1, end, self._windows + self.more)
        self.more += 1
        return time_text(end)


def run(quick: bool) -> list[Figure]:
    keys, windows = (1_000, 60) if quick else (KEYS, WINDOWS)
    with tempfile.TemporaryDirectory(prefix="aomg-web-") as folder:
        results = Path(folder)
        result_files.write(results, keys, windows, END)
        with served(results) as (address, server):
            loaded = _loaded(address, windows)
            writer = _Writer(results, keys, windows)
            paints, updates = _on_the_page(address, writer)
            memory = _memory(server.pid)
            delays = asyncio.run(_viewers(address, writer))
    size = f"{keys:,} keys by {windows:,} windows"
    first, update = median(paints), median(updates)
    lost = sum(delay is None for delay in delays)
    slowest = max((delay for delay in delays if delay is not None), default=math.inf)
    return [
        Figure(
            f"first paint of the table, {size}",
            f"{first:.2f} s (longest {max(paints):.2f})",
            f"< {FIRST_PAINT:g} s",
            first < FIRST_PAINT,
            {"seconds": paints},
            "s",
        ),
        Figure(
            f"an update on the screen, {size}",
            f"{1000 * update:.0f} ms (longest {1000 * max(updates):.0f})",
            f"< {1000 * UPDATE:g} ms",
            update < UPDATE,
            {"seconds": updates},
            "s",
        ),
        Figure(
            f"memory of the server, {size}",
            f"{memory / 1e6:,.0f} MB; read everything in {loaded:.0f} s",
            detail={"bytes": memory, "seconds": loaded},
            unit="bytes",
        ),
        Figure(
            f"viewers that missed the last of {WRITES} windows, of {VIEWERS} at once",
            f"{lost} (slowest {slowest:.1f} s)",
            "0",
            lost == 0,
            {"seconds": delays},
            "viewers",
        ),
    ]


@contextmanager
def served(results: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    command = [str(Path(sys.executable).with_name("aomg")), "web", str(results), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = next((match for line in server.stdout if (match := re.search(r"http://\S+", line))), None)
        if address is None:
            raise RuntimeError("the server ended before it printed its address")
        yield address[0].rstrip("/"), server
    finally:
        server.terminate()
        server.wait(30)


def _loaded(address: str, windows: int) -> float:
    started = time.perf_counter()
    while time.perf_counter() < started + LIMIT:
        queries = httpx.get(f"{address}/api/status", timeout=60).json()["queries"]
        if queries and queries[0]["windows"] >= windows:
            return time.perf_counter() - started
        time.sleep(0.5)
    raise RuntimeError(f"the server had not read everything after {LIMIT} s")


def _on_the_page(address: str, writer: _Writer) -> tuple[list[float], list[float]]:
    with browser() as chromium:
        paints = []
        for _ in range(LOADS):
            page = chromium.new_page(viewport={"width": 1440, "height": 900})
            page.add_init_script(_FIRST_ROW)
            page.goto(address)
            page.wait_for_function("() => window.firstRow > 0", timeout=1000 * LIMIT)
            paints.append(page.evaluate("window.firstRow") / 1000)
            page.close()
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.wait_for_selector(".row")
        return paints, [_update(page, writer) for _ in range(UPDATES)]


# the first frame after the table has a row
_FIRST_ROW = """
const look = () => document.querySelector('.row a')
  ? requestAnimationFrame(() => requestAnimationFrame(() => { window.firstRow = performance.now(); }))
  : requestAnimationFrame(look);
requestAnimationFrame(look);
"""

# from the event to the first frame after the table changed
_NEXT_UPDATE = """
() => new Promise((done) => {
  const events = new EventSource('/api/events');
  let first = true, changed = 0;
  events.addEventListener('changed', () => {
    if (!first) changed ||= performance.now();
    first = false;
    window.listens = true;
  });
  new MutationObserver((_, observer) => {
    if (!changed) return;
    observer.disconnect();
    events.close();
    requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - changed) / 1000)));
  }).observe(document.querySelector('.seen'), {subtree: true, childList: true, characterData: true, attributes: true});
})
"""


def _update(page: Page, writer: _Writer) -> float:
    page.evaluate("window.listens = false")
    handle = page.evaluate_handle(f"(() => {{ window.update = ({_NEXT_UPDATE})(); }})()")
    page.wait_for_function("() => window.listens")
    writer.write()
    seconds = float(page.evaluate("window.update"))
    handle.dispose()
    return seconds


def _memory(process: int) -> int:
    """Return the peak memory of a process in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]


async def _viewers(address: str, writer: _Writer) -> list[float | None]:
    """Return each viewer's delay after the last window was written; None if it missed that window."""
    last: list[str] = []

    async def write() -> float:
        await asyncio.sleep(2)
        for number in range(WRITES):
            end = await asyncio.to_thread(writer.write)
            if number == WRITES - 1:
                last.append(end)
                return time.perf_counter()
            await asyncio.sleep(1)
        raise AssertionError("unreachable")

    async def watch(client: httpx.AsyncClient) -> float | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(60), client.stream("GET", f"{address}/api/events", timeout=None) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data:"):
                        page: Any = (await client.get(f"{address}/api/keys", timeout=60)).json()
                        if page["at"] in last:
                            return time.perf_counter()
        return None

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None)) as client:
        written, *arrivals = await asyncio.gather(write(), *(watch(client) for _ in range(VIEWERS)))
    return [None if when is None else when - written for when in arrivals]
