"""Checksums of summaries are the CRC-32 of zlib, and every flipped bit is noticed."""

from itertools import pairwise
from zlib import crc32

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aomg.core.checksums import with_checksums, without_checksums

summaries = st.lists(st.integers(0, 12).flatmap(lambda words: st.binary(min_size=8 * words, max_size=8 * words)))


def joined(parts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return offsets, np.frombuffer(b"".join(parts), np.uint8)


@given(parts=summaries, query=st.binary(max_size=20))
def test_the_checksum_is_that_of_zlib_and_goes_away_again(parts, query):
    offsets, data = with_checksums(*joined(parts), crc32(query))
    stored = [data[a:b].tobytes() for a, b in pairwise(offsets)]
    assert stored == [part + crc32(query + part).to_bytes(4, "little") for part in parts]
    seeds = np.full(len(parts), crc32(query), np.uint32)
    for given_parts in (stored, parts, [*stored[::2], *parts[1::2]]):  # with checksums, without, and both
        bounds, content, damaged = without_checksums(*joined(given_parts), seeds)
        expected = [part[: len(part) // 8 * 8] for part in given_parts]
        assert damaged == -1
        assert [content[a:b].tobytes() for a, b in pairwise(bounds)] == expected


@given(parts=summaries.filter(len), data=st.data())
def test_every_flipped_bit_and_every_other_length_is_noticed(parts, data):
    offsets, content = with_checksums(*joined(parts), 7)
    seeds = np.full(len(parts), 7, np.uint32)
    row = data.draw(st.integers(0, len(parts) - 1))
    place = data.draw(st.integers(int(offsets[row]), int(offsets[row + 1]) - 1))
    flipped = content.copy()
    flipped[place] ^= 1 << data.draw(st.integers(0, 7))
    assert without_checksums(offsets, flipped, seeds)[2] == row
    seeds[row] ^= 1
    assert without_checksums(offsets, content, seeds)[2] == row
    for length in (1, 2, 3, 5, 6, 7):
        assert without_checksums(*joined([bytes(16), bytes(16 + length)]), np.zeros(2, np.uint32))[2] == 1
