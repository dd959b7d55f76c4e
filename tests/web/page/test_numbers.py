"""Numbers in a real browser: the page rounds as Python does, and never out of the interval."""

import re
from urllib.parse import urlsplit

import numpy as np
import pytest
from programs import BROWSER, needs
from rounding import SCALES, assert_inside, assert_short, number, some_intervals
from web.histories import Row, around, history

from aomg.numbers import number_texts as shown_by_python
from aomg.web.http.static_files import PAGE
from aomg.web.views.key import KeyRequest, key_answer

pytestmark = [
    pytest.mark.xdist_group("chromium"),
    needs(BROWSER),
]
ORIGIN = "http://page.test"
NANOSECONDS = {"us": 1000, "ms": 10**6, "s": 10**9}
STEPS = {"ns": 1, "µs": 1000, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


@pytest.fixture(scope="module")
def page(chromium):
    """An empty page that can import the page's modules; there is no server."""
    context = chromium.new_context()
    opened = context.new_page()

    def answer(route):
        path = urlsplit(route.request.url).path
        if path == "/":
            route.fulfill(body="<!doctype html><title>numbers</title>", content_type="text/html")
        elif (PAGE / path.removeprefix("/static/")).is_file():
            route.fulfill(path=PAGE / path.removeprefix("/static/"), content_type="text/javascript")
        else:
            route.fulfill(status=404)

    opened.route(f"{ORIGIN}/**", answer)
    opened.goto(f"{ORIGIN}/")
    yield opened
    context.close()


@pytest.fixture(scope="module")
def call(page):
    """Calls a function of format.js for each of many lists of arguments."""

    def call(name, arguments):
        return page.evaluate(
            "([name, all]) => import('/static/lib/format.js').then(found => all.map(some => found[name](...some)))",
            [name, [list(some) for some in arguments]],
        )

    return call


def test_numbers_have_three_digits_and_a_unit_that_fits(call):
    response = call(
        "quantity", [[4213, "us"], [0.25, "us"], [999.96, "us"], [4.2, "s"], [7200, "s"], [1234567], [0, "ms"]]
    )
    assert [text.replace("\xa0", " ") for text in response] == [
        "4.21 ms", "250 ns", "1.00 ms", "4.20 s", "2.00 h", "1,234,567", "0 ms",
    ]  # fmt: skip
    assert call("quantity", [[None, "us"], [0.98234, "share"]]) == ["\u2013", "98.2\xa0%"]
    assert [text.replace("\xa0", " ") for text in call("duration", [[340], [0.012], [59], [90000], [3600]])] == [
        "5 min 40 s", "12.0 ms", "59 s", "1 d 1 h", "1 h",
    ]  # fmt: skip
    assert call("width", [[0], [0.004], [0.00001], [0.25], [None]]) == [
        "0\xa0%", "0.40\xa0%", "<0.01\xa0%", "25\xa0%", "\u2013",
    ]  # fmt: skip
    assert call("whole", [[1234567.5], [2**53], [-3], [0], [None]]) == [
        "1,234,568", "9,007,199,254,740,992", "-3", "0", "\u2013",
    ]  # fmt: skip
    assert call("share", [[0], [1], [0.5], [0.99987], [0.0512]]) == [
        "0\xa0%", "100\xa0%", "50.0\xa0%", "99.99\xa0%", "5.12\xa0%",
    ]  # fmt: skip


def test_rounding_never_leaves_the_interval_and_python_writes_the_same(call):
    """The rule itself, without units: of 4,000 intervals of any size."""
    intervals = some_intervals(2, 4000)
    options = [
        {
            "digits": 3 + place % 4,
            "scale": SCALES[place % len(SCALES)],
            "padded": place % 3 > 0,
            "grouped": place % 5 > 0,
            "missing": "-",
        }
        for place in range(len(intervals))
    ]
    response = call("shown", [[*interval, one] for interval, one in zip(intervals, options, strict=True)])
    for interval, one, by_page in zip(intervals, options, response, strict=True):
        texts = by_page["value"], by_page["low"], by_page["high"]
        assert_inside(*interval, texts, one["scale"])
        if one["padded"]:
            assert_short(*interval, texts, one["digits"], one["scale"])
        by_python = shown_by_python(*interval, **one)
        assert texts == (by_python.value, by_python.low, by_python.high), (interval, one)


def test_python_writes_the_same_where_something_is_not_known(call):
    parts = [None, 0.0, -2.5, 1.9396, 1.9399]
    triples = [(value, low, high) for value in parts for low in parts for high in parts]
    response = call("shown", [[*one, {"digits": 3, "missing": "-"}] for one in triples])
    for triple, texts in zip(triples, response, strict=True):
        by_python = shown_by_python(*triple, digits=3, padded=True)
        assert (texts["value"], texts["low"], texts["high"]) == (by_python.value, by_python.low, by_python.high), triple


def test_no_unit_leaves_the_interval(call):
    """Values that are told to people: in the unit that suits them, or as percents."""
    units = ["us", "ms", "s", "share", None, "bytes"]
    requested = [(*interval, units[place % len(units)]) for place, interval in enumerate(some_intervals(3, 3000))]
    requested += [(value, value * 0.9995, value * 1.0004, "s") for value in np.geomspace(1, 1e7, 300).tolist()]
    requested += [(value, value, value, "s") for value in (119.0, 120.0, 7201.0, 86399.0, 1e6)]
    for (value, low, high, unit), texts in zip(requested, call("estimate", requested), strict=True):
        text, _, name = texts["value"].partition("\xa0")
        own = NANOSECONDS.get(unit)
        scale = (100, 1) if unit == "share" else (1, 1) if own is None else (own, STEPS[name])
        assert (texts["interval"] == "exact") == (low == high)
        if texts["interval"] in ("", "exact"):
            assert high - low <= 1e-14 * max(abs(low), abs(high))
            assert_inside(value, value, value, (text, text, text), scale)
        else:
            assert_inside(value, low, high, (text, *texts["bounds"].split("..")), scale)
            assert re.fullmatch(r"[0-9,.e+-]+\.\.[0-9,.e+-]+", texts["bounds"])
            assert texts["interval"] == (f"{texts['bounds']}\xa0{name}" if name else texts["bounds"])


def test_minutes_hours_and_days_are_shown_only_where_they_need_few_decimals(call):
    requested = [(7200, 7200, 7200), (7201, 7201, 7201), (7200, 7100, 7300), (7201, 7200.99, 7201.01), (129600,) * 3]
    response = [texts["value"].replace("\xa0", " ") for texts in call("estimate", [(*one, "s") for one in requested])]
    assert response == ["2.00 h", "7,201 s", "2.00 h", "7,201.0 s", "36.0 h"]


def test_one_number_is_exact_whatever_its_digits_are_however_it_is_rounded_to_be_told(call):
    some = np.random.default_rng(1).uniform(1, 1e4, 500).round(3).tolist()
    numbers = [1.001, 0.00101, 1000.005, *some]
    rows = [Row(("6",), end, {"p50": around(one)}) for end, one in enumerate(numbers)]
    response = key_answer(history(rows), KeyRequest({"podset": "6"}, points=None))["estimates"][0]
    ends = list(zip(response["values"], response["low"], response["high"], strict=True))
    assert len(ends) == len(rows)
    assert any(low < high for _, low, high in ends)
    assert set(response["methods"]) == {"exact"}
    texts = call("estimate", [[*one, None, "exact"] for one in ends])
    assert {one["interval"] for one in texts} == {"exact"}
    assert [float(number(one["value"])) for one in texts] == numbers
    assert set(call("width", [[(high - low) / value] for value, low, high in ends])) == {"0\xa0%"}
    assert call("estimate", [[500.0, 499.99, 500.01, "us"]]) == [
        {"value": "500.0\xa0µs", "interval": "499.9..500.1\xa0µs", "bounds": "499.9..500.1"}
    ]


def test_a_number_with_all_digits_that_are_shown_is_not_exact_unless_its_ends_are_equal(call):
    narrow = [(1224.7125, 1224.712, 1224.713, None, method) for method in ("certified", "band", "", None)]
    texts = call("estimate", [*narrow, (0.98812345, 0.9881234, 0.9881235, "share", "")])
    assert [one["interval"] for one in texts] == [*["1,224.712..1,224.713"] * 4, "98.81234..98.81235\xa0%"]
    rounded_outward = call("estimate", [[1 / 3, np.nextafter(1 / 3, 0), np.nextafter(1 / 3, 1)]])
    assert rounded_outward == [{"value": "0.3333333", "interval": "", "bounds": ""}]
    assert call("width", [[8e-7], [8e-7, False]]) == ["0\xa0%", "<0.01\xa0%"]


SURFACES = """async ([value, low, high, method]) => {
  const named = (file) => import(`/static/${file}.js`);
  const [{keyRow}, {keyTable}, {keyCards}, {tipContent}, {alertCard}] = await Promise.all(
    ["overview/row", "key/table", "key/cards", "key/tip", "alerts/card"].map(named));
  const numbers = {values: [value], low: [low], high: [high], methods: [method]};
  const estimate = {name: "p99", title: "p99", quantile: 0.99, ...numbers};
  const data = {estimates: [estimate], ends: ["2026-11-16T12:00:00Z"], counts: [10], bursts: [false]};
  const unit = () => "us";

  const rows = keyRow({unit: "us", estimates: [estimate]}, () => "/key", () => false, () => false);
  const row = rows.make();
  const estimates = {value, low, high, method};
  rows.fill(row, {key: {podset: "6"}, spark: [], estimates: {p99: estimates}, width: 0.005, count: 10, alert: null});

  const table = keyTable();
  table.place.open = true;
  table.show(data, unit);

  const options = {hidden: new Set(), styles: {p99: {number: 0, dash: "solid", width: 2}}, unitOf: unit};
  const quantities = {"inbound.p99": [low, value, high]};
  const alert = {state: "firing", rule: "Slow", quantities, units: {"inbound.p99": "us"}};
  const text = (...nodes) => {
    const all = document.createElement("div");
    all.append(...nodes);
    const [texts, walk] = [[], document.createTreeWalker(all, NodeFilter.SHOW_TEXT)];
    while (walk.nextNode()) texts.push(walk.currentNode.data);
    return texts.join(" ");
  };
  return {
    "cell of the table of keys": text(row.querySelector(".estimate")),
    "table of one key": text(table.place.querySelector("tbody")),
    "cards of one key": text(...keyCards(data, 0, unit)),
    "tooltip of a point": text(...tipContent(data, 0, options)),
    "alert": text(alertCard(alert)),
  };
}"""


def test_no_part_of_the_page_shows_a_value_outside_of_its_interval(page):
    """It was 1.94 ms over 1.930..1.939."""
    message = page.evaluate(SURFACES, [1936, 1930, 1939, "band"])
    assert len(message) == 5
    for place, text in message.items():
        result = re.search(r"(\d[\d.]*)\xa0ms.*?(\d+\.\d+)\.\.(\d+\.\d+)", text)
        assert result is not None, (place, text)
        assert result.groups() == ("1.936", "1.930", "1.939"), place


def test_no_part_of_the_page_calls_a_certified_value_exact(page):
    message = page.evaluate(SURFACES, [1224.7125, 1224.712, 1224.713, "certified"])
    assert len(message) == 5
    for place, text in message.items():
        assert "1.224712..1.224713" in text and "exact" not in text, place
    message = page.evaluate(SURFACES, [1225, 1225, 1225, "exact"])
    for place, text in message.items():
        assert "1.225\xa0ms" in text and text.count("exact") == 1 and "certified" not in text, place


def test_a_value_without_its_interval_keeps_its_digits(call):
    """The heat map and the histogram tell of values only."""
    response = call("unrounded", [[1936, "us"], [1936.125, "us"], [0.98234, "share"], [None, "us"], [2, None]])
    assert response == ["1.936\xa0ms", "1.936125\xa0ms", "98.234\xa0%", "\u2013", "2.00"]
