"""Chooses which windows of a long curve are drawn, so that a plot of millions of windows stays small.

Every point that is drawn is a window's result: nothing is averaged. Of each run of consecutive windows these are kept:
the smallest and the largest value, the lowest low and the highest high. So the extremes of a curve and of its band are
always drawn. Also kept: the first and the last window, both sides of each gap that can be seen, and of each run of
bursts the one with the largest value. Takes about 0.1 s for a million windows.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from aomg.tables.curves import Curve, Integers, Reals

MOST_WINDOWS = 2_000
"""Curves with more windows are thinned out, to about so many."""

_RUNS = MOST_WINDOWS // 4


@dataclass(frozen=True)
class ThinnedCurve:
    """The windows of a curve that are drawn.

    pieces
        Their indices, in pieces without a gap: a line joins the windows of a piece.
    run
        Of how many consecutive windows the extremes were kept; 1 if all windows are drawn.
    """

    curve: Curve
    pieces: list[Integers]
    run: int


def thinned(curve: Curve, period: int) -> ThinnedCurve:
    """Thin out a curve if it has more than MOST_WINDOWS.

    period
        Windows whose ends are further apart have a gap between them; 0 if it is not known.
    """
    gaps, run = _gaps(curve.ends, period), 1
    if curve.ends.size > MOST_WINDOWS:
        run = -(-curve.ends.size // _RUNS)
        bursts = np.flatnonzero(curve.bursts)
        kept = np.unique(
            np.concatenate(
                [
                    _smallest(curve.values, 1),
                    _smallest(curve.values, -1),
                    _smallest(curve.lows, 1),
                    _smallest(curve.highs, -1),
                    bursts[_smallest(curve.values[bursts], -1)],
                    gaps,
                    gaps + 1,
                    [0, curve.ends.size - 1],
                ]
            )
        )
        gaps = np.searchsorted(kept, gaps)
        columns = {name: getattr(curve, name)[kept] for name in _COLUMNS}
        curve = dataclasses.replace(curve, **columns)
    pieces = np.split(np.arange(curve.ends.size), gaps + 1)
    return ThinnedCurve(curve, [piece for piece in pieces if piece.size], run)


_COLUMNS = ("ends", "values", "lows", "highs", "bursts", "methods")


def _smallest(numbers: Reals, sign: int) -> Integers:
    """The index of the smallest number of each run, or of the largest if the sign is negative; not of NaN."""
    if not numbers.size:
        return np.zeros(0, np.int64)
    length = -(-numbers.size // _RUNS)
    runs = -(-numbers.size // length)
    padded = np.full(runs * length, np.inf)
    np.multiply(numbers, sign, out=padded[: numbers.size])
    padded[np.isnan(padded)] = np.inf
    smallest: Integers = np.argmin(padded.reshape(runs, length), axis=1)
    return smallest + np.arange(runs) * length


def _gaps(ends: Integers, period: int) -> Integers:
    """The windows that have a gap after them; if there are many, only those with a gap that can be seen."""
    if not period:
        return np.zeros(0, np.int64)
    steps = np.diff(ends)
    gaps = np.flatnonzero(steps > period)
    if gaps.size > _RUNS:
        gaps = np.flatnonzero(steps > max(period, (ends[-1] - ends[0]) // _RUNS))
    return gaps
