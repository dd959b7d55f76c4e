"""Plots have the data of the results: values, intervals, bursts and gaps, for one stream and for many keys."""

import re

import numpy as np
import pyarrow as pa
import pytest
from programs import BROWSER, needs

import aomg
from aomg import InputError, Operator, Query, QueryError, Results, UnknownQuantileError
from aomg.errors import SettingsError
from aomg.evaluation.report import pictures
from aomg.numbers import number_texts
from aomg.policies import make
from aomg.tables.plot import COLOURS
from aomg.tables.results import flat_table

pytest.importorskip("plotly")

HOSTILE = "<b>&lt;x</b> | eu"
START = np.datetime64("2026-05-01T12:00", "us")
QUERY = Query("4m", "1m", lateness="0s", quantiles=(0.9, 0.5, 0.99))


def timed(minutes=30, query=QUERY, factor=1.0, pause=None, bursts=()) -> Results:
    """Results of 600 events a minute, without those between two minutes; some minutes are a burst."""
    values = np.random.default_rng(3).lognormal(6.7, 0.6, 600 * minutes) * factor
    for minute in bursts:
        values[600 * minute : 600 * (minute + 1)] *= 5
    times = START + np.arange(values.size) * np.timedelta64(100, "ms")
    if pause is not None:
        times[600 * pause[0] :] += np.timedelta64(pause[1], "m")
    return Operator(query).push(values, times)


def keyed(*keys, by=("region",), **options) -> pa.Table:
    """A table of results with a key for each factor: the later a key, the larger its values."""
    tables = []
    for number, key in enumerate(keys):
        table = timed(factor=1 + number, **options).to_arrow()
        for place, (name, value) in enumerate(zip(by, key if isinstance(key, tuple) else (key,), strict=True)):
            kind = pa.int64() if value is None else None
            table = table.add_column(place, name, pa.array([value] * len(table), kind))
        tables.append(table)
    return pa.concat_tables(tables)


def lines(figure):
    """The traces of values by their name."""
    return {trace.name: trace for trace in figure.data if trace.showlegend}


def other(figure, suffix):
    """The traces of intervals or of bursts, by the name of their line."""
    return {t.name.removesuffix(f" {suffix}"): t for t in figure.data if t.name.endswith(f" {suffix}")}


def moments(x) -> list:
    return [None if moment is None else np.datetime64(moment, "us") for moment in x]


def title(figure) -> str:
    """The words of the title, however it is broken into lines."""
    return re.sub(r"<[^>]*>", "", figure.layout.title.text.replace("<br>", " "))


def whole(figure):
    """The figure as plain data, without its title."""
    return {**figure.to_dict(), "layout": {**figure.layout.to_plotly_json(), "title": None}}


# -- one stream --------------------------------------------------------------------------------------------------------


def test_each_quantile_is_a_line_through_its_values_in_the_band_of_its_intervals():
    results = timed()
    figure = results.plot()
    assert list(lines(figure)) == ["p90", "p50", "p99"]
    for name, quantile in (("p90", 0.9), ("p50", 0.5), ("p99", 0.99)):
        line, band = lines(figure)[name], other(figure, "interval")[name]
        assert moments(line.x) == list(results.ends)
        assert list(line.y) == results.values(quantile).tolist()
        assert list(band.y) == [*results.highs(quantile).tolist(), *results.lows(quantile)[::-1].tolist()]
        assert moments(band.x) == [*results.ends, *results.ends[::-1]]
        assert band.fill == "toself" and band.legendgroup == line.legendgroup
    assert len({line.line.color for line in lines(figure).values()}) == 3


def test_the_pointer_shows_the_value_its_interval_and_the_method():
    results = timed()
    estimate = results[5][0.99]
    texts = number_texts(estimate.value, estimate.low, estimate.high)
    assert lines(results.plot())["p99"].customdata[5] == f"p99: {texts.value} in {texts.interval}, {estimate.method}"
    bursts = timed(bursts=(12,))
    text = lines(bursts.plot())["p99"].customdata[int(np.flatnonzero(bursts.bursts)[0])]
    assert text.endswith(", burst") and not lines(bursts.plot())["p50"].customdata[-1].endswith("burst")


