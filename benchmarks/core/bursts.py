"""How many bursts does the default query find where tails are short, and how many false alarms does it raise?

Bursts are the paper's: in one sub-window of every window, the values that decide p99.9 are multiplied by ten. Calm
streams have no burst, no drift and no incident. A false alarm is a sub-window at which `burst` becomes true there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aomg import Operator, Query
from aomg.streams import BLOCK, Stream, normal, pingmesh, uniform, with_bursts
from benchmarks.measure import Array, Figure

SHAPES = {"32K by 1K": (32_768, 1_024), "32K by 4K": (32_768, 4_096), "16K by 1K": (16_384, 1_024)}
AIM_FOUND = 95.0
AIM_ALARMS = 1.0
PER = 10_000
_UNEVEN = (100, 2_000)  # events of a sub-window


def run(quick: bool) -> list[Figure]:
    bursts, rounds = (100, 8) if quick else (4_000, 320)
    figures = [_detection(name, *shape, bursts) for name, shape in SHAPES.items()]
    counts = {stream.title: stream.alarms(rounds) for stream in CALM}
    sub_windows, alarms = (sum(column) for column in zip(*counts.values(), strict=True))
    rate = PER * alarms / sub_windows
    figures.append(
        Figure(
            f"false alarms per {PER:,} calm sub-windows, all streams below",
            f"{rate:.2f} ({alarms:,} in {sub_windows:,})",
            f"<= {AIM_ALARMS:g}",
            rate <= AIM_ALARMS,
            {"sub_windows": sub_windows, "alarms": alarms},
            "alarms",
        )
    )
    for title, (sub_windows, alarms) in counts.items():
        measured = f"{PER * alarms / sub_windows:.2f} ({alarms:,} in {sub_windows:,})"
        detail = {"sub_windows": sub_windows, "alarms": alarms}
        figures.append(
            Figure(f"false alarms per {PER:,} calm sub-windows, {title}", measured, "", None, detail, "alarms")
        )
    return figures


def _detection(name: str, size: int, period: int, bursts: int) -> Figure:
    """Return how many bursts are found in their own sub-window, and over in the next one."""
    stream, sub_windows = with_bursts(pingmesh(seed=3), size, period), size // period
    operator, flags = Operator(Query(size, period)), []
    for part in _parts(stream, bursts * size + period):
        flags.append(operator.push(part).bursts)
    flags_of_all = np.concatenate(flags)
    found = flags_of_all[sub_windows - 1 :: sub_windows][:bursts]
    over = ~flags_of_all[sub_windows::sub_windows][:bursts]
    share, ended = 100 * float(found.mean()), 100 * float(over[found].mean())
    return Figure(
        f"bursts found in their own sub-window, Pingmesh-like, {name}, {stream.raised} values raised",
        f"{share:.1f} % of {found.size:,}; {ended:.1f} % of these over in the next one",
        f">= {AIM_FOUND:g} %",
        share >= AIM_FOUND,
        {"bursts": found.size, "found": int(found.sum()), "over": int(over[found].sum())},
        "%",
    )


def _parts(stream: Stream, events: int) -> Iterator[Array]:
    """Yield the values of a stream in parts of whole sub-windows of every shape."""
    for start in range(0, events, 16 * BLOCK):
        yield stream.take(min(16 * BLOCK, events - start), start)


@dataclass(frozen=True)
class Calm:
    """A calm stream: `draw` returns this many values."""

    title: str
    draw: Callable[[np.random.Generator, int], Array]

    def alarms(self, rounds: int) -> tuple[int, int]:
        """Return the sub-windows of all shapes, and at how many of them `burst` becomes true."""
        sub_windows = alarms = 0
        for number, (size, period) in enumerate(SHAPES.values()):
            random = np.random.default_rng([number, *self.title.encode()])
            operator, flags = Operator(Query(size, period)), []
            for _ in range(rounds):
                flags.append(operator.push(self.draw(random, 4 * BLOCK)).bursts)
            sub_windows += sum(map(len, flags))
            alarms += _onsets(np.concatenate(flags))
        return sub_windows, alarms


@dataclass(frozen=True)
class Uneven(Calm):
    """A calm stream in event time: sub-windows have different numbers of events."""

    def alarms(self, rounds: int) -> tuple[int, int]:
        """Return the sub-windows, and at how many of them `burst` becomes true."""
        random = np.random.default_rng([*self.title.encode()])
        operator, flags, first = Operator(Query("32 s", "1 s")), [], 0
        for _ in range(rounds):
            sizes = random.integers(*_UNEVEN, 512, endpoint=True)
            seconds = np.repeat(np.arange(first, first + sizes.size), sizes)
            first += sizes.size
            flags.append(operator.push(self.draw(random, seconds.size), seconds.astype("datetime64[s]")).bursts)
        return sum(map(len, flags)), _onsets(np.concatenate(flags))


def _onsets(flags: npt.NDArray[np.bool_]) -> int:
    """Return how often a flag becomes true."""
    return int(flags[0]) + int((flags[1:] & ~flags[:-1]).sum())


def _from(stream: Callable[[int], Stream]) -> Callable[[np.random.Generator, int], Array]:
    """Return draws from a generated stream: a new seed for each."""
    return lambda random, events: stream(int(random.integers(2**31))).take(events)


def _lognormal(random: np.random.Generator, events: int) -> Array:
    return random.lognormal(6.7, 0.5, events)


CALM = (
    Calm("Pingmesh-like", _from(pingmesh)),
    Calm("Normal", _from(normal)),
    Calm("Uniform, 21 values", _from(uniform)),
    Calm("lognormal", _lognormal),
    Calm("heavy tail (Pareto, index 1.1)", lambda random, events: random.pareto(1.1, events) + 1),
    Calm("integers with many ties (geometric)", lambda random, events: random.geometric(0.2, events)),
    Uneven("lognormal in event time, 100 to 2,000 events a sub-window", _lognormal),
)
