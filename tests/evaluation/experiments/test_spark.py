"""What the Spark benchmarks measured, read from their files."""

import json

import pytest

from aomg.evaluation.experiments import spark
from aomg.evaluation.measure.scale import QUICK
from aomg.evaluation.run import EvaluationError, Run

MACHINE = {"cpu": "A", "cores": 2, "python": "3.11", "date": "2026-01-02", "spark": "4.3.0"}


def figure(what, met, speeds=None, against="a count"):
    detail = {"million_events_a_second": speeds} if speeds else None
    aim = "" if met is None else ">= 0.5"
    return {"what": what, "measured": "0.51", "aim": aim, "met": met, "detail": detail, "against": against}


def results(folder, **figures):
    place = folder / "benchmarks" / "results"
    place.mkdir(parents=True, exist_ok=True)
    for name, of_file in figures.items():
        text = json.dumps({"name": name, "machine": MACHINE, "figures": of_file})
        (place / f"{name}.json").write_text(text)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A working directory without results, and no checkout around the package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spark, "_CHECKOUT", tmp_path / "elsewhere")
    return tmp_path


def outcome(folder):
    return Run(folder / "out", QUICK).outcome(spark.EXPERIMENT)


def test_every_figure_is_a_row_with_its_aim(checkout):
    fast = figure("batch, 1 key", True, {"count": 4.0, "quantiles": 2.0})
    results(checkout, spark_a=[fast, figure("growth", False)], spark_b=[figure("state", None)], throughput=[fast])
    result = outcome(checkout)
    assert result.tables[0].rows == [
        ["batch, 1 key", "a count", ">= 0.5", "0.51", "yes"],
        ["growth", "a count", ">= 0.5", "0.51", "no"],
        ["state", "a count", "", "0.51", ""],
    ]
    assert result.findings[:2] == [
        "1 of 2 aims are met, measured 2026-01-02 on 2 cores of A, Spark 4.3.0.",
        "Not met: growth, against a count: 0.51, the aim is >= 0.5.",
    ]


def test_the_plot_has_a_series_for_each_rival_and_the_findings_say_who_is_faster(checkout):
    first = figure("batch", True, {"count": 4.0, "quantiles": 2.0})
    second = figure("batch", True, {"KLL": 1.0, "quantiles": 3.0})
    sizes = figure("batch", True, {"1 minute": 3.0, "1 hour": 2.0})
    results(checkout, spark_a=[first], spark_b=[second], spark_c=[sizes])
    result = outcome(checkout)
    rivals, itself = result.plots
    assert {series.name: list(series.y) for series in rivals.series} == {
        "count": [4.0, None],
        "quantiles": [2.0, 3.0],
        "KLL": [None, 1.0],
    }
    assert [list(series.x) for series in itself.series] == [["batch (c)"]] * 2
    assert "The quantiles have 0.5 times the speed of count: slower in 1 of 1 settings." in result.findings
    assert "The quantiles have 3 times the speed of KLL: slower in 0 of 1 settings." in result.findings


def test_without_results_it_says_how_to_get_them(checkout):
    result = outcome(checkout)
    assert result.tables[0].rows == []
    assert not result.plots
    assert "make bench-spark" in result.findings[0]


def test_new_results_are_read_again(checkout):
    assert "make bench-spark" in outcome(checkout).findings[0]
    results(checkout, spark_a=[figure("growth", True)])
    assert outcome(checkout).tables[0].rows[0][4] == "yes"
    results(checkout, spark_a=[figure("growth", False)])
    assert outcome(checkout).tables[0].rows[0][4] == "no"


def test_the_working_directory_comes_before_the_checkout(checkout):
    results(checkout / "elsewhere", spark_a=[figure("far", True)])
    assert outcome(checkout).tables[0].rows[0][0] == "far"
    results(checkout, spark_a=[figure("near", True)])
    assert outcome(checkout).tables[0].rows[0][0] == "near"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "x"}', '{"name": "x", "machine": {}, "figures": [1]}'])
def test_a_damaged_file_is_told(checkout, text):
    results(checkout, spark_a=[figure("growth", True)])
    (checkout / "benchmarks/results/spark_a.json").write_text(text)
    with pytest.raises(
        EvaluationError, match=r"spark_a\.json is not a result of a Spark benchmark: run make bench-spark"
    ):
        outcome(checkout)


def test_the_results_of_this_repository_are_complete(tmp_path):
    files = spark.result_files()
    if not files:
        pytest.skip("no results beside this package")
    result = outcome(tmp_path)
    figures = sum(len(json.loads(file.read_text())["figures"]) for file in files)
    assert len(result.tables[0].rows) == figures
    assert all(any(y is not None for y in series.y) for plot in result.plots for series in plot.series)
