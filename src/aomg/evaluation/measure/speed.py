"""Measures events per second on one thread: contenders take turns on the same values, and the best turn counts."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from aomg.errors import InputError, SettingsError
from aomg.evaluation.measure.accuracy import QUANTILES
from aomg.evaluation.measure.contenders import Contender, Runner
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import Values, ValueSource

FEWEST_EVENTS = 16_000_000  # per round: more than fits into any cache
_EVENTS_A_SECOND = 2_000_000  # a turn takes as long as a slow contender needs for the scale's events,
_MOST_SECONDS = 2.0  # but not longer: the noise of the machine matters more than the length of a turn
_PUSH = 1 << 16  # events per push
_CHUNK = 1 << 24  # events that are generated at once
_FILLING = 500_000  # events per second: a contender that fills a window more slowly
_FILLING_SECONDS = 30.0  # after this time is left out
_GOING_THROUGH = 40_000_000  # events per second: a slower contender stops early


Turn = tuple[int, float]
"""Number of events, and their seconds."""


@dataclass(frozen=True)
class Course:
    """A window and the timed events. First, the window is filled, untimed.

    A turn ends with the first push after `seconds`: slow contenders are timed on fewer events, fast ones start over.
    """

    size: int
    period: int
    events: int
    quantiles: tuple[str, ...]
    seconds: float = math.inf


def course_of(scale: Scale, source: ValueSource, size: int, period: int) -> Course:
    """Return the course of a window at a scale: some millions of events, if the source has them."""
    events = source.most(size + max(scale.events, FEWEST_EVENTS)) - size
    return Course(size, period, events, QUANTILES, min(scale.events / _EVENTS_A_SECOND, _MOST_SECONDS))


def race(
    contenders: Sequence[Contender], source: ValueSource, course: Course, rounds: int
) -> dict[str, dict[str, Any]]:
    """Return the million events per second of each contender by title: the best round, all rounds, and its events.

    First, a window and two periods are pushed, untimed: everything is compiled and sub-windows expire. Then contenders
    take turns on the values after the first window. The generation of values is not timed. Contenders that refuse these
    values, lack a library, or would need hours to fill the window (`_FILLING`) are left out.
    """
    return races(contenders, source, [course], rounds)[0]


def races(
    contenders: Sequence[Contender], source: ValueSource, courses: Sequence[Course], rounds: int, through: int = 0
) -> list[dict[str, dict[str, Any]]]:
    """Run `race` on several courses, which also take turns, so that noise of the machine affects all of them.

    through
        Before the rounds, each contender processes this many events after the longest window. This counts as a round;
        `longest` is the number of events that it processed.
    """
    fields = [_field(contenders, source, course) for course in courses]
    turns: list[dict[str, list[Turn]]] = [{title: [] for title in runners} for runners in fields]
    if through:
        _go_through(fields, turns, source, courses, through)
    for _ in range(rounds):
        for course, runners, own in zip(courses, fields, turns, strict=True):
            values = source.take(course.events, course.size)
            for title, runner in runners.items():
                with suppress(InputError):
                    own[title].append(_turn(runner, values, course))
    expected = rounds + bool(through)
    return [{title: _speeds_of(own) for title, own in of_course.items() if len(own) == expected} for of_course in turns]


def _field(contenders: Sequence[Contender], source: ValueSource, course: Course) -> dict[str, Runner]:
    runners: dict[str, Runner] = {}
    for contender in contenders:
        with suppress(InputError, SettingsError, _TooSlowError):
            runners[contender.title] = _filled(contender, source, course)
    return runners


def _speeds_of(turns: Sequence[Turn]) -> dict[str, Any]:
    speeds = [events / seconds / 1e6 if events else math.nan for events, seconds in turns]
    best = max(range(len(speeds)), key=speeds.__getitem__)
    return {
        "best": speeds[best],
        "rounds": speeds,
        "events": turns[best][0],
        "longest": max(events for events, _ in turns),
    }


class _TooSlowError(Exception):
    """A contender that would need hours to fill a window."""


def _filled(contender: Contender, source: ValueSource, course: Course) -> Runner:
    """Return an operator after the first window and two periods."""
    runner = contender.start(course.size, course.period, course.quantiles)
    spent, pushed, patience = 0.0, 0, _FILLING_SECONDS + course.size / _FILLING
    chunks = chain(_chunks(source, 0, course.size), [source.take(2 * course.period, course.size)])
    pushes = (values[start : start + _PUSH] for values in chunks for start in range(0, values.size, _PUSH))
    runner.push(next(pushes))  # compiles, which may take longer than filling a small window
    for part in pushes:
        spent += _seconds(runner, part)
        pushed += part.size
        # no contender becomes faster while its window fills
        if spent > _FILLING_SECONDS and spent * course.size > patience * pushed:
            raise _TooSlowError
    return runner


def _chunks(source: ValueSource, start: int, end: int) -> Iterator[Values]:
    for first, last in pairwise([*range(start, end, _CHUNK), end]):
        yield source.take(last - first, first)


def _turn(runner: Runner, values: Values, course: Course) -> Turn:
    """Run one turn on these values; start over if they end early, so that all contenders are timed equally long."""
    events, seconds = _pushed(runner, values, course.period, course.seconds)
    while course.seconds < math.inf and values.size and seconds < course.seconds:
        more = _pushed(runner, values, _PUSH, course.seconds - seconds)
        events, seconds = events + more[0], seconds + more[1]
    return events, seconds


def _pushed(runner: Runner, values: Values, first: int, most_seconds: float) -> Turn:
    """Push values until the time is over. Pushes start small and grow, so that slow contenders end in time."""
    position, seconds, push = 0, 0.0, min(first, _PUSH)
    while position < values.size and (position == 0 or seconds < most_seconds):
        part = values[position : position + push]
        seconds += _seconds(runner, part)
        position, push = position + part.size, min(2 * push, _PUSH)
    return position, seconds


def _seconds(runner: Runner, values: Values) -> float:
    started = time.perf_counter()
    runner.push(values)
    return time.perf_counter() - started


def _go_through(
    fields: Sequence[dict[str, Runner]],
    turns: Sequence[dict[str, list[Turn]]],
    source: ValueSource,
    courses: Sequence[Course],
    through: int,
) -> None:
    """Run one long turn of each contender, on values that are generated once.

    A contender stops if the first chunk takes longer than a turn, or later chunks far too long.
    """
    start = max(course.size for course in courses)
    going = [
        (runner, own[title], course)
        for course, runners, own in zip(courses, fields, turns, strict=True)
        for title, runner in runners.items()
    ]
    for values in _chunks(source, start, start + through):
        still = []
        for runner, own, course in going:
            events, seconds = own.pop() if own else (0, 0.0)
            limit = through / _GOING_THROUGH - seconds if events else course.seconds
            with suppress(InputError):
                more = _pushed(runner, values, course.period if not events else _PUSH, limit)
                own.append((events + more[0], seconds + more[1]))
                if more[0] == values.size:
                    still.append((runner, own, course))
        going = still
