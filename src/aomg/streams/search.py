"""Generates response times of search servers, in microseconds, like the paper's Search data, cut off near 200 ms.

The paper prints for a window of 100,000 values (Table 1):

=========  =====  =====  =====  =======  =======  ========
quantile   0.48   0.50   0.52   0.97     0.99     largest
value      3,384  3,574  3,780  154,156  200,109  263,771
=========  =====  =====  =====  =======  =======  ========

and says that a server stops a query after 200 ms, so many values are near 200 ms.

Over a million values, the quantiles from 0.48 to 0.99 are within 2 % of this table. The rest is our choice. From 0.982
on the values are just above 200 ms, at 0.999 they are 200,900, with a thin tail to the largest one. Around 0.95 the
values rise by about 7 % per thousandth of rank, because the value errors of the paper's rivals there (Table 2) are 80
times their rank errors. The real data may be correlated; this stream is not.
"""

from aomg.streams.distribution import Distribution, DistributionStream, draw

SEARCH = Distribution(
    "search",
    (
        (1e-6, 150),
        (0.01, 420),
        (0.1, 850),
        (0.25, 1_700),
        (0.48, 3_384),
        (0.5, 3_574),
        (0.52, 3_780),
        (0.75, 7_700),
        (0.9, 17_000),
        (0.94, 28_000),
        (0.96, 115_000),
        (0.97, 154_156),
        (0.982, 199_950),
        (0.99, 200_109),
        (0.999, 200_900),
        (0.9997, 210_000),
        (0.99999, 262_500),
        (0.999999, 266_000),
    ),
)


def search(seed: int = 1) -> DistributionStream:
    """Return an endless Search-like stream, from 150 to 266,000 microseconds; see `distribution.draw` for the seed.

    >>> values = search(seed=1).take(1_000_000)
    >>> bool(((values > 199_000) & (values < 201_000)).mean() > 0.01)  # cut off near 200 ms
    True
    """
    return draw(SEARCH, seed)
