"""Generates distances of taxi trips in New York, in thousandths of a mile, like the paper's TaxiTrip data.

The paper prints for a window of 100,000 values (Table 1):

=========  =====  =====  =====  =======  =======  ========
quantile   0.48   0.50   0.52   0.97     0.99     largest
value      1,500  1,570  1,620  17,000   19,610   74,700
=========  =====  =====  =====  =======  =======  ========

Over a million values, the quantiles from 0.48 to 0.99 are within 2 % of this table. All printed values are multiples of
ten, and so are all values here: taximeters count hundredths of a mile. Our choice: the shortest trip, and a straight
line between two printed figures (see `aomg.streams.distribution`). The real trips depend on the hour of the day; these
do not (see ``drift``).
"""

from aomg.streams.distribution import Distribution, DistributionStream, draw

TAXI = Distribution(
    "taxi",
    (
        (1e-6, 10),
        (0.48, 1_500),
        (0.5, 1_570),
        (0.52, 1_620),
        (0.97, 17_000),
        (0.99, 19_610),
        (0.99999, 74_400),
        (0.999999, 75_500),
    ),
    unit=10,
)


def taxi(seed: int = 1) -> DistributionStream:
    """Return an endless TaxiTrip-like stream: multiples of ten up to 75,500; see `distribution.draw` for the seed.

    >>> taxi(seed=1).take(4) % 10
    array([0, 0, 0, 0])
    """
    return draw(TAXI, seed)
