"""The page says how the monitor fares, and sounds an alarm only where results should move and do not."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from aomg.monitor.config.reader import EXAMPLE, load
from aomg.monitor.run.health import Health
from aomg.monitor.run.progress import Progress
from aomg.monitor.sinks.quarantine import Quarantine
from aomg.times import time_text
from aomg.web.follow.health import MOST_BATCHES, HealthLog

SECOND = 1_000_000
NOON = 1_794_830_400 * SECOND
PERIOD = 15 * SECOND


class Monitor:
    """Writes its health as a monitor does, at times that a test chooses."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, NOON
        self.file = folder / "health.jsonl"
        self.query = SimpleNamespace(lastProgress=None, recentProgress=[])
        self.health = Health(folder, clock=lambda: self.now / SECOND)
        self.batches = 0

    def batch(
        self,
        rows: int = 20,
        events: int = 1000,
        after: int = 2 * SECOND,
        refused: dict | None = None,
        ends: tuple[int, ...] = (),
    ) -> None:
        self.now += after
        operators = [SimpleNamespace(numRowsTotal=70, memoryUsedBytes=5000)]
        self.query.lastProgress = SimpleNamespace(
            batchId=self.batches,
            batchDuration=500,
            durationMs={"addBatch": 400, "walCommit": 20},
            stateOperators=operators,
        )
        newest = {str(index): SimpleNamespace(end=end) for index, end in enumerate(ends)}
        self.health(Progress(self.batches, 0.1, refused or {}, newest, rows, [], [], events))
        self.batches += 1
        self.lives()

    def lives(self) -> None:
        self.health.poll(self.query)
        os.utime(self.file, ns=(self.now * 1000, self.now * 1000))

    def log(self, **more) -> HealthLog:
        log = HealthLog(self.folder, self.folder / "quarantine", **{"every": 2 * SECOND, **more})
        log.step()
        return log


@pytest.fixture
def monitor(tmp_path) -> Monitor:
    running = Monitor(tmp_path)
    running.health.started()
    for _ in range(3):
        running.batch()
    return running


def test_health_tells_every_batch_and_the_totals(monitor):
    monitor.batch(rows=0, events=500, refused={"no number": 2})
    answer = monitor.log().snapshot().to_json(monitor.now + SECOND, monitor.now - 5 * SECOND, PERIOD)
    assert answer["live"] and answer["stale"] is None and answer["note"] is None and answer["lag_seconds"] == 6.0
    assert [one["batch"] for one in answer["batches"]] == [0, 1, 2, 3]
    last = answer["batches"][-1]
    assert last["at"] == time_text(monitor.now)
    assert (last["events"], last["seconds"], last["events_per_second"]) == (500, 0.5, 1000.0)
    assert (last["rows"], last["refused"], last["late"]) == (0, 2, None)
    assert last["phases"] == pytest.approx({"find": 0, "plan": 0, "compute": 0.3, "write": 0.1, "commit": 0.02})
    assert answer["totals"] == {"events": 3500, "rows": 60, "late": None, "refused": 0, "refused_by_reason": {}}
    assert (answer["state_rows"], answer["state_bytes"]) == (70, 5000)
    json.dumps(answer, allow_nan=False)


def test_a_log_follows_what_is_written_and_stays_bounded(monitor):
    log = monitor.log()
    assert log.step() is False
    monitor.batch()
    assert log.step() is True and len(log.snapshot().batches) == 4
    for _ in range(MOST_BATCHES):
        monitor.batch()
    log.step()
    assert [one["batch"] for one in log.snapshot().batches] == list(range(4, MOST_BATCHES + 4))
    assert log.snapshot().totals["events"] == 1000 * (MOST_BATCHES + 4)


def test_what_went_to_the_older_file_is_not_forgotten(monitor):
    log = monitor.log()
    monitor.file.replace(monitor.file.with_name("health.1.jsonl"))
    monitor.batch()
    log.step()
    assert (
        [one["batch"] for one in log.snapshot().batches]
        == [0, 1, 2, 3]
        == [one["batch"] for one in monitor.log().snapshot().batches]
    )


def test_a_repeated_batch_counts_once(monitor):
    log = monitor.log()
    monitor.batches = 1  # it was killed, and goes on from there
    monitor.batch(rows=7)
    log.step()
    assert [(one["batch"], one["rows"]) for one in log.snapshot().batches] == [(0, 20), (1, 7)]
    assert log.snapshot().totals["rows"] == 27


def test_damaged_lines_are_left_out(monitor):
    with monitor.file.open("a") as raw:
        raw.write('no json\n{}\n[]\n{"batch":9,"at":"never"}\n{"batch":9,"at":"2026-11-16T12:00:00Z"}\n{"batch":')
    assert [one["batch"] for one in monitor.log().snapshot().batches] == [0, 1, 2]


