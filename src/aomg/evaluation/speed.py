"""How many events a second one thread takes: contenders take turns on the same values, and the best turn counts."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from aomg.errors import InputError, SettingsError
from aomg.evaluation.accuracy import QUANTILES
from aomg.evaluation.contenders import Contender, Runner
from aomg.evaluation.scale import Scale
from aomg.evaluation.source import Source, Values

FEWEST_EVENTS = 16_000_000  # of a round: more than any cache holds
_EVENTS_A_SECOND = 2_000_000  # the time of a turn is what a slow contender takes for the scale's events
_PUSH = 1 << 16  # elements that are pushed at once
_CHUNK = 1 << 24  # elements that are generated at once
_FILLING = 250_000  # events a second at which a window must fill,
_FILLING_SECONDS = 30.0  # after so long


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


def course_of(scale: Scale, source: Source, size: int, period: int, events: int = 0) -> Course:
    """Return the course of a window at a scale: at least some millions of events, if the source has them."""
    events = source.most(size + max(events, scale.events, FEWEST_EVENTS)) - size
    return Course(size, period, events, QUANTILES, scale.events / _EVENTS_A_SECOND)


def race(contenders: Sequence[Contender], source: Source, course: Course, rounds: int) -> dict[str, dict[str, Any]]:
    """Million events a second of each contender, by its title: the best round, every round, and events of the best.

    A window and two periods are pushed first and not timed: all is compiled and sub-windows expire. Then contenders
    take turns on the values after the first window. Values are generated in chunks, outside of the time that counts.
    Who does not take these values, lacks a library, or would spend hours on filling the window (`_FILLING`) is left
    out.
    """
    return races(contenders, source, [course], rounds)[0]


def races(
    contenders: Sequence[Contender], source: Source, courses: Sequence[Course], rounds: int
) -> list[dict[str, dict[str, Any]]]:
    """The same on several courses, which take turns as well: what disturbs the machine disturbs all of them."""
    fields = [_field(contenders, source, course) for course in courses]
    turns: list[dict[str, list[tuple[int, float]]]] = [{title: [] for title in runners} for runners in fields]
    for _ in range(rounds):
        for course, runners, own in zip(courses, fields, turns, strict=True):
            for title, runner in runners.items():
                with suppress(InputError):
                    own[title].append(_turn(runner, source, course))
    return [{title: _told(own) for title, own in of_course.items() if len(own) == rounds} for of_course in turns]


def _field(contenders: Sequence[Contender], source: Source, course: Course) -> dict[str, Runner]:
    runners: dict[str, Runner] = {}
    for contender in contenders:
        with suppress(InputError, SettingsError, _TooSlowError):
            runners[contender.title] = _filled(contender, source, course)
    return runners


def _told(turns: Sequence[tuple[int, float]]) -> dict[str, Any]:
    speeds = [events / seconds / 1e6 if events else math.nan for events, seconds in turns]
    best = max(range(len(speeds)), key=speeds.__getitem__)
    return {"best": speeds[best], "rounds": speeds, "events": turns[best][0]}


class _TooSlowError(Exception):
    """A contender that would spend hours on filling a window."""


def _filled(contender: Contender, source: Source, course: Course) -> Runner:
    """A contender that has seen the first window and two periods."""
    runner = contender.start(course.size, course.period, course.quantiles)
    spent, patience = 0.0, _FILLING_SECONDS + course.size / _FILLING
    for values in chain(_chunks(source, 0, course.size), [source.take(2 * course.period, course.size)]):
        for at in range(0, values.size, _PUSH):
            started = time.perf_counter()
            runner.push(values[at : at + _PUSH])
            spent += time.perf_counter() - started
            if spent > patience:
                raise _TooSlowError
    return runner


def _chunks(source: Source, start: int, end: int) -> Iterator[Values]:
    for one, other in pairwise([*range(start, end, _CHUNK), end]):
        yield source.take(other - one, one)


def _turn(runner: Runner, source: Source, course: Course) -> tuple[int, float]:
    """Events and seconds. Pushes begin with a period and grow, so that the slowest can end in time.

    Who is through before the time is over begins again: the fastest are timed as long as the slowest.
    """
    events, seconds, push = 0, 0.0, min(course.period, _PUSH)
    while True:
        for values in _chunks(source, course.size, course.size + course.events):
            at = 0
            while at < values.size:
                part = values[at : at + push]
                started = time.perf_counter()
                runner.push(part)
                seconds += time.perf_counter() - started
                events, at, push = events + part.size, at + part.size, min(2 * push, _PUSH)
                if seconds >= course.seconds:
                    return events, seconds
        if course.seconds == math.inf or not course.events:
            return events, seconds
