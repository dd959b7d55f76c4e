"""Table 2: every policy is measured, space is counted at its largest, and the claims say what the numbers say."""

import copy

import numpy as np
import pytest

from aomg.evaluation.experiments.table2 import AOMG, EXPERIMENT, PAPER
from aomg.evaluation.measure.accuracy import Windows, measure
from aomg.evaluation.measure.contenders import default_aomg, paper_aomg
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)


@pytest.fixture(scope="module")
def measurements(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("run"), TINY)
    return {piece.name: piece.run() for piece in run.pieces(EXPERIMENT)}


def claim(outcome, part):
    (one,) = [claim for claim in outcome.claims if part in claim.name]
    return one


def test_every_policy_of_the_paper_stands_beside_its_printed_row(measurements):
    table = EXPERIMENT.outcome(measurements, TINY, None).tables[0]
    rows = {(row[0], row[1]): row for row in table.rows}
    titles = [column.name for column in table.columns]
    for title, printed in zip(("AOMG (paper)", "CMQS", "AM", "Random", "Moment"), PAPER.values(), strict=True):
        paper, here = rows[title, "paper"], rows[title, "here"]
        assert paper[titles.index("Pingmesh Q0.999")] == printed.values[3]
        assert paper[titles.index("Search e' 0.95")] == printed.ranks[4]
        assert paper[titles.index("Pingmesh variables")] == printed.observed
        assert all(error is not None and error >= 0 for error in here[2:14])
    assert rows["AOMG (paper)", "here"][-1] == rows["AOMG (paper)", "paper"][-1] == 16_416


def test_rank_policies_keep_epsilon_in_every_window(measurements):
    for setting, epsilon in (("fine", 0.015), ("coarse", 0.1)):
        for name in ("cmqs", "am", "random"):
            for stream in ("pingmesh", "search"):
                assert max(measurements[f"{stream}-{setting}-{name}"]["worst_rank_error"]) <= epsilon


def test_the_papers_state_is_two_variables_a_distinct_value_and_the_quantiles(measurements):
    values = of_stream("pingmesh").values(TINY.events)
    most = max(np.unique(values[start : start + 16_384]).size for start in range(0, 9 * 16_384, 16_384))
    table = EXPERIMENT.outcome(measurements, TINY, None).tables[0]
    row = next(row for row in table.rows if row[0] == "AOMG, the paper's state")
    assert row[-3] == 2 * most + 4 * 8


@pytest.mark.parametrize("contender", [paper_aomg(), default_aomg()], ids=lambda c: c.title)
def test_space_is_counted_just_before_a_sub_window_closes_wherever_the_stream_ends(contender):
    part = np.random.default_rng(2).permutation(np.arange(1, 1_001))
    values = np.tile(part, 12)
    source = ValueSource("alike", "alike", lambda events, start: values[start : start + events], values.size)
    spaces = {
        measure(contender, source, Windows(8_000, 1_000, events))["variables_by_part"]["open sub-windows"]
        for events in (9_000, 9_500, 9_999)
    }
    assert len(spaces) == 1
    assert spaces.pop() >= 999


def test_a_rival_that_is_nearer_is_named_and_the_claim_does_not_hold(measurements):
    # AOMG is nearest but for Moment, as told
    for moment, nearest in ((1.0, False), (50.0, True)):
        changed = copy.deepcopy(measurements)
        for name, error in ((AOMG, 3.0), ("cmqs", 30.0), ("am", 80.0), ("random", 140.0), ("moment", moment)):
            changed[f"pingmesh-fine-{name}"]["value_error"][-1] = error
        outcome = EXPERIMENT.outcome(changed, TINY, None)
        assert claim(outcome, "lowest value error").holds == nearest
        assert ("Moment" in claim(outcome, "lowest value error").reason) != nearest
        sentence = next(text for text in outcome.findings if text.startswith("Pingmesh Q0.999"))
        assert ("less: Moment 1.00 %" in sentence) != nearest


@pytest.mark.parametrize(
    ("part", "piece", "key", "wrong"),
    [
        ("at every quantile", "search-fine-aomg", "value_error", [5.1, 0.1]),
        ("single window", "search-fine-am", "worst_rank_error", [0.013, 0.0]),
        ("Search Q0.95", "search-fine-aomg", "value_error", [4.9, 0.1]),
        ("rank errors against", "search-fine-aomg", "rank_error", [0.009, 0.0]),
        ("Theorem 1", "search-fine-aomg", "bound", [0.0001, 1.0]),
    ],
)
def test_a_claim_holds_on_what_was_measured_and_fails_on_worse_numbers(measurements, part, piece, key, wrong):
    assert claim(EXPERIMENT.outcome(measurements, TINY, None), part).holds
    changed = copy.deepcopy(measurements)
    changed[piece][key] = wrong
    failed = claim(EXPERIMENT.outcome(changed, TINY, None), part)
    assert not failed.holds
    assert failed.reason


