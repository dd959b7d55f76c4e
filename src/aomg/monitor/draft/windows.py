"""Chooses windows that fit the rate of events: enough of them for the quantiles, and several windows in the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from aomg.monitor.draft.sample import Sample

_SECOND = 1_000_000
_MINUTE, _HOUR, _DAY = 60 * _SECOND, 3_600 * _SECOND, 86_400 * _SECOND
_LADDER = (  # period, size
    (_SECOND, 10 * _SECOND),
    (10 * _SECOND, _MINUTE),
    (_MINUTE, 5 * _MINUTE),
    (_MINUTE, 10 * _MINUTE),
    (5 * _MINUTE, _HOUR),
    (15 * _MINUTE, 6 * _HOUR),
    (_HOUR, _DAY),
    (6 * _HOUR, 7 * _DAY),
    (_DAY, 30 * _DAY),
)
_ENOUGH = 1_000  # events of a key in a window: one of them is above p99.9
_FEWER = 100
_LATENESS = tuple(seconds * _SECOND for seconds in (10, 30, 60, 300, 900, 3_600))


@dataclass(frozen=True)
class Rate:
    """How fast events come, in event time.

    a_second
        Events a second, of all keys; None if unknown.
    span
        Microseconds from the first event to the last; None if unknown.
    last
        The newest time.
    disorder
        By how many microseconds events are behind a later one that came before.
    """

    a_second: float | None
    span: int | None
    last: int | None
    disorder: int


@dataclass(frozen=True)
class WindowChoice:
    """The windows of the query. `events` are those of a key in a window, None if unknown."""

    size: int
    period: int
    lateness: int
    events: float | None
    quantiles: tuple[str, ...]
    is_short: bool
    """Whether the data are too short for windows with enough events."""


def rate_of(sample: Sample, micros: Sequence[int | None]) -> Rate:
    """Measure the rate: that of all rows in all the time, or of rows that follow each other if that is higher."""
    known = [time for time in micros if time is not None]
    if not known:
        return Rate(None, None, None, 0)
    span = max(known) - min(known)
    rates, behind = [], []
    for run in sample.runs:
        times = [time for time in micros[run.start : run.stop] if time is not None]
        if len(times) > 1 and max(times) > min(times):
            rates.append((len(times) - 1) * _SECOND / (max(times) - min(times)))
        newest = times[0] if times else 0
        for time in times:
            newest = max(newest, time)
            behind.append(newest - time)
    if span and sample.total is not None:
        rates = [max([sample.total * _SECOND / span, *([median(rates)] if rates else [])])]
    behind.sort()
    a_second = median(rates) if rates else None
    if sample.total is not None and a_second:  # of compressed files only the begin is known
        span = max(span, int(sample.total / a_second * _SECOND)) if len(sample.runs) == sample.files else span
    return Rate(a_second, span or None, max(known), behind[int(0.999 * (len(behind) - 1))])


def windows_of(rate: Rate, keys: int, is_live: bool) -> WindowChoice:
    """Choose windows: the shortest with a thousand events of a key, of which the data have several."""
    fitting = [
        (period, size)
        for period, size in _LADDER
        if is_live or rate.span is None or (4 * size <= rate.span and 10 * period <= rate.span)
    ]
    lateness = next((wait for wait in _LATENESS if wait >= rate.disorder), _LATENESS[-1])
    if rate.a_second is None:
        period, size = (_MINUTE, 5 * _MINUTE)
        return WindowChoice(size, period, lateness, None, ("0.5", "0.9", "0.99"), False)
    a_key = rate.a_second / max(keys, 1) / _SECOND
    fitting = [step for step in fitting if step[0] > _SECOND] or fitting or [_LADDER[0]]
    enough = next((step for step in fitting if a_key * step[1] >= _ENOUGH), None)
    period, size = enough or fitting[-1]
    events = a_key * size
    quantiles = ["0.5", "0.9", *(["0.99"] if events >= _FEWER else []), *(["0.999"] if events >= _ENOUGH else [])]
    return WindowChoice(size, period, lateness, events, tuple(quantiles), enough is None)


def rate_text(a_second: float) -> str:
    """A rate with a unit that suits it.

    >>> rate_text(15.04), rate_text(0.01), rate_text(12345.0)
    ('15 a second', '36 an hour', '12,300 a second')
    """
    for factor, unit in ((1, "a second"), (60, "a minute"), (3_600, "an hour")):
        if a_second * factor >= 1 or unit == "an hour":
            rate = float(f"{a_second * factor:.3g}")
            return f"{rate:,.0f} {unit}" if rate >= 10 else f"{rate:g} {unit}"
    raise AssertionError
