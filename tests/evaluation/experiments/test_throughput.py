import numpy as np
import pytest

from aomg.evaluation.experiments.throughput import EXPERIMENT
from aomg.evaluation.measure.contenders import MODERN_RIVALS, PAPERS_RIVALS, TITLES
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.run import Run

TINY = Scale("tiny", 60_000, 60_000, 10_000, 1)
SHORT = ("AOMG (paper)", "AOMG (default)", "Exact", "Exact (sorted)", "CMQS 1x", "CMQS 2x", "CMQS 5x", "CMQS 10x")
LONG = (*SHORT[:4], *(TITLES[policy] for policy in (*PAPERS_RIVALS, *MODERN_RIVALS)))


def outcome(short=None, long=None):
    """What is said of made-up speeds: 10 for paper mode, 100 for the default, 1 for rivals, unless told."""

    def speeds(names, given):
        ours = {"AOMG (paper)": 10.0, "AOMG (default)": 100.0}
        return {n: {"best": (given or {}).get(n, ours.get(n, 1.0)), "events": 4_000_000} for n in names}

    measurements = {"pingmesh-1000": speeds(SHORT, short), "pingmesh-10000": speeds(LONG, long)}
    return EXPERIMENT.outcome(measurements, TINY, None)


def claim(result, words):
    return next(claim for claim in result.claims if words in claim.name)


def test_every_policy_runs_at_both_periods(tmp_path):
    result = Run(tmp_path, TINY).outcome(EXPERIMENT)
    assert [[row[0] for row in table.rows] for table in result.tables] == [list(SHORT), list(LONG)]
    assert all(row[1] > 0 and row[4] > 0 for table in result.tables for row in table.rows)
    assert [list(plot.series[0].y) for plot in result.plots] == [
        [row[1] for row in table.rows] for table in result.tables
    ]


def test_a_rival_that_is_faster_is_named_and_the_claim_does_not_hold():
    result = outcome(short={"CMQS 10x": 12.0}, long={"Random": 9.0, "DDSketch": 30.0})
    assert "faster than AOMG (paper) is CMQS 10x (1.2 times)." in result.findings[0]
    assert "faster than AOMG (paper) is DDSketch (3.0 times)." in result.findings[2]
    assert not claim(result, "above Exact and CMQS").holds
    lower = claim(result, "below AOMG")
    assert not lower.holds
    assert lower.measured.startswith("10 % (Random) to 90 % (CMQS) lower than paper mode")


def test_the_claims_hold_where_the_speeds_are_the_papers():
    result = outcome(short={"CMQS 1x": 0.5}, long={"Random": 8.5})
    assert all(claim.holds for claim in result.claims)
    assert claim(result, "below AOMG").measured.startswith("15 % (Random) to 90 %")


def test_only_the_papers_rivals_decide_the_papers_claim():
    assert claim(outcome(long={"KLL": 500.0, "Exact (sorted)": 500.0}), "below AOMG").holds


def test_cmqs_that_is_faster_than_exact_with_the_smallest_epsilon_is_said():
    result = outcome(short={"CMQS 1x": 2.0, "CMQS 10x": 8.0})
    assert not claim(result, "slower than Exact").holds
    assert "CMQS gains 4.0 times" in result.findings[4]
    assert "2.00 of the speed of Exact" in result.findings[4]


@pytest.mark.parametrize("size", [2_000, 30_000])
def test_a_small_file_with_fractions_below_zero_is_run_without_those_who_refuse_it(tmp_path, size):
    values = np.random.default_rng(1).normal(0, 1, size)
    own = ValueSource("own", "own.csv, x", lambda n, start: values[start : start + n], size, "1")
    result = Run(tmp_path, TINY, own).outcome(EXPERIMENT)
    assert result.claims == ()
    assert "HdrHistogram" not in [row[0] for row in result.tables[1].rows]
    assert "Not run" in result.findings[-1]
    assert "HdrHistogram" in result.findings[-1]
    assert all(row[1] > 0 for table in result.tables for row in table.rows)
