"""Bursts: samples save the high quantiles, patterns need as many kept values as the fullest sub-window holds."""

import numpy as np
import pytest

from aomg.evaluation.experiments.bursts import EXPERIMENT, PATTERNS, arranged, burst
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.run import Run

TINY = Scale("tiny", 200_000, 200_000, 10_000, 1)
BRIEF = Scale("brief", 800, 800, 800, 1)


@pytest.fixture(scope="module")
def measurements(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("run"), TINY)
    return {piece.name: piece.run() for piece in run.pieces(EXPERIMENT)}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("first", [0, 7])
def test_a_pattern_puts_the_ten_largest_where_it_says_and_loses_nothing(pattern, first):
    values = np.random.default_rng(4).permutation(9_990)
    window = arranged(values, pattern, first)
    assert np.array_equal(np.sort(window), np.arange(9_990))
    counts = (window.reshape(10, 999) >= 9_980).sum(axis=1)
    expected = PATTERNS[pattern] + [0] * (10 - len(PATTERNS[pattern]))
    assert counts.tolist() == np.roll(expected, first).tolist()


@pytest.mark.parametrize(("pattern", "needed"), [("E1", 10), ("E2", 5), ("E3", 2), ("E4", 1)])
def test_top_k_is_exact_once_each_sub_window_keeps_what_its_fullest_holds(measurements, pattern, needed):
    for row in measurements[f"pattern-{pattern}"]:
        share, error = row["top-k"]
        assert (share == 1) == (row["kept"] >= needed)
        assert (error == 0) == (row["kept"] >= needed)


def test_sampling_all_ten_is_exact_and_moving_the_start_spares_the_even_pattern(measurements):
    for pattern in PATTERNS:
        rows = {row["kept"]: row for row in measurements[f"pattern-{pattern}"]}
        assert rows[10]["paper"] == rows[10]["rotate"] == [1.0, 0.0]
    even = {row["kept"]: row for row in measurements["pattern-E4"]}
    assert even[5]["rotate"][1] == 0
    assert even[5]["paper"][1] > 10


@pytest.mark.parametrize("period", ["16K", "4K"])
def test_a_burst_ruins_the_mean_and_samples_or_the_envelope_save_it(measurements, period):
    assert measurements[f"{period}-none"]["value_error"][1] > 30
    assert measurements[f"{period}-rotate-0.5"]["value_error"][1] < 3
    assert max(measurements[f"{period}-default"]["worst_value_error"]) <= 2
    assert (measurements[f"{period}-none"]["value_error"][0] > 20) == (period == "4K")


def test_the_space_of_each_fraction_is_told_beside_the_papers(measurements):
    rows = EXPERIMENT.outcome(measurements, TINY, None).tables[0].rows
    space = {(row[0], row[1], row[2]): (row[5], row[8]) for row in rows}
    assert space[16_384, "fraction 0.1, offset paper", "here"] == (8 * 132, 8 * 14)
    assert space[16_384, "fraction 0.1, offset paper", "paper"] == (1_048, 104)
    assert space[4_096, "fraction 0.5, offset rotate", "here"] == (32 * 656, 32 * 66)
    assert space[4_096, "no samples", "here"] == (0, 0)


def test_claims_and_differences_follow_from_the_numbers(measurements):
    damaged, _, _, _, saved = EXPERIMENT.outcome(measurements, TINY, None).claims
    assert damaged.holds
    assert saved.holds
    other = measurements | {
        "16K-none": measurements["16K-none"] | {"value_error": [0.1, 3.0]},
        "4K-paper-0.5": measurements["4K-paper-0.5"] | {"value_error": [0.1, 60.0]},
    }
    outcome = EXPERIMENT.outcome(other, TINY, None)
    damaged, _, _, _, saved = outcome.claims
    assert not damaged.holds
    assert not saved.holds
    assert "60.00" in saved.measured
    assert any("Q0.999 at fraction 0.5 60.00 % (the paper 1.52 %; with 131" in text for text in outcome.findings)


def with_errors(measurements, raised, few):
    """The measurements with other errors of Q0.999 at fraction 0.1, and small ones at 0.5, for one number of values."""
    suffix, changed = {132: "", 131: "-raised-131"}[raised], dict(measurements)
    for name, error in zip(("16K", "4K"), few, strict=True):
        for fraction, value in ((0.1, error), (0.5, 1.5)):
            piece = f"{name}-paper-{fraction}{suffix}"
            changed[piece] = measurements[piece] | {"value_error": [0.1, value]}
    return changed


@pytest.mark.parametrize("raised", [132, 131])
@pytest.mark.parametrize(("few", "holds"), [((26.0, 17.0), True), ((26.0, 4.0), False), ((3.25, 2.77), False)])
def test_a_higher_sampling_rate_is_needed_where_a_tenth_is_above_the_aim(measurements, raised, few, holds):
    claims = EXPERIMENT.outcome(with_errors(measurements, raised, few), TINY, None).claims
    (claim,) = [claim for claim in claims if claim.name.endswith(f"{raised} values raised")]
    assert "25.97 / 17.38 %" in claim.paper and f"{few[0]:.2f} / {few[1]:.2f} % at 0.1" in claim.measured
    assert claim.holds == holds


