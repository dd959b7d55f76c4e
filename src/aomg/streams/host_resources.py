"""Generates the available memory or CPU of hosts: bounded values with a light tail.

The paper prints no figure for this case. It says that it monitored the available memory and CPU of a cluster's hosts;
that the largest values are mostly small, because an operating system uses nearly all memory for its caches; and that
every policy, even those that bound only the rank, was within 5 % at the 0.999-quantile.

All numbers here are our choice, made so that the same must hold: every value whose rank is within 0.015 of the
0.999-quantile (the paper's epsilon) is within 5 % of it. Memory is in MB, up to 5,300; CPU is in hundredths of a
percent, up to 9,990.
"""

from aomg.streams.distribution import Distribution, DistributionStream, draw

RESOURCES = {
    "memory": Distribution(
        "host memory",
        (
            (1e-6, 400),
            (0.01, 900),
            (0.1, 1_500),
            (0.25, 2_000),
            (0.5, 2_700),
            (0.75, 3_500),
            (0.9, 4_300),
            (0.98, 4_950),
            (0.99, 5_000),
            (0.999, 5_150),
            (0.99999, 5_280),
            (0.999999, 5_300),
        ),
    ),
    "cpu": Distribution(
        "host cpu",
        (
            (1e-6, 300),
            (0.01, 1_200),
            (0.1, 3_400),
            (0.25, 5_200),
            (0.5, 7_000),
            (0.75, 8_300),
            (0.9, 9_100),
            (0.98, 9_450),
            (0.99, 9_550),
            (0.999, 9_800),
            (0.99999, 9_950),
            (0.999999, 9_990),
        ),
    ),
}


def host_resources(seed: int = 1, resource: str = "memory") -> DistributionStream:
    """Return an endless stream of a host's available "memory" (in MB) or "cpu" (in hundredths of a percent).

    See `distribution.draw` for the seed.

    >>> int(host_resources().take(1_000_000).max()) <= 5_300
    True
    """
    if resource not in RESOURCES:
        raise ValueError(f"resource is {resource!r}; there are {', '.join(RESOURCES)}")
    return draw(RESOURCES[resource], seed)
