import math

import numpy as np

from aomg.evaluation.experiments.scalability import EXPERIMENT, _sources, _windows
from aomg.evaluation.measure.scale import FULL, QUICK, STANDARD, Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.run import Run

TINY = Scale("tiny", 40_000, 40_000, 10_000, 1)
NAMES = ("AOMG (paper)", "AOMG (default)", "Exact", "Exact (sorted)")
STREAMS = ("pingmesh", "search", "normal", "uniform")
WINDOWS = (1_000, 10_000, 100_000, 1_000_000)


def outcome(changes=None, scale=STANDARD):
    """What is said of made-up speeds, the paper's unless told by (stream, window, contender)."""
    exact = {1_000: 10.0, 10_000: 3.0, 100_000: 1.0, 1_000_000: 0.16}
    measurements = {stream: {} for stream in STREAMS}
    for stream in STREAMS:
        for size in WINDOWS:
            speeds = dict(zip(NAMES, (10.0, 100.0, exact[size], exact[size]), strict=True))
            speeds |= {name: value for (s, w, name), value in (changes or {}).items() if (s, w) == (stream, size)}
            measurements[stream][str(size)] = {
                n: {"best": value, "rounds": [value, 0.9 * value], "events": 1_000_000, "longest": 1_000_000}
                for n, value in speeds.items()
                if not math.isnan(value)
            }
    return EXPERIMENT.outcome(measurements, scale, None)


def claim(result, words):
    return next(claim for claim in result.claims if words in claim.name)


def test_every_stream_and_window_is_run(tmp_path):
    result = Run(tmp_path, TINY).outcome(EXPERIMENT)
    assert [(row[0], row[1]) for row in result.tables[0].rows] == [
        (stream, size) for stream in ("Pingmesh", "Search", "Normal", "Uniform") for size in (1_000, 10_000)
    ]
    assert all(speed > 0 for row in result.tables[0].rows for speed in row[2:9])
    assert [len(plot.series) for plot in result.plots] == [4] * 4


def test_windows_grow_with_the_scale_and_longest_on_the_synthetic_streams():
    def windows(scale):
        return {source.name: _windows(source, scale) for source in _sources(None)}

    assert windows(QUICK) == {stream: list(WINDOWS[:3]) for stream in STREAMS}
    assert windows(STANDARD) == {stream: list(WINDOWS) for stream in STREAMS}
    longer = [*WINDOWS, 10_000_000, 100_000_000]
    assert windows(FULL) == windows(STANDARD) | {"normal": longer, "uniform": longer}


def test_the_claims_hold_for_the_papers_speeds():
    result = outcome()
    assert [claim.holds for claim in result.claims] == [True] * 4
    assert claim(result, "Exact falls").measured == "by 70 to 70 %"
    assert claim(result, "at 1,000,000").measured == "62.5 to 62.5 times in paper mode, 625.0 to 625.0 times by default"


def test_one_slow_window_makes_a_throughput_uneven():
    result = outcome({("search", 100_000, "AOMG (paper)"): 7.9})
    assert not claim(result, "consistent").holds
    assert (
        claim(result, "consistent").reason
        == "below 0.8 in paper mode on Search; rounds of one and the same window: 0.90"
    )
    assert result.tables[1].rows[1][1] == 0.79
    assert claim(outcome({("search", 100_000, "AOMG (paper)"): 8.1}), "consistent").holds


def test_the_slowest_stream_decides_at_10k_and_the_fastest_at_1m():
    assert not claim(outcome({("normal", 10_000, "Exact"): 4.2}), "at 10,000").holds
    assert claim(outcome({("normal", 1_000_000, "Exact"): 1.0}), "at 1,000,000").holds
    ones = {(stream, 1_000_000, "Exact"): 1.0 for stream in STREAMS}
    assert not claim(outcome(ones), "at 1,000,000").holds
    assert claim(outcome(ones), "at 1,000,000").reason == "paper mode does not reach it, the default does"


def test_an_exact_rival_that_is_faster_is_named():
    result = outcome({("uniform", 1_000, "Exact (sorted)"): 150.0})
    assert "Exact (sorted) at 1,000 (15.0 times)" in result.findings[3]
    assert "faster than the default is one at 1,000" in result.findings[3]
    assert "faster than the default is none" in result.findings[0]


def test_windows_that_the_scale_does_not_have_are_not_judged():
    assert claim(outcome(scale=QUICK), "at 1,000,000").holds is None
    assert any("at 10,000" in claim.name for claim in outcome(scale=QUICK).claims)


def test_a_file_is_run_with_windows_that_it_fills_twice(tmp_path):
    values = np.random.default_rng(1).lognormal(3, 1, 21_000)
    own = ValueSource("normal", "own", lambda n, start: values[start : start + n], values.size, "1")
    result = Run(tmp_path, QUICK, own).outcome(EXPERIMENT)
    assert [row[1] for row in result.tables[0].rows] == [1_000, 10_000]
    assert result.claims == ()


def test_who_was_too_slow_to_fill_a_window_has_no_number_there():
    measurements = {(stream, 1_000_000, "Exact (sorted)"): math.nan for stream in STREAMS}
    result = outcome(measurements)
    rows = {(row[0], row[1]): row for row in result.tables[0].rows}
    assert rows["Normal", 1_000_000][5] is None and rows["Normal", 1_000_000][8] is None
    assert rows["Normal", 100_000][5] == 1.0
    assert [len(series.x) for series in result.plots[0].series] == [4, 4, 4, 3]
    assert result.tables[1].rows[0][4] == 0.1  # 1 of 10 at the windows that were filled
    assert "At 100,000 the default is" in result.findings[0]
