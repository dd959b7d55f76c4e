"""The report shows what the files say; a browser opens it without errors, and without a request to anyone."""

import csv
import json
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from programs import BROWSER, needs
from rich.console import Console

from aomg.evaluation import command, files
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.outcome import Plot, Series, Table, TableColumn
from aomg.evaluation.report import html as report
from aomg.evaluation.report import pictures, plots
from aomg.evaluation.report.tables import is_number

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)


class Page(HTMLParser):
    """The tables of a report by their files, its headings, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.headings: list[str] = []
        self.loads: list[str] = []
        self.unscoped = 0
        self._rows: list[list[str]] | None = None
        self._cell: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.loads += [
            values[name] for name in ("src", "href") if not (values.get(name) or "#").startswith(("#", "data:"))
        ]
        if tag == "table":
            self._rows = self.tables.setdefault(values.get("data-file", "words"), [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._cell = ""
            self.unscoped += tag == "th" and values.get("scope") not in ("row", "col")
        elif tag in ("h1", "h2", "h3", "h4"):
            self.headings.append(tag)

    def handle_data(self, data):
        if self._cell is not None:
            self._cell += data

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self._rows[-1].append(self._cell.replace("\xa0", " "))
            self._cell = None


@pytest.fixture
def folder(tmp_path, experiments):
    """The files of an evaluation of two small experiments."""
    command.run(Console(quiet=True), scale=TINY, out=tmp_path)
    return tmp_path


def test_csv_json_and_html_have_the_same_tables(folder):
    page = Page((folder / "report.html").read_text())
    for name, count in (("first", 2), ("second", 1)):
        tables = json.loads((folder / f"results/{name}.json").read_text())["outcome"]["tables"]
        assert len(tables) == count
        for number, table in enumerate(tables, 1):
            columns = [TableColumn(**column) for column in table["columns"]]
            with (folder / f"tables/{name}-{number}.csv").open(newline="") as file:
                head, *rows = csv.reader(file)
            assert head == [column.heading for column in columns]
            assert rows == [["" if cell is None else str(cell) for cell in row] for row in table["rows"]]
            shown = page.tables[f"{name}-{number}.csv"]
            assert shown[0] == head
            assert shown[1:] == [[c.text(cell) for c, cell in zip(columns, row, strict=True)] for row in table["rows"]]


def test_what_is_not_a_number_has_an_empty_cell_everywhere(folder):
    assert json.loads((folder / "results/first.json").read_text())["outcome"]["tables"][1]["rows"][1] == [None]
    assert Page((folder / "report.html").read_text()).tables["first-2.csv"][-1] == [""]


def test_results_read_back_are_those_that_were_written(folder, experiments):
    first, second = files.read(folder, ("first", "second"))
    assert (first.title, second.paper) == ("The first", "Figure 2")
    assert first.outcome.claims[0].holds and not second.outcome.claims[0].holds
    files.write(folder / "again", first)
    assert (folder / "again/results/first.json").read_text() == (folder / "results/first.json").read_text()


def test_a_damaged_result_is_said_with_what_to_do(folder):
    (folder / "results/first.json").write_text("{}")
    with pytest.raises(files.EvaluationError, match=r"first\.json is damaged: remove it and run first again"):
        files.read(folder, ("first", "second"))


def test_the_page_is_one_file_that_loads_nothing(folder):
    page = Page((folder / "report.html").read_text())
    assert page.loads == []
    assert "default-src 'none'" in (folder / "report.html").read_text()


def test_headings_are_in_order_and_headers_have_a_scope(folder):
    page = Page((folder / "report.html").read_text())
    levels = [int(heading[1]) for heading in page.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.unscoped == 0


def test_claims_methods_and_machine_are_told(folder):
    page = (folder / "report.html").read_text()
    assert "Of the paper's claims, <strong>1 of 2 hold</strong>." in page
    for text in ("✓ holds", "✗ does not hold", "the rivals are built well", "In the paper: Figure 2."):
        assert text in page
    for text in ("rank error", "The ceil(phi N)-th smallest", "tiny: 150,000 events", "numpy 2", "seed 1"):
        assert text in page


def test_numbers_are_on_the_right_and_words_on_the_left():
    rows = [["KLL", 1, "3,340 (16,416)", "12 %", "128K by 16K", None], ["-", None, "-", "< 0.1 %", "1K", None]]
    table = Table("t", [TableColumn(str(n)) for n in range(6)], rows)
    assert [is_number(table, column) for column in range(6)] == [False, True, True, True, False, False]


# -- plots -------------------------------------------------------------------------------------------------------------


def styles(*series: Series) -> list[tuple[str, str]]:
    traces = plots.figure(Plot("p", "x", "y", series))["data"]
    return [(trace["marker"]["color"], trace["marker"]["symbol"].removesuffix("-open")) for trace in traces]


def test_a_contender_looks_the_same_in_every_plot_and_no_two_look_alike():
    kll, req = Series("KLL", [1], [1]), Series("REQ", [1], [1])
    many = [Series(name, [1], [1]) for name in ("with", "without", *plots._KNOWN[2:6], "one more")]
    assert styles(kll, *many)[0] == styles(*many, req, kll)[-1]
    used = styles(kll, req, *many)
    assert len(set(used)) == len(used)
    assert len({colour for colour, _ in styles(*many)}) == len(many)


def test_the_papers_series_is_dashed_and_has_the_colour_of_ours():
    plot = Plot("p", "x", "y", [Series("CMQS", [1], [1]), Series("CMQS, the paper", [1], [2], dashed=True)])
    ours, papers = plots.figure(plot)["data"]
    assert ours["line"]["color"] == papers["line"]["color"]
    assert (ours["line"]["dash"], papers["line"]["dash"]) == ("solid", "dash")


def test_points_that_a_logarithmic_axis_cannot_show_are_told():
    series = [Series("Exact", [1, 2], [0.0, 1]), Series("KLL", [1, 2], [3, None])]
    text_below = plots.caption(Plot("p", "x", "y", series, log_y=True, caption="Errors."))
    assert text_below == "Errors. A logarithmic axis cannot show zero; points are missing from Exact."
    assert plots.caption(Plot("p", "x", "y", series)) == ""


def test_numbers_that_are_names_stay_names():
    figure = plots.figure(Plot("p", "x", "y", [Series("s", ["0.1", "0.5"], [1, 2])], log_x=True))
    assert figure["layout"]["xaxis"]["type"] == "category"


# -- in a browser ------------------------------------------------------------------------------------------------------

# how many points the first experiment's two lines, the second's bars and its points have: a zero cannot be drawn on a
# logarithmic axis, and nothing where there is no number
POINTS = {"first-plot-1": 5, "second-plot-1": 5, "second-plot-2": 2}
COUNT = """() => Object.fromEntries([...document.querySelectorAll(".plot")].map((plot) => [plot.id,
  [...plot.querySelectorAll(".scatterlayer .point, .barlayer .point path")].filter((mark) => {
    const box = mark.getBoundingClientRect(), around = plot.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && box.left >= around.left && box.right <= around.right + 1;
  }).length]))"""


@pytest.fixture
def opened(folder):
    """Opens the report and gives the page; fails if anything went wrong in it or it asked anyone for anything."""
    faults, requests = [], []
    with pictures.browser() as chromium:

        def open_it(width=1280, scheme="light"):
            page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.on("console", lambda message: faults.append(message.text))
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("dialog", lambda dialog: faults.append(dialog.message))
            page.on("request", lambda request: requests.append(request.url))
            page.goto((folder / "report.html").as_uri())
            page.wait_for_selector("html[data-drawn]")
            return page

        yield open_it
    assert faults == []
    assert requests and set(requests) <= {(folder / "report.html").as_uri(), "data:,"}


@needs(BROWSER)
@pytest.mark.xdist_group("chromium")
def test_every_plot_shows_its_points_in_light_and_dark_wide_and_narrow(opened):
    page = opened()
    assert page.evaluate(COUNT) == POINTS
    assert page.locator(".plot[role=img][aria-label]").count() == len(POINTS)
    ink = page.evaluate("getComputedStyle(document.querySelector('.scatterlayer .point')).fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "old => getComputedStyle(document.querySelector('.scatterlayer .point')).fill !== old", arg=ink
    )
    page.wait_for_selector("html[data-drawn]")
    assert page.evaluate(COUNT) == POINTS
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    narrow = opened(390, "dark")
    assert narrow.evaluate(COUNT) == POINTS
    assert narrow.evaluate("document.documentElement.scrollWidth") == 390
    boxes = narrow.evaluate("[...document.querySelectorAll('.scroll')].map((box) => box.scrollWidth > box.clientWidth)")
    assert any(boxes)  # the wide table scrolls in its own box


@needs(BROWSER)
@pytest.mark.xdist_group("chromium")
def test_printed_it_is_light_and_fits_the_paper(opened):
    page = opened(1280, "dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    widths = page.evaluate("[...document.querySelectorAll('.plot .main-svg')].map((svg) => svg.clientWidth)")
    assert widths and max(widths) <= 660
    assert page.evaluate(COUNT) == POINTS


def test_a_report_without_plotly_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    with pytest.raises(report.SettingsError, match=r"pip install 'aomg\[evaluation\]'"):
        report.check_plotly()
