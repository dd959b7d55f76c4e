"""The live page of a running `aomg run --web`, in a real browser: from the first second to the last."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from programs import BROWSER, needs

from aomg.evaluation.report import pictures

pytestmark = [
    pytest.mark.xdist_group("monitor on spark"),
    needs(BROWSER),
]
WAIT = 180_000  # milliseconds: Spark has to start
PICTURES = Path(__file__).parents[2] / "build" / "pages"
CONFIG = """
source:
  generate: {stream: podsets, rate: 2000, speed: 20, seed: 1}
  time: ts
state: state/
every: 1 second
quarantine: {folder: quarantine/, most_rows: 1000}
queries:
  inbound: {value: rtt_us, unit: us, by: {podset: dst_podset}, size: 1m, period: 15s, lateness: 2s}
sinks:
  results: [{parquet: results/}]
  summaries: [{parquet: summaries/}]
  alerts: [{jsonl: alerts.jsonl}]
groups:
  - name: network
    rules:
      - {alert: Slow, expr: p50 > 1us, min_count: 10, annotations: {summary: "podset {{ $labels.podset }}"}}
"""


@pytest.fixture
def running(tmp_path):
    """A monitor of telemetry that passes twenty times as fast as the clock, and the address of its page."""
    file = tmp_path / "monitor.yaml"
    file.write_text(CONFIG)
    command = [str(Path(sys.executable).with_name("aomg")), "run", str(file), "--web", "--port", "0"]
    monitor = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert monitor.stdout is not None
        address = next(match[0] for line in monitor.stdout if (match := re.search(r"http://127\.0\.0\.1:\d+/", line)))
        yield monitor, address
    finally:
        monitor.kill()
        monitor.wait()


def check_that_everyone_can_use(page) -> None:
    report = Axe().run(page, options={"resultTypes": ["violations"]})
    assert report.violations_count == 0, report.generate_report()


def zoomed(page) -> None:
    """Drag over a part of the plot: what is shown is then in the address, and stays there while windows come."""
    box = page.locator(".key-plot .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    page.wait_for_function("() => location.search.includes('from=')")
    parameters = httpx.QueryParams(urlsplit(page.url).query)
    assert parameters["from"] < parameters["to"]


def test_the_page_shows_a_monitor_from_its_first_second_to_its_last(running):
    monitor, address = running
    faults, hosts = [], set()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with pictures.browser() as chromium:
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(WAIT)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))

        page.goto(address)  # before there is any result
        page.wait_for_selector(".steps [aria-current=step]")
        assert page.inner_text("#data") == "starting" and page.locator(".banner[data-kind=stale]").count() == 0
        page.wait_for_selector(".keys .row a[href]")
        page.wait_for_selector("#data >> text=live")
        first = page.inner_text(".summary")
        page.wait_for_function("first => document.querySelector('.summary').innerText !== first", arg=first)

        page.get_by_role("button", name="p50").click()
        page.wait_for_selector("[aria-sort=descending]:has-text('p50')")
        page.get_by_role("searchbox").fill("19")
        page.wait_for_function("() => document.querySelectorAll('.keys .row .key a').length === 1")
        assert page.inner_text(".keys .row .key a") == "19"
        check_that_everyone_can_use(page)

        page.click(".keys .row .key a")
        page.wait_for_selector(".key-plot[data-ready]")  # drawn, and listening
        page.wait_for_function("() => document.querySelector('.key-plot')?.data?.some(line => line.x?.length > 3)")
        page.screenshot(path=PICTURES / "key.png", full_page=True)
        zoomed(page)
        check_that_everyone_can_use(page)
        page.click("nav a[href^='/alerts']")
        page.wait_for_selector("text=Slow")
        page.screenshot(path=PICTURES / "alerts.png")
        check_that_everyone_can_use(page)
        page.click("nav a[href^='/health']")
        page.wait_for_selector(".js-plotly-plot")
        page.screenshot(path=PICTURES / "health.png", full_page=True)
        check_that_everyone_can_use(page)
        page.click("nav a[href='/']")
        page.wait_for_selector(".keys .row a[href]")
        page.wait_for_selector(".js-plotly-plot")
        page.screenshot(path=PICTURES / "overview.png")

        health = httpx.get(f"{address}api/health").json()
        assert health["live"] and health["batches"] and health["totals"]["events"] > 0
        assert httpx.get(f"{address}api/alerts?state=firing").json()["matching"] > 0
        metrics = httpx.get(f"{address}metrics").text
        assert re.search(r'^aomg_quantile\{query="inbound",.*podset="7".*quantile="0.99"', metrics, re.M), metrics[:500]
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(WAIT / 1000) == 0
        assert faults == []
        assert hosts == {urlsplit(address).netloc}
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
