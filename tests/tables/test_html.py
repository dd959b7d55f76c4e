"""Tables for notebooks: what they show, and that a browser shows it as text."""

from html.parser import HTMLParser

import numpy as np
import pytest

from aomg import Operator, Query, Results
from aomg.numbers import number_texts
from aomg.result import METHODS

QUERY = Query(40, 10, quantiles=(0.5, 0.999), thresholds=(25.0,))


class Cells(HTMLParser):
    """The texts of a page's cells, row by row, its caption, and the tags that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.caption, self.tags, self.scopes, self.titles = "", set(), [], []
        self._in_caption = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        values = dict(attributes)
        self.titles += [values["title"]] if "title" in values else []
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.scopes += [values.get("scope")] if tag == "th" else []
            self.rows[-1].append("")
        elif tag == "br":
            self.rows[-1][-1] += "\n"
        self._in_caption = self._in_caption or tag == "caption"

    def handle_data(self, data):
        if self._in_caption:
            self.caption += data
        else:
            self.rows[-1][-1] += data

    def handle_endtag(self, tag):
        self._in_caption = self._in_caption and tag != "caption"


def results_of(query: Query = QUERY, n: int = 100, times=None) -> Results:
    return Operator(query).push(np.arange(n) * 1000, times)


def test_a_table_of_results_has_the_interval_of_each_estimate():
    results = results_of(n=50)
    cells = Cells(results._repr_html_())
    head, *rows = cells.rows
    assert head == ["window end", "count", "p50", "p99.9", "below 25", "burst"]
    assert len(rows) == len(results) == 5
    for row, result in zip(rows, results, strict=True):
        texts = number_texts(result[0.5].value, result[0.5].low, result[0.5].high)
        assert row[:3] == [f"{result.end:,}", str(result.count), f"{texts.value}\n{texts.interval}"]
    assert rows[-1][4] == "0 %\n0..0 %"
    assert cells.caption == "5 results of Query(40, 10, quantiles=(0.5, 0.999), thresholds=(25.0,))"
    assert set(cells.titles) <= set(METHODS)


def test_of_many_results_the_last_are_shown():
    cells = Cells(results_of(n=15_000)._repr_html_())
    assert [row[0] for row in cells.rows[1:]] == [f"{end:,}" for end in range(14_910, 15_001, 10)]
    assert cells.caption.startswith("Last 10 of 1,500 results of Query(")


def test_a_table_of_no_results_has_a_head():
    cells = Cells(results_of(n=3)._repr_html_())
    assert len(cells.rows) == 1 and cells.caption.startswith("0 results of Query(")
    assert Cells(results_of(n=10)._repr_html_()).caption.startswith("1 result of Query(")


def test_times_are_in_utc_without_empty_fractions():
    query = Query("2 s", "1 s", lateness="0 s", quantiles=0.5)
    times = np.array(["2024-01-01T00:00:00", "2024-01-01T00:00:05"], "datetime64[s]")
    cells = Cells(results_of(query, 2, times)._repr_html_())
    assert cells.rows[0][0] == "window end (UTC)" and cells.rows[1][0] == "2024-01-01 00:00:01"
    caption = Cells(results_of(query, 2, times)[0]._repr_html_()).caption
    assert caption.startswith("Window 2023-12-31 23:59:59 to 2024-01-01 00:00:01 UTC: 1 event from 0 to 0")


def test_bursts_are_marked():
    values = np.concatenate([np.arange(8_000) % 100, np.arange(1_000) + 500])
    results = Operator(Query(4_000, 1_000)).push(values)
    assert results[-1].burst and not results[-2].burst
    cells = Cells(results._repr_html_())
    assert [row[-1] for row in cells.rows[-2:]] == ["", "burst"]
    assert Cells(results[-1]._repr_html_()).caption.endswith("sub-windows, burst")


def test_a_table_of_one_result_has_a_row_for_each_quantile_and_threshold():
    result = results_of()[-1]
    cells = Cells(result._repr_html_())
    assert cells.rows[0] == ["", "value", "low", "high", "method"]
    assert [row[0] for row in cells.rows[1:]] == ["p50", "p99.9", "below 25"]
    texts = number_texts(result[0.5].value, result[0.5].low, result[0.5].high)
    assert cells.rows[1][1:] == [texts.value, texts.low, texts.high, result[0.5].method]
    assert cells.rows[3][1:] == ["0 %", "0 %", "0 %", ""]
    assert cells.caption == "Window 60 to 100: 40 events from 60,000 to 99,000, 4 of 4 sub-windows"


def test_paper_mode_has_the_bounds_of_theorem_1():
    values = np.random.default_rng(1).normal(1000, 10, 4_000)
    result = Operator(Query.paper(4_000, 1_000, quantiles=(0.5, 0.999))).push(values)[-1]
    head, half, most = Cells(result._repr_html_()).rows
    assert head[-2:] == ["bound", "bound_corrected"]
    assert float(half[-1]) == pytest.approx(result[0.5].bound_corrected, rel=1e-3)
    assert result[0.999].bound is None and most[-2:] == ["-", "-"]


def test_what_could_be_read_as_markup_is_escaped(monkeypatch):
    hostile = "<script>alert('&amp;')</script>"
    monkeypatch.setattr(Query, "__repr__", lambda query: hostile)
    monkeypatch.setattr("aomg.result.METHODS", (f'"><img src=x>{hostile}',) * len(METHODS))
    results = results_of()
    for table in (results, results[-1]):
        cells = Cells(table._repr_html_())
        assert not cells.tags & {"script", "img"}
    assert hostile in Cells(results._repr_html_()).caption
    assert Cells(results[-1]._repr_html_()).rows[1][-1] == f'"><img src=x>{hostile}'


def test_texts_have_no_colour_of_their_own_and_heads_have_a_scope():
    for table in (results_of(), results_of()[-1]):
        text = table._repr_html_()
        assert "color" not in text and "background" not in text
        assert set(Cells(text).scopes) == {"row", "col"}
