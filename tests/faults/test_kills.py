"""Killed before any operation on the file system, a monitor ends with the files of one that was never disturbed."""

import os

import pytest
from killed_writes import KilledWrites
from trials import SAME, WrongOutcomeError

from aomg.errors import StateError
from aomg.monitor.journal.journal import Journal
from aomg.monitor.sinks import jsonl


@pytest.fixture(scope="module")
def writes(tmp_path_factory) -> KilledWrites:
    return KilledWrites(tmp_path_factory.mktemp("undisturbed") / "monitor")


def check_kills(writes: KilledWrites, folder, first: int, step: int) -> None:
    assert writes.operations > 100
    for operation in range(first, writes.operations, step):
        assert writes.killed_before([operation], folder / str(operation)) == SAME


@pytest.mark.parametrize("part", range(2))
def test_killed_at_every_place_that_writes_the_outcome_is_that_of_an_undisturbed_run(tmp_path, writes, part):
    assert len(writes.sites) > 40
    for operation in sorted(writes.sites.values())[part::2]:
        assert writes.killed_before([operation], tmp_path / str(operation)) == SAME


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_killed_at_every_point_the_outcome_is_that_of_an_undisturbed_run(tmp_path, writes, part):
    check_kills(writes, tmp_path, part, 8)


def test_killed_again_and_again_the_outcome_is_that_of_an_undisturbed_run(tmp_path, writes):
    for operations in ([3, 9, 27, 81], [200, 1, 1, 1], [450, 30, 2]):
        assert writes.killed_before(operations, tmp_path / str(operations[0])) == SAME


def test_a_sink_that_doubles_a_repeated_batch_would_be_noticed(tmp_path, writes, monkeypatch):
    """The check itself: a sink that only appends."""
    monkeypatch.setattr(jsonl, "_cut", lambda raw, batch, stream: [(0, raw.seek(0, os.SEEK_END))])
    with pytest.raises(WrongOutcomeError, match=r"killed before operations .* results\.jsonl"):
        check_kills(writes, tmp_path, 0, 5)


def test_a_journal_that_skips_a_batch_would_be_noticed(tmp_path, writes, monkeypatch):
    write = Journal._write

    def forgetful(journal, entry):
        return entry.sealed() if entry.batch == 4 else write(journal, entry)

    monkeypatch.setattr(Journal, "_write", forgetful)
    with pytest.raises((WrongOutcomeError, StateError, KeyError)):
        check_kills(writes, tmp_path, 0, 40)