def test_refused_rows_are_counted_by_reason(monitor):
    quarantine = Quarantine(monitor.folder / "quarantine")
    quarantine.write_counts({"no number": 3, "no time": 1})
    log = monitor.log()
    assert log.snapshot().totals["refused"] == 4
    quarantine.write_counts({"no number": 3, "no time": 6})
    assert log.step()
    assert log.snapshot().totals["refused_by_reason"] == {"no time": 6, "no number": 3} and log.problem is None
    (monitor.folder / "quarantine" / "counts.json").write_text("{")
    assert log.step() is False and "counts.json" in log.problem
    assert log.snapshot().totals["refused"] == 9


def test_the_age_of_the_checkpoint_is_that_of_its_newest_commit(monitor):
    commits = monitor.folder / "checkpoint" / "commits"
    commits.mkdir(parents=True)
    for number, age in ((0, 90), (1, 30)):
        (commits / str(number)).touch()
        os.utime(commits / str(number), ns=((monitor.now - age * SECOND) * 1000,) * 2)
    assert monitor.log().snapshot().to_json(monitor.now, None, None)["checkpoint_age_seconds"] == 30.0


def stale(monitor: Monitor, after: float, period: int = PERIOD, **more):
    return monitor.log(**more).snapshot().to_json(monitor.now + int(after * SECOND), NOON, period)["stale"]


@pytest.mark.parametrize(
    ("every", "period", "limit"), [(2, 15, 60), (2, 40, 120), (50, 15, 150), (2, 3600, 10800), (1, 1, 60)]
)
def test_results_are_stale_after_three_periods_three_batches_and_a_minute(monitor, every, period, limit):
    assert stale(monitor, limit, period * SECOND, every=every * SECOND) is None
    assert stale(monitor, limit + 1, period * SECOND, every=every * SECOND)["seconds"] == limit + 1


def test_a_monitor_that_vanished_is_said_to_be_started_again(monitor):
    answer = stale(monitor, 340)
    assert answer["because"] == "the monitor has given no sign of life for 5 min 40 s"
    assert "aomg run" in answer["what_to_do"]
    assert monitor.log().snapshot().to_json(monitor.now + 340 * SECOND, NOON, PERIOD)["live"] is False


def test_a_monitor_that_lives_without_batches_is_told_from_one_whose_windows_stand_still(monitor):
    brought = monitor.now
    monitor.now += 100 * SECOND
    monitor.lives()
    answer = stale(monitor, 1)
    assert "no micro-batch finished for 1 min 41 s" in answer["because"] and "source" not in answer["because"]
    monitor.batch(rows=0)
    answer = stale(monitor, 1)
    assert "events arrive, but no window was closed" in answer["because"]
    assert answer["seconds"] == (monitor.now + SECOND - brought) / SECOND
    monitor.batch(rows=5)
    assert stale(monitor, 1) is None


def test_a_monitor_that_brought_nothing_yet_has_the_same_time_for_its_first_window(tmp_path):
    running = Monitor(tmp_path)
    running.health.started()
    running.lives()
    assert stale(running, 59) is None
    running.batch(rows=0)
    assert stale(running, 30) is None
    assert stale(running, 100) is not None


def test_a_stream_that_ended_is_no_alarm_but_its_age_is_said(monitor):
    monitor.health.ended("its source ended")
    answer = monitor.log().snapshot().to_json(monitor.now + 7200 * SECOND, NOON, PERIOD)
    assert answer["stale"] is None and answer["live"] is False and answer["lag_seconds"] is None
    assert answer["note"] == "the monitor ended 2 h ago: its source ended"  # its results are as old
    monitor.now += 120 * SECOND
    monitor.health.ended("it was stopped")
    note = monitor.log().snapshot().to_json(monitor.now, NOON, PERIOD)["note"]
    assert note.endswith("it was stopped; the newest results are 2 min old")
    monitor.health.started()
    monitor.batch()
    answer = monitor.log().snapshot().to_json(monitor.now + SECOND, NOON, PERIOD)
    assert answer["live"] and answer["note"] is None


def test_a_monitor_that_failed_is_an_alarm_at_once(monitor):
    monitor.health.ended("it failed")
    answer = monitor.log().snapshot().to_json(monitor.now + 2 * SECOND, NOON, PERIOD)
    assert answer["stale"]["because"] == "the monitor failed 2 s ago" and "aomg run" in answer["stale"]["what_to_do"]
    assert answer["live"] is False and "it failed" in answer["note"]
    monitor.health.started()
    monitor.lives()
    assert stale(monitor, 1) is None


