"""Who is beaten in error, bytes and speed at once: the rule, and the experiment on a small size."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.evaluation.experiments.frontier import (
    DEFAULT,
    EXPERIMENT,
    PAPER,
    STREAMS,
    Point,
    contenders,
    dominators,
    points,
    sources,
)
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.run import Run

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)

one = st.builds(
    Point,
    st.text("abc", min_size=1, max_size=3),
    st.tuples(st.just(1.0), st.sampled_from([0.0, 0.5, 1.0])),
    st.just(9.0),
    st.sampled_from([10, 20, 30]),
    st.sampled_from([1.0, 2.0, 3.0]),
)


def better_in(mine, other):
    """What one point is better in, seen one by one."""
    return {
        name
        for name, better in {
            "error": mine.tail < other.tail,
            "bytes": mine.nbytes < other.nbytes,
            "speed": mine.speed > other.speed,
        }.items()
        if better
    }


@given(one, one)
def test_a_point_dominates_when_it_is_better_in_something_and_worse_in_nothing(mine, other):
    assert mine.dominates(other) == (bool(better_in(mine, other)) and not better_in(other, mine))


@given(one, one, one)
def test_nobody_dominates_itself_and_the_dominator_of_a_dominator_dominates(first, second, third):
    assert not first.dominates(first)
    if first.dominates(second):
        assert not second.dominates(first)
        if second.dominates(third):
            assert first.dominates(third)


@given(st.lists(one, min_size=1, max_size=8))
def test_somebody_is_always_on_the_frontier(among):
    assert any(not dominators(point, among) for point in among)


def test_without_an_error_nobody_is_compared():
    known = Point("known", (0.0,), 0.0, 1, 9.0)
    unknown = Point("unknown", (None,), None, 2, 1.0)
    assert not known.dominates(unknown)
    assert not unknown.dominates(known)
    assert unknown.mean is None
    assert Point("some", (None, 1.0, 3.0), 3.0, 1, 1.0).mean == 2.0


def measurement(error, nbytes, speed):
    return {
        "windows": 3,
        "value_error": [0.0, 0.0, 0.0, error],
        "worst_value_error": [0.0, 0.0, 0.0, 2 * error],
        "nbytes": nbytes,
        "speed": speed,
    }


def scripted(source, **changes):
    """What pieces could have found: all alike and dominated by nobody, but for the changes."""
    return {source.name: {contender.title: measurement(1.0, 100, 1.0) for contender in contenders()} | changes}


OWN = ValueSource("own", "Own", lambda events, start: np.zeros(events, np.int64), 10_000_000)


def test_the_table_and_the_plot_mark_the_same_points():
    measurements = scripted(OWN, REQ=measurement(0.5, 50, 2.0), KLL=measurement(3.0, 10, 1.0))
    outcome = EXPERIMENT.outcome(measurements, TINY, OWN)
    by = {row[0]: row[-1] for row in outcome.tables[1].rows}
    assert by["REQ"] == by["KLL"] == "nobody"
    assert by[DEFAULT] == by["CMQS"] == "REQ"
    assert {series.name for series in outcome.plots[0].series if not series.dashed} == {"REQ", "KLL"}
    assert {row[0]: row[2] for row in outcome.tables[0].rows}["REQ"] == 1


def test_the_findings_name_every_rival_that_is_nearer_smaller_or_faster():
    measurements = scripted(
        OWN, REQ=measurement(0.5, 200, 0.5), KLL=measurement(3.0, 10, 0.5), Moment=measurement(2.0, 300, 7.0)
    )
    findings = EXPERIMENT.outcome(measurements, TINY, OWN).findings
    assert findings[-1].endswith("Less error: REQ 0.5 %. Fewer bytes: KLL 10. Faster: Moment 7.")
    calm = scripted(OWN)
    assert (
        EXPERIMENT.outcome(calm, TINY, OWN)
        .findings[-1]
        .endswith("Less error: nobody. Fewer bytes: nobody. Faster: nobody.")
    )


def test_no_error_at_all_has_a_place_on_the_logarithmic_axis():
    outcome = EXPERIMENT.outcome(scripted(OWN, REQ=measurement(0.0, 100, 1.0)), TINY, OWN)
    assert all(y > 0 for series in outcome.plots[0].series for y in series.y)


def test_a_stream_of_zeros_has_a_table_and_no_empty_plot():
    measurements = scripted(OWN)
    for one in measurements["own"].values():
        one["value_error"] = one["worst_value_error"] = [None] * 4
    outcome = EXPERIMENT.outcome(measurements, TINY, OWN)
    assert outcome.plots == []
    assert "no relative error" in outcome.findings[-1]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frontier")
    random = np.random.default_rng(1)
    values = np.append(np.rint(random.lognormal(7, 1, 11_999)), -1.0)  # the last is refused by one policy
    own = ValueSource("own", "Own", lambda events, start: values[start : start + events], values.size, "1")
    run = Run(folder, TINY, own)
    return run.outcome(EXPERIMENT), run


def test_every_policy_is_measured_but_those_that_do_not_take_the_stream(outcome):
    measurements, _ = outcome
    measured = {row[0] for row in measurements.tables[1].rows}
    assert measured == {contender.title for contender in contenders()} - {"HdrHistogram"}
    assert any(
        "HdrHistogram is not measured: hdr-histogram accepts values from 0" in finding
        for finding in measurements.findings
    )
    for _, tail, mean, worst, nbytes, speed, by in measurements.tables[1].rows:
        assert 0 <= mean <= worst
        assert 0 <= tail <= worst
        assert nbytes > 0
        assert 0 < speed < math.inf
        assert by


def test_the_default_keeps_its_guarantee_there_and_the_rest_is_as_known(outcome):
    rows = {row[0]: row for row in outcome[0].tables[1].rows}
    assert rows[DEFAULT][3] <= 2
    assert rows["DDSketch"][3] <= 1.01
    assert rows["Moment"][4] < rows[DEFAULT][4]


def test_a_resumed_run_says_the_same(outcome):
    measurements, run = outcome
    assert run.missing([EXPERIMENT]) == []
    assert run.outcome(EXPERIMENT) == measurements


def test_all_streams_are_asked_for_with_the_papers_window():
    assert [source.name for source in sources(None)] == list(STREAMS)
    assert [piece.name for piece in EXPERIMENT.pieces(TINY, None)] == list(STREAMS)
    windows = EXPERIMENT.pieces(TINY, None)[0].run.args[1]
    assert (windows.size, windows.period, windows.events) == (131_072, 16_384, 150_000)


def test_points_are_what_was_measured():
    measurements = scripted(OWN, REQ=measurement(0.5, 50, 2.0))
    (req,) = [point for point in points(measurements, OWN) if point.policy == "REQ"]
    assert (req.errors, req.worst, req.nbytes, req.speed) == ((0.0, 0.0, 0.0, 0.5), 1.0, 50, 2.0)
    assert replace(req, policy=PAPER).dominates(next(p for p in points(measurements, OWN) if p.policy == "AM"))
