"""An interrupted evaluation goes on where it was, and comes to the same tables."""

from dataclasses import replace

import numpy as np
import pytest

import aomg
from aomg.evaluation.experiment import Experiment, Piece
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.outcome import Outcome, Table, TableColumn
from aomg.evaluation.run import EvaluationError, Run

TINY = Scale("tiny", 1_000, 1_000, 1_000, 1)
ALL = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]


def own(identity: str) -> ValueSource:
    return ValueSource("latencies", "latencies.csv, ms", lambda events, start: np.zeros(events), 5_000, identity)


@pytest.mark.parametrize("stop_at", ALL)
def test_an_interrupted_and_resumed_run_finds_the_same_and_measures_nothing_twice(
    tmp_path, experiments, pieces, stop_at
):
    first = experiments["first"]
    whole = Run(tmp_path / "whole", TINY).outcome(first)
    pieces.measured.clear()
    pieces.stop_at = stop_at
    with pytest.raises(KeyboardInterrupt):
        Run(tmp_path / "resumed", TINY).outcome(first)
    pieces.stop_at = None
    again = Run(tmp_path / "resumed", TINY)
    assert [piece.name for _, piece in again.missing([first])] == ALL[ALL.index(stop_at) :]
    assert repr(again.outcome(first)) == repr(whole)  # repr, for nan is not equal to itself
    assert pieces.measured == ALL
    assert again.missing([first]) == []


def test_whoever_watches_hears_of_all_pieces_with_the_seconds_they_took_at_first(tmp_path, experiments):
    heard = [], []
    for calls in heard:
        Run(tmp_path, TINY).outcome(experiments["first"], lambda *piece, calls=calls: calls.append(piece))
    names = [(name, piece.name) for name, piece, _ in heard[1]]
    assert names == [("first", name) for name in ALL]
    assert [seconds for *_, seconds in heard[0]] == [seconds for *_, seconds in heard[1]]


@pytest.mark.parametrize(
    "other", [Run(None, replace(TINY, rounds=2)), Run(None, TINY, own("1")), Run(None, TINY, own("2"))]
)
def test_a_piece_of_another_scale_or_other_data_is_not_used(tmp_path, experiments, pieces, other):
    first = experiments["first"]
    Run(tmp_path, TINY).outcome(first)
    Run(tmp_path, TINY, own("3")).outcome(first)
    pieces.measured.clear()
    replace(other, folder=tmp_path).outcome(first)
    assert pieces.measured == ALL
    assert Run(tmp_path, TINY).missing([first]) == []  # and the others are still there


def test_a_piece_of_another_version_is_not_used(tmp_path, experiments, pieces, monkeypatch):
    first = experiments["first"]
    Run(tmp_path, TINY).outcome(first)
    monkeypatch.setattr(aomg, "__version__", "99.0")
    assert len(Run(tmp_path, TINY).missing([first])) == len(ALL)


def test_a_piece_that_says_it_is_of_another_run_is_not_used(tmp_path, experiments):
    """Wherever it lies: two runs may come to one folder by chance."""
    run = Run(tmp_path, TINY)
    run.outcome(experiments["first"])
    (file,) = tmp_path.rglob("ccc.json")
    file.write_text(file.read_text().replace(f"{aomg.__version__},", "99.0,", 1))
    assert [piece.name for _, piece in run.missing([experiments["first"]])] == ["ccc"]


@pytest.mark.parametrize("damage", ["", "{", '{"run": ', "[]", "null", '{"found": 1}', "\x00\x01"])
def test_a_damaged_piece_is_measured_again(tmp_path, experiments, pieces, damage):
    first = experiments["first"]
    whole = Run(tmp_path, TINY).outcome(first)
    (file,) = tmp_path.rglob("dddd.json")
    file.write_text(damage)
    pieces.measured.clear()
    assert repr(Run(tmp_path, TINY).outcome(first)) == repr(whole)
    assert pieces.measured == ["dddd"]


def test_the_first_run_sees_what_a_resumed_one_sees(tmp_path):
    """Tuples become lists and keys texts on the way through a file; so they are at once."""
    seen = []

    def outcome(measurements, scale, source):
        seen.append(measurements)
        return Outcome([Table("t", [TableColumn("c")], [])])

    pieces = [Piece("only", lambda: {1: (2, 3)})]
    experiment = Experiment("it", "It", "?", "", lambda scale, source: pieces, outcome)
    for _ in range(2):
        Run(tmp_path, TINY).outcome(experiment)
    assert seen == [{"only": {"1": [2, 3]}}] * 2


def test_two_pieces_of_one_name_are_refused(tmp_path):
    pieces = [Piece("one", dict), Piece("one", dict)]
    experiment = Experiment("it", "It", "?", "", lambda scale, source: pieces, lambda *measurements: Outcome([]))
    with pytest.raises(EvaluationError, match="two pieces"):
        Run(tmp_path, TINY).outcome(experiment)


def test_a_folder_that_cannot_be_written_is_said(tmp_path, experiments):
    (tmp_path / "file").write_text("")
    with pytest.raises(EvaluationError, match=r"cannot be written.*--out"):
        Run(tmp_path / "file", TINY).outcome(experiments["first"])
