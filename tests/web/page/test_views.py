"""The views of a key, of alerts and of health, in a browser, against a real server with its real policy."""

import json
import re
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import pytest
from programs import BROWSER, needs
from web.local_server import serving
from web.monitor_files import MINUTE, monitor_files

from aomg.evaluation.report import pictures

pytestmark = [
    pytest.mark.xdist_group("chromium"),
    needs(BROWSER),
]
KEY = "key?query=inbound&key.podset="
FIGURE = """() => {
  const {data, layout} = document.querySelector(".key-plot");
  const traces = Object.fromEntries(data.map((trace) => [trace.meta, trace]));
  return {
    traces, metas: Object.keys(traces), xaxes: data.map((trace) => trace.xaxis ?? "x"),
    axes: Object.keys(layout).filter((name) => /^[xy]axis/.test(name)), range: [...layout.xaxis.range],
    scale: layout.yaxis.type, y: [...layout.yaxis.range], shapes: layout.shapes,
    words: layout.annotations.map((one) => one.text),
  };
}"""
READY = ".key-plot[data-ready]"  # drawn, with its histogram, and listening


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    return monitor_files(tmp_path_factory.mktemp("views"), keys=15, windows=32, summaries=True)


@pytest.fixture(scope="module")
def chromium():
    """One profile for all tests: Plotly is loaded and compiled once."""
    with pictures.browser() as started:
        context = started.new_context(timezone_id="Asia/Kolkata")
        context.set_default_timeout(60_000)
        yield context


@pytest.fixture
def open_view(chromium, served):
    """Opens an address and gives the page; fails if the console said anything or another host was asked."""
    faults, foreign, pages = [], [], []

    def opened(path, scheme="light", width=1280, answers=None, server=None, zone=None):
        base = server or served.address
        page = chromium.browser.new_page(timezone_id=zone) if zone else chromium.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on(
            "request",
            lambda request: None if request.url.startswith((base, "data:", "blob:")) else foreign.append(request.url),
        )
        for name, answer in (answers or {}).items():
            page.route(f"**/api/{name}*", _answering(*answer if isinstance(answer, tuple) else (200, answer)))
        page.goto(base + path)
        return page

    opened.faults = faults
    yield opened
    for page in pages:
        page.close()
    assert faults == []
    assert foreign == []


def _answering(status, answer):
    return lambda route: route.fulfill(status=status, content_type="application/json", body=json.dumps(answer))


def figure(page):
    page.wait_for_selector(READY)
    return page.evaluate(FIGURE)


def parameters(page):
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def drag(page, first=0.3, last=0.6):
    """Drag over a part of the plot, in shares of its width."""
    page.wait_for_selector(READY)
    box = page.locator(".key-plot .nsewdrag").first.bounding_box()
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + first * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + last * box["width"], height, steps=4)
    page.mouse.up()
    page.wait_for_function("() => location.search.includes('from=')")
    # drawn as the address has it, in whole milliseconds
    page.wait_for_function("() => Number.isInteger(document.querySelector('.key-plot').layout.xaxis.range[0])")
    page.wait_for_function("() => !document.querySelector('[data-range][aria-pressed=true]')")


# -- A key -------------------------------------------------------------------------------------------------------------


def test_a_key_shows_every_quantile_with_its_band_and_the_limits_and_alerts(open_view):
    page = open_view(KEY + "6")
    result = figure(page)
    for name in ("p50", "p90", "p99", "p99_9"):
        line, band = result["traces"][f"line {name}"], result["traces"][f"band {name}"]
        assert len(line["y"]) == 32 and all(value > 0 for value in line["y"])
        assert (
            band["fill"] == "toself" and max(band["y"][:-1]) >= max(line["y"]) and min(band["y"][:-1]) <= min(line["y"])
        )
    assert (
        len(
            {
                (trace["line"]["dash"], trace["line"]["width"])
                for meta, trace in result["traces"].items()
                if meta.startswith("line")
            }
        )
        == 4
    )
    limit = result["traces"]["limit PodsetSwitchFault"]
    assert limit["y"] == [4000, 4000] and "px" in limit["line"]["dash"]
    assert "PodsetSwitchFault: p99 &gt; 4\u00a0ms" in result["words"]
    assert [shape["name"] for shape in result["shapes"]] == ["alert pending", "alert firing"]
    pending, firing = result["shapes"]
    assert pending["x1"] == firing["x0"] < firing["x1"]
    assert "▲ PodsetSwitchFault" in result["words"]
    assert page.locator("h1").inner_text() == "podset 6"
    assert page.locator(".past").get_by_text("PodsetSwitchFault").count() == 1


