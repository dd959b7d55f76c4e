"""Periods: the mean is exact where sub-windows are alike and wrong where they are not, and the claims are computed."""

import numpy as np
import pytest

from aomg.evaluation.experiments.periods import EXPERIMENT, SUB_WINDOWS
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)
BRIEF = Scale("brief", 20_000, 20_000, 10_000, 1)


def source_of(values):
    return ValueSource("known", "known", lambda events, start: values[start : start + events], values.size)


def test_sub_windows_that_are_all_alike_have_no_error_at_any_period(tmp_path):
    part = np.random.default_rng(5).permutation(np.arange(1_000, 1_128))
    outcome = Run(tmp_path, BRIEF, source_of(np.tile(part, 600))).outcome(EXPERIMENT)
    means = np.array([row[2:7] for row in outcome.tables[0].rows], float)
    assert len(means) == len(SUB_WINDOWS)
    assert (means == 0).all()


def test_on_a_rising_stream_the_mean_of_the_tail_is_wrong_and_more_so_with_smaller_periods(tmp_path):
    rising = np.arange(1_000, 1_000 + 70_000)
    mean, default = Run(tmp_path, BRIEF, source_of(rising)).outcome(EXPERIMENT).tables
    errors = [row[5] for row in mean.rows]
    assert errors == sorted(errors)
    assert errors[-1] > 20
    assert max(row[6] for row in default.rows) <= 2


@pytest.fixture(scope="module")
def of_pingmesh(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("run"), TINY)
    return {piece.name: piece.run() for piece in run.pieces(EXPERIMENT)}


def test_claims_follow_from_the_numbers(of_pingmesh):
    small, tail = EXPERIMENT.outcome(of_pingmesh, TINY, None).claims
    assert small.holds
    worse = of_pingmesh | {"mean-2": of_pingmesh["mean-2"] | {"value_error": [1.5, 0, 0, 0]}}
    small, _ = EXPERIMENT.outcome(worse, TINY, None).claims
    assert not small.holds
    assert "1.50 %" in small.measured
    calm = {name: part | {"value_error": [0.1, 0.1, 0.1, 4.9]} for name, part in of_pingmesh.items()}
    outcome = EXPERIMENT.outcome(calm, TINY, None)
    assert not outcome.claims[1].holds
    assert any("keeps the aim" in text for text in outcome.findings)
    assert tail.holds == (max(of_pingmesh[f"mean-{parts}"]["value_error"][-1] for parts in SUB_WINDOWS) > 5)


def test_a_stream_of_ones_own_has_no_claims_about_the_paper(tmp_path):
    outcome = Run(tmp_path, BRIEF, source_of(np.arange(1, 70_001))).outcome(EXPERIMENT)
    assert not outcome.claims
    assert not any("paper" in text for text in outcome.findings)
