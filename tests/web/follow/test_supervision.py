"""A follower that fails is seen, and goes on."""

import pytest
from web.local_server import serving, wait_until
from web.monitor_files import monitor_files

from aomg.web.follow import supervision
from aomg.web.follow.alerts import AlertLog
from aomg.web.follow.health import HealthLog
from aomg.web.follow.live import LiveData
from aomg.web.follow.results import ResultFollower
from aomg.web.follow.supervision import RETRY_SECONDS, FollowerState, SupervisedFollower
from aomg.web.follow.targets import TargetFile
from aomg.web.places import Places, places

FOLLOWERS = {"results": ResultFollower, "alerts": AlertLog, "health": HealthLog, "targets": TargetFile}


class Fragile:
    """A follower that fails while it has an error."""

    def __init__(self):
        self.error = self.problem = None
        self.steps = 0

    def step(self) -> bool:
        self.steps += 1
        if self.error is not None:
            raise self.error
        return True


def break_it(monkeypatch, follower: type, error: Exception) -> None:
    def fail(self):
        raise error

    monkeypatch.setattr(follower, "step", fail)


def test_a_failure_is_told_and_logged_once_and_over_as_soon_as_it_works(caplog):
    now = [100.0]
    fragile = Fragile()
    supervised = SupervisedFollower("results", "the results", fragile, clock=lambda: now[0])
    assert supervised.step() and supervised.state == FollowerState("results")
    fragile.error = ValueError("'p90' is not in list\nand more")
    assert not supervised.step()
    name, problem, failing = supervised.state
    assert name == "results" and failing
    assert problem.startswith("the results cannot be read (ValueError: 'p90' is not in list); ")
    assert "it retries every 5 s" in problem
    assert not supervised.step() and fragile.steps == 2, "not at once again"
    for _ in range(10):
        now[0] += RETRY_SECONDS
        assert not supervised.step()
    assert fragile.steps == 12 and supervised.state.failing
    (logged,) = caplog.records
    assert logged.exc_info is not None and logged.getMessage() == "the results cannot be read"
    fragile.error = None
    now[0] += RETRY_SECONDS
    assert supervised.step() and supervised.state == FollowerState("results")
    assert caplog.records[-1].getMessage() == "the results can be read again"
    fragile.error = KeyError()
    supervised.step()
    assert "(KeyError)" in supervised.state.problem and len(caplog.records) == 3, "the next failure is another one"


def test_what_a_follower_says_itself_is_a_problem_too_but_waiting_is_no_failure():
    fragile, waits = Fragile(), [True]
    supervised = SupervisedFollower("results", "the results", fragile, lambda: waits[0])
    fragile.problem = "there is no folder yet"
    supervised.step()
    assert supervised.state == FollowerState("results", "there is no folder yet", failing=False)
    waits[0] = False
    assert supervised.state.failing


@pytest.mark.parametrize("name", FOLLOWERS)
def test_whichever_follower_fails_the_others_go_on_and_it_catches_up_later(tmp_path, monkeypatch, name):
    monkeypatch.setattr(supervision, "RETRY_SECONDS", 0.0)
    monitor = monitor_files(tmp_path, keys=2, windows=2, incidents=False, health=True)
    live = LiveData(places(monitor.file))
    while live.step():
        pass
    assert live.snapshot().problems == ()
    with monkeypatch.context() as broken:
        break_it(broken, FOLLOWERS[name], RuntimeError("it is broken"))
        end = monitor.add_window(slow=["1"])
        heard = []
        live.listen(lambda: heard.append(live.snapshot().problems))
        for _ in range(3):
            live.step()
        (problem,) = live.snapshot().problems
        assert "cannot be read (RuntimeError: it is broken)" in problem and heard[0] == (problem,)
        assert [state.name for state in live.snapshot().followers if state.failing] == [name]
        displayed = {
            "results": live.snapshot().queries["inbound"].newest.end == end,
            "health": len(live.health().batches) == 3,
            "targets": {one["end"] for one in live.snapshot().targets} == {"2026-11-16T12:00:15Z"},
        }
        assert [part for part, is_new in displayed.items() if not is_new] == [name] * (name in displayed)
    live.step()
    assert live.snapshot().problems == heard[-1] == ()
    assert live.snapshot().queries["inbound"].newest.end == end and len(live.health().batches) == 3


