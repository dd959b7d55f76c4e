"""How many events a second one thread takes: contenders take turns on the same values, and the best turn counts."""

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

FEWEST_EVENTS = 16_000_000  # of a round: more than any cache holds
_EVENTS_A_SECOND = 2_000_000  # the time of a turn is what a slow contender takes for the scale's events,
_MOST_SECONDS = 2.0  # but not more: turns differ more by what disturbs the machine than by their length
_PUSH = 1 << 16  # elements that are pushed at once
_CHUNK = 1 << 24  # elements that are generated at once
_FILLING = 500_000  # events a second at which a window must fill,
_FILLING_SECONDS = 30.0  # after so long
_GOING_THROUGH = 40_000_000  # events a second at which a long way must be gone, or it is cut


Turn = tuple[int, float]
"""Events, and the seconds that they took."""


@dataclass(frozen=True)
class Course:
    """What is run: a first part fills the window and is not timed, then `events` are.

    A turn takes `seconds`, to the push that it is at: slow contenders are timed on fewer events, fast ones go round.
    """

    size: int
    period: int
    events: int
    quantiles: tuple[str, ...]
    seconds: float = math.inf


def course_of(scale: Scale, source: ValueSource, size: int, period: int) -> Course:
    """Return the course of a window at a scale: at least some millions of events, if the source has them."""
    events = source.most(size + max(scale.events, FEWEST_EVENTS)) - size
    return Course(size, period, events, QUANTILES, min(scale.events / _EVENTS_A_SECOND, _MOST_SECONDS))


def race(
    contenders: Sequence[Contender], source: ValueSource, course: Course, rounds: int
) -> dict[str, dict[str, Any]]:
    """Million events a second of each contender, by its title: the best round, every round, and events of the best.

    A window and two periods are pushed first and not timed: all is compiled and sub-windows expire. Then contenders
    take turns on the values after the first window. Values are generated outside of the time that counts.
    Who does not take these values, lacks a library, or would spend hours on filling the window (`_FILLING`) is left
    out.
    """
    return races(contenders, source, [course], rounds)[0]


def races(
    contenders: Sequence[Contender], source: ValueSource, courses: Sequence[Course], rounds: int, through: int = 0
) -> list[dict[str, dict[str, Any]]]:
    """The same on several courses, which take turns as well: what disturbs the machine disturbs all of them.

    through
        Before the rounds, all go once through so many events that follow the longest window; it counts as a round,
        and `longest` tells how far each came.
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
    return [{title: _told(own) for title, own in of_course.items() if len(own) == expected} for of_course in turns]


def _field(contenders: Sequence[Contender], source: ValueSource, course: Course) -> dict[str, Runner]:
    runners: dict[str, Runner] = {}
    for contender in contenders:
        with suppress(InputError, SettingsError, _TooSlowError):
            runners[contender.title] = _filled(contender, source, course)
    return runners


def _told(turns: Sequence[Turn]) -> dict[str, Any]:
    speeds = [events / seconds / 1e6 if events else math.nan for events, seconds in turns]
    best = max(range(len(speeds)), key=speeds.__getitem__)
    return {
        "best": speeds[best],
        "rounds": speeds,
        "events": turns[best][0],
        "longest": max(events for events, _ in turns),
    }


class _TooSlowError(Exception):
    """A contender that would spend hours on filling a window."""


def _filled(contender: Contender, source: ValueSource, course: Course) -> Runner:
    """A contender that has seen the first window and two periods."""
    runner = contender.start(course.size, course.period, course.quantiles)
    spent, seen, patience = 0.0, 0, _FILLING_SECONDS + course.size / _FILLING
    chunks = chain(_chunks(source, 0, course.size), [source.take(2 * course.period, course.size)])
    pushes = (values[at : at + _PUSH] for values in chunks for at in range(0, values.size, _PUSH))
    runner.push(next(pushes))  # compiles, which may take longer than to fill a small window
    for part in pushes:
        spent += _seconds(runner, part)
        seen += part.size
        # nobody becomes faster while a window fills
        if spent > _FILLING_SECONDS and spent * course.size > patience * seen:
            raise _TooSlowError
    return runner


def _chunks(source: ValueSource, start: int, end: int) -> Iterator[Values]:
    for one, other in pairwise([*range(start, end, _CHUNK), end]):
        yield source.take(other - one, one)


def _turn(runner: Runner, values: Values, course: Course) -> Turn:
    """One turn on these values.

    Who is through before the time is over begins again: the fastest are timed as long as the slowest.
    """
    events, seconds = _pushed(runner, values, course.period, course.seconds)
    while course.seconds < math.inf and values.size and seconds < course.seconds:
        more = _pushed(runner, values, _PUSH, course.seconds - seconds)
        events, seconds = events + more[0], seconds + more[1]
    return events, seconds


def _pushed(runner: Runner, values: Values, first: int, most_seconds: float) -> Turn:
    """Push values until the time is over. Pushes begin small and grow, so that the slowest can end in time."""
    at, seconds, push = 0, 0.0, min(first, _PUSH)
    while at < values.size and (at == 0 or seconds < most_seconds):
        part = values[at : at + push]
        seconds += _seconds(runner, part)
        at, push = at + part.size, min(2 * push, _PUSH)
    return at, seconds


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
    """One long turn for each, on values that are generated once for all.

    Who does not come through the first chunk in the time of a turn stops there; others when it takes far too long.
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