def test_quantiles_can_be_chosen():
    results = timed()
    assert list(lines(results.plot((0.99, "0.5", 0.99)))) == ["p99", "p50"]
    assert list(lines(results.plot(0.5))) == ["p50"]
    with pytest.raises(UnknownQuantileError, match=r"it has 0\.9, 0\.5, 0\.99"):
        results.plot(0.95)
    with pytest.raises(QueryError, match="quantiles is empty"):
        results.plot(())


def test_the_axis_is_logarithmic_unless_a_value_or_an_interval_reaches_zero():
    assert timed().plot().layout.yaxis.type == "log"
    counted = Query(40, 10, quantiles=(0.5, 0.99))
    for values in (np.arange(100) // 50, -np.arange(1, 100), np.arange(100) - 50):
        assert Operator(counted).push(values).plot().layout.yaxis.type == "linear"
    results = Operator(counted).push(np.arange(1, 100))
    results.estimates(0)[3, 1] = 0.0
    assert results.plot(0.99).layout.yaxis.type == "log"
    assert results.plot().layout.yaxis.type == "linear"


def test_bursts_are_marked_on_the_highest_quantile():
    results = timed(bursts=(12, 20))
    assert results.bursts.any()
    (marks,) = other(results.plot(), "burst").values()
    assert marks.name == "p99 burst" and marks.mode == "markers"
    assert moments(marks.x) == list(results.ends[results.bursts])
    assert list(marks.y) == results.values(0.99)[results.bursts].tolist()
    assert "diamonds are bursts" in title(results.plot())
    assert not other(timed().plot(), "burst") and "diamonds" not in title(timed().plot())


def test_lines_and_bands_have_a_gap_where_there_are_no_results():
    results = timed(pause=(10, 60))
    (gap,) = np.flatnonzero(np.diff(results.ends) > np.timedelta64(1, "m"))
    line, band = lines(results.plot())["p50"], other(results.plot(), "interval")["p50"]
    assert [i for i, y in enumerate(line.y) if y is None] == [gap + 1] == [i for i, x in enumerate(line.x) if x is None]
    assert band.y[2 * (gap + 1)] is None and line.connectgaps is False and line.mode == "lines"


def test_a_window_between_two_gaps_is_a_dot():
    results = timed(pause=(10, 60))
    (gap,) = np.flatnonzero(np.diff(results.ends) > np.timedelta64(1, "m"))
    alone = results[int(gap) :]
    line = lines(alone.plot())["p50"]
    assert line.mode == "lines+markers" and line.marker.size[0] > 0 and set(line.marker.size[1:]) == {0}
    one = results[:1].plot()
    assert lines(one)["p50"].marker.size[0] > 0
    start, end = moments(one.layout.xaxis.range)
    assert start < results[0].end < end


def test_a_plot_of_no_results_says_so():
    figure = timed()[:0].plot()
    assert not figure.data and figure.layout.annotations[0].text == "no results"
    empty = aomg.plot(keyed("eu")[:0])
    assert not empty.data and empty.layout.annotations[0].text == "no results"


def test_policies_without_intervals_have_no_bands():
    results = make("moment", Query(400, 100, quantiles=(0.5, 0.9), partial=False)).push(np.arange(1, 2_000.0))
    figure = results.plot()
    assert list(lines(figure)) == ["p50", "p90"] and not other(figure, "interval")
    assert "bands" not in title(figure) and figure.layout.yaxis.type == "log"
    assert lines(figure)["p50"].customdata[0].endswith(", sketch") and " in " not in lines(figure)["p50"].customdata[0]


def test_the_title_says_what_the_windows_are():
    assert title(timed().plot()).startswith("Quantiles of windows of 4m, every 1m ")
    assert title(timed().plot(0.5)).startswith("p50 of windows of 4m, every 1m ")
    counted = Operator(Query(40_000, 10_000)).push(np.arange(50_000)).plot()
    assert title(counted).startswith("Quantiles of windows of 40,000 events, every 10,000 ")
    assert (timed().plot().layout.xaxis.title.text, counted.layout.xaxis.title.text) == (
        "end of the window (UTC)",
        "end of the window (number of events)",
    )


def test_a_table_of_one_stream_is_plotted_as_its_results():
    results = timed(pause=(10, 60), bursts=(20,))
    for table in (results, results.to_arrow(), results.to_arrow(flat=True), results.to_pandas()):
        assert whole(aomg.plot(table)) == whole(results.plot())
    assert title(aomg.plot(results.to_arrow())) == title(results.plot())


def test_the_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="plotly")

    monkeypatch.setattr("aomg.packages.import_module", missing)
    with pytest.raises(SettingsError) as caught:
        timed().plot()
    assert str(caught.value) == "the package plotly is missing; run: pip install 'aomg[plot]'"


