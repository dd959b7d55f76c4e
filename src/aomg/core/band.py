"""The band: fine counts around each asked quantile, which make most answers exact to the code.

A summary keeps, besides the envelope, the codes of whole buckets from rank r - reach to r + reach of its own
quantile, reach = Z sqrt(m phi (1 - phi)) + EXTRA ranks. If the fine totals of the bucket that holds the window's
quantile add up to its coarse total, every value in it is known to its code: that is the certificate, for any
quantile and any stream. Placing the band around the sub-window's own quantile keeps a summary a function of its own
counts; measured, that costs nothing against placing it around the window's last answer.

For four digits and more, and for raw values, the same is kept a second time at full resolution (`fine_band`).
"""

import math
from decimal import Decimal

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

Z = 3
EXTRA = 4


def fine_band(
    quantiles: tuple[Decimal, ...], ranks: Integers, dense: Integers, codes: Integers, counts: Integers
) -> tuple[Integers, Integers]:
    """Keep the (code, count) pairs of every dense code that the bands around `ranks` touch. Costs O(pairs)."""
    cumulative = np.cumsum(counts)
    total = int(cumulative[-1])
    keep = np.zeros(codes.size, dtype=bool)
    for quantile, rank in zip(quantiles, ranks, strict=True):
        phi = float(quantile)
        reach = int(Z * math.sqrt(total * phi * (1 - phi))) + EXTRA
        first = int(np.searchsorted(cumulative, max(rank - reach, 1)))
        last = int(np.searchsorted(cumulative, min(rank + reach, total)))
        first = int(np.searchsorted(dense, dense[first], side="left"))
        last = int(np.searchsorted(dense, dense[last], side="right"))
        keep[first:last] = True
    return codes[keep], counts[keep]