def test_a_step_that_fails_in_between_is_a_problem_until_one_works(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("aomg.web.follow.live.RETRY_SECONDS", 0.01)
    (tmp_path / "results").mkdir()
    live = LiveData(Places("a", tmp_path / "results"))
    with monkeypatch.context() as broken:
        broken.setattr(LiveData, "_alert_snapshot", lambda self: {}["it"])
        live.start()
        wait_until(lambda: live.snapshot().problems)
        assert "the page cannot be updated (KeyError: 'it')" in live.snapshot().problems[0]
        assert [state.name for state in live.snapshot().followers if state.failing] == ["page"]
    wait_until(lambda: not live.snapshot().problems)
    live.stop()
    assert len(caplog.records) == 1


def test_a_listener_that_fails_does_not_keep_others_from_hearing(tmp_path, caplog):
    live = LiveData(Places("a", tmp_path / "results"))
    heard = []

    def fail():
        raise RuntimeError("nobody listens")

    for listener in (fail, lambda: heard.append(1), fail):
        live.listen(listener)
    live.step()
    assert heard and live.snapshot().version == 1 and "nobody listens" in caplog.text


def test_the_api_and_prometheus_tell_of_a_follower_that_fails_until_it_works(tmp_path, monkeypatch):
    monkeypatch.setattr(supervision, "RETRY_SECONDS", 0.0)
    monitor = monitor_files(tmp_path, keys=2, windows=2, incidents=False)
    failing = 'aomg_follower_failing{follower="results"}'
    with monkeypatch.context() as broken:
        break_it(broken, ResultFollower, ValueError("'p90' is not in list"))
        with serving(monitor.file, wait=False) as running:
            wait_until(lambda: running.json("/api/status")["problems"])
            (problem,) = running.json("/api/status")["problems"]
            assert "the results cannot be read (ValueError: 'p90' is not in list)" in problem
            assert f"{failing} 1" in running.get("/metrics").text
            broken.undo()
            wait_until(lambda: not running.json("/api/status")["problems"])
            wait_until(lambda: running.json("/api/keys")["rows"])
            assert f"{failing} 0" in running.get("/metrics").text


def test_a_folder_that_is_not_there_yet_is_waited_for_and_is_no_failure(tmp_path):
    live = LiveData(Places("a", tmp_path / "results"))
    live.step()
    assert "does not exist" in live.snapshot().problems[0]
    assert not any(state.failing for state in live.snapshot().followers)


# -- Nothing that was read is lost where a step fails ------------------------------------------------------------------


def test_alerts_that_could_not_be_shown_are_shown_at_the_next_step(tmp_path, monkeypatch):
    monitor = monitor_files(tmp_path, keys=20, windows=30)
    log = AlertLog.of(monitor.config)
    with monkeypatch.context() as broken, pytest.raises(RuntimeError):
        broken.setattr(AlertLog, "_collect", lambda self: (_ for _ in ()).throw(RuntimeError("no")))
        log.step()
    assert log.step() and log.snapshot().counts["firing"] == 1


def test_batches_that_could_not_be_shown_are_shown_at_the_next_step(tmp_path, monkeypatch):
    monitor = monitor_files(tmp_path, keys=2, windows=2, incidents=False, health=True)
    log = HealthLog.of(monitor.config)
    with monkeypatch.context() as broken, pytest.raises(RuntimeError):
        broken.setattr(HealthLog, "_read_refused", lambda self: (_ for _ in ()).throw(RuntimeError("no")))
        log.step()
    assert log.step() and len(log.snapshot().batches) == 2


@pytest.mark.parametrize("line", ['{"batch": 1e999, "at": "2026-11-16T12:00:00Z"}', "[" * 100_000])
def test_whatever_is_wrong_with_a_line_those_after_it_are_read(tmp_path, line):
    monitor = monitor_files(tmp_path, keys=2, windows=2, incidents=False, health=True)
    file = monitor.state / "health.jsonl"
    file.write_text("".join(f"{line}\n{one}\n" for one in file.read_text().splitlines()))
    log = HealthLog.of(monitor.config)
    assert log.step() and len(log.snapshot().batches) == 2


def test_a_damaged_file_of_targets_that_was_removed_is_no_problem_any_more(tmp_path):
    file = tmp_path / "targets.json"
    file.write_text("[")
    targets = TargetFile(file)
    assert not targets.step() and "remove it" in targets.problem
    file.unlink()
    assert not targets.step() and targets.problem is None