# -- keys --------------------------------------------------------------------------------------------------------------


def test_each_key_is_a_line_of_p99_and_the_worst_key_is_the_first():
    table = keyed("eu", "us", "asia")
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(len(table))))
    for given in (table, shuffled):
        figure = aomg.plot(given)
        assert list(lines(figure)) == ["asia", "us", "eu"]
        for number, key in enumerate(("eu", "us", "asia")):
            results = timed(factor=1 + number)
            assert moments(lines(figure)[key].x) == list(results.ends)
            assert list(lines(figure)[key].y) == results.values(0.99).tolist()
            assert list(other(figure, "interval")[key].y)[: len(results)] == results.highs(0.99).tolist()
        assert len({(line.line.color, line.legendgroup) for line in lines(figure).values()}) == 3
    assert title(figure).startswith("p99 of windows of 4m, every 1m, by region ")


def test_without_p99_the_last_quantile_ranks_the_keys():
    table = keyed("eu", "us", query=QUERY.replace(quantiles=(0.9, 0.5)))
    figure = aomg.plot(table)
    assert list(lines(figure)) == ["us", "eu"]
    assert list(lines(figure)["eu"].y) == timed().values(0.5).tolist()


def test_of_many_keys_the_worst_are_drawn_and_the_title_says_so():
    table = keyed(*range(12), minutes=6)
    figure = aomg.plot(table)
    assert list(lines(figure)) == ["11", "10", "9", "8", "7", "6", "5", "4"]
    assert "the 8 of 12 keys with the largest p99" in title(figure)
    assert list(lines(aomg.plot(table, most=2))) == ["11", "10"]
    every = aomg.plot(table, most=12)
    assert len(lines(every)) == 12 and "largest" not in title(every)
    assert len({(line.line.color, line.line.dash) for line in lines(every).values()}) == 12


def test_keys_can_be_chosen():
    table = keyed(*range(12), minutes=6)
    assert list(lines(aomg.plot(table, keys=[3, 7]))) == ["3", "7"]
    assert list(lines(aomg.plot(table, keys=3))) == ["3"]
    pairs = keyed(("eu", 1), ("us", None), by=("region", "podset"))
    assert list(lines(aomg.plot(pairs, keys=[("us", None)]))) == ["us, null"]
    assert list(lines(aomg.plot(pairs, by=["podset"], keys=[1]))) == ["1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": ["mars"]}, r"there is no key 'mars'; there are 'eu', 'us'$"),
        ({"keys": []}, r"keys has 0 keys; give 1 to 40"),
        ({"keys": range(50)}, r"keys has 50 keys; give 1 to 40"),
        ({"keys": [("eu", 1)]}, r"the key \('eu', 1\) must be a tuple with a value for each of region"),
        ({"most": 41}, r"most=41 must be 1 to 40"),
        ({"most": 0}, r"most=0 must be 1 to 40"),
        ({"by": ["regoin"]}, r"by: there is no column 'regoin'; there are region, "),
        ({"quantiles": 0.95}, r"0\.95 is not a quantile of this table; it has 0\.9, 0\.5, 0\.99"),
    ],
)
def test_what_cannot_be_plotted_is_refused_with_what_to_do(options, message):
    with pytest.raises(aomg.AomgError, match=message):
        aomg.plot(keyed("eu", "us"), **options)


def test_keys_of_a_table_without_keys_are_refused():
    with pytest.raises(InputError, match="the table has no by columns, so it has no keys; leave keys out"):
        aomg.plot(timed(), keys=["eu"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], "plot takes results, or a table of results, not list"),
        (pa.table({"x": [1]}), "no column such as window; give plot what aomg.quantiles, aomg.spark.quantiles or"),
        (timed().to_arrow().select(["window", "count"]), "no column such as p99; give plot what"),
        (timed().to_pandas().assign(window_end="now"), "the end of a window must be a timestamp or a whole number"),
    ],
    ids=["list", "other table", "no quantiles", "times as text"],
)
def test_what_is_no_table_of_results_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        aomg.plot(given)


