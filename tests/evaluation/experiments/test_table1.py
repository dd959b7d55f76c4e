"""Table 1: the values at a distance from a rank are those of the sorted window."""

import numpy as np
import pytest

from aomg.evaluation.experiments.table1 import EXPERIMENT, PAPER
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)


def test_a_known_window_gives_the_values_at_its_ranks(tmp_path):
    values = np.random.default_rng(3).permutation(np.arange(1, 100_001))
    own = ValueSource("known", "known", lambda events, start: values[start : start + events], values.size)
    outcome = Run(tmp_path, TINY, own).outcome(EXPERIMENT)
    assert outcome.tables[0].title.endswith("100,000 events") and not outcome.claims
    (row,) = outcome.tables[0].rows
    assert row == ["known", "here", 48_000, 50_000, 52_000, 97_000, 99_000, 100_000]


def test_the_streams_agree_with_what_the_paper_prints(tmp_path):
    rows = Run(tmp_path, TINY).outcome(EXPERIMENT).tables[0].rows
    here = {row[0]: row[2:] for row in rows if row[1] == "here"}
    paper = {row[0]: row[2:] for row in rows if row[1] == "paper"}
    assert here.keys() == paper.keys() == PAPER.keys()
    for stream, numbers in paper.items():
        assert here[stream] == pytest.approx(numbers, rel=0.05)


def test_every_stream_has_a_sentence_with_its_own_numbers(tmp_path):
    outcome = Run(tmp_path, TINY).outcome(EXPERIMENT)
    row = next(row for row in outcome.tables[0].rows if row[:2] == ["Pingmesh", "here"])
    sentence = next(text for text in outcome.findings if text.startswith("Pingmesh"))
    assert f"{100 * (row[7] / row[6] - 1):+.1f} %" in sentence


def test_a_short_file_is_told_by_its_own_size(tmp_path):
    own = ValueSource("short", "short", lambda events, start: np.arange(1.0, 5_001)[start : start + events], 5_000)
    assert Run(tmp_path, TINY, own).outcome(EXPERIMENT).tables[0].title.endswith(" 5,000 events")


def test_the_two_numbers_of_the_papers_text_are_claims():
    measurements = {name: [781, 798, 814, 1516, 1874, 74265] for name in ("pingmesh", "search", "taxi")}
    median, tail = EXPERIMENT.outcome(measurements, TINY, None).claims
    assert (median.holds, median.measured) == (True, "2.0 %")
    assert (tail.holds, tail.measured) == (True, "39.6 times")
    measurements["pingmesh"] = [781, 798, 830, 1516, 1874, 60_000]
    assert [claim.holds for claim in EXPERIMENT.outcome(measurements, TINY, None).claims] == [False, False]
