"""Saves an operator's state as bytes and loads it: with version, checksum and the query's fingerprint; no pickle.

==============  =================================================================
magic           "AOMG", version (2 bytes), flags (2 bytes: 1 with weights)
fingerprint     16 bytes of the query's
checksum        16 bytes: BLAKE2b of all that follows
registers       8-byte integers: how many, then each
summaries       how many; then each one's length and bytes (core.summary)
open            how many sub-windows; then each one's number, domain, minimum,
                maximum, dense pairs and fine pairs; with weights its surplus
==============  =================================================================
"""

import hashlib
import struct

import numpy as np
import numpy.typing as npt

from aomg.core.arrivals import NEVER, last_end
from aomg.core.counts import Counts
from aomg.core.sliding import Sliding
from aomg.errors import StateError
from aomg.query import Query

Integers = npt.NDArray[np.int64]

MAGIC, VERSION = b"AOMG", 1
_HEAD = struct.Struct("<4sHH16s16s")
_LARGEST = 1 << 62
_WEIGHTED = 1
_FURTHEST = 1 << 61


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def pack(query: Query, registers: list[int], summaries: list[bytes], waiting: dict[int, Counts]) -> bytes:
    """Write registers, summaries and open sub-windows."""
    parts = [struct.pack("<q", len(registers)), struct.pack(f"<{len(registers)}q", *registers)]
    parts.append(struct.pack("<q", len(summaries)))
    for summary in summaries:
        parts += [struct.pack("<q", len(summary)), summary]
    weighted = any(counts.surplus for counts in waiting.values())
    parts.append(struct.pack("<q", len(waiting)))
    for number in sorted(waiting):
        counts = waiting[number]
        parts.append(struct.pack("<qqdd", number, counts.domain, counts.minimum, counts.maximum))
        for codes, numbers in ((counts.codes, counts.numbers), (counts.fine_codes, counts.fine_numbers)):
            parts += [struct.pack("<q", codes.size), codes.tobytes(), numbers.tobytes()]
        if weighted:
            parts.append(struct.pack("<q", counts.surplus))
    content = b"".join(parts)
    return (
        _HEAD.pack(MAGIC, VERSION, _WEIGHTED if weighted else 0, bytes.fromhex(query.fingerprint), _checksum(content))
        + content
    )


class ByteReader:
    """Reads forward and refuses to read past the end."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def bytes(self, size: int) -> bytes:
        """The next bytes."""
        if not 0 <= size <= len(self._content) - self._position:
            raise StateError("the saved state is incomplete; save again, or replay the stream")
        self._position += size
        return self._content[self._position - size : self._position]

    def integer(self) -> int:
        """The next 8 bytes as an integer."""
        return int(struct.unpack("<q", self.bytes(8))[0])

    def number_of(self, each: int) -> int:
        """How many things follow, of at least `each` bytes."""
        number = self.integer()
        if not 0 <= number * each <= len(self._content) - self._position:
            raise StateError("the saved state is shorter than its lengths say; save again, or replay the stream")
        return number

    def pairs(self) -> tuple[Integers, Integers]:
        """The next codes and their counts."""
        size = self.number_of(16)
        codes = np.frombuffer(self.bytes(8 * size), "<i8").astype(np.int64)
        numbers = np.frombuffer(self.bytes(8 * size), "<i8").astype(np.int64)
        if np.any(codes[1:] <= codes[:-1]) or np.any(numbers < 1) or np.any(numbers >= _LARGEST):
            raise StateError("the saved counts are damaged; save again, or replay the stream")
        return codes, numbers

    @property
    def done(self) -> bool:
        """Whether all bytes have been read."""
        return self._position == len(self._content)


def _registers_are_sound(query: Query, registers: list[int]) -> bool:
    """Whether the number of the open sub-window, the tallies and the three times can stand together."""
    if len(registers) != 7:
        return False
    number, refused, late, finished, latest, watermark, closed_to = registers
    if not (0 <= number < _FURTHEST and 0 <= refused < _FURTHEST and 0 <= late < _FURTHEST and finished in (0, 1)):
        return False
    if not query.counted and watermark == NEVER and number != 0:
        return False
    return times_are_sound(query, bool(finished), latest, watermark, closed_to)


def times_are_sound(query: Query, finished: bool, latest: int, watermark: int, closed_to: int) -> bool:
    """Whether the latest time, the watermark and the number up to which sub-windows have closed fit together."""
    if query.counted or watermark == NEVER:
        return latest == watermark == closed_to == NEVER
    end = last_end(query.period, latest, watermark) if finished else watermark // query.period
    in_reach = (latest == NEVER or -_FURTHEST < latest < _FURTHEST) and -_FURTHEST < watermark < _FURTHEST
    return in_reach and closed_to == end


def unpack(query: Query, data: bytes, sliding: Sliding, fine: bool) -> tuple[list[int], list[bytes], dict[int, Counts]]:
    """Read what `pack` wrote. Raises StateError with the reason if it cannot."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise StateError(f"a saved state must be bytes, not {type(data).__name__}")
    data = bytes(data)
    if len(data) < _HEAD.size or data[:4] != MAGIC:
        raise StateError("these bytes are not a saved state of AOMG")
    _, version, flags, fingerprint, checksum = _HEAD.unpack(data[: _HEAD.size])
    if version != VERSION or flags not in (0, _WEIGHTED):
        raise StateError(f"the state has format version {version}, but this aomg reads {VERSION}; replay the stream")
    content = data[_HEAD.size :]
    if checksum != _checksum(content):
        raise StateError("the saved state is damaged; save again, or replay the stream")
    if fingerprint != bytes.fromhex(query.fingerprint):
        raise StateError(f"the state is of another query than {query!r}; load it with the query that saved it")
    reader = ByteReader(content)
    registers = [reader.integer() for _ in range(reader.number_of(8))]
    if not _registers_are_sound(query, registers):
        raise StateError("the saved state is damaged (registers); save again, or replay the stream")
    summaries = [reader.bytes(reader.number_of(1)) for _ in range(reader.number_of(8))]
    waiting: dict[int, Counts] = {}
    lowest, highest = sliding.dense.span
    for _ in range(reader.number_of(32)):
        number, domain, minimum, maximum = struct.unpack("<qqdd", reader.bytes(32))
        (codes, numbers), (fine_codes, fine_numbers) = reader.pairs(), reader.pairs()
        surplus = reader.integer() if flags == _WEIGHTED else 0
        sound = (
            codes.size and codes[0] >= lowest and codes[-1] <= highest and domain in (0, 1, 2) and minimum <= maximum
        )
        sound = sound and 0 <= surplus < sum(numbers.tolist()) < _LARGEST
        if fine_codes.size:
            lowest_fine, highest_fine = sliding.codec.span
            sound = sound and fine_codes[0] >= lowest_fine and fine_codes[-1] <= highest_fine
        if not query.counted:
            sound = sound and registers[6] <= number <= registers[4] // query.period
        if fine != (fine_codes.size > 0) or (fine and fine_numbers.sum() != numbers.sum()) or not sound:
            raise StateError("a saved open sub-window is damaged; save again, or replay the stream")
        waiting[number] = Counts(codes, numbers, fine_codes, fine_numbers, domain, minimum, maximum, surplus)
    if not reader.done or (query.counted and len(waiting) > 1):
        raise StateError("the saved state has extra bytes or sub-windows; save again, or replay the stream")
    if query.counted and any(counts.total >= query.period for counts in waiting.values()):
        raise StateError("a saved open sub-window has too many events; save again, or replay the stream")
    return registers, summaries, waiting
