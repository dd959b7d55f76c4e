"""CRC-32 of many summaries at once, that of zlib: adds it to each summary, or verifies and removes it.

Eight bytes take one step: `tables` has the CRC-32 of each byte with none to seven zero bytes behind it
(aomg.core.checksums).
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined

CHECKSUM_BYTES = 4
U32 = np.uint32
BYTE, ALL = U32(0xFF), U32(0xFFFFFFFF)


@inlined
def checksum_of(tables, data, start, end, seed):
    """The CRC-32 of data[start:end], continued from `seed`: that of the bytes before, 0 if there are none."""
    check = seed ^ ALL
    while start + 8 <= end:
        check ^= U32(data[start]) | U32(data[start + 1]) << U32(8)
        check ^= U32(data[start + 2]) << U32(16) | U32(data[start + 3]) << U32(24)
        check = (
            tables[7, check & BYTE]
            ^ tables[6, (check >> U32(8)) & BYTE]
            ^ tables[5, (check >> U32(16)) & BYTE]
            ^ tables[4, check >> U32(24)]
            ^ tables[3, data[start + 4]]
            ^ tables[2, data[start + 5]]
            ^ tables[1, data[start + 6]]
            ^ tables[0, data[start + 7]]
        )
        start += 8
    while start < end:
        check = tables[0, (check ^ U32(data[start])) & BYTE] ^ (check >> U32(8))
        start += 1
    return check ^ ALL


@compiled
def add_checksums(tables, offsets, data, seed, out):
    """Copy each summary to `out`, with its CRC-32 behind it."""
    place = np.int64(0)
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        check = checksum_of(tables, data, start, end, seed)
        for k in range(start, end):
            out[place] = data[k]
            place += 1
        for k in range(CHECKSUM_BYTES):
            out[place] = np.uint8((check >> U32(8 * k)) & BYTE)
            place += 1


@compiled
def remove_checksums(tables, offsets, data, seeds, out, bounds):
    """Copy each summary to `out` without its checksum, and its bounds to `bounds`.

    Returns the first summary whose checksum is wrong, or whose length no summary has; -1 if there is none. A length of
    8k + 4 bytes has a checksum, one of 8k bytes has none.
    """
    place = np.int64(0)
    bounds[0] = 0
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        if (end - start) % 8 == CHECKSUM_BYTES:
            end -= CHECKSUM_BYTES
            check = checksum_of(tables, data, start, end, seeds[i])
            for k in range(CHECKSUM_BYTES):
                if data[end + k] != np.uint8((check >> U32(8 * k)) & BYTE):
                    return i
        elif (end - start) % 8:
            return i
        for k in range(start, end):
            out[place] = data[k]
            place += 1
        bounds[i + 1] = place
    return -1
