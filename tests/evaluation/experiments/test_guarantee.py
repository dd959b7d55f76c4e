"""The worst window with and without the envelope: the adversaries, and the experiment on a small size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.evaluation.experiments.guarantee import EXPERIMENT, PERIOD, SIZE, cases, contenders, decades, steps
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)


@given(st.sampled_from([decades, steps]), st.integers(0, 5 * PERIOD), st.integers(0, 3 * PERIOD))
def test_an_adversary_has_the_same_values_however_it_is_cut(stream, start, events):
    assert (stream(events, start) == stream(8 * PERIOD, 0)[start : start + events]).all()


def test_decades_have_one_level_in_a_sub_window_and_several_in_a_window():
    levels = np.log10(decades(SIZE, 0).reshape(-1, PERIOD)).astype(int)
    assert (levels == levels[:, :1]).all()
    assert len(set(levels[:, 0].tolist())) > 3


def test_steps_end_at_the_quantiles():
    values, counts = np.unique(steps(SIZE, 0), return_counts=True)
    assert values.tolist() == [1, 10**2, 10**4, 10**6, 10**8]
    assert np.cumsum(counts)[:-1] / SIZE == pytest.approx([0.5, 0.9, 0.99, 0.999], abs=0.005)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("guarantee"), TINY).outcome(EXPERIMENT)


def rows_of(table, stream):
    return {row[2]: row[3:] for row in table.rows if row[0].startswith(stream)}


def test_every_stream_is_there_with_and_without_the_envelope(outcome):
    streams = len(cases(None))
    for table in outcome.tables:
        assert len(table.rows) == streams * len(contenders())
    periods = {row[1] for row in outcome.tables[0].rows if "bursts" in row[0]}
    assert periods == {16_384, 4_096}
    assert all(len(series.x) == len(set(series.x)) == streams for plot in outcome.plots for series in plot.series)


def test_the_envelope_keeps_its_guarantee_on_every_stream(outcome):
    kept = [row for row in outcome.tables[1].rows if row[2] == "with envelope"]
    assert kept
    for _, _, _, guarantee, worst, width, widest, _, certified in kept:
        assert guarantee == 2
        assert worst <= guarantee
        assert width <= widest <= 4.1  # high / low is at most 1.02 / 0.98
        assert 0 <= certified <= 100


def test_the_exact_value_is_always_inside_the_interval(outcome):
    for row in outcome.tables[1].rows:
        kept, of = row[7].split(" of ")
        assert kept == of != "0"
    assert any(finding.startswith("The exact value was inside low..high in all") for finding in outcome.findings)


@pytest.mark.parametrize("stream", ["Decades", "Steps"])
def test_against_an_adversary_the_mean_is_wrong_by_orders_of_magnitude_and_the_envelope_is_not(outcome, stream):
    errors = rows_of(outcome.tables[0], stream)
    assert max(errors["paper, mean alone"]) > 1_000
    assert max(errors["without envelope"]) > 1_000
    assert max(errors["with envelope"]) < 1


def test_bursts_are_what_few_k_is_for(outcome):
    errors = rows_of(outcome.tables[0], "Pingmesh with bursts (factor=10, period=4096)")
    assert errors["paper, mean alone"][3] > 30
    assert errors["paper, few-k"][3] < 5


def test_the_findings_name_the_worst_window_that_the_table_has(outcome):
    for contender in contenders():
        worst = max(row[4] for row in outcome.tables[1].rows if row[2] == contender.title)
        assert any(
            finding.startswith(f"AOMG {contender.title}: ") and f"{worst:.3g} %" in finding
            for finding in outcome.findings
        )


def found_with(kept, worst):
    """Findings in which the envelope's interval and worst error are told, and the rest is alike."""
    one = {
        "windows": 4,
        "value_error": [1.0] * 4,
        "worst_value_error": [1.5] * 4,
        "methods": [{"exact": 1, "certified": 2, "mean": 1}] * 4,
        "intervals": [2] * 4,
        "intervals_kept": [2] * 4,
        "interval_width": [3.0] * 4,
        "worst_interval_width": [4.0] * 4,
        "guarantee": None,
    }
    first = {**one, "intervals_kept": [kept, 2, 2, 2], "worst_value_error": [worst] * 4, "guarantee": 2.0}
    names = [piece.name for piece in EXPERIMENT.pieces(TINY, of_stream("normal"))]
    return dict(zip(names, [first, one, one, one], strict=True))


def test_an_interval_that_misses_the_exact_value_is_told():
    outcome = EXPERIMENT.outcome(found_with(1, 1.0), TINY, of_stream("normal"))
    assert any("must never happen: Normal, with envelope: 7 of 8" in finding for finding in outcome.findings)
    assert outcome.tables[1].rows[0][7:] == ["7 of 8", 75.0]


def test_where_the_envelope_does_worse_it_is_told():
    worse = EXPERIMENT.outcome(found_with(2, 1.8), TINY, of_stream("normal")).findings
    assert any(
        "smaller error without the envelope" in finding and "without envelope 1.5 % to 1.8 %" in finding
        for finding in worse
    )
    better = EXPERIMENT.outcome(found_with(2, 1.2), TINY, of_stream("normal")).findings
    assert not any("smaller error without" in finding for finding in better)


def test_a_short_file_of_ones_own_gets_a_window_that_fits(tmp_path):
    values = np.random.default_rng(3).integers(1, 1_000, 9_000)
    own = ValueSource("own", "Own", lambda events, start: values[start : start + events], values.size, "1")
    outcome = Run(tmp_path, TINY, own).outcome(EXPERIMENT)
    assert [row[1] for row in outcome.tables[0].rows] == [256] * 4
    assert outcome.tables[1].rows[0][4] <= 2


def test_a_file_is_read_to_its_end_at_every_scale(tmp_path):
    """A jump that only the last windows hold is part of the worst one, though the scale is shorter than the file."""
    values = np.random.default_rng(4).integers(1_000, 2_000, 9_000)
    values[-100:] *= 1_000
    own = ValueSource("own", "Own", lambda events, start: values[start : start + events], values.size, "1")
    outcome = Run(tmp_path, Scale("short", 4_000, 4_000, 10_000, 1), own).outcome(EXPERIMENT)
    assert outcome.findings[0] == "All 9,000 values are read: 28 windows of 2,048."
    worst = {row[2]: row[4] for row in outcome.tables[1].rows}
    assert worst["paper, mean alone"] > 90 and worst["with envelope"] <= 2
