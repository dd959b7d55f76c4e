"""Compares every figure that the paper prints of its data with the same figure of our streams.

``python -m aomg.streams.calibration`` prints the table of docs/streams.md, in a few seconds.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aomg.streams import Stream
from aomg.streams.ar1 import ar1
from aomg.streams.bursts import with_bursts
from aomg.streams.normal import normal
from aomg.streams.pingmesh import pingmesh
from aomg.streams.search import search
from aomg.streams.taxi import taxi
from aomg.streams.uniform import uniform

Values = NDArray[np.int64]

ENTRIES = 10_000_000  # of each real data set of the paper
WINDOW = 100_000  # of the paper's Table 1
WITHIN = 0.02

TABLE_1 = {
    "pingmesh": ({0.48: 781, 0.5: 798, 0.52: 814, 0.97: 1_516, 0.99: 1_874}, 74_265),
    "search": ({0.48: 3_384, 0.5: 3_574, 0.52: 3_780, 0.97: 154_156, 0.99: 200_109}, 263_771),
    "taxi": ({0.48: 1_500, 0.5: 1_570, 0.52: 1_620, 0.97: 17_000, 0.99: 19_610}, 74_700),
}


@dataclass(frozen=True)
class Figure:
    """One figure: the paper's, our stream's, and whether they are close enough."""

    stream: str
    quantity: str
    paper: str
    here: str
    aim: str
    met: bool

    def __str__(self) -> str:
        met = "yes" if self.met else "**no**"
        return f"| {self.stream} | {self.quantity} | {self.paper} | {self.here} | {self.aim} | {met} |"


def figures(seed: int = 1) -> Iterator[Figure]:
    """Measure every figure: on 10 million values for the paper's real data, on a million for the others."""
    values = pingmesh(seed).take(ENTRIES)
    yield from _table_1("pingmesh", values)
    yield from _more_of_pingmesh(values)
    values = search(seed).take(ENTRIES)
    yield from _table_1("search", values)
    yield from _more_of_search(values)
    yield from _table_1("taxi", taxi(seed).take(ENTRIES))
    yield from _moments("normal", normal(seed))
    values = uniform(seed).take(1_000_000)
    smallest, largest = int(values.min()), int(values.max())
    yield Figure("uniform", "range", "90 to 110", f"{smallest} to {largest}", "equal", (smallest, largest) == (90, 110))
    for psi in (0.2, 0.8):
        stream = ar1(psi, seed)
        yield from _moments(f"ar1({psi})", stream)
        values = stream.take(1_000_000)
        correlation = float(np.corrcoef(values[1:], values[:-1])[0, 1])
        yield Figure(
            f"ar1({psi})",
            "correlation with the next",
            f"{psi}",
            f"{correlation:.3f}",
            "± 0.005",
            abs(correlation - psi) < 0.005,
        )
    calm, size = pingmesh(seed), 131_072
    raised = int((with_bursts(calm, size, 16_384).take(size) != calm.take(size)).sum())
    yield Figure("bursts", "values raised in a window of 128K", "132", f"{raised}", "equal", raised == 132)


def quantile(values: Values, phi: float) -> int:
    """Return the ceil(phi n)-th smallest value."""
    rank = math.ceil(round(phi * values.size, 6)) - 1
    return int(np.partition(values, rank)[rank])


def _table_1(name: str, values: Values) -> Iterator[Figure]:
    printed, largest = TABLE_1[name]
    ranks = [math.ceil(round(phi * values.size, 6)) - 1 for phi in printed]
    quantiles = np.partition(values, ranks)[ranks]
    for (phi, paper), here in zip(printed.items(), quantiles, strict=True):
        yield _near(name, f"{phi:.2f}-quantile", paper, int(here))
    tops = values.reshape(-1, WINDOW).max(axis=1)
    yield _near(name, "largest of 100,000 (median)", largest, int(np.median(tops)))


def _more_of_pingmesh(values: Values) -> Iterator[Figure]:
    below = float((values < 1_250).mean())
    yield Figure("pingmesh", "below 1.25 ms", "over 90 %", f"{100 * below:.1f} %", "over 90 %", below > 0.9)
    largest = int(values.max())
    yield Figure("pingmesh", "largest", "up to 75 ms", f"{largest:,}", "± 2 %", abs(largest / 75_000 - 1) <= WITHIN)
    share, half = (np.unique(part).size / part.size for part in (values, values[: values.size // 2]))
    here = f"{100 * share:.2f} % of 10 million, {100 * half:.2f} % of 5 million"
    paper = "0.08 % of an hour of unknown size"
    yield Figure("pingmesh", "distinct values", paper, here, "0.08 % between", share <= 0.0008 <= half)


def _more_of_search(values: Values) -> Iterator[Figure]:
    p95 = quantile(values, 0.95)
    yield Figure("search", "0.95-quantile", "below the cut at 200 ms", f"{p95:,}", "below", p95 < 200_000)
    ended = float((np.abs(values / 200_000 - 1) < 0.005).mean())
    paper = "queries pile up near 200 ms"
    yield Figure("search", "within 0.5 % of 200 ms", paper, f"{100 * ended:.1f} %", "over 1 %", ended > 0.01)


def _moments(name: str, stream: Stream) -> Iterator[Figure]:
    values = stream.take(1_000_000)
    yield _near(name, "mean", 1_000_000, round(float(values.mean())), 0.001)
    yield _near(name, "standard deviation", 50_000, round(float(values.std())), 0.01)


def _near(stream: str, quantity: str, paper: int, here: int, within: float = WITHIN) -> Figure:
    met = abs(here / paper - 1) <= within
    return Figure(stream, quantity, f"{paper:,}", f"{here:,}", f"± {100 * within:g} %", met)


def main() -> None:
    """Print the table as Markdown."""
    print("| stream | figure | the paper | here | aim | met |")
    print("|---|---|---|---|---|---|")
    for figure in figures():
        print(figure)


if __name__ == "__main__":
    main()
