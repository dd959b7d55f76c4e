import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import NOON, Killed, alert, dying, files, quick_disk, record_of

from aomg.errors import StateError
from aomg.monitor.delivery.outbox import Outbox

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


def entries(start: int, count: int) -> list[dict]:
    return [record_of(alert(end=NOON + number)) for number in range(start, start + count)]


def drain(outbox: Outbox, name: str, most: int = 1000) -> list[str]:
    ids = []
    while len(ids) < most and (entry := outbox.head(name)) is not None:
        ids.append(entry.alert["id"])
        outbox.done(name, entry)
    return ids


def ids(alerts: list[dict]) -> list[str]:
    return [one["id"] for one in alerts]


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=6),
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
        folder = Path(name)
        outbox = Outbox(folder, {"a": True, "b": False}, keep=2)
        try:
            with dying(operation, torn):
                for number, batch in enumerate(batches):
                    latest = number
                    outbox.put(batch)
                    who, most = reads[number] if number < len(reads) else ("a", 0)
                    for _ in range(most):
                        if (entry := outbox.head(who)) is not None:
                            got[who].append(entry.alert["id"])
                            outbox.done(who, entry)
        except Killed:
            pass
        outbox.close()
        outbox = Outbox(folder, {"a": True, "b": False}, keep=2)
        for batch in batches[latest:]:  # the batch that was at work is repeated
            outbox.put(batch)
        for who in "ab":
            got[who] += drain(outbox, who)
            assert list(dict.fromkeys(got[who])) == [one for batch in batches for one in ids(batch)]
            assert sum(count - 1 for count in Counter(got[who]).values()) <= 1
        assert [one["id"] for one in outbox.firing("a")] == [batches[-1][-1]["id"]]
        outbox.close()


def test_files_go_when_all_receivers_are_past_them(tmp_path):
    outbox = Outbox(tmp_path, {"a": False, "b": False}, keep=2)
    for number in range(10):
        outbox.put(entries(number, 1))
    drain(outbox, "a")
    assert sum(name.startswith("0") for name in files(tmp_path)) == 10
    drain(outbox, "b", 6)
    assert sorted(name for name in files(tmp_path) if name.startswith("0")) == [f"{n:010d}.json" for n in range(6, 10)]
    drain(outbox, "b")
    assert sum(name.startswith("0") for name in files(tmp_path)) == 2 and outbox.waiting("b") == 0


def test_somebody_new_is_not_told_of_the_past(tmp_path):
    outbox = Outbox(tmp_path, {"a": False})
    outbox.put(entries(0, 3))
    outbox.close()
    outbox = Outbox(tmp_path, {"a": False, "b": False})
    outbox.put(entries(3, 1))
    assert drain(outbox, "b") == ids(entries(3, 1)) and drain(outbox, "a") == ids(entries(0, 4))


def test_numbers_go_on_when_all_files_are_gone(tmp_path):
    outbox = Outbox(tmp_path, {"a": False}, keep=1)
    for number in range(3):
        outbox.put(entries(number, 1))
    drain(outbox, "a")
    outbox.close()
    (tmp_path / "0000000002.json").unlink()
    outbox = Outbox(tmp_path, {"a": False})
    outbox.put(entries(9, 1))
    assert drain(outbox, "a") == ids(entries(9, 1))


@pytest.mark.parametrize("name", ["0000000000.json", "a.json", "a.firing.json"])
@pytest.mark.parametrize("text", ["", "nonsense", "[1]", '{"number":0}', "null"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, name, text):
    outbox = Outbox(tmp_path, {"a": True})
    outbox.put(entries(0, 2))
    drain(outbox, "a")
    outbox.close()
    (tmp_path / name).write_text(text)
    with pytest.raises(StateError, match=rf"{name} is damaged; remove it"):
        Outbox(tmp_path, {"a": True})
