"""Adds up (key, count) pairs of several parts of a sub-window."""

from collections.abc import Sequence

import numpy as np

from aomg.policies.base import Integers

Pairs = tuple[Integers, Integers]
"""Ascending distinct keys, and the count of each."""


def sum_of_pairs(parts: Sequence[Pairs]) -> Pairs:
    """Return the sum of one or more lists of pairs. O(n log n) for n pairs in all."""
    if len(parts) == 1:
        return parts[0]
    keys, places = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    counts = np.zeros(keys.size, np.int64)
    np.add.at(counts, places, np.concatenate([counts for _, counts in parts]))
    return keys, counts
