import json
import logging
import os
import random
import signal
import threading
from dataclasses import replace

import pytest
from http_listener import HANG_UP, HEARD_BUT_SILENT, OK, SLOW, listening
from samples import MINUTE, NOON, JournaledNotifier, alert, quick_disk, record_of

from aomg.monitor.atomic_files import SinkError
from aomg.monitor.delivery import undelivered_alerts
from aomg.monitor.delivery.base import NotDelivered
from aomg.monitor.delivery.notifier import Backoff
from aomg.monitor.delivery.webhook import Webhook

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
AT_ONCE = Backoff(first=0.001, most=0.002)
LONG = 30.0


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


class Silent:
    """A receiver that remembers, and fails while it is told to."""

    kind = "silent"
    identity = "nowhere"
    repeat_every = None
    patience = 3600.0

    def __init__(self) -> None:
        self.heard: list[dict] = []
        self.repeated: list[list[dict]] = []
        self.attempts = threading.Semaphore(0)
        self.works = threading.Event()
        self.works.set()

    def deliver(self, alert):
        self.attempts.release()
        if not self.works.is_set():
            raise NotDelivered("down")
        self.heard.append(alert)

    def repeat(self, alerts):
        self.repeated.append(list(alerts))
        self.attempts.release()


def day_of_alerts(count: int) -> list:
    return [alert("firing" if i % 2 == 0 else "resolved", str(i // 2 % 5), NOON + i * MINUTE) for i in range(count)]


def test_every_transition_arrives_once_and_in_order_at_a_receiver_that_fails_in_every_way(tmp_path):
    chance = random.Random(7)
    ways = [OK, OK, OK, 500, 503, 429, 408, 302, HANG_UP, HEARD_BUT_SILENT]
    alerts = day_of_alerts(60)
    with listening(lambda number: chance.choice(ways) if number != 5 else SLOW) as receiver:
        notifier = JournaledNotifier(tmp_path, [Webhook(receiver.url, timeout=0.5)], AT_ONCE)
        for batch in range(20):
            notifier.send(batch, alerts[3 * batch : 3 * batch + 3])
        assert notifier.close(LONG) == {}
        assert [one["id"] for one in receiver.accepted()] == [one.id for one in alerts]
        assert [one["transition"] for one in receiver.accepted()] == [one.transition for one in alerts]
        answers = {one.answer for one in receiver.heard}
    assert answers == {*ways, SLOW}, "it did not fail in every way"
    assert not (tmp_path / "undelivered.jsonl").exists()


def test_ids_are_in_the_header_and_in_the_body(tmp_path):
    with listening() as receiver:
        notifier = JournaledNotifier(tmp_path, [Webhook(receiver.url + "/hook", {"X-Team": "network"})])
        notifier.send(3, [alert()])
        notifier.close(LONG)
        (heard,) = receiver.heard
    assert heard.headers["Idempotency-Key"] == heard.json["id"] == alert().id
    assert heard.path == "/hook" and heard.headers["X-Team"] == "network"
    assert heard.headers["Content-Type"] == "application/json" and heard.json == json.loads(
        json.dumps(record_of(alert()))
    )


def test_pending_alerts_and_those_that_went_away_are_not_told(tmp_path):
    receiver = Silent()
    notifier = JournaledNotifier(tmp_path, [receiver])
    notifier.send(0, [alert("pending"), alert("inactive"), alert("firing")])
    assert notifier.close(LONG) == {} and [one["transition"] for one in receiver.heard] == ["firing"]


def test_a_receiver_that_is_down_holds_up_neither_the_others_nor_the_stream(tmp_path):
    down, up = Silent(), Silent()
    down.works.clear()
    notifier = JournaledNotifier(tmp_path, [down, up], Backoff(first=3600, most=3600))
    for batch, one in enumerate(day_of_alerts(10)):
        notifier.send(batch, [one])
    for _ in range(10):
        assert up.attempts.acquire(timeout=30)
    assert down.attempts.acquire(timeout=30)
    first, second = notifier.status()
    assert (first.waiting, first.delivered, first.failing) == (10, 0, "down")
    assert notifier.close(0.2) == {first.name: 10}
    assert [one["id"] for one in up.heard] == [one.id for one in day_of_alerts(10)] and second.name == f"{first.name}-2"


def test_what_was_not_delivered_is_told_after_the_next_start(tmp_path):
    receiver = Silent()
    receiver.works.clear()
    alerts = day_of_alerts(6)
    notifier = JournaledNotifier(tmp_path, [receiver], AT_ONCE)
    notifier.send(0, alerts[:4])
    assert receiver.attempts.acquire(timeout=30) and list(notifier.close(0).values()) == [4]
    receiver.works.set()
    notifier = JournaledNotifier(tmp_path, [receiver], AT_ONCE)
    notifier.send(1, alerts[4:])
    assert notifier.close(LONG) == {}
    assert [one["id"] for one in receiver.heard] == [one.id for one in alerts]


def test_a_batch_that_is_repeated_after_a_crash_is_recognised(tmp_path):
    receiver = Silent()
    for _ in range(3):
        notifier = JournaledNotifier(tmp_path, [receiver])
        notifier.send(8, day_of_alerts(4))
        notifier.send(9, [alert("resolved", "x")])
        assert notifier.close(LONG) == {}
    assert [one["id"] for one in receiver.heard] == [one.id for one in [*day_of_alerts(4), alert("resolved", "x")]]


@pytest.mark.parametrize("answer", [OK, SLOW])
def test_a_process_that_is_killed_before_or_after_the_answer_tells_all_in_the_end(tmp_path, answer):
    """A real process and a real kill: after the outbox was written, while the receiver is told."""
    alerts = day_of_alerts(3)
    with listening(lambda number: answer if number < 2 else OK) as receiver:
        child = os.fork()
        if not child:
            try:
                notifier = JournaledNotifier(tmp_path, [Webhook(receiver.url, timeout=20)], AT_ONCE)
                notifier.send(0, alerts)
                signal.pause()
            finally:
                os._exit(1)
        receiver.wait_for(1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        receiver.ended.set()
        notifier = JournaledNotifier(tmp_path, [Webhook(receiver.url, timeout=20)], AT_ONCE)
        notifier.send(0, alerts)
        assert notifier.close(LONG) == {}
        assert [one["id"] for one in receiver.accepted()] == [one.id for one in alerts]


def test_what_a_receiver_refuses_is_recorded_and_does_not_hold_up_the_rest(tmp_path, caplog):
    alerts = day_of_alerts(4)
    with listening(lambda number: 400 if number == 1 else OK, body=b"no such\nteam") as receiver:
        notifier = JournaledNotifier(tmp_path, [Webhook(f"{receiver.url}/hook?token=hunter2")], AT_ONCE)
        notifier.send(0, alerts)
        notifier.close(LONG)
        (status,) = notifier.status()
    (line,) = [json.loads(line) for line in (tmp_path / "undelivered.jsonl").read_text().splitlines()]
    assert line["receiver"] == status.name and line["alert"]["id"] == alerts[1].id
    assert line["reason"] == f"{receiver.url}/hook answered 400: no such team"
    assert (status.delivered, status.given_up, status.waiting) == (3, 1, 0)
    assert "hunter2" not in caplog.text + json.dumps(line) + repr(status)


@pytest.mark.parametrize("answer", [401, 403, 404, 405, 407, 410])
def test_alerts_wait_for_a_receiver_with_a_wrong_token_or_address_and_that_is_said_once_and_loudly(
    tmp_path, caplog, answer
):
    alerts = day_of_alerts(3)
    with listening(lambda number: answer if number < 5 else OK) as receiver:
        notifier = JournaledNotifier(tmp_path, [Webhook(receiver.url)], AT_ONCE)
        notifier.send(0, alerts)
        assert notifier.close(LONG) == {}
        assert [one["id"] for one in receiver.accepted()] == [one.id for one in alerts]
    assert not (tmp_path / "undelivered.jsonl").exists()
    (record,) = (record for record in caplog.records if record.levelno == logging.ERROR)
    assert f"{receiver.url} answered {answer}" in record.message and "fix them and restart" in record.message


def test_a_failure_is_logged_once_though_every_answer_has_another_text(tmp_path, caplog):
    with listening(lambda number: 404 if number < 5 else OK) as receiver:

        def answer(number: int) -> int:
            receiver.body = f"request {number} is unknown".encode()
            return 404 if number < 5 else OK

        receiver.answer = answer
        notifier = JournaledNotifier(tmp_path, [Webhook(receiver.url)], AT_ONCE)
        notifier.send(0, day_of_alerts(1))
        assert notifier.close(LONG) == {} and len(receiver.heard) == 6
    assert sum("answered 404" in record.getMessage() for record in caplog.records) == 1


def test_what_waits_behind_a_wrong_address_is_told_at_the_one_that_is_mended(tmp_path):
    alerts = day_of_alerts(3)
    with listening(lambda number: 404) as wrong, listening() as right:
        notifier = JournaledNotifier(tmp_path, [Webhook(wrong.url + "/hok")], AT_ONCE)
        notifier.send(0, alerts)
        wrong.wait_for(4)
        assert list(notifier.close(0).values()) == [3]
        notifier = JournaledNotifier(tmp_path, [Webhook(right.url + "/hook")], AT_ONCE)
        assert notifier.close(LONG) == {}
        assert [one["id"] for one in right.accepted()] == [one.id for one in alerts]


class Repeated(Silent):
    """A receiver that has to be told again of what fires, as Alertmanager."""

    kind = "alertmanager"
    repeat_every = 3600.0

    def __init__(self, identity: str) -> None:
        super().__init__()
        self.identity = identity

    def firing(self) -> list[str]:
        """The ids that it was told again, once it was."""
        assert self.attempts.acquire(timeout=30)
        (alerts,) = self.repeated
        return [one["id"] for one in alerts]


def test_all_alertmanagers_that_moved_at_once_hear_of_what_fires_now(tmp_path):
    old = [Repeated("http://am1"), Repeated("http://am2")]
    fires, over = alert(podset="1"), [alert(podset="2"), alert("resolved", "2", NOON + 1)]
    notifier = JournaledNotifier(tmp_path, old)
    notifier.send(3, [fires, *over])
    assert notifier.close(LONG) == {}
    new = [Repeated("http://am1.new"), Repeated("http://am2.new")]
    state = replace(fires, annotations={}, quantities={}, count=None)  # what the judge remembers
    notifier = JournaledNotifier(tmp_path, new, firing=[state])
    assert [one.firing() for one in new] == [[fires.id], [fires.id]]
    assert new[0].repeated[0][0]["annotations"] == dict(fires.annotations), "what was told then says more"
    notifier.send(4, [alert("resolved", "1", NOON + MINUTE)])
    assert notifier.close(LONG) == {}
    assert [[one["transition"] for one in receiver.heard] for receiver in new] == [["resolved"], ["resolved"]]
    again = Repeated("http://am1.new")
    notifier = JournaledNotifier(tmp_path, [again, new[1]])
    notifier.send(5, [alert(podset="3")])
    assert notifier.close(LONG) == {} and len(again.heard) == 1
    assert not again.repeated, "what was resolved fires no longer"


def test_an_alertmanager_that_is_added_hears_of_what_fires_though_nobody_was_told_before(tmp_path):
    JournaledNotifier(tmp_path, []).close(0)
    added = Repeated("http://am")
    notifier = JournaledNotifier(tmp_path, [added, hook := Silent()], firing=[alert(podset="1")])
    assert added.firing() == [alert(podset="1").id]
    assert notifier.close(LONG) == {} and not added.heard and not hook.heard, "others hear nothing of the past"


def test_what_was_resolved_before_a_crash_is_not_told_as_firing_after_it(tmp_path):
    """Killed after the alerts of batch 4 went out and before Spark committed it: batch 4 comes again."""
    receiver = Repeated("http://am")
    fires, resolved, late = alert(podset="1"), alert("resolved", "1", NOON + 1, batch=4), alert(podset="9", batch=4)
    notifier = JournaledNotifier(tmp_path, [receiver])
    notifier.send(3, [fires])
    notifier.send(4, [resolved, late])
    assert notifier.close(LONG) == {}
    new = Repeated("http://new")
    receiver.repeated, receiver.attempts = [], threading.Semaphore(0)
    notifier = JournaledNotifier(tmp_path, [receiver, new], firing=[late])
    assert receiver.firing() == new.firing() == [late.id]
    notifier.send(4, [resolved, late])
    assert notifier.close(LONG) == {}
    ids = [one["id"] for one in receiver.heard]
    assert ids == [fires.id, resolved.id, late.id], "each id once, though the batch was repeated"


def test_what_still_waits_for_an_alertmanager_is_not_told_as_firing_before_its_turn(tmp_path):
    receiver = Repeated("http://am")
    receiver.works.clear()
    notifier = JournaledNotifier(tmp_path, [receiver], Backoff(first=3600, most=3600))
    notifier.send(3, [alert(podset="1")])
    assert receiver.attempts.acquire(timeout=30) and list(notifier.close(0).values()) == [1]
    receiver.works.set()
    notifier = JournaledNotifier(tmp_path, [receiver], firing=[alert(podset="1")])
    assert notifier.close(LONG) == {}
    assert [one["id"] for one in receiver.heard] == [alert(podset="1").id] and not receiver.repeated


def test_an_alert_that_fails_for_too_long_is_given_up(tmp_path):
    receiver = Silent()
    receiver.patience = 0.0
    receiver.works.clear()
    notifier = JournaledNotifier(tmp_path, [receiver], AT_ONCE)
    notifier.send(0, day_of_alerts(3))
    assert notifier.close(LONG) == {} and notifier.status()[0].given_up == 3


def test_too_many_that_wait_push_out_the_oldest(tmp_path):
    receiver = Silent()
    receiver.works.clear()
    alerts = day_of_alerts(9)
    notifier = JournaledNotifier(tmp_path, [receiver], AT_ONCE, most=5)
    for batch in range(3):
        notifier.send(batch, alerts[3 * batch : 3 * batch + 3])
    receiver.works.set()
    assert notifier.close(LONG) == {}
    lines = [json.loads(line) for line in (tmp_path / "undelivered.jsonl").read_text().splitlines()]
    assert [line["alert"]["id"] for line in lines] == [one.id for one in alerts[:4]]
    assert {line["reason"] for line in lines} == {"too many alerts were waiting"}
    assert [one["id"] for one in receiver.heard] == [one.id for one in alerts[4:]]


def test_the_record_of_what_was_not_delivered_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(undelivered_alerts, "_MOST_BYTES", 2_000)
    receiver = Silent()
    receiver.works.clear()
    receiver.patience = 0.0
    notifier = JournaledNotifier(tmp_path, [receiver], AT_ONCE)
    notifier.send(0, day_of_alerts(30))
    notifier.close(LONG)
    kept = sorted(path.stat().st_size for path in tmp_path.glob("undelivered*"))
    assert len(kept) == 2 and max(kept) < 4_000


def test_a_fault_in_a_receiver_does_not_end_its_thread(tmp_path):
    class Faulty(Silent):
        def deliver(self, alert):
            if len(self.repeated) < 2:
                self.repeated.append([])
                raise ZeroDivisionError
            super().deliver(alert)

        def repeat(self, alerts):
            raise ZeroDivisionError

    receiver = Faulty()
    receiver.repeat_every = 0.0
    notifier = JournaledNotifier(tmp_path, [receiver], AT_ONCE)
    for batch, one in enumerate(day_of_alerts(3)):
        notifier.send(batch, [one])
        assert receiver.attempts.acquire(timeout=30)
    assert notifier.close(LONG) == {} and len(receiver.heard) == 3


def test_a_receiver_that_wants_it_is_told_again_of_what_is_firing_after_a_restart_too(tmp_path):
    receiver = Silent()
    receiver.repeat_every = 3600.0
    notifier = JournaledNotifier(tmp_path, [receiver])
    notifier.send(0, [alert(podset="1"), alert(podset="2"), alert("resolved", podset="1", end=NOON + 1)])
    notifier.send(1, [alert(podset="3")])
    assert notifier.close(LONG) == {} and not any(receiver.repeated)
    receiver.attempts = threading.Semaphore(0)
    notifier = JournaledNotifier(tmp_path, [receiver], firing=[alert(podset="2"), alert(podset="3")])
    assert receiver.attempts.acquire(timeout=30)
    notifier.close(LONG)
    assert [[one["labels"]["podset"] for one in part] for part in receiver.repeated] == [["2", "3"]]


def test_an_older_file_of_firing_alerts_repeats_only_what_fires(tmp_path, caplog):
    """Copied back after the alert was resolved, it would be sent again without end."""
    receiver = Silent()
    receiver.repeat_every = 3600.0
    notifier = JournaledNotifier(tmp_path, [receiver])
    notifier.send(0, [alert(podset="1"), alert(podset="2")])
    notifier.close(LONG)
    (file,) = tmp_path.glob("*.firing.json")
    older = file.read_bytes()
    notifier = JournaledNotifier(tmp_path, [receiver], firing=[alert(podset="1"), alert(podset="2")])
    again = alert(podset="1", end=NOON + 2)
    notifier.send(1, [alert("resolved", podset="1", end=NOON + 1), alert("resolved", podset="2", end=NOON + 1), again])
    notifier.close(LONG)
    file.write_bytes(older)
    receiver.repeated.clear()
    receiver.attempts = threading.Semaphore(0)
    notifier = JournaledNotifier(tmp_path, [receiver], firing=[again])
    assert receiver.attempts.acquire(timeout=30)
    notifier.close(LONG)
    assert [[one["id"] for one in part] for part in receiver.repeated] == [[again.id]]
    assert f"{file} has 2 alerts that are not firing; not sent again" in caplog.text


def test_what_is_firing_is_told_again_and_again(tmp_path):
    receiver = Silent()
    receiver.repeat_every = 0.001
    notifier = JournaledNotifier(tmp_path, [receiver])
    notifier.send(0, [alert()])
    for _ in range(5):
        assert receiver.attempts.acquire(timeout=30)
    notifier.close(LONG)
    assert len(receiver.heard) == 1 and {part[0]["id"] for part in receiver.repeated} == {alert().id}


def test_two_processes_cannot_share_an_outbox(tmp_path):
    notifier = JournaledNotifier(tmp_path, [Silent()])
    with pytest.raises(SinkError, match="another process uses"):
        JournaledNotifier(tmp_path, [Silent()])
    notifier.close(0)
    JournaledNotifier(tmp_path, [Silent()]).close(0)


def test_a_failure_is_logged_once_and_so_is_its_end(tmp_path, caplog):
    receiver = Silent()
    receiver.works.clear()
    notifier = JournaledNotifier(tmp_path, [receiver], AT_ONCE)
    with caplog.at_level(logging.WARNING):
        notifier.send(0, day_of_alerts(3))
        for _ in range(5):
            assert receiver.attempts.acquire(timeout=30)
        receiver.works.set()
        notifier.close(LONG)
    assert [record.message.split(":")[0].split(" accepts")[-1] for record in caplog.records] == [
        "an alert was not delivered",
        " alerts again",
    ]


def test_the_wait_between_attempts_doubles_up_to_a_bound_and_follows_what_is_asked():
    backoff = Backoff(first=1, most=60)
    for attempt in range(2000):
        whole = min(60, 2.0 ** min(attempt, 10))
        assert whole / 2 <= backoff.delay(attempt) <= whole
    assert 20 <= backoff.delay(0, retry_after=20) <= 20 and backoff.delay(0, retry_after=1e6) == 60
    assert len({backoff.delay(3) for _ in range(10)}) > 1, "all receivers would come at the same moment"
