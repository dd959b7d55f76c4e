from decimal import ROUND_DOWN, Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.evaluation.experiments.redundancy import EXPERIMENT, cut
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.run import Run

TINY = Scale("tiny", 120_000, 120_000, 10_000, 1)
LABELS = ["1", "2", "3", "4", "5", "6", "raw"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    result = Run(tmp_path_factory.mktemp("run"), TINY).outcome(EXPERIMENT)
    assert all(len(series.y) == 7 and min(series.y) > 0 for plot in result.plots for series in plot.series)
    names = [column.name for column in result.tables[0].columns]
    return [dict(zip(names, row, strict=True)) for row in result.tables[0].rows]


@given(value=st.integers(-(10**12), 10**12), digits=st.integers(1, 6))
def test_values_are_cut_to_their_first_digits(value, digits):
    expected = Context(prec=digits, rounding=ROUND_DOWN).plus(Decimal(value))
    assert cut(np.array([value]), digits)[0] == pytest.approx(float(expected), rel=1e-12)


def test_fractions_and_zero_are_cut_too_and_raw_values_are_not():
    values = np.array([0.0, 0.29, -0.0299, 1.239, 1e-7])
    assert cut(values, 2) == pytest.approx([0.0, 0.29, -0.029, 1.2, 1e-7])
    assert np.array_equal(cut(values, None), values)


def test_both_streams_are_measured_with_one_to_six_digits_and_raw(rows):
    assert [(row["stream"], row["digits"]) for row in rows] == [(s, d) for s in ("Pingmesh", "Normal") for d in LABELS]
    assert all(row["default"] > 0 and row["paper mode"] > 0 for row in rows)


def test_the_share_of_distinct_values_is_that_of_a_sub_window(rows):
    last = of_stream("normal").take(9_999, 100_000)
    assert rows[13]["distinct values"] == pytest.approx(100 * np.unique(last).size / 9_999)
    three = {(len(str(value)), str(value)[:3]) for value in last}
    assert rows[9]["distinct values"] == pytest.approx(100 * len(three) / 9_999)
    assert rows[13]["variables, the paper's state"] == 2 * np.unique(last).size + 40


@pytest.mark.parametrize("first", [0, 7])
def test_fewer_digits_are_fewer_distinct_values_and_less_space(rows, first):
    part = rows[first : first + 7]
    for name in ("distinct values", "variables, default", "variables, the paper's state", "bytes, default"):
        measurements = [row[name] for row in part]
        assert measurements == sorted(measurements)
        assert measurements[0] < measurements[-1]


def test_more_digits_are_smaller_errors(rows):
    for part in (rows[:7], rows[7:]):
        assert part[0]["error at Q0.999"] > part[2]["error at Q0.999"] > part[6]["error at Q0.999"] == 0


def test_a_gain_is_told_from_raw_values_to_one_digit():
    part = {
        "distinct": 0.5,
        "variables": 10,
        "nbytes": 80,
        "paper_variables": 20,
        "papers_state": 30,
        "value_error": [1, 1, 1, 1],
    }
    measurements = {}
    for stream, paper in (("pingmesh", 3.0), ("normal", 0.5)):
        measurements |= {f"{stream}-{label}": part for label in LABELS}
        default = {label: 100.0 if label in "123" else 10.0 for label in LABELS}
        measurements[f"{stream}-speed"] = {
            "default": default,
            "paper": {label: paper if label == "1" else 1.0 for label in LABELS},
        }
    result = EXPERIMENT.outcome(measurements, TINY, None)
    assert [claim.holds for claim in result.claims] == [True, False]
    assert result.claims[0].measured == "3.0 times in paper mode, 10.0 times by default"
    assert "10.0 times between four digits" in result.findings[0]


def test_a_file_is_measured_with_a_window_that_it_fills(tmp_path):
    values = np.random.default_rng(1).normal(0, 100, 3_000)
    own = ValueSource("own", "own.csv, x", lambda n, start: values[start : start + n], values.size, "1")
    result = Run(tmp_path, TINY, own).outcome(EXPERIMENT)
    assert result.tables[0].title == "AOMG and redundancy, 390 by 39"
    assert [row[1] for row in result.tables[0].rows] == LABELS
    assert result.claims == []
