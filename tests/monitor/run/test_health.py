"""A monitor tells how it fares, a line a batch, and never fails for it."""

import json
import logging
import os
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg.monitor.run import health as module
from aomg.monitor.run.health import Health
from aomg.monitor.run.progress import Progress

NOON = 1_794_830_400.0  # 2026-11-16T12:00:00Z


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


class Query:
    """What is asked of pyspark's StreamingQuery; counts how often."""

    def __init__(self) -> None:
        self.recentProgress: list = []
        self.calls = 0

    @property
    def lastProgress(self):  # noqa: N802
        self.calls += 1
        return self.recentProgress[-1] if self.recentProgress else None


def report(batch: int, milliseconds: int = 1500, **spent):
    """As a StreamingQueryProgress has it."""
    spent = spent or {"latestOffset": 100, "queryPlanning": 40, "getBatch": 10, "addBatch": 1200, "walCommit": 30}
    operators = [
        SimpleNamespace(numRowsTotal=70, memoryUsedBytes=5000),
        SimpleNamespace(numRowsTotal=2, memoryUsedBytes=1),
    ]
    return SimpleNamespace(batchId=batch, batchDuration=milliseconds, durationMs=spent, stateOperators=operators)


def idle(batch: int):
    """A trigger that found nothing is reported with the number of the batch to come."""
    return report(batch, 5, latestOffset=4, triggerExecution=5)


def progress(
    batch: int, rows: int = 20, refused: dict | None = None, seconds: float = 0.2, events: int = 3000
) -> Progress:
    return Progress(batch, seconds, refused or {}, {}, rows, [], [], events)


def lines(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "health.jsonl").read_text().splitlines()]


def test_a_batch_is_a_line_with_what_spark_says_and_what_the_monitor_did(tmp_path):
    health, query = Health(tmp_path, waiting=lambda: {"log-1": 0, "webhook-1": 2}, clock=Clock()), Query()
    health(progress(0, refused={"no number": 4}, events=1000))
    health.poll(query)
    assert not (tmp_path / "health.jsonl").exists()  # Spark has not reported it yet
    query.recentProgress.append(report(0))
    health.poll(query)
    (line,) = lines(tmp_path)
    phases = line.pop("phases")
    assert line == {
        "batch": 0,
        "at": "2026-11-16T12:00:00Z",
        "events": 1000,
        "seconds": 1.5,
        "rows": 20,
        "refused": {"no number": 4},
        "newest_end": None,
        "state_rows": 72,
        "state_bytes": 5001,
        "late": None,
        "totals": {"events": 1000, "rows": 20},
        "undelivered": {"webhook-1": 2},
    }
    assert phases == pytest.approx({"find": 0.1, "plan": 0.05, "compute": 1.0, "write": 0.2, "commit": 0.03})


def test_spark_is_asked_only_while_a_batch_waits_for_its_word(tmp_path):
    health, query = Health(tmp_path, clock=Clock()), Query()
    health.poll(query)
    assert query.calls == 0
    health(progress(0))
    query.recentProgress.append(report(0))
    for _ in range(5):
        health.poll(query)
    assert query.calls == 1 and len(lines(tmp_path)) == 1


def test_the_report_of_an_idle_trigger_is_not_that_of_the_batch(tmp_path):
    health, query = Health(tmp_path, clock=Clock()), Query()
    query.recentProgress.append(idle(4))
    health(progress(4))
    health.poll(query)
    assert not (tmp_path / "health.jsonl").exists()
    query.recentProgress.append(report(4))
    query.recentProgress.append(idle(5))
    health.poll(query)
    assert [(line["batch"], line["events"]) for line in lines(tmp_path)] == [(4, 3000)]


def test_batches_that_follow_each_other_quickly_each_have_their_line(tmp_path):
    health, query = Health(tmp_path, clock=Clock()), Query()
    for batch in range(3):
        health(progress(batch, events=10 * (batch + 1)))
        query.recentProgress.append(report(batch))
    health(progress(3))
    health.poll(query)
    assert [(line["batch"], line["events"]) for line in lines(tmp_path)] == [(0, 10), (1, 20), (2, 30)]
    assert lines(tmp_path)[-1]["totals"] == {"events": 60, "rows": 60}


def test_a_batch_of_which_spark_says_nothing_is_told_after_a_while_and_at_the_end(tmp_path):
    clock, query = Clock(), Query()
    health = Health(tmp_path, clock=clock)
    health(progress(0))
    clock.now += 11
    health.poll(query)
    health(progress(1))
    health.ended("it was stopped")
    written = lines(tmp_path)
    assert [one.get("batch") for one in written] == [0, 1, None]
    assert written[0]["events"] == 3000 and written[0]["seconds"] is None and written[0]["phases"] == {"write": 0.2}
    assert written[2] == {"event": "ended", "at": "2026-11-16T12:00:11Z", "because": "it was stopped"}


