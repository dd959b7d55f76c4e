"""Top-k and interval sampling: the merged answers are the operator's, space is what is kept, claims are computed."""

import math

import numpy as np
import pytest
from fine_reference import FinePart

from aomg import FewK, Operator, Query, streams
from aomg.core.kernels.registers import HEAD_COUNT, HEAD_FINE
from aomg.evaluation.experiments.topk import (
    EXPERIMENT,
    OFFSETS,
    SUB_WINDOWS,
    _entries,
    gathered,
    interval_sampled,
    sample_sizes,
)
from aomg.evaluation.measure.accuracy import Windows, exact
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)


def source_of(values):
    return ValueSource("known", "known", lambda events, start: values[start : start + events], values.size)


def test_every_second_value_of_each_tail_is_read_at_half_the_rank():
    # two sub-windows of four; the 0.5-quantile of eight is the fifth largest, so four of each and every second of them
    values = np.array([8, 6, 4, 2, 7, 5, 3, 1])
    windows = Windows(8, 4, 8)
    assert sample_sizes(windows, "0.5", 0.4) == (5, 4, 2)
    # samples 6, 2 and 5, 1: the ceil(5 * 2 / 4) = third largest
    assert interval_sampled(values, windows, "0.5", 0.4, "paper").tolist() == [2.0]
    # samples 8, 4 and 5, 1
    assert interval_sampled(values, windows, "0.5", 0.4, "rotate").tolist() == [4.0]


@pytest.mark.parametrize("offset", OFFSETS)
def test_all_of_the_tail_gives_the_exact_quantile(offset):
    values = streams.pingmesh(seed=9).take(40_000)
    windows = Windows(16_000, 2_000, values.size)
    estimates = interval_sampled(values, windows, "0.99", 1.0, offset)
    assert estimates.tolist() == [exact(values[end - 16_000 : end], ("0.99",))[0] for end in windows.ends]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5])
def test_sampling_here_is_what_the_operator_does_in_a_burst(fraction, offset):
    values = streams.with_bursts(streams.pingmesh(seed=2), 65_536, 8_192).take(120_000)
    query = Query.paper(65_536, 8_192, ("0.999",), FewK(fraction=fraction, offset=offset))
    results = Operator(query).push(values)
    assert {result["0.999"].method for result in results} == {"sample-k"}
    estimates = interval_sampled(values, Windows(65_536, 8_192, values.size), "0.999", fraction, offset)
    lows, highs = ([getattr(result["0.999"], end) for result in results] for end in ("low", "high"))
    # the operator also puts a value into its proved interval
    assert results.values("0.999").tolist() == np.clip(estimates, lows, highs).tolist()


@pytest.mark.parametrize("fraction", [0.1, 0.5])
def test_the_entries_that_are_told_are_those_that_the_operator_keeps(fraction):
    query = Query.paper(131_072, 8_192, ("0.999",), FewK(fraction=fraction))
    operator = Operator(query)
    operator.push(streams.pingmesh(seed=1).take(131_072))
    kept = 0
    for record in operator._state.summaries():
        words = np.frombuffer(record, np.int64)
        fine = words[int(words[HEAD_FINE]) // 8 :]
        kept += FinePart.read(query, operator._sliding.codec, fine, int(words[HEAD_COUNT])).top[1].sum()
    assert kept == _entries(131_072, 16, fraction)
    assert _entries(131_072, 16, fraction) == 16 * math.ceil(fraction * 132)


def test_the_fullest_sub_window_decides_how_many_must_be_kept():
    values = np.ones(8_000, np.int64)
    values[1_000:1_006] = 9  # six of the nine largest in one sub-window
    values[5_000:5_003] = 9
    assert gathered(source_of(values), Windows(8_000, 1_000, 8_000)) == {"mean": 6, "most": 6}


@pytest.fixture(scope="module")
def of_pingmesh(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("run"), TINY)
    return {piece.name: piece.run() for piece in run.pieces(EXPERIMENT)}


def test_lists_are_nearer_than_the_mean_and_sampling_at_interval_ends_reads_low(of_pingmesh):
    for parts in SUB_WINDOWS:
        mean, half = (of_pingmesh[f"{name}-{parts}"]["value_error"][0] for name in ("mean", "top-0.5"))
        assert half < 0.1 < mean
        assert of_pingmesh[f"sampled-paper-{parts}"]["bias"] < of_pingmesh[f"sampled-rotate-{parts}"]["bias"]
    biases = [of_pingmesh[f"sampled-paper-{parts}"]["bias"] for parts in SUB_WINDOWS]
    assert biases == sorted(biases, reverse=True)
    assert biases[-1] < -8


def test_the_papers_numbers_stand_beside_ours_and_claims_follow_from_the_numbers(of_pingmesh):
    outcome = EXPERIMENT.outcome(of_pingmesh, TINY, None)
    assert ["top-k, fraction 0.1", "paper", 5.54, 209] in [list(row[:4]) for row in outcome.tables[0].rows]
    assert [claim.holds for claim in outcome.claims] == [True, True, True]
    worse = of_pingmesh | {"top-0.5-16": of_pingmesh["top-0.5-16"] | {"value_error": [0.7]}}
    assert [claim.holds for claim in EXPERIMENT.outcome(worse, TINY, None).claims] == [True, False, True]
    flat = of_pingmesh | {"sampled-paper-128": of_pingmesh["sampled-paper-64"]}
    assert [claim.holds for claim in EXPERIMENT.outcome(flat, TINY, None).claims] == [True, True, False]


def test_a_short_stream_of_ones_own_is_answered_too(tmp_path):
    own = source_of(np.random.default_rng(1).integers(0, 50, 2_000))
    outcome = Run(tmp_path, Scale("brief", 800, 800, 800, 1), own).outcome(EXPERIMENT)
    assert not outcome.claims
    assert not any("(the paper" in text for text in outcome.findings)
    assert {row[1] for row in outcome.tables[0].rows} == {"here"}
