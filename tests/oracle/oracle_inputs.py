"""Inputs with the same bits on every machine: PCG64's raw draws, and arithmetic that IEEE 754 rounds in one way only.

NumPy promises that a bit generator's raw draws never change. It does not promise that for distributions such as
`normal`, and its `exp` and `log` may differ in the last bit from one processor to the next: neither is used here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

SECOND = 1_000_000
MINUTE = 60 * SECOND
NOON = 1_700_049_600 * SECOND  # 2023-11-15 12:00 UTC
LARGEST = 2**63 - 1


def raw(seed: int, size: int) -> npt.NDArray[np.uint64]:
    """64 random bits each."""
    return np.asarray(np.random.PCG64(seed).random_raw(size), np.uint64)


def below(limit: int, seed: int, size: int) -> Integers:
    """Whole numbers from 0 to `limit` - 1."""
    return (raw(seed, size) >> np.uint64(11)).astype(np.int64) % limit


def chosen(among: list[Any], seed: int, size: int) -> npt.NDArray[Any]:
    """Any of these."""
    return np.array(among)[below(len(among), seed, size)]


# -- values ------------------------------------------------------------------------------------------------------------


def latencies(seed: int, size: int) -> Integers:
    """Skewed whole numbers from 500 to 6,200, some ten times as large."""
    values = 200 + 6_000_000 // (1_000 + below(19_000, seed, size))
    return np.where(below(50, seed + 1, size) == 0, 10 * values, values)


def decimals(seed: int, size: int) -> Reals:
    return latencies(seed, size) / 1000.0


def whole_reals(seed: int, size: int) -> Reals:
    return latencies(seed, size).astype(np.float64)


def signed(seed: int, size: int) -> Integers:
    return below(4_001, seed, size) - 2_000


def signed_reals(seed: int, size: int) -> Reals:
    return (below(40_001, seed, size) - 20_000) / 7.0


def zeros(seed: int, size: int) -> Reals:
    return chosen([0.0, -0.0, 0.0, 1e-9, -1e-9, 0.001, -3.5], seed, size)


def ties(seed: int, size: int) -> Integers:
    return chosen([17, 1_000, 123_456], seed, size)


def constant(seed: int, size: int) -> Integers:
    return np.full(size, 131_072)


def ascending(seed: int, size: int) -> Integers:
    return np.cumsum(below(40, seed, size))


def descending(seed: int, size: int) -> Integers:
    return ascending(seed, size)[::-1] - 10_000


def bursts(seed: int, size: int) -> Integers:
    """Latencies that are ten times as large for an eighth of the stream, and twice for the last tenth."""
    values = latencies(seed, size)
    values[size // 2 : size // 2 + size // 8] *= 10
    values[-(size // 10) :] *= 2
    return values


def heavy_tail(seed: int, size: int) -> Reals:
    return 1e9 / (1 + below(1_000_000, seed, size))


def longs(seed: int, size: int) -> Integers:
    near = chosen([2**53, 10**17, 10**18, 9 * 10**18, -(2**53), -(10**18)], seed, size)
    return near + below(11, seed + 1, size) - 5


def any_integers(seed: int, size: int) -> Integers:
    values = raw(seed, size).view(np.int64).copy()
    values[::97], values[::89] = LARGEST, -LARGEST - 1
    return values


def _scaled(least: int, most: int, seed: int, size: int) -> Reals:
    """Either sign, with a binary exponent in this range."""
    mantissas = 1.0 + below(1 << 40, seed, size) / (1 << 40)
    signs = chosen([-1.0, 1.0, 1.0], seed + 1, size)
    return signs * np.ldexp(mantissas, least + below(most - least, seed + 2, size))


def huge(seed: int, size: int) -> Reals:
    return _scaled(900, 1_024, seed, size)


def tiny(seed: int, size: int) -> Reals:
    return np.where(
        below(2, seed + 3, size) == 0, _scaled(-1_022, -900, seed, size), (below(121, seed, size) - 60) * 5e-324
    )


def every_magnitude(seed: int, size: int) -> Reals:
    return _scaled(-1_022, 1_024, seed, size)


def not_all_finite(seed: int, size: int) -> Reals:
    values = decimals(seed, size)
    values[::41], values[7::97], values[3::89] = np.nan, np.inf, -np.inf
    return values


VALUES: dict[str, Callable[[int, int], npt.NDArray[Any]]] = {
    kind.__name__.replace("_", " "): kind
    for kind in (
        latencies,
        decimals,
        whole_reals,
        signed,
        signed_reals,
        zeros,
        ties,
        constant,
        ascending,
        descending,
        bursts,
        heavy_tail,
        longs,
        any_integers,
        huge,
        tiny,
        every_magnitude,
        not_all_finite,
    )
}


# -- times, in microseconds since 1970 ---------------------------------------------------------------------------------


def in_order(seed: int, size: int) -> Integers:
    """Twenty minutes."""
    return NOON + np.sort(below(20 * MINUTE, seed, size))


def out_of_order(seed: int, size: int) -> Integers:
    """The same, where an event comes up to 8 seconds after its turn."""
    times = in_order(seed, size)
    return times[np.argsort(times + below(8 * SECOND, seed + 1, size), kind="stable")]


def partly_late(seed: int, size: int) -> Integers:
    """The same, where one event of twenty is up to four minutes old when it comes."""
    times = out_of_order(seed, size)
    return times - np.where(below(20, seed + 2, size) == 0, below(4 * MINUTE, seed + 3, size), 0)


def with_idle_times(seed: int, size: int) -> Integers:
    """Breaks of three and of thirty minutes."""
    times = in_order(seed, size)
    times[size // 3 :] += 3 * MINUTE
    times[size // 2 :] += 30 * MINUTE
    return times


def before_1970(seed: int, size: int) -> Integers:
    return out_of_order(seed, size) - NOON - 10 * MINUTE


TIMES: dict[str, Callable[[int, int], Integers]] = {
    kind.__name__.replace("_", " "): kind
    for kind in (in_order, out_of_order, partly_late, with_idle_times, before_1970)
}


def instants(micros: Integers, mask: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Timestamps of Arrow, in UTC; null where the mask says so."""
    return pa.array(micros, pa.int64(), mask=mask).cast(pa.timestamp("us", tz="UTC"))
