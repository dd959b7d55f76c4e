"""How fast is the live page with 10,000 keys by 24 hours, how much does its server hold, and do 20 viewers lose any?

The server reads 1,440 files of 10,000 rows (`benchmarks.web_results`). The page is opened in headless Chromium. First
paint is the time from asking for the page to the first painted row of the table; an update, the time from the server's
word that something changed to the changed table on the screen. Then 20 viewers listen while windows are written one
after the other, and each asks again for what it shows, as the page does.
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
from benchmarks import web_results
from benchmarks.measure import Figure

KEYS, WINDOWS = 10_000, 1_440
LOADS, UPDATES = 5, 5
VIEWERS, WRITES = 20, 10
FIRST_PAINT, UPDATE = 2.0, 0.2  # seconds: the aims
LIMIT = 300  # seconds, of any waiting
END = time_of("2026-11-16")


class _Writer:
    """Writes one window after the other."""

    def __init__(self, results: Path, keys: int, windows: int) -> None:
        self._results, self._keys, self._windows, self.more = results, keys, windows, 0

    def write(self) -> str:
        """One more window; its end."""
        end = END + (self.more + 1) * web_results.MINUTE
        web_results.write(self._results, self._keys, 1, end, self._windows + self.more)
        self.more += 1
        return time_text(end)


def run(quick: bool) -> list[Figure]:
    keys, windows = (1_000, 60) if quick else (KEYS, WINDOWS)
    with tempfile.TemporaryDirectory(prefix="aomg-web-") as folder:
        results = Path(folder)
        web_results.write(results, keys, windows, END)
        with served(results) as (address, server):
            loaded = _loaded(address, windows)
            writer = _Writer(results, keys, windows)
            paints, updates = _on_the_page(address, writer)
            held = _memory(server.pid)
            delays = asyncio.run(_viewers(address, writer))
    size = f"{keys:,} keys by {windows:,} windows"
    first, update = median(paints), median(updates)
    lost = sum(delay is None for delay in delays)
    slowest = max((delay for delay in delays if delay is not None), default=math.inf)
    return [
        Figure(
            f"the page: first paint of the table, {size}",
            f"{first:.2f} s (longest {max(paints):.2f})",
            f"{FIRST_PAINT:g} s",
            first < FIRST_PAINT,
            {"seconds": paints},
        ),
        Figure(
            f"the page: an update on the screen, {size}",
            f"{1000 * update:.0f} ms (longest {1000 * max(updates):.0f})",
            f"{1000 * UPDATE:g} ms",
            update < UPDATE,
            {"seconds": updates},
        ),
        Figure(
            f"the page's server: memory, {size}",
            f"{held / 1e6:,.0f} MB; all read after {loaded:.0f} s",
            detail={"bytes": held, "seconds": loaded},
        ),
        Figure(
            f"{VIEWERS} viewers at once: who missed the last of {WRITES} windows",
            f"{lost} (slowest {slowest:.1f} s)",
            "0",
            lost == 0,
            {"seconds": delays},
        ),
    ]


@contextmanager
def served(results: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    command = [str(Path(sys.executable).with_name("aomg")), "web", str(results), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        told = next((found for line in server.stdout if (found := re.search(r"http://\S+", line))), None)
        if told is None:
            raise RuntimeError("the server ended before it said its address")
        yield told[0].rstrip("/"), server
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
    raise RuntimeError(f"the server had not read all after {LIMIT} s")


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


# the first frame after a row of the table is there
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
  let first = true, told = 0;
  events.addEventListener('changed', () => {
    if (!first) told ||= performance.now();
    first = false;
    window.listens = true;
  });
  new MutationObserver((_, observer) => {
    if (!told) return;
    observer.disconnect();
    events.close();
    requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - told) / 1000)));
  }).observe(document.querySelector('.seen'), {subtree: true, childList: true, characterData: true, attributes: true});
})
"""


def _update(page: Page, writer: _Writer) -> float:
    page.evaluate("window.listens = false")
    handle = page.evaluate_handle(f"(() => {{ window.update = ({_NEXT_UPDATE})(); }})()")
    page.wait_for_function("() => window.listens")
    writer.write()
    taken = float(page.evaluate("window.update"))
    handle.dispose()
    return taken


def _memory(process: int) -> int:
    """The most that a process held, in bytes."""
    told = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", told)[1])  # type: ignore[index]


async def _viewers(address: str, writer: _Writer) -> list[float | None]:
    """For each viewer how long after the last window was written it had it; None for one that never got it."""
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
        written, *found = await asyncio.gather(write(), *(watch(client) for _ in range(VIEWERS)))
    return [None if when is None else when - written for when in found]
