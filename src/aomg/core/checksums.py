"""Adds a checksum to stored summaries, and verifies it when they are read.

The checksum is the CRC-32 of zlib, 4 bytes, little-endian, behind the summary: `zlib.crc32(query + summary)`, where
`query` is the text of the query that wrote it, in UTF-8. So a wrong bit in either is noticed. Summaries have a multiple
of 8 bytes: a length of 8k + 4 tells that there is a checksum. Those of earlier versions have none.

Costs about a nanosecond a byte.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.checksums import CHECKSUM_BYTES, add_checksums, remove_checksums

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Checksums = npt.NDArray[np.uint32]

_POLYNOMIAL = np.uint32(0xEDB88320)


def _byte_tables() -> Checksums:
    """Row k has the CRC-32 of each byte with k zero bytes behind it, without the first and the last inversion."""
    tables: Checksums = np.zeros((8, 256), np.uint32)
    tables[0] = np.arange(256)
    for _ in range(8):
        tables[0] = np.where(tables[0] & 1, (tables[0] >> 1) ^ _POLYNOMIAL, tables[0] >> 1)
    for k in range(1, 8):
        tables[k] = tables[0][tables[k - 1] & 0xFF] ^ (tables[k - 1] >> 8)
    return tables


_TABLES = _byte_tables()


def with_checksums(offsets: Integers, data: Bytes, seed: int) -> tuple[Integers, Bytes]:
    """The offsets and the bytes of summaries with their checksums; `seed` is the CRC-32 of their query's text."""
    size = offsets.size - 1
    out = np.empty(int(offsets[-1] - offsets[0]) + CHECKSUM_BYTES * size, np.uint8)
    add_checksums(_TABLES, _read_only(offsets), _read_only(data), np.uint32(seed), out)
    return offsets - offsets[0] + CHECKSUM_BYTES * np.arange(size + 1), out


def without_checksums(offsets: Integers, data: Bytes, seeds: Checksums) -> tuple[Integers, Bytes, int]:
    """The offsets and the bytes of summaries without their checksums, and the first that is damaged, or -1.

    seeds
        For each, the CRC-32 of its query's text.
    """
    out, bounds = np.empty(int(offsets[-1] - offsets[0]), np.uint8), np.empty(offsets.size, np.int64)
    damaged = int(remove_checksums(_TABLES, _read_only(offsets), _read_only(data), seeds, out, bounds))
    return (bounds, out, damaged) if damaged >= 0 else (bounds, out[: int(bounds[-1])], damaged)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that cannot be written, like arrays of Arrow: kernels are compiled for one of both."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
