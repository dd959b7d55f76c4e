import copy
from dataclasses import replace

import numpy as np
import pytest

from aomg.evaluation.experiments.ar1 import EXPERIMENT
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import of_stream
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)


@pytest.fixture(scope="module")
def measurements():
    return {piece.name: piece.run() for piece in EXPERIMENT.pieces(TINY, None)}


def outcome(measurements, **changes):
    """The outcome with some of what was measured at psi 0.3 and 16K changed."""
    measurements = copy.deepcopy(measurements)
    measurements["psi-0.3-period-16384"].update(changes)
    return EXPERIMENT.outcome(measurements, TINY, None)


def test_errors_are_those_of_the_mean_over_sub_windows(measurements):
    values = of_stream("ar1", psi=0.8).values(150_000)
    errors = []
    for end in (131_072, 147_456):
        window = values[end - 131_072 : end]
        mean = np.sort(window.reshape(8, 16_384))[:, 14_745].mean()
        exact = np.sort(window)[117_964]
        errors.append(abs(mean - exact) / exact)
    row = next(row for row in EXPERIMENT.outcome(measurements, TINY, None).tables[0].rows if row[0] == 0.8)
    assert row[3] == pytest.approx(1e5 * np.mean(errors))
    assert row[4] == pytest.approx(33.5)


def test_the_same_windows_are_evaluated_at_both_periods(measurements):
    assert {measurement["windows"] for measurement in measurements.values()} == {2}


def test_answers_within_their_bound_are_counted_and_those_without_are_told(measurements):
    result = outcome(measurements, bounded=[2] * 9 + [0], covered=[2] * 9 + [0], covered_corrected=[2] * 9 + [0])
    row = result.tables[2].rows[3]
    assert row[:6] == [0.3, 20, 18, 1.0, 1.0, 1.0]
    assert result.claims[0].holds
    before = EXPERIMENT.outcome(measurements, TINY, None).claims[0].measured
    assert result.claims[0].measured != before


def test_one_answer_outside_of_its_bound_and_the_claim_does_not_hold(measurements):
    result = outcome(measurements, bounded=[2] * 10, covered=[2] * 9 + [1], covered_corrected=[2] * 10)
    assert result.tables[2].rows[3][3:6] == [0.95, 1.0, 0.5]
    assert not result.claims[0].holds
    assert result.claims[0].reason == "1 answers are outside of the bound"
    assert result.claims[1].holds == EXPERIMENT.outcome(measurements, TINY, None).claims[1].holds


def test_no_bound_at_all_is_no_coverage(measurements):
    none = {name: result | {"bounded": [0] * 10, "covered": [0] * 10} for name, result in measurements.items()}
    result = EXPERIMENT.outcome(none, TINY, None)
    assert not result.claims[0].holds
    assert result.tables[2].rows[3][3] is None


def test_the_worst_error_is_compared_with_the_bound_of_the_true_density(measurements):
    # 2 * 1.96 * sqrt(0.25) / (sqrt(131,072) * f), f = 1 / (50,000 sqrt(2 pi)) at the median, where the value is 1e6
    bound = 1.96 * 50_000 * np.sqrt(2 * np.pi) / np.sqrt(131_072) / 1e6
    worst = [0.0] * 10
    worst[4] = 100 * 3 * bound
    result = outcome(measurements, worst_value_error=worst)
    assert result.tables[2].rows[3][7] == pytest.approx(3)
    assert any("16,384" in sentence and "psi 0.3 (3.0 times it, at 0.5)" in sentence for sentence in result.findings)


def test_growth_with_the_correlation_is_judged_against_independent_values(measurements):
    flat = {name: result | {"value_error": [1.0] * 10} for name, result in measurements.items()}
    claims = EXPERIMENT.outcome(flat, TINY, None).claims[2:]
    assert [claim.holds for claim in claims] == [True, True]
    flat["psi-0.8-period-16384"]["value_error"] = [1.0] * 8 + [3.1, 1.0]
    claims = EXPERIMENT.outcome(flat, TINY, None).claims[2:]
    assert [claim.holds for claim in claims] == [True, False]
    assert claims[1].measured == "1.00, 3.10, 1.00 times"


def test_errors_far_from_the_papers_are_told_with_the_nearest_period(measurements):
    changed = copy.deepcopy(measurements)
    for psi, printed in ((0.0, (3.46e-3, 1.23e-2, 8.88e-2)), (0.2, (3.47e-3, 1.39e-2, 9.84e-2))):
        for place, error in zip((4, 8, 9), printed, strict=True):
            changed[f"psi-{psi:g}-period-1024"]["value_error"][place] = error
    for place, error in zip((4, 8, 9), (5.66e-3, 3.35e-2, 1.56), strict=True):
        changed["psi-0.8-period-1024"]["value_error"][place] = error
    far = [text for text in EXPERIMENT.outcome(changed, TINY, None).findings if "far from" in text]
    assert far[-1].startswith("Period 1,024, far from the paper's numbers: psi 0.8 at 0.99 1,560.00e-5 (the paper 156")
    assert "psi 0 " not in far[-1] and "does not state its window and period" in far[-1]
    assert far[0].startswith("Period 16,384")


def test_a_resumed_run_gives_the_same_tables(tmp_path, measurements):
    run = Run(tmp_path, TINY)
    pieces = EXPERIMENT.pieces(TINY, None)
    run.outcome(replace(EXPERIMENT, pieces=lambda scale, own: pieces[:2], outcome=lambda *measurements: None))
    assert len(run.missing([EXPERIMENT])) == len(pieces) - 2
    assert run.outcome(EXPERIMENT) == EXPERIMENT.outcome(measurements, TINY, None)
