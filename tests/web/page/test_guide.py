"""What am I looking at? The guide explains window, interval, certified and burst with the reader's own numbers."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from programs import BROWSER, needs
from web.monitor_files import monitor_files

pytestmark = [
    pytest.mark.xdist_group("chromium"),
    needs(BROWSER),
]
FOCUSED = "document.activeElement.closest('dialog, input, .keys .row')?.className"


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    return monitor_files(tmp_path_factory.mktemp("guide"))


@pytest.fixture(scope="module")
def page(chromium, served):  # closed before the server ends
    opened = chromium.new_page(viewport={"width": 1280, "height": 900}, timezone_id="UTC")
    faults = []
    opened.on("console", lambda message: faults.append(message.text))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    yield opened
    opened.close()
    assert faults == []


def guide(page):
    page.wait_for_selector("dialog[open] .content h3")
    return page.locator("dialog").inner_text().replace("\xa0", " ")


def test_the_guide_explains_the_first_key_opens_and_closes_by_keyboard_and_is_accessible(page, served):
    page.goto(served.address)
    page.wait_for_selector(".keys .row a[href]")
    page.locator(".keys .row a").first.focus()
    page.keyboard.press("?")
    text = guide(page)
    row = served.json("/api/keys")["rows"][0]
    assert f"You see podset {row['key']['podset']}, in the window of 2 min" in text
    assert "11:58:00 to 16 Nov, 12:00:00 UTC" in text or "11:58:00 to 12:00:00 UTC" in text
    assert f"{row['count']:,} events" in text
    estimate = row["estimates"]["p99"]
    value, *_ = page.locator("dialog .number-line b").inner_text().split("\xa0")
    low, high = (float(end.inner_text()) for end in page.locator("dialog .number-line .end").all())
    assert low <= float(value) <= high
    assert low * 1000 <= estimate["low"] <= estimate["high"] <= high * 1000
    assert f"both begin with {_common(*_certified(row))}" in text
    assert "This window has none. None of the 30 windows in memory has one." in text
    for scheme, width in (("light", 1280), ("dark", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        result = Axe().run(page)
        assert result.violations_count == 0, result.generate_report()
    for _ in range(4):  # the focus stays inside
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) in ("guide", None)
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    assert "row" in page.evaluate(FOCUSED)
    page.set_viewport_size({"width": 1280, "height": 900})


def _certified(row):
    """The ends of the highest certified estimate, as texts in ms."""
    ends = [(one["low"], one["high"]) for one in row["estimates"].values() if one["method"] == "certified"]
    return [f"{end / 1000:.3f}" if ends[-1][0] >= 1000 else f"{end:.1f}" for end in ends[-1]]


def _common(low, high):
    length = next(index for index, (one, other) in enumerate(zip(low, high, strict=True)) if one != other)
    return low[:length].rstrip(".")


def test_of_a_key_the_guide_explains_the_window_that_was_selected(page, served):
    answer = served.json("/api/key?query=inbound&key.podset=13")
    page.goto(f"{served.address}key?query=inbound&key.podset=13&at={answer['ends'][-3]}")
    page.wait_for_selector(".key-plot[data-ready]")
    page.locator("#help").click()
    text = guide(page)
    assert "You see podset 13" in text and f"{answer['counts'][-3]:,} events" in text
    bursts = sum(answer["bursts"])
    assert f"This window has one. Of the 30 windows in memory {bursts} have one" in text
    page.get_by_role("button", name="Close").click()
    page.wait_for_selector("dialog[open]", state="detached")


def test_a_slash_goes_to_the_search_field_where_a_question_mark_is_a_letter(page, served):
    page.goto(served.address)
    page.wait_for_selector(".keys .row a[href]")
    page.keyboard.press("/")
    page.keyboard.type("1?")
    assert page.get_by_role("searchbox").input_value() == "1?"
    assert page.locator("dialog[open]").count() == 0
