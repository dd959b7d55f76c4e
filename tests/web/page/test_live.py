"""What keeps the page alive: many tabs, streams that die, a token that changes, views that come too late."""

from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Error
from programs import BROWSER, needs
from web import local_server as server_of_tests
from web.local_server import serving, wait_until
from web.monitor_files import monitor_files

pytestmark = [
    pytest.mark.xdist_group("chromium"),
    needs(BROWSER),
]
WAIT = 30_000
FIRST_KEY = "name => document.querySelector('.keys .row .key a')?.textContent === name"
IN_SIGHT = """hidden => {
  Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
WITHOUT_LOCKS = "Object.defineProperty(Navigator.prototype, 'locks', {value: undefined});"
NEVER_LOOKING = "window.setInterval = () => 0;"  # only what is told counts
LOOKING_OFTEN = "const every = setInterval; window.setInterval = (call, time) => every(call, Math.min(time, 300));"
# the first stream of a page falls silent after its first event, as behind a proxy that holds a dead connection
SILENT = """{
  let made = 0;
  window.EventSource = class extends EventSource {
    constructor(address) { super(address); this.number = ++made; }
    addEventListener(name, call) {
      let many = 0;
      const isHeard = () => this.number > 1 || name !== "changed" || many++ < 1;
      super.addEventListener(name, (event) => { if (isHeard()) call(event); });
    }
  };
}"""
# the page's own tab has the stream, but passes nothing on
MUTE = "BroadcastChannel.prototype.postMessage = () => {};"
# plots are tested elsewhere, and eight tabs would take long to load the library
NO_PLOTS = "window.Plotly = {react: async (place) => { place.on = () => {}; }, purge: () => {}};"
# answers of these addresses wait until release() is called
HELD = """{
  const real = window.fetch;
  const waiting = [];
  window.held = 0;
  window.fetch = async (address, options) => {
    if (window.holding?.some((one) => String(address).startsWith(one))) {
      window.held += 1;
      const answer = await real(address, {...options, signal: undefined});
      await new Promise((done) => waiting.push(done));
      return answer;
    }
    return real(address, options);
  };
  window.release = () => { window.holding = []; for (const done of waiting.splice(0)) done(); };
}"""


@pytest.fixture
def tabs(chromium):
    """Opens tabs that share what tabs of a browser share, all of them in sight; fails if anything goes wrong in one."""
    context = chromium.new_context(viewport={"width": 700, "height": 500})
    context.set_default_timeout(WAIT)
    faults = []

    def open_it(address, *scripts, until=".keys .row a[href]", plots=False):
        page = context.new_page()
        if not plots:
            page.route("**/static/plotly*", lambda route: route.fulfill(body=NO_PLOTS, content_type="text/javascript"))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        for script in scripts:
            page.add_init_script(script)
        page.goto(address)
        page.wait_for_selector(until)
        return page

    open_it.faults = faults
    yield open_it
    context.close()
    assert [fault for fault in faults if "net::ERR_" not in fault] == []  # which is the browser's: a server is gone


@pytest.fixture
def monitor(tmp_path):
    return monitor_files(tmp_path, keys=4, windows=3, incidents=False)


@pytest.fixture(scope="module")
def eventful(tmp_path_factory):
    with serving(monitor_files(tmp_path_factory.mktemp("eventful"), keys=4, windows=30, health=True).file) as running:
        yield running


def streams(running):
    """How many streams of events are open, once that is settled."""
    return running.live.viewers


def is_live(page):
    page.wait_for_selector("#connection[data-state=live]")


def test_eight_tabs_share_one_stream_and_all_of_them_show_the_next_window(tabs, monitor):
    with serving(monitor.file) as running:
        pages = [tabs(running.address, NEVER_LOOKING) for _ in range(8)]
        for page in pages:
            is_live(page)
        assert streams(running) == 1
        for slow in ("2", "1"):
            monitor.add_window(slow=[slow])
            for page in pages:
                page.wait_for_function(FIRST_KEY, arg=slow)
        for page in pages:
            page.close()


def test_a_tab_that_is_closed_crashes_or_goes_out_of_sight_hands_the_stream_on(tabs, monitor):
    with serving(monitor.file) as running:
        address = running.address + "health"
        closed, crashed, hidden, other = (tabs(address, NEVER_LOOKING, until=".health-view") for _ in range(4))
        is_live(other)
        closed.close()
        with crashed.expect_event("crash"), suppress(Error):
            crashed.goto("chrome://crash")
        hidden.evaluate(IN_SIGHT, True)
        other.goto(running.address)
        monitor.add_window(slow=["3"])
        other.wait_for_function(FIRST_KEY, arg="3")
        wait_until(lambda: streams(running) == 1)
        other.evaluate(IN_SIGHT, True)
        wait_until(lambda: streams(running) == 0)
        hidden.close()
        other.close()


def test_a_tab_that_comes_into_sight_shows_at_once_what_came_meanwhile(tabs, monitor):
    with serving(monitor.file) as running:
        first, second = (tabs(running.address, NEVER_LOOKING) for _ in range(2))
        is_live(second)
        second.evaluate(IN_SIGHT, True)
        monitor.add_window(slow=["2"])
        first.wait_for_function(FIRST_KEY, arg="2")
        assert not second.evaluate(FIRST_KEY, "2")
        first.evaluate(MUTE)  # it must find out by itself
        second.evaluate(IN_SIGHT, False)
        second.wait_for_function(FIRST_KEY, arg="2")
        first.close()
        second.close()


def test_without_locks_each_tab_in_sight_has_a_stream_of_its_own_and_the_others_none(tabs, monitor):
    with serving(monitor.file) as running:
        first, second = (tabs(running.address, WITHOUT_LOCKS, NEVER_LOOKING) for _ in range(2))
        for page in (first, second):
            is_live(page)
        wait_until(lambda: streams(running) == 2)
        first.evaluate(IN_SIGHT, True)
        wait_until(lambda: streams(running) == 1)
        monitor.add_window(slow=["1"])
        second.wait_for_function(FIRST_KEY, arg="1")
        first.evaluate(IN_SIGHT, False)
        first.wait_for_function(FIRST_KEY, arg="1")
        is_live(first)
        assert streams(running) == 2
        first.close()
        second.close()


def test_a_stream_that_died_unnoticed_is_found_out_and_opened_anew(tabs, monitor):
    with serving(monitor.file) as running:
        page = tabs(running.address, LOOKING_OFTEN, SILENT)
        is_live(page)
        for slow in ("2", "1"):  # the second is told by the new stream
            monitor.add_window(slow=[slow])
            page.wait_for_function(FIRST_KEY, arg=slow)
        page.close()


def test_a_tab_that_is_told_nothing_by_the_one_with_the_stream_takes_it_over(tabs, monitor):
    with serving(monitor.file) as running:
        tabs(running.address, MUTE)
        wait_until(lambda: streams(running) == 1)
        follower = tabs(running.address, LOOKING_OFTEN)
        is_live(follower)
        monitor.add_window(slow=["2"])
        follower.wait_for_function(FIRST_KEY, arg="2")
        wait_until(lambda: streams(running) == 1)
        for page in follower.context.pages:
            page.wait_for_function(FIRST_KEY, arg="2")
            page.close()


def test_after_the_token_was_changed_the_page_says_so_and_where_to_sign_in(tabs, monitor, monkeypatch):
    def sign_in(page, token):
        page.fill("#token", token)
        page.keyboard.press("Enter")
        page.wait_for_selector(".keys .row a[href]")

    with serving(monitor.file, token="the-first-of-two-tokens") as running:
        page = tabs(running.address + "?sort=p50", until="#token")
        sign_in(page, "the-first-of-two-tokens")
        is_live(page)
        assert page.locator(".banner[data-kind=lost]").count() == 0
        port = urlsplit(running.address).port
    listening = server_of_tests.listening
    monkeypatch.setattr(server_of_tests, "listening", lambda host, _: listening(host, port))
    with serving(monitor.file, token="the-second-of-two-tokens"):
        response = page.locator(".banner[data-kind=lost]", has_text="the token changed")
        response.wait_for()
        assert page.locator(".keys .row").count() == 4
        response.get_by_role("link", name="Log in again").click()
        page.wait_for_url("**/login*")
        sign_in(page, "the-second-of-two-tokens")
        assert urlsplit(page.url).query == "sort=p50"
        is_live(page)
        page.close()
    tabs.faults[:] = [fault for fault in tabs.faults if "401" not in fault]


@pytest.mark.parametrize(
    ("slow", "opened"), [("/api/key?", ".keys .row .key a"), ("/api/health", "nav a[href='/health']")]
)
def test_a_view_that_is_still_being_opened_never_replaces_a_later_one(tabs, eventful, slow, opened):
    page = tabs(eventful.address, HELD, plots=True)
    page.evaluate("slow => { window.holding = [slow]; }", slow)
    page.click(opened)
    page.wait_for_function("() => held > 0")
    page.click("nav a[href='/alerts']")
    page.wait_for_selector(".alerts-view .alert")
    page.evaluate("release()")
    page.evaluate("fetch('/api/status').then(() => new Promise((done) => setTimeout(done, 500)))")
    assert page.locator("main > *").count() == 1
    assert page.locator("main .alerts-view .alert").count() > 0
    assert urlsplit(page.url).path == "/alerts"
    page.go_back()
    page.wait_for_selector({"/api/key?": ".key-plot .main-svg", "/api/health": ".small-plot .main-svg"}[slow])
    assert page.locator("main > *").count() == 1
    page.close()


def test_that_a_monitor_ended_is_said_quietly_on_every_view_and_by_the_headline_of_health(tabs, eventful):
    note = "the monitor ended 3 min 5 s ago: its source ended; the newest results are 3 min 7 s old"

    def ended(route):
        response = route.fetch().json() | {"live": False, "stale": None, "note": note}
        route.fulfill(json=response | {"batches": response.get("batches", [])[:4]})  # of which none refused an event

    page = tabs(eventful.address)
    page.context.route("**/api/status", ended)
    page.context.route("**/api/health", ended)
    for path, present in (("", ".keys"), ("alerts", ".alerts-view"), ("health", ".health-view")):
        page.goto(eventful.address + path)
        page.wait_for_selector(present)
        message = page.locator(".banner[data-kind=note]")
        message.wait_for()
        assert message.inner_text() == note.replace("the monitor", "The monitor", 1) + "."
    assert page.locator("h1").inner_text() == "The monitor ended 3 min 5 s ago: its source ended"
    assert page.locator("h1").get_attribute("data-state") == "connecting"
    page.context.unroute_all(behavior="ignoreErrors")
    page.close()


def test_a_monitor_that_failed_is_the_headline_of_health(tabs, eventful):
    message = {
        "live": False,
        "stale": {"seconds": 185.0, "because": "the monitor failed 3 min 5 s ago", "what_to_do": "start it again"},
        "note": "the monitor ended 3 min 5 s ago: it failed; the newest results are 3 min 7 s old",
    }
    page = tabs(eventful.address)
    page.context.route("**/api/status", lambda route: route.fulfill(json=route.fetch().json() | message))
    page.context.route("**/api/health", lambda route: route.fulfill(json=route.fetch().json() | message))
    page.goto(eventful.address + "health")
    page.wait_for_selector(".health-view .reasons:not([hidden])")
    assert page.locator("h1").inner_text() == "The monitor ended 3 min 5 s ago: it failed"
    assert page.locator("h1").get_attribute("data-state") == "firing"
    assert "The monitor failed 3 min 5 s ago. Start it again." in page.locator(".reasons").inner_text()
    assert page.locator(".banner").count() == 1  # the stale one says it all
    page.context.unroute_all(behavior="ignoreErrors")
    page.close()
