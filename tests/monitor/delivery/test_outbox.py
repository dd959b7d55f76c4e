import json
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import NOON, Killed, alert, dying, quick_disk, record_of

from aomg.monitor.delivery.outbox import Outbox
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.journal import Journal

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


class Queue:
    """A journal and an outbox over it, as a monitor has them."""

    def __init__(self, folder: Path, receivers: dict[str, bool], **more) -> None:
        self.journal = Journal(folder / "state", "0" * 12)
        last = self.journal.last
        known = {} if last is None else last.positions
        self.outbox = Outbox(folder / "outbox", receivers, self.journal.queue, known, self.journal.next, **more)

    def put(self, batch: int, alerts: list[dict]) -> dict[str, list[dict]]:
        if batch not in self.journal.entries:
            self.journal.put(Entry(batch, "", None, queue=tuple(alerts), positions=self.outbox.positions))
        return self.outbox.put(batch, alerts)

    def drain(self, name: str, most: int = 1000) -> list[str]:
        taken = []
        while len(taken) < most and (entry := self.outbox.head(name)) is not None:
            taken.append(entry.alert["id"])
            self.outbox.done(name, entry)
        return taken


def entries(start: int, count: int) -> list[dict]:
    return [record_of(alert(end=NOON + number)) for number in range(start, start + count)]


def ids(alerts: list[dict]) -> list[str]:
    return [one["id"] for one in alerts]


@given(
    sizes=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    reads=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4)), max_size=8),
    operation=st.integers(0, 60),
    torn=st.booleans(),
)
def test_killed_at_any_point_every_alert_comes_in_order_and_at_most_one_twice(sizes, reads, operation, torn):
    """Each receiver has what it was told before the kill, perhaps one of it again, then the rest."""
    batches, start = [], 0
    for size in sizes:
        batches.append(entries(start, size))
        start += size
    got: dict[str, list[str]] = {"a": [], "b": []}
    latest = 0
    with tempfile.TemporaryDirectory() as name:
        queue = Queue(Path(name), {"a": True, "b": False})
        try:
            with dying(operation, torn):
                for number, batch in enumerate(batches):
                    latest = number
                    queue.put(number, batch)
                    who, most = reads[number] if number < len(reads) else ("a", 0)
                    for _ in range(most):
                        if (entry := queue.outbox.head(who)) is not None:
                            got[who].append(entry.alert["id"])
                            queue.outbox.done(who, entry)
        except Killed:
            pass
        queue.outbox.close()
        queue = Queue(Path(name), {"a": True, "b": False})
        for number, batch in enumerate(batches[latest:], latest):  # the batch that was at work is repeated
            queue.put(number, batch)
        for who in "ab":
            got[who] += queue.drain(who)
            assert list(dict.fromkeys(got[who])) == [one for batch in batches for one in ids(batch)]
            assert sum(count - 1 for count in Counter(got[who]).values()) <= 1
        last = [one["id"] for batch in batches for one in batch][-1:]
        assert [one["id"] for one in queue.outbox.firing("a")] == last
        queue.outbox.close()


def test_a_new_receiver_gets_no_past_alerts(tmp_path):
    queue = Queue(tmp_path, {"a": False})
    queue.put(0, entries(0, 3))
    queue.outbox.close()
    queue = Queue(tmp_path, {"a": False, "b": False})
    queue.put(1, entries(3, 1))
    assert queue.drain("b") == ids(entries(3, 1)) and queue.drain("a") == ids(entries(0, 4))


def test_alerts_that_wait_for_long_stay_in_the_journal(tmp_path):
    queue = Queue(tmp_path, {"a": False, "down": False})
    for number in range(100):
        queue.put(number, entries(number, 1))
    assert queue.drain("a", 95) == ids(entries(0, 95))
    queue.outbox.close()
    assert len(list((tmp_path / "state/journal").iterdir())) < 45
    queue = Queue(tmp_path, {"a": False, "down": False})
    assert queue.drain("a") == ids(entries(95, 5)) and queue.drain("down") == ids(entries(0, 100))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="lost"),
        pytest.param("", id="empty"),
        pytest.param("\xff\x00", id="no text"),
        pytest.param('{"number": 3, "index": 0}', id="of an earlier version"),
        pytest.param('{"digest": "", "content": {"batch": 9, "index": 0}}', id="without its digest"),
        pytest.param('{"digest": "", "content": {"batch": -5, "index": 0}}', id="negative"),
        pytest.param("[1]", id="a list"),
    ],
)
def test_a_position_that_is_lost_or_damaged_leaves_no_alert_out(tmp_path, caplog, text):
    """While its receiver is down: from the journal's position on, alerts are delivered again."""
    queue = Queue(tmp_path, {"a": False})
    for number in range(6):
        queue.put(number, entries(2 * number, 2))
        if number == 2:
            assert queue.drain("a", 4) == ids(entries(0, 4))
    queue.outbox.close()
    file = tmp_path / "outbox/a.json"
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text.encode("latin-1"))
    queue = Queue(tmp_path, {"a": False})
    got = queue.drain("a")
    assert got[-8:] == ids(entries(4, 8)), "all that it has not passed"
    assert got == ids(entries(12 - len(got), len(got))), "in order, and perhaps some again"
    assert "a.json is" in caplog.text and "delivered again" in caplog.text


def test_a_digit_that_changes_in_a_position_is_noticed(tmp_path):
    queue = Queue(tmp_path, {"a": False})
    for number in range(6):
        queue.put(number, entries(number, 1))
    assert queue.drain("a", 2) == ids(entries(0, 2))
    queue.outbox.close()
    file = tmp_path / "outbox/a.json"
    file.write_text(file.read_text().replace('"batch": 2', '"batch": 5'))
    queue = Queue(tmp_path, {"a": False})
    assert queue.drain("a")[-4:] == ids(entries(2, 4))


def test_a_position_before_that_of_the_journal_is_an_old_copy(tmp_path):
    queue = Queue(tmp_path, {"a": False})
    queue.put(0, entries(0, 2))
    old = (tmp_path / "outbox/a.json").read_bytes()
    queue.drain("a")
    queue.put(1, [])
    queue.outbox.close()
    (tmp_path / "outbox/a.json").write_bytes(old)
    assert Queue(tmp_path, {"a": False}).drain("a") == []


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", '{"digest": "", "content": {}}'])
def test_damaged_firing_alerts_are_found_again_from_the_alert_state(tmp_path, text, caplog):
    queue = Queue(tmp_path, {"a": True})
    queue.put(0, entries(0, 1))
    queue.drain("a")
    queue.outbox.close()
    (tmp_path / "outbox/a.firing.json").write_text(text)
    queue = Queue(tmp_path, {"a": True})
    queue.outbox.remember(entries(0, 1))
    assert ids(queue.outbox.firing("a")) == ids(entries(0, 1))
    assert "a.firing.json is damaged" in caplog.text


def test_the_files_say_what_they_are(tmp_path):
    queue = Queue(tmp_path, {"a": True})
    queue.put(0, entries(0, 2))
    queue.drain("a", 1)
    assert json.loads((tmp_path / "outbox/a.json").read_text())["content"] == {"batch": 0, "index": 1}
