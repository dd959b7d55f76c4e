"""Every case in which a rival does better is found, told once, and shown with both numbers."""

import numpy as np
import pytest

from aomg.evaluation.experiments import frontier, policy_comparison, table2
from aomg.evaluation.experiments.frontier import DEFAULT, PAPER
from aomg.evaluation.measure.contenders import PAPERS_RIVALS
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.report import losses
from aomg.evaluation.report.losses import BYTES, SPEED, WORST, Loss
from aomg.evaluation.run import EvaluationError, Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)
TAIL = "value error at Q0.999 (%)"


def measurement(error=1.0, nbytes=100, speed=5.0, quantiles=4, worst=2.0, rank=0.25):
    """What was measured of a policy: alike but for what is said."""
    return {
        "value_error": [error] * quantiles,
        "worst_value_error": [None, *[worst] * (quantiles - 1)],
        "rank_error": [rank] * quantiles,
        "nbytes": nbytes,
        "speed": speed,
    }


def all_alike():
    """What four experiments would have found if no policy were better than another."""
    titles = [contender.title for contender in frontier.contenders()]
    measurements = {"frontier": {name: {title: measurement() for title in titles} for name in frontier.STREAMS}}
    measurements |= {"table2": {}, "taxi": {}, "host": {}}
    for name in (table2.AOMG, table2.DEFAULT, table2.LIFTED, *PAPERS_RIVALS):
        measurements["table2"][f"pingmesh-fine-{name}"] = measurement()
        measurements["table2"][f"search-fine-{name}"] = measurement(quantiles=2)
    hosts = [of_stream("host_resources", resource=resource) for resource in ("memory", "cpu")]
    for name, source in (("taxi", of_stream("taxi")), ("host", hosts[0]), ("host", hosts[1])):
        titles = [contender.title for contender in policy_comparison.contenders()]
        for piece in policy_comparison.pieces(TINY, [source]):
            measurements[name][piece.name] = measurement()
        measurements[name][f"{source.name}-speed"] = {title: {"best": 5.0} for title in titles}
    return measurements


@pytest.fixture
def measurements(monkeypatch):
    there = all_alike()
    monkeypatch.setattr(losses, "_measurements_of", lambda run, name, watch: there[name])
    return there


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path, TINY)


def test_equals_are_no_losses(measurements, run):
    assert losses.losses(run) == []


def test_a_rival_that_is_nearer_smaller_or_faster_is_told_for_both_forms_of_aomg(measurements, run):
    measurements["frontier"]["normal"]["REQ"] = measurement(0.5, 40, 9.0, worst=1.5, rank=0.125)
    lost = losses.losses(run)
    assert {(one.ours, one.quantity, one.own, one.theirs) for one in lost} == {
        (ours, what, own, theirs)
        for ours in (DEFAULT, PAPER)
        for what, own, theirs in [
            *((f"value error at Q{q} (%)", 1.0, 0.5) for q in ("0.5", "0.9", "0.99", "0.999")),
            *((f"rank error at Q{q}", 0.25, 0.125) for q in ("0.5", "0.9", "0.99", "0.999")),
            (WORST, 2.0, 1.5),
            (BYTES, 100, 40),
            (SPEED, 5.0, 9.0),
        ]
    }
    assert {(one.experiment, one.stream, one.rival) for one in lost} == {("frontier", "Normal", "REQ")}


def test_one_form_of_aomg_may_lose_where_the_other_does_not(measurements, run):
    measurements["frontier"]["uniform"][PAPER] = measurement(2.0)
    assert {one.ours for one in losses.losses(run)} == {PAPER}
    assert not any(one.rival.startswith("AOMG") for one in losses.losses(run))


def test_a_case_that_two_experiments_measured_is_told_once(measurements, run):
    measurements["frontier"]["taxi"]["KLL"] = measurement(0.5)
    measurements["taxi"]["taxi-kll"] = measurement(0.4)
    lost = [one for one in losses.losses(run) if one.quantity == TAIL and one.ours == DEFAULT]
    assert lost == [Loss("frontier", "TaxiTrip", TAIL, DEFAULT, "KLL", 1.0, 0.5)]


def test_what_only_another_experiment_measured_is_told_too(measurements, run):
    measurements["table2"]["search-fine-am"] = measurement(0.3, quantiles=2)
    measurements["taxi"]["taxi-speed"]["Exact (sorted)"] = {"best": 8.0}
    measurements["taxi"]["taxi-exact-sorted"] = measurement(0.0)
    cpu = of_stream("host_resources", resource="cpu")
    measurements["host"][f"{cpu.name}-moment"] = measurement(nbytes=7)
    lost = {(one.experiment, one.stream, one.quantity, one.rival) for one in losses.losses(run) if one.ours == PAPER}
    assert lost == {
        ("table2", "Search", "value error at Q0.95 (%)", "AM"),
        ("table2", "Search", TAIL, "AM"),
        ("taxi", "TaxiTrip", SPEED, "Exact (sorted)"),
        ("host", cpu.title, BYTES, "Moment"),
    }


def test_a_quantile_without_value_errors_is_left_out(measurements, run):
    for policy in measurements["frontier"]["drift"].values():
        policy["value_error"] = [None, 1.0, 1.0, 1.0]
    measurements["frontier"]["drift"]["AM"]["value_error"] = [None, 0.5, 1.0, 1.0]
    assert [one.quantity for one in losses.losses(run) if one.ours == DEFAULT] == ["value error at Q0.9 (%)"]


def test_without_rank_errors_the_rest_is_told(measurements, run):
    """As in pieces that were measured before they had any."""
    for policy in measurements["frontier"]["drift"].values():
        del policy["rank_error"]
    measurements["frontier"]["drift"]["DDSketch"]["worst_value_error"] = [0.5] * 4
    assert [one.quantity for one in losses.losses(run) if one.ours == DEFAULT] == [WORST]


def test_the_tables_have_every_case(measurements, run):
    measurements["frontier"]["normal"]["REQ"] = measurement(0.5)
    measurements["frontier"]["normal"]["KLL"] = measurement(0.25)
    measurements["frontier"]["ar1"]["REQ"] = measurement(speed=9.0, worst=0.5, rank=0.01)
    lost = losses.losses(run)
    summary, default, paper = losses.tables(lost)
    assert summary.rows[:2] == [
        [DEFAULT, "KLL", "Normal", "", "", "", ""],
        [DEFAULT, "REQ", "Normal", "AR(1)", "AR(1)", "", "AR(1)"],
    ]
    assert default.rows[3] == ["Normal", TAIL, "1", "KLL 0.25; REQ 0.5"]
    assert default.rows[4] == ["AR(1)", WORST, "2", "REQ 0.5"]
    assert default.rows[-1] == ["AR(1)", SPEED, "5", "REQ 9"]
    assert sum(row[3].count(";") + 1 for table in (default, paper) for row in table.rows) == len(lost)


def test_on_ones_own_data_it_says_what_to_do(tmp_path):
    own = ValueSource("own", "Own", lambda events, start: np.zeros(events), 10_000)
    with pytest.raises(EvaluationError, match="remove --data"):
        losses.losses(Run(tmp_path, TINY, own))
