"""Contenders run against a clock of their own, so that what is timed, and what is not, can be told exactly."""

import numpy as np
import pytest

from aomg import InputError
from aomg.errors import SettingsError
from aomg.evaluation.measure import speed
from aomg.evaluation.measure.contenders import default_aomg, rival
from aomg.evaluation.measure.scale import QUICK, Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.measure.speed import Course, course_of, race, races


class Clock:
    """Time that passes only when somebody works."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


class Fake:
    """A contender that takes a known time for every element, and remembers its pushes."""

    def __init__(self, clock, title, millions, log=None, warm=0, refuses_at=None):
        self.clock, self.title, self.millions = clock, title, millions
        self.log = [] if log is None else log
        self.seen, self.warm, self.refuses_at = 0, warm, refuses_at

    def start(self, size, period, quantiles):
        return self

    def push(self, values):
        self.seen += values.size
        if self.refuses_at is not None and self.seen > self.refuses_at:
            raise InputError("not these")
        slower = 1000 if self.seen <= self.warm else 1
        self.clock.now += slower * values.size / self.millions / 1e6
        self.log.append((self.title, int(values[0]), values.size))


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(speed, "time", clock)
    return clock


def counting(clock):
    """The numbers 0, 1, 2...; making them takes a minute, which must not count."""

    def take(events, start):
        clock.now += 60
        return np.arange(start, start + events)

    return ValueSource("counting", "Counting", take)


COURSE = Course(1_000, 100, 300_000, ("0.5",))


def test_a_speed_is_events_over_the_seconds_of_pushing(clock):
    speeds = race([Fake(clock, "two", 2), Fake(clock, "five", 5)], counting(clock), COURSE, 2)
    assert speeds["two"]["best"] == pytest.approx(2)
    assert speeds["five"]["best"] == pytest.approx(5)
    assert speeds["five"]["events"] == 300_000


def test_the_first_window_and_two_periods_are_not_timed(clock):
    speeds = race([Fake(clock, "slow to start", 3, warm=1_200)], counting(clock), COURSE, 1)
    assert speeds["slow to start"]["best"] == pytest.approx(3)


def test_the_timed_values_follow_the_first_window_and_are_the_same_for_all(clock):
    one, other = Fake(clock, "one", 2), Fake(clock, "other", 5)
    race([one, other], counting(clock), COURSE, 2)
    assert [push[1:] for push in one.log] == [push[1:] for push in other.log]
    assert [push[1:] for push in one.log[:2]] == [(0, 1_000), (1_000, 200)]
    timed = one.log[2:]
    assert sum(number for _, _, number in timed) == 2 * 300_000
    assert timed[0][1] == 1_000


def test_contenders_take_turns(clock):
    log = []
    course = Course(1_000, 100, 100, ("0.5",))
    race([Fake(clock, "one", 2, log), Fake(clock, "other", 2, log)], counting(clock), course, 3)
    assert [title for title, *_ in log[4:]] == ["one", "other"] * 3


def test_the_best_round_counts(clock):
    class Tiring(Fake):
        def push(self, values):
            super().push(values)
            self.millions = 4 if self.seen < 1_000 + 200 + 100 else 1

    course = Course(1_000, 100, 100, ("0.5",))
    speeds = race([Tiring(clock, "tiring", 4)], counting(clock), course, 3)["tiring"]
    assert speeds["rounds"] == pytest.approx([4, 1, 1])
    assert speeds["best"] == pytest.approx(4)


def test_all_are_timed_equally_long_and_say_how_many_events_they_had(clock):
    course = Course(1_000, 100, 300_000, ("0.5",), seconds=0.01)
    slow, fast = (race([Fake(clock, "x", m)], counting(clock), course, 1)["x"] for m in (0.1, 1_000))
    assert slow["best"] == pytest.approx(0.1)
    assert 0.01 * 0.1e6 <= slow["events"] < 3 * 0.01 * 0.1e6
    assert 0.01 * 1_000e6 <= fast["events"] < 1.01 * 0.01 * 1_000e6  # it went round, for as long as the slow one
    assert fast["best"] == pytest.approx(1_000)


def test_a_turn_has_one_push_however_slow(clock):
    course = Course(1_000, 100, 300_000, ("0.5",), seconds=1e-9)
    assert race([Fake(clock, "x", 0.001)], counting(clock), course, 1)["x"]["events"] == 100


@pytest.mark.parametrize("refuses_at", [500, 1_100, 50_000])
def test_who_refuses_a_value_is_left_out_and_the_others_run(clock, refuses_at):
    contenders = [Fake(clock, "refuses", 2, refuses_at=refuses_at), Fake(clock, "takes", 2)]
    assert list(race(contenders, counting(clock), COURSE, 2)) == ["takes"]


def test_who_lacks_a_library_is_left_out(clock):
    class Missing(Fake):
        def start(self, size, period, quantiles):
            raise SettingsError("install it")

    assert list(race([Missing(clock, "missing", 2), Fake(clock, "there", 2)], counting(clock), COURSE, 1)) == ["there"]


def test_real_contenders_have_a_speed():
    course = Course(20_000, 2_000, 40_000, ("0.5", "0.99"))
    speeds = race([default_aomg(), rival("exact-sorted")], of_stream("pingmesh"), course, 2)
    assert list(speeds) == ["AOMG (default)", "Exact (sorted)"]
    assert all(
        len(of_title["rounds"]) == 2 and of_title["best"] == max(of_title["rounds"]) > 0 for of_title in speeds.values()
    )
    assert all(of_title["events"] == 40_000 for of_title in speeds.values())


def test_a_course_has_millions_of_events_or_what_a_file_has_after_its_first_window():
    endless, file = of_stream("normal"), ValueSource("file", "file", lambda n, start: np.arange(n), size=5_000)
    assert course_of(QUICK, endless, 1_000, 100).events == 16_000_000
    assert course_of(Scale("x", 20_000_000, 1, 1, 1), endless, 1_000, 100).events == 20_000_000
    assert course_of(QUICK, file, 1_000, 100).events == 4_000


def test_a_turn_is_longer_at_a_larger_scale():
    scales = [Scale("x", events, 1, 1, 1) for events in (10**5, 10**6, 10**7)]
    seconds = [course_of(scale, of_stream("normal"), 10, 1).seconds for scale in scales]
    assert seconds == pytest.approx([0.05, 0.5, 2])  # two seconds at most


def test_courses_take_turns_as_contenders_do(clock):
    fake = Fake(clock, "x", 1)
    courses = [Course(size, 100, 1_000, ("0.5",)) for size in (1_000, 5_000)]
    speeds = races([fake], counting(clock), courses, 2)
    assert [of_title["x"]["events"] for of_title in speeds] == [1_000, 1_000]
    turns = [first for _, first, size in fake.log if size == 100 and first in (1_000, 5_000)]  # a turn's first push
    assert turns == [1_000, 5_000, 1_000, 5_000]


def test_who_compiles_for_a_minute_before_its_first_push_is_done_is_not_left_out(clock):
    small = Course(1_000, 1_000, 10_000, ("0.5",))
    speeds = race([Fake(clock, "to be compiled", 0.02, warm=1_000)], counting(clock), small, 1)
    assert speeds["to be compiled"]["best"] == pytest.approx(0.02)


def test_who_would_fill_a_window_for_hours_is_left_out(clock):
    course = Course(10_000_000, 100, 1_000, ("0.5",))  # 30 s, and 20 s more at 500,000 events a second
    patient, endless = Fake(clock, "patient", 0.21), Fake(clock, "endless", 0.19)
    assert list(race([patient, endless], counting(clock), course, 1)) == ["patient"]
    assert endless.seen < 10_000_000  # the rest is not waited for once it is clear


def test_who_tires_while_a_window_fills_is_left_out_too(clock):
    class Tiring(Fake):
        def push(self, values):
            self.millions = 1 if self.seen < 5_000_000 else 0.05
            super().push(values)

    course = Course(10_000_000, 100, 1_000, ("0.5",))
    assert race([Tiring(clock, "tiring", 1)], counting(clock), course, 1) == {}


def test_a_long_way_is_gone_once_by_all_on_values_that_are_generated_once(clock, monkeypatch):
    monkeypatch.setattr(speed, "_CHUNK", 1 << 18)
    taken = []

    def take(events, start):
        taken.append((start, events))
        return np.arange(start, start + events)

    through = 1_000_000
    courses = [Course(size, 100, 10_000, ("0.5",), seconds=0.01) for size in (1_000, 5_000)]
    fast, slow = Fake(clock, "fast", 50), Fake(clock, "slow", 0.1)
    speeds = races([fast, slow], ValueSource("s", "S", take), courses, 2, through)
    for of_title in speeds:
        assert len(of_title["fast"]["rounds"]) == len(of_title["slow"]["rounds"]) == 3
        assert of_title["fast"]["longest"] == through
        assert 0.01 * 0.1e6 <= of_title["slow"]["longest"] < 3 * 0.01 * 0.1e6  # it stops when its time is over
        assert of_title["fast"]["best"] == pytest.approx(50) and of_title["slow"]["best"] == pytest.approx(0.1)
    long_way = [(start, events) for start, events in taken if start >= 5_000 and events > 10_000]
    assert long_way == [(5_000 + offset, min(1 << 18, through - offset)) for offset in range(0, through, 1 << 18)]


def test_a_long_way_that_takes_far_too_long_is_cut(clock, monkeypatch):
    monkeypatch.setattr(speed, "_CHUNK", 1 << 18)
    course = Course(1_000, 100, 10_000, ("0.5",), seconds=0.03)
    speeds = races([Fake(clock, "x", 10)], counting(clock), [course], 1, 1_000_000)  # 25 ms for all, 26 for a chunk
    assert 1 << 18 <= speeds[0]["x"]["longest"] < 1_000_000


@pytest.mark.parametrize("refuses_at", [1_300, 300_000])
def test_who_refuses_a_value_on_a_long_way_is_left_out(clock, refuses_at):
    contenders = [Fake(clock, "refuses", 20, refuses_at=refuses_at), Fake(clock, "takes", 20)]
    course = Course(1_000, 100, 10_000, ("0.5",), seconds=0.01)
    assert list(races(contenders, counting(clock), [course], 2, 500_000)[0]) == ["takes"]