def test_five_times_less_space_needs_every_rival_to_have_five_times_as_much(measurements):
    changed = copy.deepcopy(measurements)
    for name in ("cmqs", "am", "random", "moment"):
        changed[f"pingmesh-fine-{name}"]["variables"] = 50_000
    assert claim(EXPERIMENT.outcome(changed, TINY, None), "rivals' space").holds
    changed["pingmesh-fine-moment"]["variables"] = 10_000
    failed = claim(EXPERIMENT.outcome(changed, TINY, None), "rivals' space")
    assert not failed.holds
    assert "Moment needs 10,000 here, 16,596 in the paper" in failed.reason


@pytest.mark.parametrize(
    ("pingmesh", "search", "holds"), [(16_415, 16_399, True), (16_416, 16_399, False), (16_415, 16_400, False)]
)
def test_the_analytical_bound_is_judged_by_what_the_operator_holds_on_both_streams(
    measurements, pingmesh, search, holds
):
    """Four quantiles on Pingmesh, two on Search; the paper's state, which is computed, is the reason and no verdict."""
    changed = copy.deepcopy(measurements)
    changed["pingmesh-fine-aomg"]["variables"], changed["search-fine-aomg"]["variables"] = pingmesh, search
    judged = claim(EXPERIMENT.outcome(changed, TINY, None), "analytical bound")
    assert judged.holds == holds
    assert judged.measured == f"{pingmesh:,} of 16,416 on Pingmesh, {search:,} of 16,400 on Search"
    state = 2 * measurements["search-counts"] + 2 * 8
    assert (f"{state:,} on Search" in judged.reason) != holds


def test_a_single_rival_with_less_rank_error_is_named(measurements):
    changed = copy.deepcopy(measurements)
    for name in ("cmqs", "am", "random", "moment"):
        changed[f"search-fine-{name}"]["rank_error"] = [0.004, 0.004]
    changed["search-fine-aomg"]["rank_error"], changed["search-fine-am"]["rank_error"] = [0.002, 0.002], [0.001, 0.004]
    judged = claim(EXPERIMENT.outcome(changed, TINY, None), "rank errors against")
    assert "Search Q0.95 (AM)" in judged.measured and "Search Q0.999" not in judged.measured


def test_numbers_far_from_the_papers_are_told_with_both_rank_errors(measurements):
    changed = copy.deepcopy(measurements)
    changed["pingmesh-fine-cmqs"]["value_error"][-1], changed["pingmesh-fine-cmqs"]["rank_error"][-1] = 900.0, 0.0007
    changed["pingmesh-fine-am"]["analytical"] = 500_000
    errors, space = [text for text in EXPERIMENT.outcome(changed, TINY, None).findings if "far from" in text]
    assert "CMQS on Pingmesh at Q0.999 900.00 % (the paper 28.47 %; rank errors 0.0007 and 0.0007)" in errors
    assert "AM (analytical) 500,000 (the paper 45,309)" in space


def test_theorem_1_is_told_with_its_coverage(measurements):
    changed = copy.deepcopy(measurements)
    changed["pingmesh-fine-aomg"] |= {"bounded": [2, 2, 2, 0], "covered": [2, 2, 1, 0]}
    outcome = EXPERIMENT.outcome(changed, TINY, None)
    rows = {(row[0], row[1]): row for row in outcome.tables[3].rows}
    assert rows["Pingmesh", "Q0.99"][-2] == 50
    assert rows["Pingmesh", "Q0.999"][-2] is None
    assert any("except at Q0.99." in text for text in outcome.findings)


def test_a_stream_of_ones_own_is_compared_without_the_papers_numbers(tmp_path):
    values = np.random.default_rng(6).integers(1, 5_000, 8_000)
    own = ValueSource("own", "own.csv, ms", lambda events, start: values[start : start + events], values.size)
    outcome = Run(tmp_path, TINY, own).outcome(EXPERIMENT)
    assert not outcome.claims
    assert not any("the paper's numbers" in text for text in outcome.findings)
    assert {row[1] for row in outcome.tables[0].rows} == {"here"}
    assert "own.csv, ms Q0.999 (%)" in [column.heading for column in outcome.tables[0].columns]