def test_a_claim_that_holds_only_with_one_value_fewer_says_so(measurements):
    both = with_errors(with_errors(measurements, 132, (3.0, 3.0)), 131, (60.0, 60.0))
    many, few = EXPERIMENT.outcome(both, TINY, None).claims[2:4]
    assert (many.holds, few.holds) == (False, True)
    assert many.reason == "it turns on one value: it holds with 131 raised values" and few.reason == ""
    neither = with_errors(both, 131, (3.0, 3.0))
    assert {claim.reason for claim in EXPERIMENT.outcome(neither, TINY, None).claims[2:4]} == {"0.1 is enough here"}


def test_bursts_of_132_and_of_131_values_are_shown_with_the_papers_numbers_beside_both(measurements):
    outcome = EXPERIMENT.outcome(measurements, TINY, None)
    for raised, table in zip((132, 131), outcome.tables, strict=False):
        assert f"bursts of {raised} values" in table.title and f"the largest {raised} values" in table.note
        suffix = "" if raised == 132 else "-raised-131"
        rows = {(row[0], row[1], row[2]): row[6] for row in table.rows}
        assert rows[16_384, "fraction 0.1, offset paper", "paper"] == 25.97
        for period, name in ((16_384, "16K"), (4_096, "4K")):
            error = measurements[f"{name}-paper-0.1{suffix}"]["value_error"][1]
            assert rows[period, "fraction 0.1, offset paper", "here"] == error


def test_a_tenth_of_the_tail_turns_on_one_raised_value(measurements):
    """The last of the 14 samples of a tail is its 132nd value: raised or not."""
    for period in ("16K", "4K"):
        assert measurements[f"{period}-paper-0.1"]["value_error"][1] < 6
        assert measurements[f"{period}-paper-0.1-raised-131"]["value_error"][1] > 40
        assert measurements[f"{period}-default-raised-131"]["worst_value_error"][1] <= 2
    (finding,) = [text for text in EXPERIMENT.outcome(measurements, TINY, None).findings if "one value" in text]
    errors = [measurements[f"{period}-paper-0.1-raised-131"]["value_error"][1] for period in ("16K", "4K")]
    assert f"{errors[0]:.2f} / {errors[1]:.2f} % with 131" in finding and "the paper has 25.97 / 17.38 %" in finding
    assert "14 samples is its 132nd value" in finding


def test_a_burst_is_injected_into_ones_own_values_up_to_the_last_whole_sub_window():
    values = np.random.default_rng(5).integers(1, 1_000, 5_000)
    values.flags.writeable = False
    own = ValueSource("own", "own", lambda events, start: values[start : start + events], values.size)
    bursty = burst(own, 1_024, 128)
    assert bursty.size == 39 * 128
    changed = np.flatnonzero(bursty.values(bursty.size) != values[: bursty.size])
    assert (np.unique(changed // 128) == [7, 15, 23, 31]).all() and changed.size == 4 * 2
    assert (bursty.values(bursty.size)[changed] == 10 * values[changed]).all()
    assert bursty.take(10_000, 4_000).size == bursty.size - 4_000
    large = ValueSource("large", "large", lambda events, start: values[start : start + events] * 10**15, values.size)
    assert burst(large, 1_024, 128).values(4_992).max() > 9e18


def test_a_stream_of_ones_own_is_told_by_its_own_periods_and_with_the_injected_burst(tmp_path):
    values = np.random.default_rng(8).lognormal(6, 1, 5_000)
    own = ValueSource("own", "own.csv, ms", lambda events, start: values[start : start + events], values.size)
    outcome = Run(tmp_path, TINY, own).outcome(EXPERIMENT)
    table = outcome.tables[0]
    assert {row[0] for row in table.rows} == {128, 32}
    texts = [*outcome.findings, table.title, table.note, *(series.name for series in outcome.plots[0].series)]
    assert not any("16K" in text or "4K" in text for text in texts)
    assert any(text.startswith("128: without samples") for text in outcome.findings)
    assert any("the largest 2 of one sub-window are multiplied by ten" in text for text in outcome.findings)
    errors = {(row[0], row[1]): row[6] for row in table.rows}
    assert errors[128, "no samples"] > 20 > errors[128, "AOMG (default)"]


def test_a_short_stream_of_ones_own_has_errors_but_no_patterns_and_no_claims(tmp_path):
    values = np.random.default_rng(8).integers(1, 1_000, 2_000)
    own = ValueSource("short", "short", lambda events, start: values[start : start + events], values.size)
    outcome = Run(tmp_path, BRIEF, own).outcome(EXPERIMENT)
    assert len(outcome.tables) == 1
    assert not outcome.claims
    assert {row[2] for row in outcome.tables[0].rows} == {"here"}
