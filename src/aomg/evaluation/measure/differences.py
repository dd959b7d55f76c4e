"""Where ours is far from a number that the paper prints: the sentence that says so, with the reason if one is known."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """A number of ours and the paper's, as both are printed. `beside` is told with them."""

    what: str
    ours: float
    paper: float
    digits: int = 2
    unit: str = " %"
    beside: str = ""

    def __str__(self) -> str:
        """Both numbers in words."""
        beside = f"; {self.beside}" if self.beside else ""
        return f"{self.what} {self._text(self.ours)} (the paper {self._text(self.paper)}{beside})"

    def _text(self, number: float) -> str:
        return f"{number:,.{self.digits}f}{self.unit}"

    def is_far(self, least: float) -> bool:
        """Whether they are apart by half of the paper's number, and by `least` at least."""
        return abs(self.ours - self.paper) > max(least, abs(self.paper) / 2)

    def times(self, least: float) -> float:
        """How many times one is the other; below `least` numbers count as that, so that nothing is infinitely far."""
        low, high = sorted(max(abs(number), least) for number in (self.ours, self.paper))
        return high / low


def differences(where: str, pairs: Iterable[Pair], least: float = 1.0, why: str = "", most: int = 5) -> list[str]:
    """One sentence with the numbers that are furthest from the paper's and how many more are; none if none is far.

    >>> differences("Table 9", [Pair("Q0.5", 1.0, 1.2), Pair("Q0.9", 9.0, 3.0)], why="The tail is ours.")
    ["Table 9, far from the paper's numbers: Q0.9 9.00 % (the paper 3.00 %). The tail is ours."]
    """
    far = sorted((pair for pair in pairs if pair.is_far(least)), key=lambda pair: -pair.times(least))
    if not far:
        return []
    more = f"; and {len(far) - most} more" if len(far) > most else ""
    reason = f" {why}" if why else ""
    return [f"{where}, far from the paper's numbers: {'; '.join(map(str, far[:most]))}{more}.{reason}"]
