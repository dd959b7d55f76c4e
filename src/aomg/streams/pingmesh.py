"""Generates round-trip times between servers of a datacenter, in microseconds, like the paper's Pingmesh data.

The data are not public. This distribution fits what the paper prints about a window of 100,000 values (Table 1) and its
remark that more than 90 % are below 1.25 ms:

=========  =====  =====  =====  =======  =======  ========
quantile   0.48   0.50   0.52   0.97     0.99     largest
value      781    798    814    1,516    1,874    74,265
=========  =====  =====  =====  =======  =======  ========

Over a million values, the quantiles from 0.48 to 0.99 are within 2 % of this table. The rest is our choice: values
below the 0.48-quantile, those between 0.52 and 0.97, and the tail from 0.99 to the largest value, with a 0.999-quantile
of 5,500. So errors at 0.999 and above compare policies on this stream; they do not reproduce the paper's figures. The
real data may be correlated; this stream is not.

The paper also says that 0.08 % of the values of one hour are distinct, but not how many values an hour has. This stream
has 5,809 distinct values: 0.08 % of 7 million, 0.06 % of the 10 million of the paper's data.
"""

from aomg.streams.distribution import Distribution, DistributionStream, draw

PINGMESH = Distribution(
    "pingmesh",
    (
        (1e-6, 250),
        (0.01, 336),
        (0.1, 481),
        (0.25, 600),
        (0.48, 781),
        (0.5, 798),
        (0.52, 814),
        (0.75, 1_010),
        (0.9, 1_225),
        (0.97, 1_516),
        (0.99, 1_874),
        (0.999, 5_500),
        (0.99999, 73_000),
        (0.999999, 75_000),
    ),
)


def pingmesh(seed: int = 1) -> DistributionStream:
    """Return an endless Pingmesh-like stream, from 250 to 75,000 microseconds; see `distribution.draw` for the seed.

    >>> import numpy as np
    >>> stream = pingmesh(seed=1)
    >>> values = stream.take(100_000)
    >>> bool(abs(np.quantile(values, 0.5) / 798 - 1) < 0.02)
    True
    >>> bool((stream.take(10, start=70_000) == values[70_000:70_010]).all())
    True
    """
    return draw(PINGMESH, seed)
