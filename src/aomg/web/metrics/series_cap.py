"""Which series are told when there are more than Prometheus should keep: whole keys, in an order that does not jump."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = dict[str, str]
Sample = tuple[str, Labels, float]
"""Name of the metric, its labels, its value."""


@dataclass(frozen=True, eq=False)
class Claim:
    """What one query, or one target, would like to tell: items such as keys, the most important first.

    name
        Labels that say whose it is: {"query": "inbound"}.
    costs
        How many series each item has.
    labels
        The labels of the item at a place. Two that are equal would be the same series, so the second is left out.
    samples
        The series of the item at a place, with its labels.
    """

    name: Mapping[str, str]
    costs: NDArray[np.int64]
    labels: Callable[[int], Labels]
    samples: Callable[[int, Labels], Iterator[Sample]]

    def told(self, most: int) -> tuple[list[Sample], int]:
        """At most so many series, whole items only, and how many were left out."""
        sums = np.cumsum(self.costs)
        fitting = int(np.searchsorted(sums, most, side="right"))
        left_out = int(sums[-1] - sums[fitting - 1] if fitting else sums[-1]) if len(sums) else 0
        told: list[Sample] = []
        known: set[frozenset[tuple[str, str]]] = set()
        for place in range(fitting):
            labels = self.labels(place)
            identity = frozenset(labels.items())
            if identity in known:
                left_out += int(self.costs[place])
                continue
            known.add(identity)
            told += self.samples(place, labels)
        return told, left_out


def shares(wanted: Sequence[int], most: int) -> list[int]:
    """How many each may have of `most`: all that it wants, or as much as any other that does not get all.

    >>> shares([10, 500, 900], 710)
    [10, 350, 350]
    """
    given = [0] * len(wanted)
    left = most
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    for position, place in enumerate(order):
        given[place] = min(wanted[place], left // (len(wanted) - position))
        left -= given[place]
    return given
