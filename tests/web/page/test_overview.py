"""The overview in a real browser: every key a row, worst first; whatever is chosen is in the address."""

import csv
import io
import re
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from programs import BROWSER, needs
from web import different_queries
from web import local_server as server_of_tests
from web.local_server import serving
from web.monitor_files import monitor_files

from aomg.web.follow import supervision
from aomg.web.follow.results import ResultFollower

pytestmark = [
    pytest.mark.xdist_group("chromium"),
    needs(BROWSER),
]
KEYS = "[...document.querySelectorAll('.keys .row .key a')].map(link => link.textContent)"
BROWSERS_OWN = "net::ERR_"  # what the browser itself prints when a server is gone


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    return monitor_files(tmp_path_factory.mktemp("twenty"))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A query of 1,500 keys, in two windows."""
    with serving(monitor_files(tmp_path_factory.mktemp("many"), keys=1500, windows=2, incidents=False).file) as running:
        yield running


def keys_of(served, path="api/keys"):
    return [row["key"]["podset"] for row in served.json(path)["rows"]]


def wait_for_keys(page, keys):
    page.wait_for_function(f"keys => JSON.stringify({KEYS}.slice(0, keys.length)) === JSON.stringify(keys)", arg=keys)


def cells(row, kind):
    return [cell.strip() for cell in row.locator(f".cell.{kind}").all_inner_texts()]


def test_every_key_is_a_row_worst_first_with_its_quantiles_and_their_intervals(opened, served):
    page = opened(served.address)
    answer = served.json("api/keys")
    wait_for_keys(page, [row["key"]["podset"] for row in answer["rows"]])
    assert page.locator("[role=table]").get_attribute("aria-rowcount") == "21"
    first, row = answer["rows"][0], page.locator(".keys .row").first
    assert first["key"] == {"podset": "3"}
    assert first["estimates"]["p99"]["value"] == 8000.0
    displayed = cells(row, "estimate")
    assert len(displayed) == len(answer["columns"]) == 4
    assert displayed[2].split("\n")[0].replace("\xa0", " ") in ("8.00 ms", "8.000 ms")  # by its interval
    for text, name in zip(displayed, answer["columns"], strict=True):
        value, between = text.split("\n")
        assert between == "exact" if first["estimates"][name]["method"] == "exact" else ".." in between
        assert value.endswith(("µs", "ms"))
    assert row.locator(".spark path").get_attribute("d").count("L") == 29
    assert cells(row, "width")[0].endswith("%")
    assert page.locator("[aria-sort=descending]").inner_text().strip() == "p99"


def test_trends_have_one_scale_or_each_its_own_and_the_worst_of_the_span_is_found(opened, served):
    page = opened(served.address)
    answer = served.json("api/keys")
    assert answer["rows"][0]["key"] == {"podset": "3"}, "podset 6 was as high some windows ago"
    worst = page.locator(".keys .row", has=page.locator("a[aria-label='podset 6']")).locator(".worst")
    assert worst.inner_text().startswith("8.00")
    heights = """() => Object.fromEntries([...document.querySelectorAll('.keys .row')].map((row) => {
      const heights = row.querySelector('.spark path').getAttribute('d').match(/[0-9.]+(?=[ML]|$)/g).map(Number);
      return [row.querySelector('a').textContent, Math.max(...heights) - Math.min(...heights)];
    }))"""
    same = page.evaluate(heights)
    healthy = [name for name in same if name not in ("3", "6")]
    assert all(same[name] > 4 * same[other] for name in ("3", "6") for other in healthy)
    page.get_by_role("button", name="Own scale").click()
    page.wait_for_url("**/?trend=own")
    page.wait_for_function(f"old => ({heights})()['0'] > old", arg=2 * same["0"])
    page.get_by_role("button", name="highest in 8 min").click()
    page.wait_for_url("**/?trend=own&rank=span")
    wait_for_keys(page, keys_of(served, "api/keys?rank=span"))
    assert set(page.evaluate(KEYS)[:2]) == {"3", "6"}
    assert page.locator("[aria-sort=descending]").inner_text().replace("\xa0", " ").endswith("highest in 8 min")
    page.wait_for_selector(".heat[data-drawn]")
    ticks = "[...document.querySelectorAll('.heat .ytick text')].map(text => text.textContent)"
    page.wait_for_function(f"keys => JSON.stringify({ticks}.slice(0, 2)) === JSON.stringify(keys)", arg=["3", "6"])
    page.get_by_role("button", name="p99", exact=True).click()
    page.wait_for_url("**/?trend=own")
    wait_for_keys(page, keys_of(served))


def test_names_and_intervals_are_not_cut_while_there_is_room(opened, tmp_path):
    monitor = monitor_files(tmp_path, windows=3, incidents=False)
    monitor.names = tuple(f"checkout-eu-west-{number}" for number in range(6))
    monitor.add_window()
    with serving(monitor.file) as running:
        page = opened(running.address)
        page.wait_for_function(f"() => {KEYS}.length === 6")
        parts = "[...document.querySelectorAll('.keys .row :is(.key a, .estimate b, .estimate i, .worst b)')]"
        assert page.evaluate(f"{parts}.filter(one => one.scrollWidth > one.clientWidth + 1).length") == 0
        intervals = page.locator(".keys .row .estimate i").all_inner_texts()
        assert all(text == "exact" or text.endswith(("\xa0ms", "\xa0µs")) for text in intervals)
        page.close()


def test_a_single_key_has_its_chart_instead_of_a_heat_map(opened, served):
    page = opened(served.address)
    page.wait_for_selector(".heat[data-drawn]")
    page.get_by_role("searchbox").fill("13")
    page.wait_for_selector(".single[data-drawn]")
    assert page.locator(".heat").is_hidden()
    assert page.locator(".single h2").inner_text() == "podset 13 over time"
    page.get_by_role("searchbox").fill("")
    page.wait_for_selector(".single", state="hidden")
    assert page.locator(".heat").is_visible()


def test_a_burst_and_an_alert_are_words_with_a_shape(opened, served):
    page = opened(served.address)
    answer = {row["key"]["podset"]: row for row in served.json("api/keys")["rows"]}
    assert answer["13"]["burst"]
    assert answer["13"]["alert"]["state"] == "firing"
    assert answer["3"]["alert"]["state"] == "pending"
    marks = {
        name: page.locator(".keys .row", has=page.locator(f"a[aria-label='podset {name}']")).locator(".mark:visible")
        for name in ("13", "3", "0")
    }
    assert marks["13"].all_inner_texts() == ["firing", "burst"]
    assert marks["3"].all_inner_texts() == ["pending"]
    assert marks["0"].all_inner_texts() == []
    shapes = page.evaluate(
        "['firing', 'pending', 'burst'].map(state => { const style = getComputedStyle(document.querySelector("
        "`.row .mark[data-state=${state}]`), '::before'); return style.clipPath + style.borderRadius; })"
    )
    assert len(set(shapes)) == 3
    assert page.locator("#alerting").get_attribute("aria-label") == "1 firing, 1 pending"


def test_headers_sort_by_mouse_and_keyboard_and_the_back_button_undoes_it(opened, served):
    page = opened(served.address)
    page.get_by_role("button", name="p50").click()
    wait_for_keys(page, keys_of(served, "api/keys?sort=p50"))
    assert parse_qs(urlsplit(page.url).query) == {"sort": ["p50"]}
    page.get_by_role("button", name="p50").press("Enter")
    wait_for_keys(page, keys_of(served, "api/keys?sort=p50&order=asc"))
    assert page.locator("[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="podset").click()
    wait_for_keys(page, ["0", "1", "2", "3"])
    page.reload()
    wait_for_keys(page, ["0", "1", "2", "3"])
    page.go_back()
    wait_for_keys(page, keys_of(served, "api/keys?sort=p50&order=asc"))
    page.go_back()
    page.go_back()
    wait_for_keys(page, keys_of(served))
    assert urlsplit(page.url).query == ""


def test_search_and_filters_are_in_the_address_and_restored_from_it(opened, served):
    page = opened(served.address)
    page.get_by_role("searchbox").fill("1")
    page.wait_for_url("**/?search=1")
    wait_for_keys(page, keys_of(served, "api/keys?search=1"))
    assert page.locator(".summary strong").inner_text() == "11 of 20 keys"
    page.get_by_role("button", name="Bursts only").click()
    wait_for_keys(page, ["13"])
    page.wait_for_function("() => document.querySelectorAll('.keys .row').length === 1")
    shared = opened(page.url)
    wait_for_keys(shared, ["13"])
    assert shared.get_by_role("searchbox").input_value() == "1"
    assert shared.get_by_role("button", name="Bursts only").get_attribute("aria-pressed") == "true"
    shared.get_by_role("searchbox").fill("")
    shared.get_by_role("button", name="Bursts only").click()
    wait_for_keys(shared, keys_of(served))
    shared.get_by_role("button", name="Alerting only").click()
    shared.wait_for_function("() => document.querySelectorAll('.keys .row').length === 2")
    assert set(shared.evaluate(KEYS)) == {"3", "13"}


def test_a_filter_of_a_label_takes_whole_values_and_says_so_where_nothing_matches(opened, served):
    page = opened(served.address)
    field = page.get_by_label("podset", exact=True)
    field.fill("1")
    field.press("Enter")
    wait_for_keys(page, ["1"])
    page.wait_for_url("**/?where.podset=1")
    field.fill("nowhere")
    field.press("Enter")
    answer = page.locator(".keys .none")
    answer.wait_for()
    assert "None of the 20 keys matches" in answer.inner_text()
    assert "compare whole values" in answer.inner_text()
    page.get_by_role("button", name="Show all keys").click()
    wait_for_keys(page, keys_of(served))
    assert field.input_value() == ""


def test_the_download_has_all_that_matches_and_nothing_else(opened, served):
    page = opened(served.address, "?search=1&sort=p50")
    href = page.get_by_role("link", name="Download CSV").get_attribute("href")
    rows = list(csv.DictReader(io.StringIO(served.get(href).text)))
    assert [row["podset"] for row in rows] == keys_of(served, "api/keys?search=1&sort=p50")


def test_another_query_is_one_press_away(opened, served):
    page = opened(served.address)
    page.get_by_role("link", name="outbound").click()
    page.wait_for_url("**/?query=outbound")
    wait_for_keys(page, keys_of(served, "api/keys?query=outbound"))
    page.go_back()
    wait_for_keys(page, keys_of(served))


def test_rows_are_reached_by_keyboard_and_enter_opens_the_key(opened, served):
    page = opened(served.address)
    order = keys_of(served)
    page.locator(".keys .row a").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == order[3]
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.textContent") == order[-1]
    assert page.evaluate("document.querySelectorAll('.row a[tabindex=\"0\"]').length") == 1
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/key?query=inbound&key.podset={order[-1]}")
    page.go_back()
    page.wait_for_selector(".keys .row a[href]")


def test_of_many_keys_only_those_in_sight_are_in_the_page_and_the_last_one_can_be_reached(opened, many):
    page = opened(many.address, "?sort=key")
    assert page.evaluate("document.querySelectorAll('.keys *').length") < 1500
    page.locator(".keys .row a").first.focus()
    page.keyboard.press("End")
    page.wait_for_function("() => document.activeElement.textContent === '1499'")
    assert page.evaluate("document.querySelectorAll('.keys .row').length") < 60
    page.evaluate("document.querySelector('.keys .scroll').scrollTop = 700 * 44")
    page.wait_for_selector(".keys .row a[aria-label='podset 705']")
    page.wait_for_function("() => document.querySelectorAll('.keys [data-waiting]').length === 0")
    displayed = [int(name) for name in page.evaluate(KEYS)]
    assert displayed == list(range(displayed[0], displayed[0] + len(displayed)))
    requested = many.json("api/keys?sort=key&order=asc&offset=705&limit=1")["rows"][0]["estimates"]["p50"]["value"]
    row = page.locator(".keys .row", has=page.locator("a[aria-label='podset 705']"))
    assert cells(row, "estimate")[0].startswith(f"{requested:.0f}")
    row.locator(".width").click()
    page.wait_for_url("**/key?*")
    page.go_back()
    page.wait_for_selector(".keys .row a[aria-label='podset 705']")
    assert page.evaluate("document.querySelector('.keys .scroll').scrollTop") == 700 * 44


def test_what_is_new_appears_by_itself_and_scroll_focus_and_selection_stay(opened, tmp_path):
    monitor = monitor_files(tmp_path, windows=4, incidents=False)
    with serving(monitor.file) as running:
        page = opened(running.address, "?sort=key")
        page.wait_for_selector(".heat[data-drawn]")
        page.evaluate("document.querySelector('.keys .scroll').scrollTop = 150")
        page.evaluate("""() => {
          window.kept = document.querySelector(".row a[aria-label='podset 8']");
          kept.focus({preventScroll: true});
          getSelection().selectAllChildren(document.querySelector(".row a[aria-label='podset 9']"));
        }""")
        before = page.locator(".summary").inner_text()
        monitor.add_window(slow=["9"])
        row = page.locator(".row", has=page.locator("a[aria-label='podset 9']"))
        row.locator(".estimate").get_by_text(re.compile("8[.]000?\xa0ms")).wait_for()
        assert page.locator(".summary").inner_text() != before
        assert page.evaluate("document.querySelector('.keys .scroll').scrollTop") == 150
        assert page.evaluate("document.activeElement === kept && kept.isConnected")
        assert page.evaluate("getSelection().toString()") == "9"
        page.close()


def test_a_focused_row_keeps_the_focus_when_others_overtake_it(opened, tmp_path):
    monitor = monitor_files(tmp_path, windows=3, incidents=False)
    with serving(monitor.file) as running:
        page = opened(running.address)
        last = page.evaluate(KEYS)[-1]
        page.evaluate(
            """name => {
          window.kept = document.querySelector(`.row a[aria-label='podset ${name}']`);
          window.lost = 0;
          kept.addEventListener("blur", () => window.lost++);
          kept.focus({preventScroll: true});
        }""",
            last,
        )
        monitor.add_window(slow=[last])
        wait_for_keys(page, [last])
        assert page.evaluate("[document.activeElement === kept, lost]") == [True, 0]
        order = keys_of(running)
        assert page.evaluate(KEYS) == order[: page.locator(".keys .row").count()]
        page.close()


def test_cells_that_did_not_change_are_not_touched(opened, served):
    page = opened(served.address)
    page.wait_for_selector(".heat[data-drawn]")
    page.evaluate("""() => {
      window.touched = [];
      new MutationObserver(some => touched.push(...some)).observe(document.querySelector(".keys"), {
        subtree: true, childList: true, characterData: true, attributes: true});
      window.asked = 0;
      new PerformanceObserver(list => {
        for (const one of list.getEntries()) if (one.name.includes("/api/keys")) asked++;
      }).observe({type: "resource"});
    }""")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_function("() => asked > 0")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("touched.length") == 0


def test_after_a_restart_of_the_server_the_page_goes_on_by_itself(opened, tmp_path, monkeypatch):
    monitor = monitor_files(tmp_path, windows=3, incidents=False)
    with serving(monitor.file) as running:
        page = opened(running.address)
        page.wait_for_selector("#connection[data-state=live]")
        port = urlsplit(running.address).port
    page.wait_for_selector("#connection[data-state=lost]")
    answer = page.locator(".banner[data-kind=lost]")
    assert "reconnects by itself" in answer.inner_text()
    assert page.locator(".keys .row").count() > 10
    monitor.add_window(slow=["9"])
    listening = server_of_tests.listening
    monkeypatch.setattr(server_of_tests, "listening", lambda host, _: listening(host, port))
    with serving(monitor.file):
        page.wait_for_selector("#connection[data-state=live]")
        wait_for_keys(page, ["9"])
        answer.wait_for(state="detached")
        page.close()
    opened.faults[:] = [fault for fault in opened.faults if BROWSERS_OWN not in fault]


def test_an_empty_folder_says_what_to_do_and_fills_by_itself(opened, tmp_path):
    monitor = monitor_files(tmp_path / "full", windows=3, incidents=False)
    empty = tmp_path / "empty"
    empty.mkdir()
    with serving(empty, wait=False) as running:
        page = opened(running.address, until=".notice")
        assert "aomg run CONFIG.yaml" in page.locator(".notice").inner_text()
        for part in monitor.results.iterdir():
            part.rename(empty / part.name)
        page.wait_for_selector(".keys .row a[href]")
        wait_for_keys(page, keys_of(running))
        page.close()


def test_labels_are_shown_as_they_are_and_never_as_html(opened, tmp_path):
    monitor = monitor_files(tmp_path, windows=2, incidents=False)
    evil = "<img src=x onerror=document.title='owned'><b>&amp;</b>"
    short = "<i>&lt;1</i>"  # what Plotly would obey
    monitor.names = (evil, short, "=1+1", "ä 中")
    monitor.add_window()
    with serving(monitor.file) as running:
        page = opened(running.address)
        page.wait_for_selector(".heat[data-drawn]")
        assert set(page.evaluate(KEYS)) == {evil, short, "=1+1", "ä 中"}
        assert page.evaluate("document.querySelectorAll('.keys img, .keys b b, .heat img').length") == 0
        assert "owned" not in page.title()
        ticks = page.evaluate("[...document.querySelectorAll('.heat .ytick text')].map(text => text.textContent)")
        assert {evil[:8] + "…" + evil[-8:], short} <= set(ticks)
        page.get_by_role("link", name=evil).click()
        page.wait_for_url("**/key?*")
        assert parse_qs(urlsplit(page.url).query)["key.podset"] == [evil]
        page.close()


def test_the_heat_map_has_the_keys_of_the_table_and_its_cells_open_them_at_their_time(opened, served):
    page = opened(served.address)
    page.wait_for_selector(".heat[data-drawn]")
    answer = served.json("api/heatmap?rows=60&columns=240")
    ticks = page.evaluate("[...document.querySelectorAll('.heat .ytick text')].map(text => text.textContent)")
    assert ticks == [key["podset"] for key in answer["keys"]] == keys_of(served)
    plot = page.locator(".heat .plot")
    plot.focus()
    page.keyboard.press("ArrowRight")
    assert answer["keys"][0]["podset"] == "3"
    assert "podset 3" in page.locator(".heat .caption").inner_text()
    assert "8.00" in page.locator(".heat .caption").inner_text()
    page.keyboard.press("ArrowLeft")
    lines = served.get(page.locator(".heat a[download]").get_attribute("href")).text.splitlines()
    assert len(lines) > len(answer["ends"]) and all("," in line for line in lines)
    page.keyboard.press("Enter")
    page.wait_for_url("**/key?*")
    requested = parse_qs(urlsplit(page.url).query)
    assert requested == {"query": ["inbound"], "key.podset": ["3"], "at": [answer["ends"][-2]]}
    page.go_back()
    page.wait_for_selector(".heat[data-drawn]")
    over_the_heat_map(page, "podset 3")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**/key?*")
    assert parse_qs(urlsplit(page.url).query)["at"] == [answer["ends"][-1]]


def over_the_heat_map(page, sentence):
    """Point at its newest cell of the first key until that is told: the plot may be drawn anew meanwhile."""

    def answer():
        box = page.locator(".heat .plot .nsewdrag").first.bounding_box()
        if box is not None:
            page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 4)
            page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 5)
            page.wait_for_timeout(100)
        return sentence in page.locator(".heat .caption").inner_text()

    server_of_tests.wait_until(answer)


def test_a_cell_of_the_heat_map_that_was_chosen_stays_the_same_when_others_overtake_it(opened, tmp_path):
    monitor = monitor_files(tmp_path, keys=4, windows=6, incidents=False)
    with serving(monitor.file) as running:
        page = opened(running.address)
        page.wait_for_selector(".heat[data-drawn]")
        first, *_, last = keys_of(running)
        end = running.json("api/heatmap")["ends"][-1]
        page.locator(".heat .plot").focus()
        page.keyboard.press("ArrowRight")
        chosen = page.locator(".heat .caption").inner_text()
        assert chosen.startswith(f"podset {first}, ")
        monitor.add_window(slow=[last])
        ticks = "[...document.querySelectorAll('.heat .ytick text')].map(text => text.textContent)"
        page.wait_for_function(f"last => {ticks}[0] === last && {ticks}.length === 4", arg=last)
        assert page.locator(".heat .caption").inner_text() == chosen
        row = keys_of(running).index(first)
        position = page.evaluate(
            "(({x0, x1, y0}) => [(x0 + x1) / 2, y0 + 0.5])(document.querySelector('.heat .plot').layout.shapes[0])"
        )
        assert position == [datetime.fromisoformat(end).timestamp() * 1000, row]
        page.keyboard.press("Enter")
        page.wait_for_url("**/key?*")
        requested = parse_qs(urlsplit(page.url).query)
        assert (requested["key.podset"], requested["at"]) == ([first], [end])
        page.close()


def test_what_the_heat_map_says_of_itself_is_of_the_keys_that_it_shows_now(opened, served):
    page = opened(served.address)
    page.wait_for_selector(".heat[data-drawn]")
    assert page.locator(".heat .caption").inner_text().startswith("All 20 keys, ")
    page.get_by_role("searchbox").fill("1")
    page.wait_for_function("() => document.querySelector('.heat .caption').textContent.startsWith('All 11 keys, ')")
    over_the_heat_map(page, f"podset {keys_of(served, 'api/keys?search=1')[0]}")
    page.mouse.move(5, 5)
    page.wait_for_function("() => document.querySelector('.heat .caption').textContent.startsWith('All ')")
    assert page.locator(".heat .caption").inner_text().startswith("All 11 keys, ")
    page.locator(".heat .plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    assert page.locator(".heat .caption").inner_text().startswith("All 11 keys, ")


def test_columns_of_several_windows_are_found_by_the_time_of_any_of_them(opened, served):
    ends = [f"2026-11-16T12:{minute:02}:00Z" for minute in (10, 20, 30)]
    data = {"keys": [{"podset": "6"}, {"podset": "7"}], "ends": ends, "windows_per_column": 10}
    single = data | {"windows_per_column": 1}
    page = opened(served.address)

    def column(end, of=data, key='{"podset":"7"}'):
        result = page.evaluate(
            "asked => import('/static/overview/heat_map.js').then(({whereIs}) => whereIs(...asked))",
            [{"key": key, "end": f"2026-11-16T12:{end}Z"}, of],
        )
        return result and result[1]

    assert [column(end) for end in ("20:00", "20:15", "29:00", "05:00", "00:00", "30:15")] == [1, 2, 2, 0, None, None]
    assert [column(end, single) for end in ("20:00", "20:15", "05:00")] == [1, None, None]
    assert column("20:00", key='{"podset":"8"}') is None


def test_a_past_window_is_shown_when_the_address_asks_for_it(opened, served):
    ends = served.json("api/heatmap")["ends"]
    page = opened(served.address, f"?at={ends[10]}")
    wait_for_keys(page, ["6"])
    page.get_by_role("button", name="Back to the newest window").click()
    wait_for_keys(page, ["3"])
    assert urlsplit(page.url).query == ""


def test_times_are_in_the_viewers_zone_with_utc_beside(opened, served):
    page = opened(served.address, timezone_id="Asia/Kolkata")
    end = datetime.fromisoformat(served.json("api/keys")["at"])
    present = end + timedelta(hours=5, minutes=30)
    assert f"{present:%H:%M:%S} ({end:%H:%M:%S} UTC)" in page.locator(".summary").inner_text()
    assert page.locator("#zone").inner_text() in ("Times in Kolkata (UTC+5:30)", "Times in Calcutta (UTC+5:30)")


def test_stale_results_loading_and_problems_have_banners_that_say_what_to_do(opened, served):
    def worse(route):
        answer = route.fetch().json()
        stale = {"seconds": 340.0, "because": "the monitor wrote nothing", "what_to_do": "look whether it runs"}
        answer |= {"stale": stale, "loading": {"done": 3, "of": 9}, "problems": ["a file is damaged; remove it"]}
        route.fulfill(json=answer)

    page = opened(served.address)
    assert page.locator(".banner").all_inner_texts() == ["No monitor has run with this state folder yet."]
    page.route("**/api/status", worse)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_selector(".banner[data-kind=stale]")
    assert page.locator(".banner").all_inner_texts() == [
        "Reading stored results:3 of 9 files, newest windows first.",
        "Results are stale: no new results for 5\xa0min 40\xa0s.The monitor wrote nothing. Look whether it runs.",
        "Problem:a file is damaged; remove it",
    ]
    page.unroute_all(behavior="ignoreErrors")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_selector(".banner:not([data-kind=note])", state="detached")


def test_queries_that_differ_have_their_own_rows_and_columns(opened, tmp_path):
    """Quantiles, thresholds, units and labels of one are none of the others."""
    with serving(different_queries.different_queries(tmp_path)) as running:
        page = opened(running.address)
        for query, names in (("wide", ["p50", "p90", "below 0.5", "below 250"]), ("all", ["p90"]), ("narrow", ["p50"])):
            page.click(f".queries a >> text={query}")
            page.wait_for_selector(f".queries a[aria-current=page] >> text={query}")
            page.wait_for_function(f"many => {KEYS}.length === many", arg=len(different_queries.KEYS[query]))
            assert page.locator(".names .estimate").all_inner_texts() == names
            assert page.locator(".banner[data-kind=problem]").count() == 0
            first = cells(page.locator(".keys .row").first, "estimate")
            assert len(first) == len(names) and all(re.search("[0-9]", one) for one in first), "each has a number"
        assert page.evaluate(KEYS) == ["r2 · c", "r2 · b", "r1 · a"] and first[0].startswith("3.67\xa0min")
        page.goto(running.address + "?query=wide&sort=key")
        page.wait_for_function("() => document.querySelector('.heat h2')?.textContent")
        assert page.locator(".heat h2").inner_text() == "p90 over time", "the highest quantile, not a share"
        page.route("**/api/key?*", lambda route: route.fulfill(json={**route.fetch().json(), "windows_per_point": 3}))
        page.goto(running.address + "key?query=wide&key.host=a")
        text = "Each point covers 3 windows and shows the one with the highest p90."
        page.wait_for_selector(f"#key-help >> text={text}")
        page.unroute_all(behavior="ignoreErrors")
        page.close()


def test_a_follower_that_fails_has_a_banner_until_it_works(opened, tmp_path, monkeypatch):
    def fail(self):
        raise ValueError("'p90' is not in list")

    monkeypatch.setattr(supervision, "RETRY_SECONDS", 0.0)
    with monkeypatch.context() as broken:
        broken.setattr(ResultFollower, "step", fail)
        with serving(monitor_files(tmp_path, keys=3, windows=2, incidents=False).file, wait=False) as running:
            page = opened(running.address, until=".banner[data-kind=problem]")
            sentence = page.locator(".banner[data-kind=problem]").inner_text()
            assert sentence.startswith("Problem:the results cannot be read (ValueError: 'p90' is not in list);")
            page.goto(running.address + "health")
            page.wait_for_selector(".reasons li >> text=The results cannot be read")
            page.goto(running.address)
            page.wait_for_selector(".banner[data-kind=problem]")
            broken.undo()
            page.wait_for_selector(".banner[data-kind=problem]", state="detached")
            page.wait_for_function(f"() => {KEYS}.length === 3")
            page.close()


def test_a_query_that_is_not_there_and_a_wrong_parameter_say_what_to_do(opened, served):
    page = opened(served.address, "?query=none", until=".notice")
    page.get_by_role("link", name="inbound").last.click()
    page.wait_for_selector(".keys .row a[href]")
    page = opened(served.address, "?sort=p77", until=".keys .none:not([hidden])")
    sentence = served.get("api/keys?sort=p77").json()
    for text in (sentence["error"], sentence["what_to_do"]):
        assert f"{text[0].upper()}{text[1:]}." in page.locator(".none").inner_text()
    opened.faults[:] = [fault for fault in opened.faults if "400" not in fault and "404" not in fault]


def test_it_is_accessible_and_fits_in_light_and_dark_wide_and_narrow(opened, served):
    page = opened(served.address, color_scheme="light")
    page.wait_for_selector(".heat[data-drawn]")
    for width, scheme in ((1440, "light"), (1440, "dark"), (390, "dark"), (390, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function("width => document.querySelector('.heat .main-svg').clientWidth < width", arg=width)
        result = Axe().run(page)
        assert result.violations_count == 0, result.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        texts = "[...document.querySelectorAll('.keys .estimate :is(b, i)')]"
        cut = "filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"
        assert page.evaluate(f"{texts}.{cut}") == []
        # the list knows how high its rows are, or the last ones could not be reached
        heights = "['.row', '.all'].map(one => document.querySelector(`.keys ${one}`).offsetHeight)"
        page.wait_for_function(f"() => {{ const [row, all] = {heights}; return 20 * row === all; }}")


def test_the_theme_that_was_chosen_stays(opened, served):
    page = opened(served.address, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(ground) == "rgb(20, 23, 27)"
    page.reload()
    page.get_by_role("button", name="Theme: dark").wait_for()
    assert page.evaluate(ground) == "rgb(20, 23, 27)"