def test_bursts_methods_and_counts_are_in_the_picture(open_view, monitor):
    page = open_view(KEY + "13")
    result = figure(page)
    highest = result["traces"]["line p99_9"]
    assert len(result["traces"]["burst"]["x"]) == 8
    assert result["traces"]["burst"]["x"] == highest["x"][-8:] and result["traces"]["burst"]["y"] == highest["y"][-8:]
    assert {"method exact", "method certified", "method band", "method envelope"} <= set(result["metas"])
    assert {"exact", "certified", "band", "envelope"} == set(page.locator(".methods b").all_inner_texts())
    assert all(11_000 <= count < 13_000 for count in result["traces"]["count"]["y"])
    assert page.locator("h1 .mark").all_inner_texts() == ["firing", "burst"]
    assert "TailAgainstMedian" in page.locator(".active").inner_text()


def test_shared_bursts_thin_bands_and_targets_are_explained(open_view, served):
    reported = served.json("/api/key?query=inbound&key.podset=13")
    shared = [burst and index % 2 == 0 for index, burst in enumerate(reported["bursts"])]
    page = open_view(KEY + "13", answers={"key": reported | {"shared_bursts": shared}})
    result = figure(page)
    assert len(result["traces"]["burst"]["x"]) == len(result["traces"]["shared burst"]["x"]) == 4
    legend = page.locator(".legend").inner_text().replace("\u00a0", " ")
    assert "at least half of all keys have one at once" in legend
    assert "shaded: interval that contains the exact value; here thinner than the line: at most 0.32 %" in legend
    target, limit = (result["traces"][name]["line"] for name in ("target inbound_p99", "limit PodsetSwitchFault"))
    assert target["dash"] != limit["dash"] and target["color"] != limit["color"]
    assert "target inbound_p99: p99 at most 5\u00a0ms" in result["words"]
    wide = [{**one, "low": [value * 0.8 for value in one["values"]]} for one in reported["estimates"]]
    page = open_view(KEY + "13", answers={"key": reported | {"estimates": wide}})
    figure(page)
    assert "thinner" not in page.locator(".legend").inner_text()


def test_the_numbers_of_the_newest_window_have_intervals(open_view, served):
    page = open_view(KEY + "6")
    figure(page)
    reported = served.json("/api/key?query=inbound&key.podset=6")
    values = page.locator(".cards .value").all_inner_texts()
    lowest, highest = (reported["estimates"][0][end][-1] for end in ("low", "high"))
    assert values[0].endswith("µs") and lowest <= float(values[0][:-3]) <= highest
    assert values[4] == f"{reported['counts'][-1]:,}"
    sentence = page.locator(".cards .figure").all_inner_texts()
    assert all("exact" in text or ".." in text for text in sentence[:4])


def test_a_gap_stays_a_gap(open_view, tmp_path):
    other = monitor_files(tmp_path, keys=7, windows=10, incidents=False)
    other.add_window(without=["6"], windows=4)
    other.add_window(windows=5)
    with serving(other.file) as running:
        page = open_view(KEY + "6", server=running.address)
        result = figure(page)
        page.close()
    values = result["traces"]["line p50"]["y"]
    assert values.count(None) == 1 and values.index(None) == 10 and len(values) == 16
    assert result["traces"]["line p50"]["connectgaps"] is False
    # two polygons: each ends with nothing
    assert [part for part in result["traces"]["band p99"]["x"] if part is None] == [None, None]
    assert [part for part in result["traces"]["count fill"]["x"] if part is None] == [None, None]


def test_zoom_is_one_for_all_panels_and_lives_in_the_address(open_view):
    page = open_view(KEY + "6")
    before = figure(page)
    assert [name for name in before["axes"] if name.startswith("x")] == ["xaxis"]
    assert set(before["xaxes"]) == {"x"} and {"yaxis", "yaxis2", "yaxis3"} <= set(before["axes"])
    drag(page)
    zoomed = figure(page)
    assert before["range"][0] < zoomed["range"][0] < zoomed["range"][1] < before["range"][1]
    page.reload()
    assert figure(page)["range"] == zoomed["range"]
    page.go_back()
    page.wait_for_function(
        "old => document.querySelector('.key-plot')?.layout?.xaxis?.range[0] === old", arg=before["range"][0]
    )


def test_a_zoom_outlives_a_live_update_and_the_last_hour_goes_along(open_view, tmp_path):
    other = monitor_files(tmp_path, keys=7, windows=12, incidents=False)
    with serving(other.file) as running:
        fixed, along = (
            open_view(KEY + "6", server=running.address),
            open_view(KEY + "6&last=1h", server=running.address),
        )
        drag(fixed)
        zoom, old = figure(fixed), figure(along)
        other.add_window(slow=["6"])
        arrived = "old => document.querySelector('.cards [data-estimate=p99] .value').textContent.startsWith('8.00')"
        for page in (fixed, along):
            page.wait_for_function(arrived)
        along.wait_for_function(
            "n => document.querySelector('.key-plot').data.find((one) => one.meta === 'line p50').y.length === n",
            arg=13,
        )
        assert figure(fixed)["range"] == zoom["range"]
        assert figure(along)["range"][1] > old["range"][1]
        for page in (fixed, along):  # before the server ends: a page that cannot reach it says so
            page.close()


