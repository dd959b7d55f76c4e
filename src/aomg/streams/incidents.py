"""Incidents of podsets: which podsets, when, and with what effect. The ground truth for tests of a monitor."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.datetime64]
Numbers = NDArray[np.integer]


@dataclass(frozen=True)
class Incident:
    """Raises the latency of some podsets for a while.

    It affects exactly the probes from or to one of ``podsets`` whose event time is in [``start``, ``end``).

    Parameters
    ----------
    kind
        "switch fault": multiplies all affected values. "bursty tail": only the largest ``share`` of them.
    podsets
        The podsets whose probes are affected, inbound and outbound.
    start, end
        Event times in UTC. The end is exclusive.
    factor
        The factor of the affected values.
    share
        The share of the values that a bursty tail raises; 1 for a switch fault.
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
        """Return for each probe whether it is affected: from or to one of the podsets, during the incident."""
        during = (ts >= self.start) & (ts < self.end)
        touched: NDArray[np.bool_] = during
        if during.any():
            keys = np.array(self.podsets)
            touched = during & (np.isin(source, keys) | np.isin(target, keys))
        return touched

    def __str__(self) -> str:
        keys = ", ".join(str(podset) for podset in self.podsets)
        values = "all values" if self.share == 1 else f"the largest {100 * self.share:g} %"
        begin, end = (str(time).removesuffix(".000000") for time in (self.start, self.end))
        return f"{self.kind} of podset {keys}, {begin} to {end} UTC: {values} times {self.factor}"


def switch_fault(podset: int, start: np.datetime64, end: np.datetime64, factor: int = 3) -> Incident:
    """Return a fault of a podset's switch, which raises all its latencies, inbound and outbound.

    With the factor 3, its 0.99-quantile is 5.6 ms, above the 4 ms at which the paper's monitor alerts.
    """
    return Incident("switch fault", (podset,), _time(start), _time(end), factor)


def bursty_tail(
    podset: int, start: np.datetime64, end: np.datetime64, factor: int = 10, share: float = 0.002
) -> Incident:
    """Return a bursty tail, which multiplies a podset's few largest values by ten, as the paper does.

    With the share 0.002, its 0.999-quantile is ten times as high, and its 0.99-quantile is unchanged.
    """
    return Incident("bursty tail", (podset,), _time(start), _time(end), factor, share)


def _time(time: np.datetime64) -> np.datetime64:
    exact: np.datetime64 = time.astype("datetime64[us]")
    return exact