@settings(max_examples=30)
@given(st.lists(st.integers(0, 8), max_size=4), st.integers(1, 9))
def test_totals_count_every_batch_once_however_often_it_is_repeated(tmp_path_factory, restarts, batches):
    """Every restart goes on from some batch, and repeats what comes after."""
    folder = tmp_path_factory.mktemp("state")
    for first in [0, *(min(restart, batches - 1) for restart in restarts)]:
        health, query = Health(folder, clock=Clock(), most_bytes=20_000), Query()
        for batch in range(first, batches):
            health(progress(batch, rows=batch + 1, events=100))
            query.recentProgress.append(report(batch))
            health.poll(query)
    last = lines(folder)[-1]
    assert last["totals"] == {"events": 100 * batches, "rows": batches * (batches + 1) // 2}


def test_two_files_are_kept_and_no_more(tmp_path):
    health, query = Health(tmp_path, clock=Clock(), most_bytes=3000), Query()
    for batch in range(60):
        health(progress(batch))
        query.recentProgress.append(report(batch))
        health.poll(query)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes.keys() == {"health.jsonl", "health.1.jsonl"} and max(sizes.values()) < 4000
    older = [json.loads(line)["batch"] for line in (tmp_path / "health.1.jsonl").read_text().splitlines()]
    assert [*older, *(line["batch"] for line in lines(tmp_path))] == list(range(older[0], 60))


def test_half_a_line_of_a_killed_monitor_spoils_no_other(tmp_path):
    (tmp_path / "health.jsonl").write_text('{"batch":7,"at":"20')
    Health(tmp_path, clock=Clock()).started()
    first, second = (tmp_path / "health.jsonl").read_text().splitlines()
    assert first == '{"batch":7,"at":"20' and json.loads(second)["event"] == "started"


def test_a_folder_that_cannot_be_written_is_said_once_and_the_monitor_goes_on(tmp_path, caplog):
    health, query = Health(tmp_path / "gone", clock=Clock()), Query()
    with caplog.at_level(logging.WARNING):
        health.started()
        for batch in range(3):
            health(progress(batch))
            query.recentProgress.append(report(batch))
            health.poll(query)
        health.ended("it was stopped")
    assert len(caplog.records) == 1 and "cannot be written" in caplog.text


@pytest.mark.parametrize("odd", [SimpleNamespace(batchId=0, durationMs={"addBatch": 1}), SimpleNamespace(), None])
def test_whatever_spark_says_the_monitor_goes_on(tmp_path, caplog, odd):
    class Broken(Query):
        @property
        def lastProgress(self):  # noqa: N802
            if odd is None:
                raise ConnectionRefusedError("Spark is gone\nand more")
            return odd

    clock = Clock()
    health = Health(tmp_path, waiting=lambda: 1 / 0, clock=clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            health(progress(0))
            health.poll(Broken())
            clock.now += 20
            health.poll(Broken())
    assert lines(tmp_path)[0]["events"] == 3000
    assert len(caplog.records) <= 2  # of Spark, and of what waits
    if odd is None:
        assert "Spark" not in caplog.text  # the monitor reports that


def test_a_monitor_that_lives_touches_its_file_now_and_then(tmp_path):
    clock = Clock()
    health = Health(tmp_path, clock=clock)
    health.started()
    os.utime(tmp_path / "health.jsonl", (1, 1))
    clock.now += 60
    health.poll(Query())
    assert (tmp_path / "health.jsonl").stat().st_mtime > 1
    os.utime(tmp_path / "health.jsonl", (1, 1))
    health.poll(Query())
    assert (tmp_path / "health.jsonl").stat().st_mtime == 1  # not at every look
    assert len(lines(tmp_path)) == 1


def test_late_events_are_counted_rarely_and_never_again_once_that_failed(tmp_path, monkeypatch):
    moment = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: moment)
    counted = []

    def late() -> int:
        nonlocal moment
        moment += 2.0  # a job of two seconds
        counted.append(moment)
        if len(counted) == 3:
            raise RuntimeError("the state cannot be read\nbecause")
        return 7

    health, query = Health(tmp_path, late=late, clock=Clock()), Query()
    for batch in range(100):
        health(progress(batch))
        query.recentProgress.append(report(batch))
        health.poll(query)
        moment += 10.0
    assert len(counted) == 3 and all(b - a >= 200 for a, b in pairwise(counted))
    late_told = [line["late"] for line in lines(tmp_path)]
    assert late_told[0] is None and late_told[-1] == 7


def test_a_query_is_watched_in_a_thread_until_it_is_over(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.001)
    health, query = Health(tmp_path), Query()
    with health.watching(query):
        health(progress(0))
        query.recentProgress.append(report(0))
        for _ in range(10_000):
            if (tmp_path / "health.jsonl").exists() and lines(tmp_path):
                break
            os.sched_yield()
        health(progress(1))
        query.recentProgress.append(report(1))
    assert [line["batch"] for line in lines(tmp_path)] == [0, 1]


def test_there_is_a_sign_of_life_while_spark_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.001)
    health, file = Health(tmp_path), tmp_path / "health.jsonl"
    health.started()
    os.utime(file, (1, 1))
    with health.starting():
        for _ in range(100_000):
            if file.stat().st_mtime > 1:
                break
            os.sched_yield()
    assert file.stat().st_mtime > 1