def test_a_window_that_comes_during_a_drag_is_drawn_after_it(open_view, tmp_path):
    other = monitor_files(tmp_path, keys=7, windows=12, incidents=False)
    points = "() => document.querySelector('.key-plot').data.find((one) => one.meta === 'line p50').y.length"
    with serving(other.file) as running:
        page = open_view(KEY + "6&last=all", server=running.address)
        figure(page)
        plot, drawing = (page.locator(one).first.bounding_box() for one in (".key-plot", ".key-plot .nsewdrag"))
        page.mouse.move(plot["x"] + 2, plot["y"] + 2)  # no drag: only what was held back is drawn
        page.mouse.down()
        other.add_window(slow=["6"])
        newest = "value => document.querySelector('.cards [data-estimate=p99] .value').textContent.startsWith(value)"
        page.wait_for_function(newest, arg="8.00")
        assert page.evaluate(points) == 12
        page.mouse.up()
        page.wait_for_function(f"() => ({points})() === 13")

        height = drawing["y"] + drawing["height"] / 2
        page.mouse.move(drawing["x"] + 0.3 * drawing["width"], height)
        page.mouse.down()
        page.mouse.move(drawing["x"] + 0.5 * drawing["width"], height, steps=4)
        page.wait_for_selector(".key-plot .zoombox")
        old = page.locator(".cards [data-estimate=p99] .value").inner_text()
        other.add_window()
        page.wait_for_function(
            "old => document.querySelector('.cards [data-estimate=p99] .value').textContent !== old", arg=old
        )
        assert page.evaluate(points) == 13 and page.locator(".key-plot .zoombox").count() == 1
        page.mouse.up()
        page.wait_for_function("() => location.search.includes('from=')")
        page.close()


def test_buttons_choose_a_length_and_a_double_click_shows_all(open_view):
    page = open_view(KEY + "6")
    figure(page)
    assert page.locator("[data-range][aria-pressed=true]").inner_text() == "6 h"
    drag(page)
    assert page.locator("[data-range][aria-pressed=true]").count() == 0
    page.get_by_role("button", name="1 h").click()
    page.wait_for_function("() => location.search.includes('last=1h') && !location.search.includes('from=')")
    drag(page)
    page.locator(".key-plot .nsewdrag").first.dblclick()
    page.wait_for_function("() => location.search.includes('last=all')")
    page.wait_for_selector("[data-range=all][aria-pressed=true]")
    page.wait_for_function("() => !location.search.includes('at=')")  # its first click alone would have taken a point
    assert "from" not in parameters(page)


def test_the_scale_and_the_lines_are_chosen_and_stay_so(open_view):
    page = open_view(KEY + "6")
    assert figure(page)["scale"] == "log"
    page.get_by_role("button", name="Log scale").click()
    page.wait_for_function("() => document.querySelector('.key-plot').layout.yaxis.type === 'linear'")
    page.locator(".legend button[data-estimate=p50]").click()
    page.wait_for_function("() => !document.querySelector('.key-plot').data.some((one) => one.meta.endsWith(' p50'))")
    page.reload()
    result = figure(page)
    assert result["scale"] == "linear" and result["y"][0] == 0
    assert not {"line p50", "band p50"} & set(result["metas"]) and "line p90" in result["metas"]
    pressed = {name: page.get_by_role("button", name=name, exact=True) for name in ("Log scale", "p50", "p90")}
    assert [one.get_attribute("aria-pressed") for one in pressed.values()] == ["false", "false", "true"]


