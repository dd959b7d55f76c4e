"""Taxi and host: errors, space and throughput of every policy on one stream, and what is said of them."""

import numpy as np
import pytest

from aomg.errors import SettingsError
from aomg.evaluation.experiments import host, policy_comparison, taxi
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import of_stream
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)
NAMES = [contender.title for contender in policy_comparison.contenders()]
MEMORY, CPU = "host_resources-resource-memory", "host_resources-resource-cpu"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("run"), TINY).outcome(taxi.EXPERIMENT)


def measurements(stream, errors=None, speeds=None, without=()):
    """Made-up measurements: 1 % at every quantile and 1 M events/s, unless told."""
    names = [name for name in NAMES if name not in without]
    pieces = {f"{stream}-speed": {name: {"best": (speeds or {}).get(name, 1.0)} for name in names}}
    for name in NAMES:
        four = (errors or {}).get(name, [1.0] * 4)
        key = f"{stream}-{name.lower().replace(' ', '-').replace('(', '').replace(')', '')}"
        pieces[key] = {"value_error": four, "worst_value_error": four, "variables": 1, "nbytes": 8}
        if name in without:
            pieces[key] = None
    return pieces


def test_every_policy_is_in_the_table_with_the_papers_number_beside(result):
    assert [row[0] for row in result.tables[0].rows] == NAMES
    assert {row[0]: row[5] for row in result.tables[0].rows if row[5] is not None} == taxi.PAPERS_ERRORS
    assert all(row[-1] > 0 for row in result.tables[0].rows)


def test_exact_has_no_error_and_paper_mode_that_of_the_mean(result):
    rows = {row[0]: row for row in result.tables[0].rows}
    assert rows["Exact"][1:5] == rows["Exact (sorted)"][1:5] == [0, 0, 0, 0]
    values = of_stream("taxi").values(150_000)
    errors = []
    for end in (131_072, 147_456):
        window = values[end - 131_072 : end]
        mean, exact = np.sort(window.reshape(8, 16_384))[:, 16_367].mean(), np.sort(window)[130_940]
        errors.append(100 * abs(mean - exact) / exact)
    assert rows["AOMG (paper)"][4] == pytest.approx(np.mean(errors))
    assert rows["AOMG (paper)"][6] == pytest.approx(max(errors))


def test_plots_show_what_the_table_says(result):
    assert list(result.plots[1].series[0].y) == [row[-1] for row in result.tables[0].rows]
    assert list(result.plots[0].series[1].y) == [row[4] for row in result.tables[0].rows]


def test_the_papers_number_holds_if_ours_is_not_worse_and_rivals_are():
    worse = {"AM": [1, 1, 1, 6.0], "Random": [1, 1, 1, 2.0], "Moment": [1, 1, 1, 20.0]}
    ours = {"AOMG (paper)": [1, 1, 1, 1.79]}
    good = taxi.EXPERIMENT.outcome(measurements("taxi", worse | ours), TINY, None)
    assert [claim.holds for claim in good.claims] == [True] * 5
    bad = taxi.EXPERIMENT.outcome(measurements("taxi", worse | {"AOMG (paper)": [1, 1, 1, 2.5]}), TINY, None)
    assert [claim.holds for claim in bad.claims] == [False, True, False, True, True]
    assert "Random is more accurate" in bad.claims[2].reason


def test_an_error_beyond_five_percent_at_the_median_or_at_0_9_is_named():
    result = taxi.EXPERIMENT.outcome(measurements("taxi", {"Moment": [1, 5.1, 30, 30]}), TINY, None)
    assert not result.claims[4].holds
    assert result.claims[4].measured == "at most 5.10 % (Moment at Q0.9)"


def test_rivals_that_are_nearer_or_faster_are_named():
    errors = {"REQ": [1, 1, 1, 0.5], "Exact": [0, 0, 0, 0]}
    result = taxi.EXPERIMENT.outcome(measurements("taxi", errors, {"KLL": 3.0, "AOMG (default)": 4.0}), TINY, None)
    paper, default = result.findings[1:]
    assert "more accurate: REQ (0.50 %); faster: KLL (3.0 times)." in paper
    assert "more accurate: REQ (0.50 %); no rival is faster." in default


def test_hosts_hold_if_all_are_within_five_percent_and_aomg_is_the_fastest():
    ours = {"AOMG (paper)": 2.0}
    pieces = measurements(MEMORY, {"AM": [9, 9, 9, 4.9]}, ours) | measurements(
        CPU, {"AM": [1, 1, 1, 5.1]}, ours | {"Random": 2.5}
    )
    result = host.EXPERIMENT.outcome(pieces, TINY, None)
    assert [claim.holds for claim in result.claims] == [True, True, False, False]
    assert result.claims[2].measured == "at most 5.10 % (AM)"
    assert result.claims[3].reason == "Random is faster than paper mode"


def test_hosts_are_measured_by_memory_and_by_cpu():
    names = [piece.name for piece in host.EXPERIMENT.pieces(TINY, None)]
    assert {name.split("-")[2] for name in names} == {"memory", "cpu"}
    assert len(names) == len(set(names)) == 2 * (1 + len(NAMES))


def test_a_policy_without_its_library_is_left_out(monkeypatch):
    def measure(*args, **more):
        raise SettingsError("install it")

    monkeypatch.setattr(policy_comparison, "measure", measure)
    piece = next(p for p in taxi.EXPERIMENT.pieces(TINY, None) if p.name == "taxi-kll")
    assert piece.run() is None
    result = taxi.EXPERIMENT.outcome(measurements("taxi", without=("KLL",)), TINY, None)
    assert [row[0] for row in result.tables[0].rows] == [name for name in NAMES if name != "KLL"]
