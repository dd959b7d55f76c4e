"""Checks summaries and tallies that come from stored bytes: the kernels can read whatever passes.

A checksum shows damage but can be forged, so every length, order and count is checked. Takes a few microseconds for
each summary, and some 100 ns for each pair of a tally.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.codes import Codec
from aomg.core.kernels.registers import BOTH, HEAD_NUMBER
from aomg.core.kernels.tallies import TALLY_DOMAIN, TALLY_HEAD, TALLY_WEIGHTED
from aomg.core.kernels.varints import MOST_BYTES
from aomg.core.sliding import Sliding
from aomg.core.summary import check_summary
from aomg.errors import StateError

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

_WORD = 8
_LARGEST = 1 << 62  # of all counts together


def check_summaries(sliding: Sliding, numbers: Integers, offsets: Integers, data: Bytes) -> None:
    """Raise StateError unless data[offsets[i] : offsets[i + 1]] is a summary of the query and of sub-window numbers[i].

    Offsets are ascending and within data.
    """
    if numbers.size == 0:
        return
    data = np.ascontiguousarray(data[offsets[0] : offsets[-1]]).copy()  # begins at a word
    bounds = offsets - offsets[0]
    if np.any(bounds % _WORD) or np.any(np.diff(bounds) == 0):
        raise StateError("a saved summary is damaged; save again, or replay the stream")
    state, level, places = sliding.state.words, sliding.level, bounds.tolist()
    for start, end in pairwise(places):
        check_summary(state, level, data[start:end])
    if np.any(data.view(np.int64)[bounds[:-1] // _WORD + HEAD_NUMBER] != numbers):
        raise StateError("a saved summary is of another sub-window; save again, or replay the stream")


def check_tallies(sliding: Sliding, events: Integers, offsets: Integers, data: Bytes) -> None:
    """Raise StateError unless data[offsets[i] : offsets[i + 1]] is a tally of the query, of events[i] events.

    Offsets are ascending and within data.
    """
    if events.size and not _tallies_are_sound(sliding, events, offsets, data):
        raise StateError("a saved open sub-window is damaged; save again, or replay the stream")


def _tallies_are_sound(sliding: Sliding, events: Integers, offsets: Integers, data: Bytes) -> bool:
    starts, ends = offsets[:-1], offsets[1:]
    if np.any(ends - starts < TALLY_HEAD + 1):
        return False
    first = data[starts]
    weighted = (first & TALLY_WEIGHTED) != 0
    minima, maxima = (_words(data, starts + place).view(np.float64) for place in (1, 1 + _WORD))
    extremes = np.isfinite(minima) & np.isfinite(maxima) & (minima <= maxima)
    if np.any(first & ~np.uint8(TALLY_DOMAIN | TALLY_WEIGHTED)) or np.any((first & TALLY_DOMAIN) > BOTH):
        return False
    if not extremes.all():
        return False
    numbers, places = _Varints(data), starts + TALLY_HEAD
    surplus = np.zeros(starts.size, np.int64)
    if weighted.any():
        read = numbers.read(places[weighted], ends[weighted])
        if read is None or np.any(read[0].view(np.int64) < 1):
            return False
        surplus[weighted], places[weighted] = read[0].view(np.int64), read[1]
    pairs = _read_pairs(numbers, places, ends, sliding.dense)
    if pairs is None:
        return False
    totals, places = pairs
    if sliding.codec is not sliding.dense:
        pairs = _read_pairs(numbers, places, ends, sliding.codec)
        if pairs is None or np.any(pairs[0] != totals):
            return False
        places = pairs[1]
    return bool(np.all(places == ends) and np.all(surplus < totals) and np.all(totals - surplus == events))


@dataclass
class _Varints:
    """Numbers of seven bits a byte, many at once."""

    data: Bytes

    def __post_init__(self) -> None:
        self.lasts: Integers = np.flatnonzero(self.data < 128)  # the last byte of each number

    def ends(self, places: Integers, ends: Integers, numbers: Integers) -> Integers | None:
        """Where so many numbers from each place on end; None if some reach beyond their end."""
        if np.any(numbers > ends - places):
            return None
        entries = np.searchsorted(self.lasts, places) + numbers - 1
        if np.any(entries >= self.lasts.size):
            return None
        reached = np.where(numbers > 0, self.lasts[entries] + 1, places)
        return None if np.any(reached > ends) else reached

    def read(self, places: Integers, ends: Integers) -> tuple[npt.NDArray[np.uint64], Integers] | None:
        """The number at each place, and where it ends."""
        reached = self.ends(places, ends, np.ones(places.size, np.int64))
        if reached is None or np.any(reached - places > MOST_BYTES):
            return None
        values = np.zeros(places.size, np.uint64)
        for byte in range(int((reached - places).max(initial=0))):
            inside = np.flatnonzero(places + byte < reached)
            bits = self.data[places[inside] + byte].astype(np.uint64) & np.uint64(127)
            values[inside] |= bits << np.uint64(7 * byte)
        return values, reached

    def following(self, places: Integers, numbers: Integers) -> tuple[Integers, Integers]:
        """Where each of so many numbers from each place on begins and ends; the place of each is before its end."""
        entries = np.repeat(np.searchsorted(self.lasts, places), numbers) + _within(numbers)
        reached = self.lasts[entries] + 1
        begins = np.concatenate([[0], reached[:-1]])
        begins[np.cumsum(numbers) - numbers] = places
        return begins, reached


def _read_pairs(numbers: _Varints, places: Integers, ends: Integers, codec: Codec) -> tuple[Integers, Integers] | None:
    """The sum of the counts of each tally's pairs at these places, and where they end; None if they are not sound."""
    read = numbers.read(places, ends)
    if read is None:
        return None
    sizes, places = read[0].view(np.int64), read[1]
    if np.any(sizes < 1) or np.any(sizes > ends - places) or np.any(places + _WORD > ends):
        return None
    reached = numbers.ends(places + _WORD, ends, 2 * sizes - 1)
    if reached is None:
        return None
    begins, stops = numbers.following(places + _WORD, 2 * sizes - 1)
    decoded = numbers.read(begins, stops)
    if decoded is None:
        return None
    odd = _within(2 * sizes - 1) % 2 == 1  # count, distance, count, distance, count...
    firsts = np.cumsum(sizes) - sizes
    steps = np.zeros(int(sizes.sum()), np.uint64)
    steps[_within(sizes) > 0] = decoded[0][odd]
    steps[firsts] = _words(numbers.data, places).view(np.uint64)
    sums = np.cumsum(steps)  # modulo 2^64, as codes are
    codes = (sums - np.repeat(sums[firsts] - steps[firsts], sizes)).view(np.int64)
    lowest, highest = codec.span
    ascending = codes[1:] > codes[:-1]
    ascending[firsts[1:] - 1] = True
    counts = decoded[0][~odd].view(np.int64)
    if not ascending.all() or codes.min() < lowest or codes.max() > highest or counts.min() < 1:
        return None
    if np.add.reduceat(counts.astype(np.float64), firsts).max() >= _LARGEST:
        return None
    return np.add.reduceat(counts, firsts), reached


def _within(sizes: Integers) -> Integers:
    """The position of each entry in its group, for groups of these sizes."""
    position: Integers = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return position


def _words(data: Bytes, places: Integers) -> npt.NDArray[Any]:
    """The 8 bytes at each place."""
    return np.ascontiguousarray(data[places[:, None] + np.arange(_WORD)]).view(np.int64).ravel()
