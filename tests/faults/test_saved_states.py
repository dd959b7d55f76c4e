"""Damaged, foreign and forged states: a StateError, or an operator that still works. Never a crash, never a hang."""

import struct
import subprocess
import sys
from pathlib import Path

import forged
import pytest
from forged import QUERIES, saved
from hypothesis import given
from hypothesis import strategies as st

from aomg import Operator, Query, StateError

every_query = pytest.mark.parametrize("name", QUERIES)


@every_query
def test_a_state_is_the_same_bytes_every_time(name):
    assert Operator.load(QUERIES[name], saved(name)).save() == saved(name)
    for kind in (bytearray, memoryview):
        assert Operator.load(QUERIES[name], kind(saved(name))).save() == saved(name)


@every_query
@given(data=st.data())
def test_any_changed_byte_is_noticed(name, data):
    at = data.draw(st.integers(0, len(saved(name)) - 1))
    flip = data.draw(st.integers(1, 255))
    changed = bytearray(saved(name))
    changed[at] ^= flip
    with pytest.raises(StateError):
        Operator.load(QUERIES[name], bytes(changed))


@every_query
@given(data=st.data())
def test_a_state_that_is_cut_short_or_goes_on_is_noticed(name, data):
    whole = saved(name)
    with pytest.raises(StateError):
        Operator.load(QUERIES[name], whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(StateError):
        Operator.load(QUERIES[name], whole + data.draw(st.binary(min_size=1, max_size=40)))


@given(content=st.binary(max_size=300))
def test_foreign_bytes_are_no_state(content):
    for start in (b"", b"AOMG", b"AOMG\x01\x00\x00\x00"):
        with pytest.raises(StateError):
            Operator.load(QUERIES["default"], start + content)


def test_the_refusal_of_a_state_of_another_query_has_durations_as_people_write_them():
    with pytest.raises(StateError, match=r"another query than Query\('1h', '5m'\); load it"):
        Operator.load(Query("1 hour", "300 s"), Operator(Query("1 hour", "1 minute")).save())


@pytest.mark.parametrize("foreign", [None, "AOMG", 5, [1], {}, object()])
def test_what_is_no_bytes_is_no_state(foreign):
    with pytest.raises(StateError, match="bytes"):
        Operator.load(QUERIES["default"], foreign)


def test_a_state_is_loaded_by_its_own_query_only():
    for name in QUERIES:
        for other in QUERIES:
            if other != name:
                with pytest.raises(StateError, match="query"):
                    Operator.load(QUERIES[other], saved(name))


def test_another_version_is_told():
    changed = bytearray(saved("default"))
    struct.pack_into("<H", changed, 4, 2)
    with pytest.raises(StateError, match="version 2"):
        Operator.load(QUERIES["default"], bytes(changed))


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak), pytest.param(3, marks=pytest.mark.soak)])
@every_query
def test_forged_content_with_a_right_checksum_neither_crashes_nor_hangs(name, seed):
    """In a process of its own, because a crash would take the tests along and a hang would hold them."""
    rounds = 150 if seed == 1 else 3000
    told = subprocess.run(
        [sys.executable, str(Path(forged.__file__)), name, str(seed), str(rounds)],
        capture_output=True,
        text=True,
        timeout=300 if seed == 1 else 600,  # the first run compiles
        check=False,
    )
    assert told.returncode == 0, told.stdout[-8:] + told.stderr[-3000:]
