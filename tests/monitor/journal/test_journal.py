"""The journal is a chain: an entry that is lost, changed or of another folder is noticed and named."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Killed, dying, quick_disk

from aomg.errors import StateError
from aomg.monitor.journal.entry import Entry, SourceFile, SourceRead, StoredFile, Written
from aomg.monitor.journal.journal import KEEP, Journal, newest_entry

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
STREAM = "3f9a00112233"


def entry(batch: int, **more) -> Entry:
    parts = {
        "read": SourceRead((SourceFile(f"/in/{batch}.csv", 10, 5),), (), ('{"topic":{"0":7}}',)),
        "content": {"results": f"digest {batch}"},
        "written": (Written(Path("/out"), (StoredFile(f"day=1/{batch}", 100, 3, "ab"),)),),
        "state": {"é": [1, 2.5, None]},
        "queue": ({"id": f"alert {batch}", "transition": "firing"},),
        "refused": {"no time": batch},
        "positions": {"a": (batch, 0)},
        "program": "0.1.0",
    }
    return Entry(batch, "", None, **(parts | more))


def filled(folder: Path, batches: int) -> Journal:
    journal = Journal(folder, STREAM)
    for batch in range(batches):
        journal.put(entry(batch))
    return journal


def place(folder: Path, batch: int) -> Path:
    return folder / "journal" / f"{batch:010d}.json"


def test_what_was_written_is_read_again(tmp_path):
    written = filled(tmp_path, 3)
    read = Journal(tmp_path, STREAM)
    assert read.entries == written.entries
    assert (read.files, read.queue, read.next) == (written.files, written.queue, 3)
    assert read.files == {"/out": {f"day=1/{n}": StoredFile(f"day=1/{n}", 100, 3, "ab") for n in range(3)}}
    assert read.last == newest_entry(tmp_path) and newest_entry(tmp_path / "none") is None
    assert read.entry_before(3) == read.last and read.entry_before(2).batch == 1 and read.entry_before(0) is None


@pytest.mark.parametrize("batches", [1, 19, 20, 21, 41, 60, 100])
def test_some_entries_are_kept_and_what_they_add_up_to_stays(tmp_path, batches):
    filled(tmp_path, batches)
    journal = Journal(tmp_path, STREAM)
    assert min(batches, KEEP) <= len(journal.entries) <= 2 * KEEP + 1
    assert len(journal.files["/out"]) == batches
    assert journal.entries[min(journal.entries)].base is not None
    assert {batch for batch in journal.queue if batch >= batches - 1} == {batches - 1}


def test_alerts_that_a_receiver_has_not_passed_stay_in_the_queue(tmp_path):
    journal = Journal(tmp_path, STREAM)
    for batch in range(90):
        journal.put(entry(batch, positions={"a": (batch, 0), "down": (7, 0)}))
    assert set(Journal(tmp_path, STREAM).queue) >= set(range(7, 90))


def test_files_that_were_replaced_are_gone(tmp_path):
    journal = filled(tmp_path, 5)
    joined = Written(Path("/out"), (StoredFile("day=1/joined", 400, 12, "cd"),), tuple(f"day=1/{n}" for n in range(4)))
    journal.put(entry(5, written=(joined,)))
    assert set(Journal(tmp_path, STREAM).files["/out"]) == {"day=1/joined", "day=1/4"}


@pytest.mark.parametrize("batch", range(4))
def test_a_lost_entry_is_noticed(tmp_path, batch):
    filled(tmp_path, 5)
    place(tmp_path, batch).unlink()
    with pytest.raises(StateError, match=rf"journal/{batch:010d}\.json is missing .*aomg fsck"):
        Journal(tmp_path, STREAM)


@given(st.data())
def test_every_changed_byte_is_noticed(data):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, 3)
        batch = data.draw(st.integers(0, 2))
        content = bytearray(place(folder, batch).read_bytes())
        where = data.draw(st.integers(0, len(content) - 2))  # the last byte is a line break
        content[where] ^= 1 << data.draw(st.integers(0, 7))
        place(folder, batch).write_bytes(content)
        try:
            same = Journal(folder, STREAM).entries[batch] == filled(folder / "other", 3).entries[batch]
        except StateError as error:
            assert f"{batch:010d}.json" in str(error)
        else:
            assert same, "only white space, or another way to write the same"


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"version": 1}', "\xff"])
def test_a_damaged_entry_is_named(tmp_path, text):
    filled(tmp_path, 3)
    place(tmp_path, 1).write_bytes(text.encode("latin-1"))
    with pytest.raises(StateError, match=r"0000000001\.json is damaged; restore it .*, or run aomg fsck"):
        Journal(tmp_path, STREAM)


def test_an_entry_that_was_written_anew_breaks_the_chain(tmp_path):
    """Its own digest is right; the entry after it has another one."""
    filled(tmp_path, 3)
    changed = Entry.from_bytes(place(tmp_path, 1).read_bytes(), place(tmp_path, 1))
    changed.refused["no time"] = 99
    place(tmp_path, 1).write_bytes(changed.sealed().to_bytes())
    with pytest.raises(StateError, match=r"0000000001\.json is damaged"):
        Journal(tmp_path, STREAM)


def test_entries_of_another_state_folder_and_of_later_versions_are_refused(tmp_path):
    filled(tmp_path, 2)
    with pytest.raises(StateError, match="belongs to another state folder"):
        Journal(tmp_path, "0" * 12)
    text = place(tmp_path, 1).read_text()
    place(tmp_path, 1).write_text(text.replace('"version":1', '"version":2'))
    with pytest.raises(StateError, match=r"has version 2, .* use a newer program"):
        Journal(tmp_path, STREAM)


def test_a_batch_without_the_entry_before_it_is_refused(tmp_path):
    with pytest.raises(StateError, match=r"journal is empty, but Spark goes on with batch 3"):
        Journal(tmp_path, STREAM).entry_before(3)
    with pytest.raises(StateError, match=r"journal ends with batch 1, but Spark goes on with batch 7"):
        filled(tmp_path, 2).entry_before(7)


@given(batches=st.integers(1, 45), operation=st.integers(0, 200), torn=st.booleans())
def test_killed_at_any_point_the_journal_is_whole_and_has_all_that_was_complete(batches, operation, torn):
    with tempfile.TemporaryDirectory() as name:
        folder, complete = Path(name), 0
        try:
            with dying(operation, torn):
                journal = Journal(folder, STREAM)
                for batch in range(batches):
                    journal.put(entry(batch))
                    complete = batch + 1
        except Killed:
            pass
        journal = Journal(folder, STREAM)
        assert complete <= journal.next <= complete + 1
        for batch in range(journal.next, batches):
            journal.put(entry(batch))
        assert len(Journal(folder, STREAM).files["/out"]) == batches


def test_a_digit_is_a_digit_in_every_part(tmp_path):
    """Each part of an entry is covered by its digest."""
    filled(tmp_path, 1)
    record = json.loads(place(tmp_path, 0).read_text())
    for part in record:
        changed = {**record, part: "other"}
        place(tmp_path, 0).write_text(json.dumps(changed))
        with pytest.raises(StateError):
            Journal(tmp_path, STREAM)
