"""Distances of taxi trips in New York, in thousandths of a mile.

The paper prints of its TaxiTrip data, for a window of 100,000 values (Table 1):

=========  =====  =====  =====  =======  =======  ========
quantile   0.48   0.50   0.52   0.97     0.99     largest
value      1,500  1,570  1,620  17,000   19,610   74,700
=========  =====  =====  =====  =======  =======  ========

All of them are multiples of ten, and so are all values here: taximeters count hundredths of a mile. Our setting is the
shortest trip, and what lies between the printed figures: one straight line each (`aomg.streams.distribution`). The real trips
depend on the hour; these do not, see ``drift``.
"""

from aomg.streams.distribution import Distribution, Drawn, draw

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


def taxi(seed: int = 1) -> Drawn:
    """Return an endless stream like the paper's taxi trips.

    Parameters
    ----------
    seed
        Zero or more; streams of different seeds are independent.

    Notes
    -----
    Values are multiples of ten between 10 and 75,500. Over a million values, the quantiles from 0.48 to 0.99 lie within
    2 % of the table above. A value costs 32 random bits and one lookup.

    Examples
    --------
    >>> taxi(seed=1).take(4) % 10
    array([0, 0, 0, 0])
    """
    return draw(TAXI, seed)
