"""Describes numbers that are far from the paper's, with the reason if it is known."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Our number and the paper's. `beside` is a remark for the text."""

    label: str
    ours: float
    paper: float
    digits: int = 2
    unit: str = " %"
    beside: str = ""

    def __str__(self) -> str:
        """Return both numbers as text."""
        beside = f"; {self.beside}" if self.beside else ""
        return f"{self.label} {self._text(self.ours)} (the paper {self._text(self.paper)}{beside})"

    def _text(self, number: float) -> str:
        return f"{number:,.{self.digits}f}{self.unit}"

    def is_far(self, least: float) -> bool:
        """Return whether they differ by half of the paper's number, and by at least `least`."""
        return abs(self.ours - self.paper) > max(least, abs(self.paper) / 2)

    def times(self, least: float) -> float:
        """Return the ratio of the larger to the smaller; numbers below `least` count as `least`."""
        low, high = sorted(max(abs(number), least) for number in (self.ours, self.paper))
        return high / low


def differences(where: str, pairs: Iterable[Pair], least: float = 1.0, why: str = "", most: int = 5) -> list[str]:
    """Return a sentence with the numbers that are furthest from the paper's; an empty list if none is far.

    >>> differences("Table 9", [Pair("Q0.5", 1.0, 1.2), Pair("Q0.9", 9.0, 3.0)], why="The tail is ours.")
    ["Table 9, far from the paper's numbers: Q0.9 9.00 % (the paper 3.00 %). The tail is ours."]
    """
    far = sorted((pair for pair in pairs if pair.is_far(least)), key=lambda pair: -pair.times(least))
    if not far:
        return []
    more = f"; and {len(far) - most} more" if len(far) > most else ""
    reason = f" {why}" if why else ""
    return [f"{where}, far from the paper's numbers: {'; '.join(map(str, far[:most]))}{more}.{reason}"]
