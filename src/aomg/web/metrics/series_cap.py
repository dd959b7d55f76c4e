"""Limits the number of series: leaves out whole keys, in an order that is stable from scrape to scrape."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = dict[str, str]
Sample = tuple[str, Labels, float]
"""Name of the metric, its labels, its value."""


@dataclass(frozen=True, eq=False)
class SeriesGroup:
    """The series of one query, one target, or the alerts: items such as keys, most important first.

    name
        Labels of the group: {"query": "inbound"}.
    costs
        Number of series of each item.
    labels
        Labels of an item, by index. Equal labels would be the same series, so the second item is left out.
    samples
        Samples of an item, by index and labels.
    """

    name: Mapping[str, str]
    costs: NDArray[np.int64]
    labels: Callable[[int], Labels]
    samples: Callable[[int, Labels], Iterator[Sample]]

    def within(self, limit: int) -> tuple[list[Sample], int]:
        """Return at most `limit` series, whole items only, and how many were left out."""
        sums = np.cumsum(self.costs)
        fitting = int(np.searchsorted(sums, limit, side="right"))
        left_out = int(sums[-1] - sums[fitting - 1] if fitting else sums[-1]) if len(sums) else 0
        samples: list[Sample] = []
        identities: set[frozenset[tuple[str, str]]] = set()
        for index in range(fitting):
            labels = self.labels(index)
            identity = frozenset(labels.items())
            if identity in identities:
                left_out += int(self.costs[index])
                continue
            identities.add(identity)
            samples += self.samples(index, labels)
        return samples, left_out


def shares(wanted: Sequence[int], limit: int) -> list[int]:
    """Return each one's fair share of `limit`: all that it wants, or as much as any other that does not get all.

    >>> shares([10, 500, 900], 710)
    [10, 350, 350]
    """
    granted = [0] * len(wanted)
    left = limit
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for position, index in enumerate(order):
        granted[index] = min(wanted[index], left // (len(wanted) - position))
        left -= granted[index]
    return granted
