"""docs/figures.md has what the benchmarks stored, and says where they stored nothing."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from benchmarks import __main__ as command
from benchmarks import outcome, registry, report
from benchmarks.measure import Figure

ROOT = Path(__file__).parents[2]
CONSTRAINTS = "numpy==2.4.6\nnumba==0.68.1\npyspark==4.3.0\n"
MACHINE = {"cpu": "A", "cores": 2, "python": "3.11.7", "numpy": "2.4.6", "numba": "0.68.1", "date": "2026-01-02"}


def stored(name, **changes):
    figure = Figure("a | b", "0.5 (median 0.4)", ">= 0.3", True, {"best": 0.5}, against="a sum")
    return outcome.Outcome(name, registry.command(name), "abc", MACHINE | changes, [figure])


def rows(page, command):
    return [line for line in page.splitlines() if f"`python -m benchmarks {command}`" in line]


def test_the_page_is_what_the_report_writes_from_the_stored_files():
    assert report.PAGE.read_text() == report.content(outcome.RESULTS, report.CONSTRAINTS.read_text())


def test_every_stored_file_is_of_a_benchmark_and_can_be_measured_again():
    names = {file.stem for file in outcome.RESULTS.glob("*.json")}
    assert names == set(registry.MODULES)
    for name in names:
        stored_outcome = outcome.read(outcome.RESULTS, name)
        assert stored_outcome.command == registry.command(name)
        assert stored_outcome.commit and stored_outcome.machine["date"]
        assert all(figure.measured and figure.unit for figure in stored_outcome.figures)


def test_a_figure_is_a_row_with_its_aim_and_the_command_that_measures_it(tmp_path):
    outcome.write(tmp_path, stored("state"))
    figure, condition = rows(report.content(tmp_path, CONSTRAINTS), "state")
    assert figure == r"| a \| b | 0.5 (median 0.4) | a sum | >= 0.3 | yes | `python -m benchmarks state` |"
    assert "| 2026-01-02 | abc | A, 2 cores, Python 3.11.7, NumPy 2.4.6, Numba 0.68.1 | current |" in condition


def test_what_is_missing_damaged_or_stale_is_marked_and_nothing_is_invented(tmp_path):
    outcome.write(tmp_path, stored("state", numpy="2.3.0"))
    (tmp_path / "streams.json").write_text('{"name": "streams"}')
    page = report.content(tmp_path, CONSTRAINTS)
    (missing,) = rows(page, "threads")
    assert missing == "| `python -m benchmarks threads` | | | | **missing**: not measured yet |"
    (damaged,) = rows(page, "streams")
    assert "**damaged**: streams.json is damaged" in damaged
    assert "**stale**: measured with NumPy 2.3.0, constraints.txt has 2.4.6" in rows(page, "state")[1]


def test_what_is_stored_is_read_back(tmp_path):
    outcome.write(tmp_path, stored("peers"))
    assert outcome.read(tmp_path, "peers") == stored("peers")
    assert outcome.read(tmp_path, "throughput") is None


@pytest.mark.parametrize("quick", [True, False])
def test_a_benchmark_stores_its_outcome_only_at_full_size(tmp_path, monkeypatch, capsys, quick):
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "run", lambda quick: [Figure("speed", "0.5")], raising=False)
    monkeypatch.setattr(command.importlib, "import_module", lambda name: module)
    monkeypatch.setattr(outcome, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "threads", *["--quick"] * quick])
    command.main()
    files = list(tmp_path.iterdir())
    assert len(files) == (not quick)
    if files:
        content = json.loads(files[0].read_text())
        assert content["command"] == "python -m benchmarks threads"
        assert content["figures"][0]["what"] == "speed"
        assert content["machine"]["numpy"]
        known = shutil.which("git") is not None and (ROOT / ".git").exists()  # not in an archive of the sources
        assert bool(content["commit"]) == known


def test_an_unknown_benchmark_is_refused_with_those_that_there_are(capsys):
    with pytest.raises(SystemExit):
        command._options(["thread"])
    assert "there is no benchmark thread; there are throughput" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command._options(["accuracy_on_files"])
    assert "python -m benchmarks accuracy --data FILES" in capsys.readouterr().err


def test_names_of_groups_and_files_become_benchmarks():
    assert command._options(["spark"]).names == list(registry.SPARK.modules)
    assert command._options(["--data", "a.parquet"]).names == ["accuracy_on_files"]
