"""Bursts: is this tail stochastically larger than the one before.

The score is the mean of sign(x - y) over all pairs of the two tails, in [-1, 1]: 0 if they are alike, near 1 if
almost every value of the new tail is above almost every value of the old one. A burst is a score above the asked
effect size and above four standard deviations of what chance gives for lists of order statistics
(core.kernels.bursts), which no tail of fewer than about 43 values can exceed. It is computed from the envelope's counts
where there is an envelope (core.kernels.bursts), else here from the tails' samples, at every high quantile's depth: a
burst that raises the top 0.1 % only leaves the order of the top 1 % as it was.

A burst goes on until a sub-window's tail is smaller than the one before by the same measure, at most one window long.
"""

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.bursts import burst_threshold
from aomg.core.kernels.pairs import score_pairs

Integers = npt.NDArray[np.int64]


def score(new: tuple[Integers, Integers], old: tuple[Integers, Integers]) -> float:
    """Mean of sign(x - y) over all pairs of two lists of ordered (code, count) pairs."""
    return float(score_pairs(*new, *old))


def limit(effect: float, depth_new: int, depth_old: int, count_new: int) -> float | None:
    """The score above which a tail is larger; None if there are too few values to tell."""
    threshold = float(burst_threshold(effect, depth_new, depth_old, depth_new / count_new))
    return threshold if threshold < 1 else None