def test_a_monitor_that_was_started_again_has_time_for_its_first_window(monitor):
    monitor.now += 3 * 86_400 * SECOND
    monitor.health.started()
    monitor.lives()
    assert stale(monitor, 1) is None
    monitor.now += 290 * SECOND
    monitor.lives()
    assert stale(monitor, 1) is None  # Spark starts, and code may have to be compiled
    monitor.now += 10 * SECOND
    monitor.lives()
    answer = stale(monitor, 1)
    assert answer["seconds"] == 301.0 and "no micro-batch finished for 5 min 1 s" in answer["because"]


def test_a_first_start_that_never_brings_a_batch_is_an_alarm_though_it_lives(tmp_path):
    running = Monitor(tmp_path)
    running.health.started()
    running.now += 301 * SECOND
    running.lives()
    assert "no micro-batch finished" in stale(running, 0)["because"]


def test_a_start_has_steps_and_says_when_the_first_window_is_due(tmp_path):
    config = load(EXAMPLE, folder=tmp_path)
    folder = tmp_path / "state"
    folder.mkdir()
    running = Monitor(folder)

    def start(has_windows=False):
        running.lives()
        step = running.log().snapshot().start(running.now, has_windows)
        return step and step.to_json(running.now, config)

    def written(path):
        file = folder / "checkpoint" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, ns=(running.now * 1000,) * 2)

    running.file.touch()
    assert start() is None  # nothing reported a start
    running.health.started()
    running.now += 5 * SECOND
    first = start()
    assert (first["step"], first["seconds"]) == ("spark", 5.0)
    # ten times as fast as the clock: 1.7 s for the 17 s of the first window, after Spark's 30 and a batch of 2
    assert first["due"] == time_text(NOON + 33_700_000)
    assert first["first_window"].startswith("query inbound has its first window once the events of a period (15s)")
    for path, step in (("metadata", "plan"), ("offsets/0", "batch")):
        running.now += 5 * SECOND
        written(path)
        assert start()["step"] == step
    running.now += 200 * SECOND
    running.batch(rows=0)
    assert start()["step"] == "window" and start(has_windows=True) is None
    assert stale(running, 1) is None
    running.health.ended("its source ended")
    assert start() is None
    running.now += SECOND
    running.health.started()  # again: what the checkpoint has is of the first start
    assert start(has_windows=True)["step"] == "spark"


def test_a_folder_of_results_alone_is_no_alarm_but_its_age_is_said():
    log = HealthLog(None, None)
    assert log.step() is False
    answer = log.snapshot().to_json(NOON, NOON - 3600 * SECOND, PERIOD, written=NOON - 600 * SECOND)
    assert answer["stale"] is None and answer["live"] is False and answer["batches"] == []
    assert (
        answer["note"]
        == "this page shows a folder of results, not a running monitor; the newest results are 10 min old"
    )


def test_a_state_folder_without_a_monitor_is_no_alarm(tmp_path):
    log = HealthLog(tmp_path / "state", tmp_path / "quarantine")
    assert log.step() is False and log.problem is None
    answer = log.snapshot().to_json(NOON, None, None)
    assert answer["stale"] is None and answer["note"] == "no monitor has run with this state folder yet"


def test_the_lag_is_told_only_where_event_times_are_those_of_the_clock(monitor):
    def lag(newest_end, **more):
        return monitor.log(**more).snapshot().to_json(monitor.now, newest_end, PERIOD)["lag_seconds"]

    assert lag(monitor.now - 20 * SECOND) == 20.0
    assert lag(monitor.now - 20 * SECOND, by_clock=False) is None
    assert lag(monitor.now - 400 * 86_400 * SECOND) is None and lag(None) is None


def test_every_batch_tells_the_lag_that_it_left(monitor):
    newest = monitor.now
    monitor.batch(ends=(newest - 7 * SECOND, newest), after=4 * SECOND)
    monitor.batch(rows=0, after=10 * SECOND)  # no window was closed: the lag grows
    monitor.batch(ends=(newest + 13 * SECOND,), after=SECOND)

    def lags(**more):
        return [one["lag_seconds"] for one in monitor.log(**more).snapshot().batches]

    assert lags() == [None, None, None, 4.0, 14.0, 2.0]
    assert lags(by_clock=False) == [None] * 6


def test_a_generated_stream_has_no_lag_by_its_configuration(tmp_path):
    config = load(EXAMPLE, folder=tmp_path)
    monitor = Monitor(tmp_path / "state")
    monitor.folder.mkdir()
    monitor.batch()
    log = HealthLog.of(config)
    log.step()
    answer = log.snapshot().to_json(monitor.now, monitor.now - SECOND, PERIOD)
    assert answer["lag_seconds"] is None and answer["live"] is True
