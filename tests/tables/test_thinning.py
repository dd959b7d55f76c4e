"""Long curves are thinned out: what is drawn was a result, and no extreme is lost."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg import Operator, Query, Results
from aomg.tables.curves import Curve, curves_of_results
from aomg.tables.thinning import MOST_WINDOWS, thinned

PERIOD = 60


def curve_of(size: int, seed: int = 0, *, gaps=(), bursts=0.0, unknown=0.0) -> Curve:
    """A random curve; after each index of `gaps` a hundredth of all its windows is missing."""
    rng = np.random.default_rng(seed)
    numbers = np.arange(size)
    for gap in gaps:
        numbers[gap + 1 :] += size // 100
    values = rng.lognormal(0, 1, size)
    lows, highs = values * rng.uniform(0.5, 1, size), values * rng.uniform(1, 2, size)
    for column in (lows, highs):
        column[rng.random(size) < unknown] = np.nan
    methods = rng.integers(0, 2, size)
    return Curve(
        "", "p99", numbers * PERIOD, values, lows, highs, rng.random(size) < bursts, methods, ("exact", "band")
    )


@given(
    size=st.integers(MOST_WINDOWS + 1, 40 * MOST_WINDOWS),
    seed=st.integers(0, 99),
    bursts=st.sampled_from([0, 0.001, 0.5]),
    unknown=st.sampled_from([0, 0.1, 1]),
)
def test_no_extreme_is_lost_and_no_point_is_invented(size, seed, bursts, unknown):
    curve = curve_of(size, seed, bursts=bursts, unknown=unknown)
    drawn = thinned(curve, PERIOD)
    kept = drawn.curve.ends // PERIOD
    assert (np.diff(kept) > 0).all() and kept[0] == 0 and kept[-1] == size - 1
    for name in ("ends", "values", "lows", "highs", "bursts", "methods"):
        np.testing.assert_array_equal(getattr(drawn.curve, name), getattr(curve, name)[kept])
    assert kept.size <= MOST_WINDOWS * 5 // 4 + 2
    for start in range(0, size, drawn.run):
        run, inside = slice(start, start + drawn.run), (kept >= start) & (kept < start + drawn.run)
        assert drawn.curve.values[inside].min() == curve.values[run].min()
        assert drawn.curve.values[inside].max() == curve.values[run].max()
        if np.isfinite(curve.lows[run]).any():
            assert np.nanmin(drawn.curve.lows[inside]) == np.nanmin(curve.lows[run])
        if np.isfinite(curve.highs[run]).any():
            assert np.nanmax(drawn.curve.highs[inside]) == np.nanmax(curve.highs[run])
    if curve.bursts.any():
        assert drawn.curve.values[drawn.curve.bursts].max() == curve.values[curve.bursts].max()


@pytest.mark.parametrize("size", [1, 2, 100, MOST_WINDOWS])
def test_short_curves_are_drawn_as_they_are(size):
    curve = curve_of(size, bursts=0.5)
    drawn = thinned(curve, PERIOD)
    assert drawn.curve is curve and drawn.run == 1
    assert [piece.tolist() for piece in drawn.pieces] == [list(range(size))]


def test_few_bursts_are_all_drawn():
    curve = curve_of(50_000, bursts=0.002)
    assert 0 < curve.bursts.sum() == thinned(curve, PERIOD).curve.bursts.sum()


@pytest.mark.parametrize("size", [1_500, 60_000])
def test_no_line_crosses_a_gap(size):
    gaps = (size // 7, size // 7 + 1, size // 2)
    drawn = thinned(curve_of(size, gaps=gaps), PERIOD)
    pieces = [drawn.curve.ends[piece] for piece in drawn.pieces]
    whole = curve_of(size, gaps=gaps).ends
    assert [piece[-1] for piece in pieces[:-1]] == [whole[gap] for gap in gaps]
    assert [piece[0] for piece in pieces[1:]] == [whole[gap + 1] for gap in gaps]


def test_of_very_many_gaps_those_that_can_be_seen_are_drawn():
    curve = curve_of(60_000, gaps=(30_000,))
    sparse = curve.ends * 3  # every window has a gap after it
    drawn = thinned(Curve("", "p99", sparse, *(getattr(curve, name) for name in NAMES)), PERIOD)
    assert [drawn.curve.ends[piece][0] for piece in drawn.pieces] == [0, sparse[30_001]]
    assert len(drawn.curve.ends) < 3 * MOST_WINDOWS


NAMES = ("values", "lows", "highs", "bursts", "methods", "method_names")


def test_without_a_period_there_are_no_gaps():
    assert len(thinned(curve_of(1_000, gaps=(500,)), 0).pieces) == 1


def test_the_curves_of_results_are_their_columns():
    query = Query(40, 10, quantiles=(0.5, 0.99))
    results = Operator(query).push(np.random.default_rng(1).lognormal(6, 1, 400))
    curves = curves_of_results(results, 0.99)
    (curve,) = curves.curves
    assert (curves.size, curves.period, curves.counted, curve.name) == (40, 10, True, "p99")
    for column, expected in ((curve.values, results.values(0.99)), (curve.lows, results.lows(0.99))):
        np.testing.assert_array_equal(column, expected)
    assert [curve.method_names[method] for method in curve.methods] == [result[0.99].method for result in results]


def test_a_plot_of_millions_of_windows_is_small_and_says_that_it_is_thinned_out():
    pytest.importorskip("plotly")
    query = Query(40, 10, quantiles=(0.5,))
    some = Operator(query).push(np.random.default_rng(1).lognormal(6, 1, 10_000))
    rows = np.tile(some.rows, (1_000, 1))
    rows[:, 0] = np.arange(len(rows))
    results = Results(query, rows)
    results.estimates(0)[777_777] = 2e6, 1e6, 3e6
    figure = results.plot()
    assert sum(len(trace.x) for trace in figure.data) < 10_000
    band, line = figure.data[:2]
    assert max(line.y) == 2e6 and max(band.y) == 3e6
    assert line.x[list(line.y).index(2e6)] == results.ends[777_777]
    words = re.sub(r"<[^>]*>", "", figure.layout.title.text.replace("<br>", " "))
    assert "only the extremes of each 2,000 windows are drawn" in words
