"""Lists all streams, and builds one from its name and parameters."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from aomg.streams import Stream
from aomg.streams.ar1 import ar1
from aomg.streams.bursts import Bursts, with_bursts
from aomg.streams.drift import Drift, drift
from aomg.streams.host_resources import host_resources
from aomg.streams.normal import normal
from aomg.streams.pingmesh import pingmesh
from aomg.streams.podsets import Podsets, podsets
from aomg.streams.search import search
from aomg.streams.taxi import taxi
from aomg.streams.uniform import uniform
from aomg.suggestions import did_you_mean


def bursts(
    of: str = "pingmesh",
    seed: int = 1,
    size: int = 131_072,
    period: int = 16_384,
    quantile: float = 0.999,
    factor: int = 10,
    raised: int = 0,
) -> Bursts:
    """Return a named stream with a burst in every window; see :func:`with_bursts`."""
    return with_bursts(_plain(of, seed), size, period, quantile, factor, raised)


def drifting(
    of: str = "pingmesh", seed: int = 1, day: int = 10_000_000, swing: float = 0.2, trend: float = 0.0
) -> Drift:
    """Return a named stream with a level that changes slowly; see :func:`drift`."""
    return drift(_plain(of, seed), day, swing, trend)


_STREAMS: dict[str, tuple[Callable[..., Stream | Podsets], str]] = {
    "pingmesh": (pingmesh, "round-trip times between servers, microseconds: heavy tail up to 75 ms"),
    "search": (search, "response times of search servers, microseconds: cut near 200 ms"),
    "normal": (normal, "normal distribution, mean 1 million, standard deviation 50 thousand"),
    "uniform": (uniform, "uniform distribution, 90 to 110"),
    "ar1": (ar1, "like normal, each value correlated with the next by psi"),
    "taxi": (taxi, "distances of taxi trips, thousandths of a mile"),
    "host_resources": (host_resources, "available memory or CPU of hosts: bounded, light tail"),
    "bursts": (bursts, "any of the above with one burst in every window"),
    "drift": (drifting, "any of the above with a level that moves with the day"),
    "podsets": (podsets, "probes between podsets with event times and incidents"),
}


def names() -> dict[str, str]:
    """Return the name of every stream with a one-line description."""
    return {name: line for name, (_, line) in _STREAMS.items()}


def parameters_of(name: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a stream except its seed: their types and defaults, by name."""
    known = inspect.signature(_factory(name)).parameters
    return {key: parameter for key, parameter in known.items() if key != "seed"}


def named(name: str, seed: int = 1, **parameters: Any) -> Stream | Podsets:
    """Return the stream with this name.

    Parameters
    ----------
    name
        One of :func:`names`.
    seed
        Zero or more; streams of different seeds are independent.
    parameters
        Those of the stream, such as ``psi`` of ar1. ``bursts`` and ``drift`` have ``of``, the name of another stream.

    Raises
    ------
    ValueError
        If there is no such stream or parameter. The message lists the valid ones.

    Examples
    --------
    >>> bool((named("ar1", seed=3, psi=0.2).take(5) == ar1(psi=0.2, seed=3).take(5)).all())
    True
    >>> named("serach")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: there is no stream 'serach'; did you mean search? There are pingmesh, ...
    """
    known = parameters_of(name)
    for key in parameters:
        if key not in known:
            valid = f"It has {', '.join(known)}" if known else "It has only a seed"
            raise ValueError(f"{name} has no parameter {key!r}{_near(key, known)} {valid}")
    return _factory(name)(seed=seed, **parameters)


def _factory(name: str) -> Callable[..., Stream | Podsets]:
    if name not in _STREAMS:
        raise ValueError(f"there is no stream {name!r}{_near(name, _STREAMS)} There are {', '.join(_STREAMS)}")
    return _STREAMS[name][0]


def _near(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known) or "."


def _plain(name: str, seed: int) -> Stream:
    """Return a stream of values, to which bursts and drift can be added."""
    stream = named(name, seed)
    if isinstance(stream, Podsets):
        raise ValueError("podsets generates events, not values; give another stream")
    return stream
