"""All claims of the paper in one table, whether they hold or not."""

import numpy as np
import pytest

from aomg.evaluation import experiment, names
from aomg.evaluation.experiment import Experiment, Piece
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.outcome import Claim, Outcome
from aomg.evaluation.report import claims
from aomg.evaluation.run import EvaluationError, Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)
TRUE = Claim("flat", "constant", "0.9 times", True)
OPEN = Claim("fast", "62 times", "no window of 1M", None, "run it without --quick")
FALSE = Claim("small", "below 5 %", "7 %", False, "the tail is ours")


def scripted(name, paper, *claim_list):
    """An experiment of one piece with these claims."""
    pieces = lambda scale, own: [Piece("only", lambda: 1)]  # noqa: E731
    return Experiment(name, name, "?", paper, pieces, lambda found_, scale, own: Outcome([], claims=claim_list))


@pytest.fixture
def evaluation(monkeypatch):
    """Two experiments of the paper and one of ours instead of all sixteen."""
    there = {
        "first": scripted("first", "Table 1", TRUE),
        "none": scripted("none", "Table 2"),
        "second": scripted("second", "Figure 1", FALSE, TRUE),
        "ours": scripted("ours", "", FALSE),
    }
    monkeypatch.setattr(claims, "names", lambda: tuple(there))
    monkeypatch.setattr(claims, "experiment", there.__getitem__)


def test_every_claim_is_listed_with_its_experiment_and_its_verdict(evaluation, tmp_path):
    table, claim_list = claims.check(Run(tmp_path, TINY))
    assert claim_list == [TRUE, FALSE, TRUE]
    assert table.rows == [
        ["first", "flat", "constant", "0.9 times", "holds", ""],
        ["second", "small", "below 5 %", "7 %", "does not hold", "the tail is ours"],
        ["second", "flat", "constant", "0.9 times", "holds", ""],
    ]
    assert table.note == "2 of 3 hold; the scale is tiny."


def test_what_a_scale_does_not_measure_is_listed_and_neither_holds_nor_fails(monkeypatch, tmp_path):
    monkeypatch.setattr(claims, "names", lambda: ("only",))
    monkeypatch.setattr(claims, "experiment", lambda name: scripted("only", "Table 1", TRUE, FALSE, OPEN, OPEN))
    table, claim_list = claims.check(Run(tmp_path, TINY))
    assert [row[4] for row in table.rows] == ["holds", "does not hold", *["not measured at this scale"] * 2]
    assert table.note == "1 of 4 hold, 2 are not measured at this scale; the scale is tiny."
    assert [claim.fails for claim in claim_list] == [False, True, False, False]


def test_whoever_watches_hears_of_every_piece(evaluation, tmp_path):
    heard = []
    claims.check(Run(tmp_path, TINY), lambda name, piece, seconds: heard.append((name, piece.name)))
    assert heard == [("first", "only"), ("none", "only"), ("second", "only")]


def test_on_ones_own_data_there_is_nothing_to_check(tmp_path):
    own = ValueSource("own", "Own", lambda events, start: np.zeros(events), 10_000)
    with pytest.raises(EvaluationError, match="without --data"):
        claims.check(Run(tmp_path, TINY, own))


def test_the_papers_experiments_make_claims_and_ours_make_none():
    ours = {name for name in names() if not experiment(name).paper}
    assert ours == {"frontier", "guarantee", "spark"}
    assert set(claims.makers()) == set(names()) - ours
