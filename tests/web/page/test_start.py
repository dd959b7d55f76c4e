"""While a monitor starts, the page says what happens and when the first window is due, and sounds no alarm."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from programs import BROWSER, needs
from web.local_server import serving
from web.monitor_files import monitor_files

from aomg.monitor.run.health import Health

pytestmark = [
    pytest.mark.xdist_group("chromium"),
    needs(BROWSER),
]
STEP = ".steps [aria-current=step]"


def test_a_start_is_told_step_by_step_until_the_first_window_is_there(chromium, tmp_path):
    monitor = monitor_files(tmp_path, keys=4, windows=0, incidents=False)
    monitor.state.mkdir(exist_ok=True)
    Health(monitor.state).started()
    faults = []
    with serving(monitor.file, wait=False) as running:
        page = chromium.new_page(viewport={"width": 390, "height": 800})
        page.on("console", lambda message: faults.append(message.text))
        page.goto(running.address)
        page.wait_for_selector(f"{STEP} >> text=Spark starts")
        text = page.locator(".notice").inner_text()
        assert "The monitor is starting" in text and "The first window is due at about" in text
        assert "aomg run" not in text and page.locator(".banner").count() == 0
        page.wait_for_selector("#connection[data-state=live]")
        states = [page.locator(one).inner_text() for one in ("#data", "#connection")]
        assert states == ["starting", "connected"]  # the data, and the connection
        assert Axe().run(page).violations_count == 0

        offsets = monitor.state / "checkpoint" / "offsets"
        offsets.mkdir(parents=True)
        (offsets / "0").write_text("v1\n{}\n-")
        page.wait_for_selector(f"{STEP} >> text=The first micro-batch")  # without an event

        page.click("nav a[href='/alerts']")
        page.wait_for_selector(".banner[data-kind=start] >> text=The monitor is starting.")
        assert page.locator(".banner").count() == 1
        page.click("nav a[href='/health']")
        page.wait_for_selector("h1 >> text=The monitor is starting")
        assert "the first micro-batch is running" in page.locator(".reasons").inner_text().lower()
        page.click("nav a[href='/']")
        page.wait_for_selector(STEP)

        monitor.add_window()
        page.wait_for_selector(".keys .row a[href]")
        assert page.locator("#data").inner_text() != "stale"
        page.close()
    assert faults == []
