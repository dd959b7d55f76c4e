import io
import json
import re
import shutil
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

import aomg
from aomg import demo, warm
from aomg.cli import app

runner = CliRunner(env={"COLUMNS": "100"})


def test_version_is_printed():
    for command in ("version", "--version"):
        result = runner.invoke(app, [command])
        assert result.exit_code == 0
        assert result.output.strip() == aomg.__version__


def test_demo_shows_every_quantile_with_its_interval_and_method():
    result = runner.invoke(app, ["demo", "--local", "--events", "327680"])
    assert result.exit_code == 0
    assert all(name in result.output for name in ("p50", "p90", "p99", "p99.9"))
    assert re.search(r"[\d,.]+ (exact|certified|band|envelope)", result.output)
    assert re.search(r"\d[\d,.]*\.\.\d", result.output)


def test_demo_marks_the_burst_and_puts_exact_answers_beside_the_estimates():
    result = runner.invoke(app, ["demo", "--local", "--events", "327680"])
    assert re.search(r"\bburst$", result.output, re.MULTILINE)
    beside = result.output.split("Compared with the exact quantiles")[1]
    assert "burst window" in beside and "last window" in beside and "exact" in beside
    inside, checked = re.search(r"inside its interval ([\d,]+) times of ([\d,]+)", beside).groups()
    assert inside == checked != "0"
    assert "million events a second" in beside


def test_demo_without_a_burst_marks_none():
    result = runner.invoke(app, ["demo", "--local", "--events", "327680", "--no-burst"])
    assert result.exit_code == 0
    assert "burst" not in result.output


def test_demo_shows_no_value_outside_of_its_interval():
    """With one decimal it is 100 over 99.9..100."""
    console = Console(file=io.StringIO())
    console.print(demo._cell(aomg.Estimate(99.96, 99.9, 99.98, "band")))
    assert console.file.getvalue().split() == ["99.96", "band", "99.9..99.98"]


@pytest.mark.parametrize(("columns", "left_out"), [(100, ""), (80, "too narrow for p90; use a wider terminal")])
def test_demo_fits_the_terminal_without_cutting_a_number(columns, left_out):
    result = runner.invoke(app, ["demo", "--local", "--events", "327680"], env={"COLUMNS": str(columns)})
    assert max(map(len, result.output.splitlines())) <= columns
    assert "…" not in result.output and left_out in result.output
    header = next(line for line in result.output.splitlines() if line.startswith("window ends"))
    assert header.split() == ["window", "ends", "p50", *([] if left_out else ["p90"]), "p99", "p99.9"]


def test_kernels_are_compiled_ahead_and_once(monkeypatch):
    result = runner.invoke(app, ["warm", "counted"])
    assert result.exit_code == 0, result.output
    assert "compiled in" in result.output and warm.is_warm("counted")
    monkeypatch.setattr(warm, "STAMP", "of other kernels")
    assert not warm.is_warm("counted")
    result = runner.invoke(app, ["warm", "counted", "fast"])
    assert result.exit_code == 1
    assert result.stderr == "cannot compile: there is no kind 'fast'; there are counted, timed, keyed\n"


def test_a_compilation_that_fails_says_why(monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    result = runner.invoke(app, ["warm", "counted"])
    assert result.exit_code == 1
    assert result.stderr == "cannot compile: the kernels could not be compiled: a process ended with code 1\n"


def test_demo_refuses_less_than_a_window():
    result = runner.invoke(app, ["demo", "--local", "--events", "1000"])
    assert result.exit_code == 2


def test_errors_of_the_monitor_are_json_for_programs_and_have_their_exit_codes(tmp_path):
    for command in ("run", "check"):
        result = runner.invoke(app, [command, str(tmp_path / "none.yaml"), "--json"])
        assert result.exit_code == 2
        assert json.loads(result.stdout)["exit_code"] == 2
        assert "there is no such file" in result.stderr
    result = runner.invoke(app, ["query", str(tmp_path / "none"), "--json"])
    assert result.exit_code == 1
    assert "none" in json.loads(result.stdout)["error"]


def test_a_folder_of_results_that_is_not_there_cannot_be_compacted(tmp_path):
    result = runner.invoke(app, ["compact", str(tmp_path / "none")])
    assert result.exit_code == 1
    assert "there is no folder" in result.stderr
