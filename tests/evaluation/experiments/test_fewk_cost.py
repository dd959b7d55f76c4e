import numpy as np
import pytest

from aomg.evaluation.experiments.fewk_cost import EXPERIMENT
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.run import Run

TINY = Scale("tiny", 110_000, 110_000, 10_000, 1)
ROWS = (
    "without few-k",
    "fraction 0.2, tails from 0.999",
    "fraction 1, tails from 0.999",
    "fraction 0.2, tails from 0.99",
    "fraction 1, tails from 0.99",
    "AOMG (default)",
)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("run"), TINY).outcome(EXPERIMENT)


def outcome(speeds, errors):
    names = dict(zip(ROWS, speeds, strict=True))
    measurements = {
        "pingmesh-speed": {name: {"best": speed, "events": 1} for name, speed in names.items()},
        "pingmesh-error": {
            name: {"value_error": [1.0, error], "variables": 1} for name, error in zip(ROWS, errors, strict=True)
        },
    }
    return EXPERIMENT.outcome(measurements, TINY, None)


def test_more_of_the_tail_is_more_space(result):
    rows = result.tables[0].rows
    assert [row[0] for row in rows] == list(ROWS)
    space = [row[-1] for row in rows]
    assert space[0] < space[1] < space[2] < space[4]


def test_tails_lower_the_error_and_the_whole_tail_is_exact(result):
    errors = [row[5] for row in result.tables[0].rows]
    assert errors[0] > 0.3 > errors[1]
    assert errors[2] == errors[4] == 0


def test_the_error_is_that_of_the_mean_over_sub_windows(result):
    values = of_stream("pingmesh").values(110_000)
    errors = []
    for end in range(100_000, 110_001, 1_000):
        window = np.sort(values[end - 100_000 : end])
        means = np.sort(values[end - 100_000 : end].reshape(100, 1_000))[:, 998].mean()
        errors.append(100 * abs(means - window[99_899]) / window[99_899])
    assert result.tables[0].rows[0][5] == pytest.approx(np.mean(errors))


def test_a_cost_is_what_is_lost_of_the_throughput_without():
    result = outcome((10, 9.1, 7.9, 6, 5, 500), (8, 0.6, 0, 0, 0, 0.05))
    assert [row[2] for row in result.tables[0].rows] == [None, *(pytest.approx(c) for c in (9, 21, 40, 50)), None]
    assert [claim.holds for claim in result.claims] == [True, True, True]
    assert "9.0 % (fraction 0.2) and 21.0 % (fraction 1)" in result.findings[0]
    assert "50.0 times the speed" in result.findings[2]


def test_a_higher_cost_or_error_than_the_papers_does_not_hold():
    result = outcome((10, 9.0, 7.8, 6, 5, 500), (8, 0.61, 0, 0, 0, 0.05))
    assert [claim.holds for claim in result.claims] == [False, False, False]
    assert [claim.measured for claim in result.claims] == ["10.0 %", "22.0 %", "0.61 %"]


def test_a_file_is_run_with_a_window_that_it_fills(tmp_path):
    values = np.random.default_rng(1).lognormal(3, 1, 2_500)
    own = ValueSource("own", "own.csv, x", lambda n, start: values[start : start + n], values.size, "1")
    result = Run(tmp_path, TINY, own).outcome(EXPERIMENT)
    assert result.tables[0].title.endswith("own.csv, x, 300 by 3")
    assert result.claims == ()
    assert all(row[3] is None and row[6] is None for row in result.tables[0].rows)
