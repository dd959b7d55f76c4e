"""Damaged, foreign and forged states of a keyed operator: a StateError, or an operator that still works."""

import json
import subprocess
import sys
from pathlib import Path

import forged_keys
import pytest
from forged_keys import QUERIES, joined, parts_of, saved

from aomg import InputError, KeyedOperator, Operator, StateError

every_query = pytest.mark.parametrize("name", QUERIES)


@every_query
def test_a_state_is_the_same_bytes_every_time(name):
    for kind in (bytes, bytearray, memoryview):
        assert KeyedOperator.load(QUERIES[name], kind(saved(name))).save() == saved(name)


@pytest.mark.parametrize("foreign", [None, "AOMK", 5, [1], {}, object()])
def test_what_is_no_bytes_is_no_state(foreign):
    with pytest.raises(StateError, match="bytes"):
        KeyedOperator.load(QUERIES["default"], foreign)
    with pytest.raises(InputError, match=r"load needs an aomg.Query, not"):
        KeyedOperator.load(foreign, saved("default"))


def test_states_of_other_operators_are_no_state():
    with pytest.raises(StateError, match="not the saved state of a KeyedOperator"):
        KeyedOperator.load(QUERIES["default"], Operator(QUERIES["default"]).save())
    for name in QUERIES:
        if name != "default":
            with pytest.raises(StateError, match="query"):
                KeyedOperator.load(QUERIES["default"], saved(name))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"latest": 2**61}, "times"),
        ({"closed_to": 0}, "times"),
        ({"finished": 1}, "header"),
        ({"by": "k"}, "header"),
        ({"accounts": {"came": 1}}, "counts|header"),
        ({"by": ["k", "k"]}, "tables"),
    ],
    ids=str,
)
def test_a_forged_header_is_refused_with_its_part(change, part):
    header, *tables = parts_of(saved("default"))
    forged = json.dumps(json.loads(header) | change).encode()
    with pytest.raises(StateError, match=rf"damaged \(({part})\); save again"):
        KeyedOperator.load(QUERIES["default"], joined(saved("default"), [forged, *tables]))


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
@every_query
def test_forged_content_with_a_right_checksum_neither_crashes_nor_hangs(name, seed):
    """In a process of its own, because a crash would take the tests along and a hang would hold them."""
    rounds = 120 if seed == 1 else 3000
    ended = subprocess.run(
        [sys.executable, str(Path(forged_keys.__file__)), name, str(seed), str(rounds)],
        capture_output=True,
        text=True,
        timeout=300 if seed == 1 else 900,  # the first run compiles
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-8:] + ended.stderr[-3000:]