def test_several_quantiles_of_a_key_have_its_colour_and_dashes_of_their_own():
    figure = aomg.plot(keyed("eu", "us", bursts=(12,)), (0.5, 0.99))
    assert list(lines(figure)) == ["us p50", "us p99", "eu p50", "eu p99"]
    us, eu = [[lines(figure)[f"{key} p{q}"] for q in (50, 99)] for key in ("us", "eu")]
    assert us[0].line.color == us[1].line.color != eu[0].line.color == eu[1].line.color
    assert us[0].line.dash == eu[0].line.dash != us[1].line.dash == eu[1].line.dash
    assert us[0].legendgroup == us[1].legendgroup != eu[0].legendgroup
    assert list(other(figure, "burst")) == ["us p99", "eu p99"]


def test_keys_with_the_same_text_stay_apart():
    table = keyed(("a, b", "c"), ("a", "b, c"), by=("x", "y"))
    figure = aomg.plot(table)
    values = [list(trace.y) for trace in figure.data if trace.showlegend]
    assert [trace.name for trace in figure.data if trace.showlegend] == ["a, b, c", "a, b, c"]
    assert values == [timed(factor=2).values(0.99).tolist(), timed().values(0.99).tolist()]
    assert len({trace.legendgroup for trace in figure.data}) == 2


def test_a_gap_of_one_key_is_seen_by_the_results_of_others():
    """Alone, a key with a result every third minute would look as if its period were three minutes."""
    sparse = keyed("eu").filter(pa.array([number % 3 == 0 for number in range(len(keyed("eu")))]))
    figure = aomg.plot(pa.concat_tables([sparse, keyed("us")]), keys=["eu"])
    assert list(lines(figure)["eu"].y)[1::2] == [None] * (len(sparse) - 1)


def test_frames_of_pandas_are_plotted_as_tables_of_arrow():
    table = keyed("eu", "us", bursts=(12,))
    assert whole(aomg.plot(flat_table(table))) == whole(aomg.plot(table))
    assert whole(aomg.plot(table.to_pandas())) == whole(aomg.plot(table))
    frame = flat_table(table).to_pandas()
    for again in (frame.sample(frac=1, random_state=1), frame.set_index(["region", "window_end"])):
        assert whole(aomg.plot(again)) == whole(aomg.plot(table))


def test_frames_of_polars_are_plotted_as_tables_of_arrow():
    polars = pytest.importorskip("polars")
    table = keyed("eu", "us", bursts=(12,))
    assert whole(aomg.plot(polars.from_arrow(table))) == whole(aomg.plot(table))
    assert whole(aomg.plot(timed().to_polars(flat=True))) == whole(timed().plot())


def test_a_by_column_may_have_the_name_of_a_quantile_that_the_query_does_not_have():
    figure = aomg.plot(keyed(1, 2, by=("p1",)))
    assert list(lines(figure)) == ["2", "1"]


# -- appearance --------------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("background", ["#ffffff", "#111111", "#e5ecf6"])
def test_lines_can_be_seen_on_light_and_dark_backgrounds(colour, background):
    """WCAG asks for a contrast of 3 to 1; the grey-blue of Plotly's default template leaves a little less."""
    darker, lighter = sorted((luminance(colour), luminance(background)))
    assert (lighter + 0.05) / (darker + 0.05) >= (3 if background != "#e5ecf6" else 2.6)


@needs(BROWSER)
@pytest.mark.xdist_group("chromium")
@pytest.mark.parametrize("template", ["plotly", "plotly_dark"])
def test_a_browser_draws_it_without_errors_and_shows_keys_as_text(tmp_path, template):
    figure = aomg.plot(keyed("us", HOSTILE, bursts=(12,), pause=(20, 30)))
    figure.update_layout(template=template)
    figure.write_html(tmp_path / "plot.html")
    with pictures.browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 600})
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text))
        page.goto((tmp_path / "plot.html").as_uri())
        page.wait_for_selector(".legendtext")
        assert page.locator(".legendtext").all_text_contents() == [HOSTILE, "us"]
        assert page.locator(".scatterlayer .trace").count() == len(figure.data)
        title = page.locator(".gtitle").bounding_box()
        assert title["x"] >= 0 and title["x"] + title["width"] <= 390
        assert page.locator(".ytick text").first.text_content().replace(",", "").isdigit()
    assert problems == []
