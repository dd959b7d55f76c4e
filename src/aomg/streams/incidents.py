"""What can go wrong in a podset, when, and with what effect: the truth that a monitor is tested against."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.datetime64]
Numbers = NDArray[np.integer]


@dataclass(frozen=True)
class Incident:
    """Something that raises the latency of some podsets for a while.

    It touches exactly the probes from or to one of ``podsets`` whose event time is in [``start``, ``end``).

    Parameters
    ----------
    kind
        "switch fault": every touched value is multiplied. "bursty tail": only the largest ``share`` of them.
    podsets
        Whose probes are touched, inbound and outbound.
    start, end
        Event times, UTC; the end is exclusive.
    factor
        What is multiplied by.
    share
        Of a bursty tail: which part of the values is raised. Of a switch fault it is 1.
    """

    kind: Literal["switch fault", "bursty tail"]
    podsets: tuple[int, ...]
    start: np.datetime64
    end: np.datetime64
    factor: int
    share: float = 1.0

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise ValueError(f"start is {self.start} and end is {self.end}; an incident ends after it starts")
        if self.factor < 1:
            raise ValueError(f"factor is {self.factor}; an incident multiplies by 1 or more")
        if not 0 < self.share <= 1:
            raise ValueError(f"share is {self.share}; give a number above 0 and at most 1")

    def touches(self, ts: Times, source: Numbers, target: Numbers) -> NDArray[np.bool_]:
        """Tell of each probe whether it is one of the incident's podsets' during the incident."""
        during = (ts >= self.start) & (ts < self.end)
        touched: NDArray[np.bool_] = during
        if during.any():
            keys = np.array(self.podsets)
            touched = during & (np.isin(source, keys) | np.isin(target, keys))
        return touched

    def __str__(self) -> str:
        keys = ", ".join(str(podset) for podset in self.podsets)
        what = "all values" if self.share == 1 else f"the largest {100 * self.share:g} %"
        begin, end = (str(time).removesuffix(".000000") for time in (self.start, self.end))
        return f"{self.kind} of podset {keys}, {begin} to {end} UTC: {what} times {self.factor}"


def switch_fault(podset: int, start: np.datetime64, end: np.datetime64, factor: int = 3) -> Incident:
    """Return a fault of a podset's switch: all its latency, inbound and outbound, is raised.

    With the factor 3, its 0.99-quantile is 5.6 ms, above the 4 ms at which the paper's monitor tells of such a fault.
    """
    return Incident("switch fault", (podset,), _time(start), _time(end), factor)


def bursty_tail(
    podset: int, start: np.datetime64, end: np.datetime64, factor: int = 10, share: float = 0.002
) -> Incident:
    """Return a bursty tail: a podset's few largest values are raised, as in the paper's injection, by ten.

    With the share 0.002, its 0.999-quantile is ten times as high, and its 0.99-quantile as before.
    """
    return Incident("bursty tail", (podset,), _time(start), _time(end), factor, share)


def _time(time: np.datetime64) -> np.datetime64:
    exact: np.datetime64 = time.astype("datetime64[us]")
    return exact
