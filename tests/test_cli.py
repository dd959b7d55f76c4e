import re

from typer.testing import CliRunner

import aomg
from aomg.cli import app

runner = CliRunner(env={"COLUMNS": "100"})


def test_version_is_printed():
    result = runner.invoke(app, ["version"])
    assert result.exit_code == 0
    assert result.output.strip() == aomg.__version__


def test_demo_shows_every_quantile_with_its_interval_and_method():
    result = runner.invoke(app, ["demo", "--local", "--events", "327680"])
    assert result.exit_code == 0
    assert all(name in result.output for name in ("p50", "p90", "p99", "p99.9"))
    assert re.search(r"[\d,.]+ (exact|band|envelope)", result.output)
    assert re.search(r"\d[\d,.]*\.\.\d", result.output)


def test_demo_marks_the_burst_and_puts_exact_answers_beside_the_estimates():
    result = runner.invoke(app, ["demo", "--local", "--events", "327680"])
    assert re.search(r"\bburst$", result.output, re.MULTILINE)
    beside = result.output.split("Beside the exact answer")[1]
    assert "burst window" in beside and "last window" in beside and "exact" in beside
    inside, checked = re.search(r"inside its interval ([\d,]+) times of ([\d,]+)", beside).groups()
    assert inside == checked != "0"
    assert "million events a second" in beside


def test_demo_without_a_burst_marks_none():
    result = runner.invoke(app, ["demo", "--local", "--events", "327680", "--no-burst"])
    assert result.exit_code == 0
    assert "burst" not in result.output


def test_demo_fits_a_hundred_columns():
    result = runner.invoke(app, ["demo", "--local", "--events", "327680"])
    assert max(map(len, result.output.splitlines())) <= 100


def test_demo_refuses_less_than_a_window():
    result = runner.invoke(app, ["demo", "--local", "--events", "1000"])
    assert result.exit_code == 2
