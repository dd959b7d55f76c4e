"""Texts are numbered in the order of their first appearance, whatever their lengths and hashes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.core import texts as texts_module
from aomg.core.kernels import texts as kernels
from aomg.core.texts import TextNumbers, short_texts

lengths = st.sampled_from([0, 1, 7, 8, 9, 15, 16, 17, 40])
texts = st.one_of(
    st.binary(max_size=20),
    lengths.map(lambda length: b"a" * length),
    st.integers(0, 3000).map(lambda number: b"podset-%05d" % number),
)


def arrays_of(values: list[bytes], before: bytes, width: type) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and bytes, with other bytes before the first text and none after the last."""
    offsets = np.cumsum([len(before), *map(len, values)]).astype(width)
    return offsets, np.frombuffer(before + b"".join(values), np.uint8)


def expected_numbers(values: list[bytes]) -> tuple[list[int], list[bytes]]:
    numbers: dict[bytes, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values], list(numbers)


def known_texts(numbers: TextNumbers) -> list[bytes]:
    data, offsets = numbers.data.tobytes(), numbers.offsets.tolist()
    return [data[first:last] for first, last in pairwise(offsets)]


@given(st.lists(st.lists(texts, max_size=40), max_size=4), st.binary(max_size=3), st.sampled_from([np.int32, np.int64]))
def test_equal_texts_have_equal_numbers_in_the_order_of_their_first_appearance(parts, before, width):
    numbers = TextNumbers()
    codes = [code for part in parts for code in numbers.add(*arrays_of(part, before, width)).tolist()]
    expected, different = expected_numbers([text for part in parts for text in part])
    assert codes == expected
    assert known_texts(numbers) == different


def test_table_and_pool_grow(monkeypatch):
    monkeypatch.setattr(texts_module, "_SLOTS", 4)
    monkeypatch.setattr(texts_module, "_BYTES", 8)
    values = [b"x" * (number % 50) + b"%d" % number for number in np.random.default_rng(1).integers(0, 5000, 20_000)]
    numbers = TextNumbers()
    expected, different = expected_numbers(values)
    assert numbers.add(*arrays_of(values, b"", np.int32)).tolist() == expected
    assert known_texts(numbers) == different


def test_long_texts_of_one_hash_are_told_apart():
    """The first text is in the pool, and in the slot of the second one, under its hash."""
    values = [b"a" * 24 + b"same end", b"b" * 24 + b"same end"]
    numbers = TextNumbers()
    numbers.add(*arrays_of(values[1:], b"", np.int32))
    numbers._pool[:32] = np.frombuffer(values[0], np.uint8)
    assert numbers.add(*arrays_of(values[1:], b"", np.int32)).tolist() == [1]


def home_slot(entry: np.ndarray, mask: int) -> int:
    """The slot where an entry of the table belongs."""
    words = entry[kernels.SLOT_FIRST], entry[kernels.SLOT_LAST], np.int64(entry[kernels.SLOT_LENGTH]) - 1
    return int(kernels.home_slot(*words, np.uint64(mask)))


@pytest.mark.parametrize("pattern", [b"podset-%05d", b"%d", b"%07d-rack", b"host%d.example.org"])
def test_names_that_are_counted_spread_over_the_table(pattern):
    """No slot is far from where it belongs: a bad hash would make every look-up a search."""
    numbers = TextNumbers()
    numbers.add(*arrays_of([pattern % number for number in range(2000)], b"", np.int32))
    slots = np.flatnonzero(numbers._slots[:, kernels.SLOT_LENGTH])
    mask = len(numbers._slots) - 1
    homes = np.array([home_slot(entry, mask) for entry in numbers._slots[slots]])
    distance = (slots - homes) & mask
    assert distance.size == 2000 and distance.mean() < 1 and distance.max() < 64


@given(
    data=st.data(), known=st.lists(st.text(max_size=8).filter(lambda t: len(t.encode()) <= 16), min_size=1, max_size=9)
)
def test_texts_are_written_by_their_numbers(data, known):
    numbers = data.draw(st.lists(st.integers(0, len(known) - 1), max_size=50))
    offsets, content = short_texts(known, np.array(numbers, np.int64))
    written = content.tobytes()
    assert [written[first:last].decode() for first, last in pairwise(offsets.tolist())] == [known[n] for n in numbers]


def test_a_long_text_is_not_cut():
    with pytest.raises(ValueError, match="more than 16 bytes"):
        short_texts(["seventeen letters"], np.zeros(1, np.int64))