def test_pointing_at_a_window_tells_all_of_it_in_both_times(open_view, served):
    page = open_view(KEY + "13")
    figure(page)
    box = page.locator(".key-plot .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    page.mouse.move(box["x"] + box["width"] * 0.99, box["y"] + 80, steps=3)
    page.wait_for_function("() => document.querySelector('.tip').textContent.includes('12:00:00 UTC')")
    tip = page.locator(".tip")
    sentence = tip.inner_text()
    reported = served.json("/api/key?query=inbound&key.podset=13")
    end = reported["ends"][-1]
    # India is five hours and a half before UTC
    assert f"({end[11:19]} UTC)" in sentence and "17:30:00" in sentence
    assert f"{reported['counts'][-1]:,} events" in sentence and "burst" in sentence
    for estimate in reported["estimates"]:
        row = next(line for line in tip.locator("tr").all() if line.inner_text().startswith(estimate["title"]))
        assert row.inner_text().rstrip().endswith(estimate["methods"][-1])


def test_points_can_be_read_and_taken_by_keyboard(open_view, served):
    page = open_view(KEY + "6")
    figure(page)
    page.locator(".key-plot").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    reported = served.json("/api/key?query=inbound&key.podset=6")
    assert f"({reported['ends'][-2][11:19]} UTC)" in page.locator(".tip").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.search.includes('at=')")
    assert parameters(page)["at"] == reported["ends"][-2]
    page.wait_for_function("() => document.querySelector('.key-plot').layout.shapes.some((one) => one.name === 'at')")
    assert f"{reported['counts'][-2]:,}" == page.locator(".cards [data-estimate=count] .value").inner_text()


def test_the_histogram_has_every_event_and_the_quantiles(open_view):
    buckets = [
        {"low": 100 * 1.014**number, "high": 100 * 1.014 ** (number + 1), "count": 1 + number % 7}
        for number in range(300)
    ]
    buckets += [{"low": 90_000.0, "high": 91_000.0, "count": 5}]
    total = sum(bucket["count"] for bucket in buckets)
    answer = {
        "query": "inbound",
        "key": {"podset": "6"},
        "start": "2026-11-16T11:58:00Z",
        "end": "2026-11-16T12:00:00Z",
    }
    answer |= {
        "count": total,
        "unit": "us",
        "sub_windows": 8,
        "buckets": [{"low": 0.0, "high": 1.0, "count": 3}, *buckets],
    }
    answer["count"] += 3
    page = open_view(KEY + "6", answers={"histogram": answer})
    page.wait_for_selector(".histogram .barlayer .point")
    data, axis = page.evaluate(
        "() => { const {data, layout} = document.querySelector('.histogram .plot'); return [data, layout.xaxis.type]; }"
    )
    bars = data[0]
    assert sum(map(int, bars["text"])) == total and axis == "log"
    # bars do not overlap, and their areas go with their counts
    edges = [(x - width / 2, x + width / 2) for x, width in zip(bars["x"], bars["width"], strict=True)]
    assert all(high <= low * 1.0001 for (_, high), (low, _) in pairwise(edges))
    assert len(bars["x"]) <= 92
    assert [trace["meta"] for trace in data[1:]] == ["line p50", "line p90", "line p99", "line p99_9"]
    assert "3 of them are 0 or below" in page.locator(".histogram .caption").inner_text()


def test_a_window_is_shown_as_its_summaries_have_it(open_view, served):
    page = open_view(KEY + "6")
    page.wait_for_selector(".histogram .barlayer .point")
    reported = served.json("/api/histogram?query=inbound&key.podset=6")
    bars = page.evaluate("() => document.querySelector('.histogram .plot').data[0]")
    assert sum(map(int, bars["text"])) == reported["count"] == sum(bucket["count"] for bucket in reported["buckets"])
    assert f"{reported['count']:,} events in the window that ended" in page.locator(".histogram .caption").inner_text()
    saved = served.get(page.locator(".histogram a[download]").get_attribute("href")).text.splitlines()[1:]
    assert [int(line.split(",")[-1]) for line in saved] == [bucket["count"] for bucket in reported["buckets"]]


def test_a_histogram_that_cannot_be_made_says_what_to_do(open_view):
    problem = {"error": "the summaries of the window are gone", "what_to_do": "look at a newer window"}
    page = open_view(KEY + "6", answers={"histogram": (404, problem)})
    page.wait_for_selector(".histogram .caption strong")
    assert (
        page.locator(".histogram .caption").inner_text()
        == "The summaries of the window are gone. Look at a newer window."
    )
    open_view.faults[:] = [fault for fault in open_view.faults if "404" not in fault]  # the browser's own note of it


def test_the_table_has_the_newest_points_newest_first(open_view, served):
    page = open_view(KEY + "6")
    figure(page)
    page.locator("summary").click()
    rows = page.locator(".as-table tbody tr")
    rows.nth(31).wait_for()  # rows are made when the browser tells that it is open
    assert rows.count() == 32
    reported = served.json("/api/key?query=inbound&key.podset=6")
    assert f"({reported['ends'][-1][11:19]} UTC)" in rows.first.inner_text()
    assert f"{reported['counts'][-1]:,}" in rows.first.inner_text()


def test_the_same_key_of_another_query_is_a_link_away_and_keeps_the_zoom(open_view):
    page = open_view(KEY + "6&last=1h")
    figure(page)
    page.get_by_role("link", name="outbound").click()
    page.wait_for_function("() => document.querySelector('.crumbs')?.textContent.startsWith('outbound')")
    assert parameters(page) == {"query": "outbound", "key.podset": "6", "last": "1h"}
    assert len(figure(page)["traces"]["line p50"]["y"]) == 32


def test_a_key_that_is_not_there_says_where_to_look(open_view):
    page = open_view(KEY + "nowhere")
    page.wait_for_selector(".notice")
    assert "overview" in page.locator(".notice").inner_text()
    page.locator(".notice").get_by_role("link").click()
    page.wait_for_selector(".keys .row a[href]")
    open_view.faults[:] = [fault for fault in open_view.faults if "404" not in fault]


# -- Which time, and which window --------------------------------------------------------------------------------------


def slowly(folder, **more):
    """Windows every five minutes: an hour of them is soon made."""
    return monitor_files(folder, keys=7, incidents=False, period=5 * MINUTE, size=10 * MINUTE, **more)


def go(page, path):
    """To another address without loading the page, as back and forward do."""
    page.evaluate("path => { history.pushState(null, '', `/${path}`); dispatchEvent(new Event('popstate')); }", path)


def counts(page):
    return int(page.locator(".cards [data-estimate=count] .value").inner_text().replace(",", ""))


def test_a_point_that_is_shared_is_the_same_point_later_and_never_another_one(open_view, tmp_path):
    other = slowly(tmp_path, windows=8)
    with serving(other.file) as running:
        reported = running.json("/api/key?query=inbound&key.podset=6")
        page = open_view(KEY + "6&last=15m", server=running.address)
        figure(page)
        page.locator(".key-plot").focus()
        for key in ("End", "ArrowLeft", "Enter"):
            page.keyboard.press(key)
        page.wait_for_function("() => location.search.includes('at=')")
        assert (
            "last" not in parameters(page) and parameters(page)["from"] < reported["ends"][-2] < parameters(page)["to"]
        )
        shared = page.url.removeprefix(running.address)
        range_ = figure(page)["range"]
        other.add_window(windows=8)
        later = open_view(shared, server=running.address)
        assert figure(later)["range"] == range_ and counts(later) == reported["counts"][-2]
        # the same window, though what is drawn has gone on
        go(later, f"{KEY}6&last=15m&at={reported['ends'][0]}")
        later.wait_for_selector("[data-range='15m'][aria-pressed=true]")
        assert counts(later) == reported["counts"][0]
        # a window that there is not is not another one, and a time without windows is not a key without windows
        go(later, f"{KEY}6&at=2020-01-01T00:00:00Z")
        later.wait_for_selector(".nothing:not([hidden])")
        assert later.locator(".cards [data-estimate=count] .value").inner_text() == "\u2013"
        assert "This key has no window in memory that ended" in later.locator(".about").first.inner_text()
        later.wait_for_function("() => document.querySelector('.histogram').innerText.includes('not in memory')")
        for one in (page, later):
            one.close()


def test_a_key_that_fell_silent_says_when_and_is_found_on_the_overview(open_view, tmp_path):
    other = slowly(tmp_path, windows=6)
    other.add_window(without=["6"], windows=5)
    with serving(other.file) as running:
        page = open_view("", server=running.address)
        page.get_by_role("button", name="Show 1 silent key").click()
        page.wait_for_selector(".row .mark[data-state=silent]:not([hidden])")
        assert page.locator(".keys .row .key a").all_inner_texts() == ["6"]
        assert page.locator(".row .states").inner_text() == "silent 25\u00a0min"
        assert page.locator(".row .spark circle").is_hidden()  # the point of the newest window, which it lacks
        assert parameters(page) == {"silent": "true"}
        page.click(".keys .row .key a")
        assert len(figure(page)["traces"]["line p50"]["y"]) == 6
        assert page.locator("h1 .mark").all_inner_texts() == ["silent"]

        go(page, KEY + "6")
        page.locator(".about", has_text="The key has been silent since").wait_for()
        page.get_by_role("button", name="15 min").click()
        page.wait_for_selector(".nothing:not([hidden])")
        page.reload()
        result = figure(page)
        assert result["range"][1] - result["range"][0] == pytest.approx(15 * 60_000, rel=0.5)
        sentence = page.locator(".nothing").inner_text()
        assert "No windows in this time range" in sentence and "(12:00:00 UTC)" in sentence
        page.get_by_role("button", name="Show all windows").click()
        page.wait_for_selector(".nothing[hidden]", state="attached")
        assert len(figure(page)["traces"]["line p50"]["y"]) == 6
        page.close()


def test_one_end_of_the_time_is_enough(open_view, served):
    ends = served.json("/api/key?query=inbound&key.podset=6")["ends"]
    moment = f"Date.parse('{ends[20]}')"
    page = open_view(f"{KEY}6&from={ends[20]}")
    result = figure(page)
    requested, newest = page.evaluate(f"[{moment}, Date.parse('{ends[-1]}')]")
    assert result["range"][0] == requested and newest <= result["range"][1] < newest + 60_000
    assert page.locator("[data-range][aria-pressed=true]").count() == 0
    saved = parse_qs(urlsplit(page.get_by_role("link", name="CSV").first.get_attribute("href")).query)
    assert saved["from"] == [ends[20].replace("Z", ".000Z")] and "to" not in saved
    go(page, f"{KEY}6&to={ends[20]}")
    page.wait_for_function(f"() => document.querySelector('.key-plot').layout.xaxis.range[1] === {moment}")
    result = figure(page)
    first = page.evaluate(f"Date.parse('{ends[0]}')")
    assert result["range"][1] == requested and first - 60_000 < result["range"][0] <= first
    assert result["traces"]["line p50"]["x"][0] == first


def test_a_point_that_the_keyboard_chose_stays_while_windows_come(open_view, tmp_path):
    other = slowly(tmp_path, windows=8)
    with serving(other.file) as running:
        page = open_view(KEY + "6&last=15m", server=running.address)
        figure(page)
        page.locator(".key-plot").focus()
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        sentence = page.locator(".tip").inner_text()
        assert "(11:55:00 UTC)" in sentence
        other.add_window(slow=["6"])
        newest = "value => document.querySelector('.cards [data-estimate=p99] .value').textContent.startsWith(value)"
        page.wait_for_function(newest, arg="8.00")
        page.wait_for_function("() => document.querySelector('.key-plot').data.at(-1).x.at(-1) === 1794830700000")
        assert page.locator(".tip").inner_text() == sentence
        page.keyboard.press("Enter")
        page.wait_for_function("() => location.search.includes('at=')")
        assert parameters(page)["at"] == "2026-11-16T11:55:00Z"
        page.close()


def test_going_back_twice_at_once_ends_at_the_first_key(open_view):
    page = open_view(KEY + "6")
    figure(page)
    for query in ("outbound", "inbound"):
        page.get_by_role("link", name=query).last.click()
        page.wait_for_function("name => document.querySelector('.crumbs')?.textContent.startsWith(name)", arg=query)
        page.wait_for_selector(READY)
    # so slowly that the second step comes while the first still asks
    page.evaluate(
        "() => { const plain = fetch; fetch = async (...all) => { "
        "await new Promise((done) => setTimeout(done, 150)); return plain(...all); }; "
        "history.back(); setTimeout(() => history.back(), 100); }"
    )
    page.wait_for_function("() => location.search === '?query=inbound&key.podset=6' && !history.state")
    page.wait_for_function(
        f"() => document.querySelector('{READY}') && document.querySelector('.crumbs a').textContent === 'inbound'"
    )
    assert figure(page)["traces"]["line p50"]["y"]


def test_lines_go_on_in_the_night_when_clocks_are_set_back(open_view, tmp_path):
    # in Berlin 02:00 comes twice, at 00:00 and at 01:00 UTC
    other = slowly(tmp_path, windows=24, end=1_792_892_400_000_000)
    batches = [batch(number, at=f"2026-10-25T{number // 6:02}:{number % 6}0:00Z") for number in range(12)]
    with serving(other.file) as running:
        page = open_view(KEY + "6", server=running.address, zone="Europe/Berlin", answers={"health": health(batches)})
        for x in [figure(page)["traces"][name]["x"] for name in ("line p50", "count")]:
            assert [after - before for before, after in pairwise(x)] == [300_000] * 23
        words = page.evaluate("() => document.querySelector('.key-plot').layout.xaxis.ticktext")
        assert [word for word in words if word.startswith("02:00")] == ["02:00", "02:00<br>UTC+1"]
        assert words[0].endswith("<br>25 Oct, UTC+2")
        page.locator(".key-plot").focus()
        page.keyboard.press("Home")
        drag(page, 0.5, 0.9)
        requested = [parameters(page)[name] for name in ("from", "to")]
        assert "2026-10-25T00:" in requested[0] and "2026-10-25T01:" in requested[1]

        page.get_by_role("link", name="Health").click()
        page.wait_for_function("() => document.querySelectorAll('.small-plot .main-svg').length >= 10")
        for x in page.evaluate("[...document.querySelectorAll('.small-plot .plot')].map((plot) => plot.data[0].x)"):
            assert [after - before for before, after in pairwise(x)] == [600_000] * 11

        ticks = """async ([first, days]) => {
          const {timeTicks} = await import("/static/lib/ticks.js");
          return timeTicks(first, first + days * 86400000, 8).map((one) => [one.time, new Date(one.time).getHours()]);
        }"""
        for first in (1_774_656_000_000, 1_792_796_400_000):  # the days before clocks are set forward, and back
            result = page.evaluate(ticks, [first, 2])
            assert [hour for _, hour in result] == [(result[0][1] + 6 * number) % 24 for number in range(len(result))]
            assert {after - before for (before, _), (after, _) in pairwise(result)} <= {18e6, 21.6e6, 25.2e6}
        page.close()


# -- Alerts ------------------------------------------------------------------------------------------------------------


def test_alerts_are_counted_filtered_and_searched(open_view):
    page = open_view("alerts")
    page.wait_for_selector(".alert")
    chips = {chip.get_attribute("data-state"): chip for chip in page.locator(".choice button").all()}
    assert {name: chip.inner_text().split()[-1] for name, chip in chips.items()} == {
        "any": "3",
        "firing": "1",
        "pending": "1",
        "resolved": "1",
        "inactive": "0",
    }
    assert page.locator(".alert").evaluate_all("cards => cards.map((card) => card.dataset.state)") == [
        "firing",
        "pending",
        "resolved",
    ]
    chips["resolved"].click()
    page.wait_for_function("() => document.querySelectorAll('.alert').length === 1")
    assert "podset 6" in page.locator(".alert .labels").inner_text()
    assert parameters(page) == {"state": "resolved"}
    assert "state=resolved" in page.get_by_role("link", name="CSV").get_attribute("href")
    page.get_by_role("searchbox").fill("no such thing")
    page.wait_for_selector(".none")
    chips["any"].click()
    page.get_by_role("searchbox").fill("TAIL")
    page.wait_for_function("() => document.querySelector('.alert')?.dataset.state === 'firing'")
    page.reload()
    page.wait_for_selector(".alert")
    assert page.locator(".alert h2").all_inner_texts() == ["TailAgainstMedian"]


def test_an_alert_tells_interval_reason_and_time_and_leads_to_its_key(open_view, served):
    page = open_view("alerts?state=resolved")
    page.wait_for_selector(".alert")
    card = page.locator(".alert")
    reported = served.json("/api/alerts?state=resolved")["alerts"][0]
    sentence = card.inner_text()
    assert reported["condition"] in sentence and reported["annotations"]["summary"] in sentence
    assert sentence.count("Fired for 1\u00a0min 45\u00a0s, until") == 1 and reported["seconds"] == 105
    assert re.search(r"inbound\.p99\s", sentence) and f"{reported['resolved'][11:19]} UTC" in sentence
    card.get_by_role("link").click()
    result = figure(page)
    assert parameters(page)["key.podset"] == "6" and parameters(page)["at"] == reported["link"]["at"]
    assert any(shape["name"] == "at" for shape in result["shapes"])
    assert any(shape["name"] == "alert firing" for shape in result["shapes"])


def test_a_fleet_names_its_members_and_nothing_of_it_is_html(open_view):
    evil = "<img src=x onerror=alert(1)><b>x</b>"
    alert = {
        "id": "1" * 32,
        "rule": evil,
        "group": "g",
        "state": "firing",
        "labels": {"severity": evil},
        "annotations": {"summary": evil, "runbook": evil},
    }
    alert |= {
        "certainty": "possible",
        "quantities": {"share": [0.3, 0.35, 0.4]},
        "units": {"share": "%"},
        "count": 9,
        "start": None,
        "end": "2026-11-16T12:00:00Z",
    }
    alert |= {
        "started": "2026-11-16T11:59:00Z",
        "fired": "2026-11-16T12:00:00Z",
        "resolved": None,
        "reason": evil,
        "link": None,
    }
    alert["fleet"] = {"violating": 7, "total": 20, "members": ["4", evil], "silent": 1, "suspect": evil}
    answer = {
        "version": 1,
        "counts": {"firing": 1, "pending": 0, "resolved": 0},
        "total": 1,
        "matching": 1,
        "alerts": [alert],
    }
    page = open_view("alerts", answers={"alerts": answer})
    page.wait_for_selector(".alert")
    sentence = page.locator(".alert").inner_text()
    assert page.locator("main img, .alert h2 b, .labels b").count() == 0
    assert "7 of 20 members violate the condition; 1 is silent" in sentence and "and 5 more" in sentence
    assert "35.0" in sentence and "30.0..40.0" in sentence and sentence.count(evil) == 6


def test_a_picture_has_texts_of_data_as_texts(open_view, served):
    evil = "<img src=x onerror=alert(1)>&amp;<b>x</b>"
    reported = served.json("/api/key?query=inbound&key.podset=6")
    reported |= {
        "key": {"podset": evil},
        "limits": [{**reported["limits"][0], "rule": evil}],
        "alerts": [{**one, "rule": evil} for one in reported["alerts"]],
    }
    for estimate in reported["estimates"]:
        estimate["methods"] = [evil] * len(estimate["methods"])
    page = open_view(KEY + "6", answers={"key": reported})
    figure(page)
    assert page.locator("main img, .key-plot b").count() == 0
    assert evil in page.locator("h1").inner_text()
    assert evil in "".join(page.locator(".key-plot .annotation-text").all_text_contents())


# -- Health ------------------------------------------------------------------------------------------------------------


def batch(number, **more):
    reported = {
        "batch": number,
        "at": f"2026-11-16T11:{number:02}:00Z",
        "events": 20_000,
        "seconds": 2.0,
        "events_per_second": 10_000.0,
    }
    reported |= {
        "rows": 40,
        "lag_seconds": 2.0 + number,
        "phases": {"find": 0.2, "compute": 1.0, "write": 0.5},
        "late": 5,
        "refused": 0,
        "state_rows": 300,
        "state_bytes": 2**20,
    }
    return reported | more


def health(batches, **more):
    reported = {
        "version": 1,
        "live": True,
        "newest_end": "2026-11-16T12:00:00Z",
        "lag_seconds": 4.25,
        "stale": None,
        "note": None,
        "batches": batches,
    }
    reported["totals"] = {
        "events": 1_234_567,
        "rows": 800,
        "late": 5,
        "refused": 12,
        "refused_by_reason": {"rtt_us is no number": 12},
    }
    reported |= {"state_bytes": 3 * 2**20, "state_rows": 300, "checkpoint_age_seconds": 3.0, "undelivered": {}}
    return reported | {"server": {"history_bytes": 2**20, "most_bytes": 2**30, "viewers": 4}} | more


def numbers(page):
    page.wait_for_selector(".health-view .figure")
    return {
        one.get_attribute("data-number"): one.locator(".value").inner_text().replace("\u00a0", " ")
        for one in page.locator(".figure").all()
    }


def test_health_tells_its_numbers_and_that_all_is_well(open_view):
    page = open_view("health", answers={"health": health([batch(number) for number in range(20)])})
    result = numbers(page)
    assert page.locator("h1").inner_text() == "The monitor is healthy"
    expected = {
        "Events per second": "10.0 k/s",
        "Lag behind the clock": "4.25 s",
        "Micro-batch": "2 s",
        "Events so far": "1.23 M",
        "Late events": "5",
    }
    expected |= {
        "Refused events": "12",
        "Spark state": "3.00 MiB",
        "Checkpoint": "3 s ago",
        "Waiting notifications": "0",
        "Page memory": "1.00 MiB",
        "Viewers": "4",
    }
    assert result == expected
    page.wait_for_function("() => document.querySelectorAll('.small-plot .main-svg').length >= 10")
    lag = page.evaluate("() => document.querySelectorAll('.small-plot .plot')[1].data[0].y")
    assert lag == [2.0 + number for number in range(20)]
    phases = page.evaluate(
        "() => document.querySelectorAll('.small-plot .plot')[2].data.map((one) => [one.meta, one.y[0]])"
    )
    assert [name for name, _ in phases] == ["phase find", "phase compute", "phase write", "phase other"]
    assert sum(seconds for _, seconds in phases) == pytest.approx(2.0)
    assert "rtt_us is no number" in page.locator(".pair").inner_text()


def test_health_says_what_is_wrong_and_what_to_do(open_view):
    batches = [batch(number) for number in range(17)] + [
        batch(17, late=9),
        batch(18, late=9, refused=3),
        batch(19, late=9),
    ]
    stale = {
        "seconds": 340.0,
        "because": "the monitor has given no sign of life",
        "what_to_do": "start it again with aomg run",
    }
    page = open_view("health", answers={"health": health(batches, undelivered={"webhook 1": 2}, stale=stale)})
    numbers(page)
    sentence = page.locator(".reasons").inner_text()
    assert page.locator("h1").inner_text() == "Results are stale"
    assert "no new results for 5\u00a0min 40\u00a0s" in sentence and "Start it again with aomg run." in sentence
    assert "The newest 5 micro-batches refused 3 events." in sentence
    assert "dropped 4 late events." in sentence and "2 notifications are not delivered to webhook 1 yet" in sentence


def test_where_only_results_are_served_the_views_say_what_is_missing(open_view, monitor):
    with serving(monitor.results) as running:
        page = open_view("health", server=running.address)
        page.wait_for_selector(".missing:not([hidden])")
        assert "aomg web CONFIG.yaml" in page.locator(".missing").inner_text()
        assert page.locator("h1").inner_text() != "The monitor is healthy"
        page.goto(running.address + "alerts")
        page.wait_for_selector(".notice")
        assert "aomg web CONFIG.yaml" in page.locator(".notice").inner_text()
        page.goto(running.address + KEY + "6")
        figure(page)
        for part in (".past", ".histogram"):
            assert "aomg web CONFIG.yaml" in page.locator(part).inner_text()
        page.close()


# -- For everyone ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_views_are_accessible_and_fit(open_view, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    answers = {"health": health([batch(number, refused=number % 2) for number in range(20)])}
    for path, ready in (
        (KEY + "13", READY),
        ("alerts", ".alert"),
        ("health", ".small-plot .main-svg"),
    ):
        page = open_view(path, scheme, width, answers)
        page.wait_for_selector(ready, state="attached")
        page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # the policy forbids the page to run what is given to it: axe is run by the driver
        result = axe.run(page, options={"resultTypes": ["violations"]})
        assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in result.response["violations"]] == []


def test_a_key_whose_label_is_empty_has_an_address_too(open_view, tmp_path):
    monitor = monitor_files(tmp_path, keys=2, windows=0, incidents=False)
    monitor.names = ("", "other")
    monitor.add_window(windows=4)
    with serving(monitor.file) as running:
        page = open_view("", server=running.address)
        page.wait_for_selector(".keys .row a[href]")
        page.click(".keys .row a[href$='key.podset=']")
        assert len(figure(page)["traces"]["line p99"]["x"]) == 4
        page.close()
