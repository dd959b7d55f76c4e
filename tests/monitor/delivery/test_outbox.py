import json
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import NOON, JournaledOutbox, Killed, alert, dying, quick_disk, record_of

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


def drain(outbox: JournaledOutbox, name: str, most: int = 1000) -> list[str]:
    taken = []
    while len(taken) < most and (entry := outbox.head(name)) is not None:
        taken.append(entry.alert["id"])
        outbox.done(name, entry)
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
        outbox = JournaledOutbox(Path(name), {"a": True, "b": False})
        try:
            with dying(operation, torn):
                for number, batch in enumerate(batches):
                    latest = number
                    outbox.put(number, batch)
                    who, most = reads[number] if number < len(reads) else ("a", 0)
                    for _ in range(most):
                        if (entry := outbox.head(who)) is not None:
                            got[who].append(entry.alert["id"])
                            outbox.done(who, entry)
        except Killed:
            pass
        outbox.close()
        outbox = JournaledOutbox(Path(name), {"a": True, "b": False})
        for number, batch in enumerate(batches[latest:], latest):  # the batch that was at work is repeated
            outbox.put(number, batch)
        for who in "ab":
            got[who] += drain(outbox, who)
            assert list(dict.fromkeys(got[who])) == [one for batch in batches for one in ids(batch)]
            assert sum(count - 1 for count in Counter(got[who]).values()) <= 1
        last = [one["id"] for batch in batches for one in batch][-1:]
        assert [one["id"] for one in outbox.firing("a")] == last
        outbox.close()


def test_a_new_receiver_gets_no_past_alerts(tmp_path):
    outbox = JournaledOutbox(tmp_path, {"a": False})
    outbox.put(0, entries(0, 3))
    outbox.close()
    outbox = JournaledOutbox(tmp_path, {"a": False, "b": False})
    outbox.put(1, entries(3, 1))
    assert drain(outbox, "b") == ids(entries(3, 1)) and drain(outbox, "a") == ids(entries(0, 4))


def test_alerts_that_wait_for_long_stay_in_the_journal(tmp_path):
    outbox = JournaledOutbox(tmp_path, {"a": False, "down": False})
    for number in range(100):
        outbox.put(number, entries(number, 1))
    assert drain(outbox, "a", 95) == ids(entries(0, 95))
    outbox.close()
    assert len(list((tmp_path / "state/journal").iterdir())) < 45
    outbox = JournaledOutbox(tmp_path, {"a": False, "down": False})
    assert drain(outbox, "a") == ids(entries(95, 5)) and drain(outbox, "down") == ids(entries(0, 100))


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
    outbox = JournaledOutbox(tmp_path, {"a": False})
    for number in range(6):
        outbox.put(number, entries(2 * number, 2))
        if number == 2:
            assert drain(outbox, "a", 4) == ids(entries(0, 4))
    outbox.close()
    file = tmp_path / "a.json"
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text.encode("latin-1"))
    outbox = JournaledOutbox(tmp_path, {"a": False})
    got = drain(outbox, "a")
    assert got[-8:] == ids(entries(4, 8)), "all that it has not passed"
    assert got == ids(entries(12 - len(got), len(got))), "in order, and perhaps some again"
    assert "a.json is" in caplog.text and "delivered again" in caplog.text


def test_a_digit_that_changes_in_a_position_is_noticed(tmp_path):
    outbox = JournaledOutbox(tmp_path, {"a": False})
    for number in range(6):
        outbox.put(number, entries(number, 1))
    assert drain(outbox, "a", 2) == ids(entries(0, 2))
    outbox.close()
    file = tmp_path / "a.json"
    file.write_text(file.read_text().replace('"batch": 2', '"batch": 5'))
    outbox = JournaledOutbox(tmp_path, {"a": False})
    assert drain(outbox, "a")[-4:] == ids(entries(2, 4))


def test_a_position_before_that_of_the_journal_is_an_old_copy(tmp_path):
    outbox = JournaledOutbox(tmp_path, {"a": False})
    outbox.put(0, entries(0, 2))
    old = (tmp_path / "a.json").read_bytes()
    drain(outbox, "a")
    outbox.put(1, [])
    outbox.close()
    (tmp_path / "a.json").write_bytes(old)
    assert drain(JournaledOutbox(tmp_path, {"a": False}), "a") == []


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", '{"digest": "", "content": {}}'])
def test_damaged_firing_alerts_are_found_again_from_the_alert_state(tmp_path, text, caplog):
    outbox = JournaledOutbox(tmp_path, {"a": True})
    outbox.put(0, entries(0, 1))
    drain(outbox, "a")
    outbox.close()
    (tmp_path / "a.firing.json").write_text(text)
    outbox = JournaledOutbox(tmp_path, {"a": True})
    outbox.remember(entries(0, 1))
    assert ids(outbox.firing("a")) == ids(entries(0, 1))
    assert "a.firing.json is damaged" in caplog.text


def test_the_files_say_what_they_are(tmp_path):
    outbox = JournaledOutbox(tmp_path, {"a": True})
    outbox.put(0, entries(0, 2))
    drain(outbox, "a", 1)
    assert json.loads((tmp_path / "a.json").read_text())["content"] == {"batch": 0, "index": 1}
