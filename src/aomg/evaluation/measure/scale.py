"""How much is measured: in four minutes, in a quarter of an hour, or in an hour as much as the paper did."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Sizes that the experiments share; windows and periods stay the paper's."""

    name: str
    events: int
    """Of each stream that stands for one of the paper's real ones."""
    synthetic: int
    """Of Normal and Uniform."""
    largest_window: int
    """No window of the scalability experiment is larger."""
    rounds: int
    """Turns that rivals take when their speed is compared; the best counts."""


QUICK = Scale("quick", 1_000_000, 1_000_000, 100_000, 1)
STANDARD = Scale("standard", 2_000_000, 4_000_000, 1_000_000, 3)
FULL = Scale("full", 10_000_000, 1_000_000_000, 100_000_000, 3)
