"""Sizes of an evaluation: four minutes, a quarter of an hour, or an hour at the paper's sizes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Sizes shared by the experiments. Windows and periods are always the paper's."""

    name: str
    events: int
    """Events of each stream that replaces one of the paper's real ones."""
    synthetic: int
    """Events of Normal and Uniform."""
    largest_window: int
    """The largest window of the scalability experiment."""
    rounds: int
    """Rounds of a speed comparison; the best counts."""


QUICK = Scale("quick", 1_000_000, 1_000_000, 100_000, 1)
STANDARD = Scale("standard", 2_000_000, 4_000_000, 1_000_000, 3)
FULL = Scale("full", 10_000_000, 1_000_000_000, 100_000_000, 3)
