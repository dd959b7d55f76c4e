import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Killed, dying, files, quick_disk

from aomg.errors import StateError
from aomg.monitor.alerts.state_files import StateFiles, stream_of

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
STATE = {"b": [1, 2.5, None], "a": {"é": "firing"}}


def test_a_batch_starts_from_the_latest_state_below_it(tmp_path):
    states = StateFiles(tmp_path / "alerts")
    assert states.load_below(5) is None
    for batch in (3, 4, 7):
        states.save(batch, {"of": batch})
    assert [states.load_below(batch) for batch in (3, 4, 5, 7, 8)] == [None, {"of": 3}, {"of": 4}, {"of": 4}, {"of": 7}]


def test_the_same_state_gives_the_same_bytes(tmp_path):
    StateFiles(tmp_path / "a").save(4, STATE)
    StateFiles(tmp_path / "b").save(4, dict(reversed(STATE.items())))
    assert files(tmp_path / "a") == files(tmp_path / "b") and list(files(tmp_path / "a")) == ["4.json"]


def test_the_last_twenty_are_kept(tmp_path):
    states = StateFiles(tmp_path)
    for batch in range(50):
        states.save(batch, batch)
    assert sorted(map(int, (path.stem for path in tmp_path.glob("*.json")))) == list(range(30, 50))


def test_a_batch_that_is_repeated_forgets_the_later_ones(tmp_path):
    states = StateFiles(tmp_path, keep=3)
    for batch in (8, 9, 10, 4):
        states.save(batch, {"of": batch})
    assert states.load_below(100) == {"of": 4}


@given(operation=st.integers(0, 12), torn=st.booleans(), batch=st.integers(3, 6))
def test_killed_at_any_point_the_state_before_is_still_there(operation, torn, batch):
    with tempfile.TemporaryDirectory() as folder:
        states = StateFiles(Path(folder), keep=2)
        for number in (3, 4, 5):
            states.save(number, number)
        before, after = states.load_below(batch), states.load_below(batch + 1)
        try:
            with dying(operation, torn):
                states.save(batch, "new")
        except Killed:
            assert states.load_below(batch) == before and states.load_below(batch + 1) in (after, "new")
        states.save(batch, "new")
        assert states.load_below(batch + 1) == "new"


@given(position=st.integers(0, 200), byte=st.integers(0, 255))
def test_a_damaged_state_is_an_error_and_never_another_state(position, byte):
    with tempfile.TemporaryDirectory() as folder:
        states = StateFiles(Path(folder))
        states.save(4, STATE)
        file = Path(folder) / "4.json"
        whole = file.read_bytes()
        position %= len(whole)
        file.write_bytes(whole[:position] + bytes([byte]) + whole[position + 1 :])
        try:
            assert states.load_below(5) == STATE
        except StateError as error:
            assert "4.json" in str(error)
        file.write_bytes(whole[:position])
        if position < len(whole) - 1:
            with pytest.raises(StateError, match=r"4.json is damaged; restore it from a backup, or remove it"):
                states.load_below(5)


def test_a_state_of_another_version_is_refused(tmp_path):
    states = StateFiles(tmp_path)
    states.save(4, STATE)
    file = tmp_path / "4.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": 2}))
    with pytest.raises(StateError, match="has version 2, but this program reads version 1"):
        states.load_below(5)


def test_a_state_folder_has_one_name_for_its_stream(tmp_path):
    first, second = stream_of(tmp_path / "a"), stream_of(tmp_path / "b")
    assert first == stream_of(tmp_path / "a") != second
    (tmp_path / "a" / "stream").write_text("../..")
    with pytest.raises(StateError, match="stream is damaged"):
        stream_of(tmp_path / "a")
