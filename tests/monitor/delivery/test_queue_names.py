"""Whose alerts are whose, when the list of receivers is changed between two starts."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import NOON, JournaledNotifier, JournaledOutbox, Killed, alert, dying, quick_disk, record_of

from aomg.monitor.config.secret import Secret, address
from aomg.monitor.delivery.alertmanager import Alertmanager
from aomg.monitor.delivery.command import Command
from aomg.monitor.delivery.log import Log
from aomg.monitor.delivery.queue_names import moved, names_of
from aomg.monitor.delivery.webhook import Webhook
from aomg.monitor.journal.digests import digest_of

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


class Down:
    """A receiver that never answers."""

    repeat_every = None
    patience = 3600.0

    def __init__(self, identity: str, kind: str = "webhook") -> None:
        self.identity, self.kind = identity, kind

    def deliver(self, alert):
        raise AssertionError("this test sends nothing")

    def repeat(self, alerts):
        pass


def names(*identities: str) -> list[str]:
    return list(names_of([Down(identity) for identity in identities]))


def outbox(folder: Path, *identities: str) -> JournaledOutbox:
    return JournaledOutbox(folder, dict.fromkeys(names(*identities), True))


def waiting(box: JournaledOutbox, *identities: str) -> list[int]:
    counts = [box.waiting(name) for name in names(*identities)]
    box.close()
    return counts


def filled(folder: Path, *identities: str) -> None:
    """Two alerts wait for the first receiver, three for the others."""
    box = outbox(folder, *identities)
    box.put(box.journal.next, [record_of(alert(end=NOON + number)) for number in range(3)])
    first = names(*identities)[0]
    box.done(first, box.head(first))
    box.close()


@given(st.permutations(["a", "b", "c", "d"]), st.integers(0, 4))
def test_a_receiver_that_is_put_in_between_gets_nothing_that_waits_for_others(tmp_path_factory, order, place):
    folder = tmp_path_factory.mktemp("outbox")
    filled(folder, "a", "b", "c", "d")
    changed = [*order[:place], "new", *order[place:]]
    assert waiting(outbox(folder, *changed), *changed) == [{"new": 0, "a": 2}.get(who, 3) for who in changed]


def test_a_receiver_whose_address_is_mended_gets_what_waits(tmp_path):
    filled(tmp_path, "htps-typo", "other")
    assert waiting(outbox(tmp_path, "other", "mended"), "other", "mended") == [3, 2]
    assert waiting(outbox(tmp_path, "other", "mended"), "other", "mended") == [3, 2]


def test_where_two_are_gone_and_two_are_new_nobody_gets_what_waited_for_another(tmp_path):
    filled(tmp_path, "a", "b", "c")
    assert waiting(outbox(tmp_path, "x", "y", "c"), "x", "y", "c") == [0, 0, 3]


def test_a_mended_webhook_does_not_take_what_waits_for_a_log(tmp_path):
    log, hook = Down("alerts.log", "log"), Down("http://a", "webhook")
    box = JournaledOutbox(tmp_path, dict.fromkeys(names_of([log]), False))
    box.put(box.journal.next, [record_of(alert())])
    box.close()
    box = JournaledOutbox(tmp_path, dict.fromkeys(names_of([hook]), False))
    assert [box.waiting(name) for name in names_of([hook])] == [0]
    box.close()


def test_what_waits_for_a_receiver_that_was_taken_out_is_recorded_once(tmp_path, caplog):
    filled(tmp_path, "http://gone", "http://stays")
    gone = names("http://gone")[0]
    for _ in range(2):
        JournaledNotifier(tmp_path, []).close(0)
    lines = [json.loads(line) for line in (tmp_path / "undelivered.jsonl").read_text().splitlines()]
    mine = [line for line in lines if line["receiver"] == gone]
    assert [line["alert"]["id"] for line in mine] == [record_of(alert(end=NOON + number))["id"] for number in (1, 2)]
    assert len(lines) == 5 and {line["reason"] for line in lines} == {"the receiver is no longer configured"}
    assert f"{gone} is no longer configured; its 2 waiting alerts" in caplog.text
    assert not list(tmp_path.glob("webhook*"))


def test_queues_that_were_called_by_their_place_are_taken_over(tmp_path):
    filled(tmp_path, "a", "b")
    for place, name in enumerate(names("a", "b"), 1):
        for ending in (".json", ".firing.json"):
            if (tmp_path / f"{name}{ending}").exists():
                (tmp_path / f"{name}{ending}").rename(tmp_path / f"webhook-{place}{ending}")
    assert waiting(outbox(tmp_path, "a", "b"), "a", "b") == [2, 3]
    assert not list(tmp_path.glob("webhook-[12].*"))


@pytest.mark.parametrize("operation", range(8))
def test_killed_while_it_takes_over_it_loses_nothing(tmp_path, operation):
    box = outbox(tmp_path, "a", "b")
    box.put(box.journal.next, [record_of(alert(podset="1")), record_of(alert(podset="2"))])
    for name in names("a"):
        box.done(name, box.head(name))
        box.done(name, box.head(name))
    box.put(box.journal.next, [record_of(alert(podset="3"))])
    box.close()
    try:
        with dying(operation):
            outbox(tmp_path, "new", "b").close()
    except Killed:
        pass
    box = outbox(tmp_path, "new", "b")
    assert [one["labels"]["podset"] for one in box.firing(names("new")[0])] == ["1", "2"]
    assert waiting(box, "new", "b") == [1, 3]


def test_a_token_that_is_rotated_does_not_make_another_receiver():
    def name(url: str | Secret, token: str) -> str:
        return next(iter(names_of([Webhook(url, {"Authorization": token})])))

    first = name(address("https://me:hunter2@hooks.example.org/alerts?key=abc"), "Bearer one")
    second = name(address("https://me:changed@hooks.example.org/alerts?key=def"), "Bearer two")
    assert first == second and re.fullmatch(r"webhook-hooks-example-org-alerts-[0-9a-f]{8}", first)
    assert name(address("https://hooks.example.org/others"), "") != first
    assert name(address(Secret("https://hooks.example.org/s3cr3t")), "") == name(
        address(Secret("https://hooks.example.org/rotated")), ""
    )


def test_names_tell_what_they_are_and_no_secret(tmp_path):
    receivers = [
        Alertmanager(address("http://me:hunter2@127.0.0.1:9093")),
        Webhook(address("https://hooks.example.org/services/T0/hunter2hunter2hunter2")),
        Command(["sh", "-c", "login hunter2"]),
        Command(["sh", "page.sh", "--password", "hunter2"]),
        Command(["sh", "page.sh", "{{ $id }}"]),
        Log(tmp_path / "alerts.log"),
    ]
    by_name = names_of(receivers)
    assert list(by_name.values()) == receivers
    assert not any("hunter2" in name for name in by_name) and all(
        re.fullmatch(r"[\w-]{1,80}", name) for name in by_name
    )
    called = [re.sub(r"-[0-9a-f]{8}(?=$|-)", "", name) for name in by_name]
    assert called[2:5] == ["command-sh", "command-sh-page-sh", "command-sh-page-sh-2"]
    assert called[0] == "alertmanager-127-0-0-1-9093"


@given(st.lists(st.text("ab-/. ", max_size=60), max_size=8))
def test_every_receiver_has_a_name_of_its_own_and_keeps_it(identities):
    queue_names = names(*identities)
    assert len(queue_names) == len(set(queue_names)) == len(identities)
    assert moved(queue_names, queue_names) == {}
    assert all(re.fullmatch(r"[A-Za-z][\w-]*", name) for name in queue_names)


# -- files that are lost, copied or swapped ----------------------------------------------------------------------------


def lost(folder, name):
    (folder / f"{names(name)[0]}.json").unlink()


def test_what_waits_for_a_receiver_whose_file_is_lost_is_recorded_when_it_is_taken_out(tmp_path):
    filled(tmp_path, "a", "b")
    lost(tmp_path, "a")
    for _ in range(3):  # the journal has no newer entry, and it is recorded once
        JournaledNotifier(tmp_path, []).close(0)
    lines = [json.loads(line) for line in (tmp_path / "undelivered.jsonl").read_text().splitlines()]
    assert sorted(line["receiver"] for line in lines) == names("a") * 3 + names("b") * 3


def test_a_receiver_with_another_address_gets_what_waits_although_the_file_is_lost(tmp_path):
    filled(tmp_path, "a", "b")
    lost(tmp_path, "a")
    for _ in range(2):
        assert waiting(outbox(tmp_path, "mended", "b"), "mended", "b") == [3, 3]
    assert waiting(outbox(tmp_path, "again", "b"), "again", "b") == [3, 3]
    lost(tmp_path, "again")
    assert waiting(outbox(tmp_path, "again", "b"), "again", "b") == [3, 3]
    assert not (tmp_path / "undelivered.jsonl").exists()


def test_a_receiver_whose_file_is_lost_does_not_take_what_waits_for_another(tmp_path):
    filled(tmp_path, "a", "b")
    lost(tmp_path, "b")
    assert waiting(outbox(tmp_path, "b"), "b") == [3], "and a has 2"


@pytest.mark.parametrize("swap", [False, True])
def test_the_position_of_another_receiver_is_not_taken_for_ones_own(tmp_path, swap):
    filled(tmp_path, "a", "b")
    a, b = (tmp_path / f"{name}.json" for name in names("a", "b"))
    box = outbox(tmp_path, "a", "b")
    while (head := box.head(names("a")[0])) is not None:
        box.done(names("a")[0], head)
    box.close()
    passed, other = a.read_bytes(), b.read_bytes()
    b.write_bytes(passed)
    a.write_bytes(other if swap else passed)
    assert waiting(outbox(tmp_path, "a", "b"), "a", "b") == [3 if swap else 0, 3]


def test_files_of_a_version_without_the_receiver_in_them_are_read(tmp_path):
    filled(tmp_path, "a", "b")
    file = tmp_path / f"{names('a')[0]}.json"
    content = json.loads(file.read_bytes())["content"]
    text = json.dumps(content, sort_keys=True)
    file.write_text(f'{{"digest": "{digest_of(text)}", "content": {text}}}\n')
    assert waiting(outbox(tmp_path, "a", "b"), "a", "b") == [2, 3]
    assert json.loads(file.read_bytes()) | {"digest": ""} == {
        "digest": "",
        "receiver": names("a")[0],
        "content": content,
    }
