"""Builds an operator's state: one array of 64-bit words that the kernels share, with registers and areas.

The array reserves about 30 MB, because it spans every decade of a double, but uses little memory: the operating system
allocates only the pages of decades that have values.
"""

import mmap
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.certainty import EXTRA, Z, kept_guarantee, partition
from aomg.core.kernels.bursts import DEPTH_WIDTH
from aomg.core.kernels.code_lists import MOST_PAIRS
from aomg.core.kernels.codes import (
    AT_CELLS,
    AT_SLICES,
    CELLS_ROOM,
    DECADES,
    FIRST_BITS,
    FIRST_SLICE,
    FIRST_SLICED_DECADE,
    LAST_BITS,
    LOW_BITS,
    LOW_MASK,
    LOWEST_DECADE,
    POWERS,
    SLICED_DECADES,
    SLICES,
    TABLE_REACH,
    cell_of_double,
    code_of_cell,
)
from aomg.core.kernels.counting import clear_open
from aomg.core.kernels.folds import FOLD_WIDTH
from aomg.core.kernels.ranks import PHI_COLUMN, PHI_DENOMINATOR, PHI_NUMERATOR, PHI_WIDTH
from aomg.core.kernels.registers import (
    AT_ACTIVE,
    AT_BAND,
    AT_DECADE,
    AT_DEPTH,
    AT_EXTREME,
    AT_FINE,
    AT_FIRST,
    AT_FOLD,
    AT_HEAD,
    AT_LEAD,
    AT_PAIRS,
    AT_PHI,
    AT_PLACE,
    AT_SCRATCH,
    AT_SLOTS,
    AT_SUPER_TOTAL,
    AT_THRESHOLD,
    AT_TOTAL,
    BAND_EXTRA,
    BAND_Z,
    BURST_EFFECT,
    DEPTHS,
    DIGITS,
    EXTREME_ROOM,
    GUARANTEE,
    HALF_PLACES,
    HAS_ENVELOPE,
    HEAD_WORDS,
    LAST_BURST,
    LAST_RELEASE,
    LISTS_CODES,
    NEWEST_NUMBER,
    NONE,
    PARTIAL,
    PERIOD,
    QUANTILES,
    REGISTERS,
    RING_BEFORE,
    RING_NEWEST,
    RING_OLDEST,
    SUB_WINDOWS,
    SUPERS_PER_DECADE,
    THRESHOLDS,
    ZERO_SUPER,
)
from aomg.core.kernels.sortable import U64
from aomg.query import FewK, Query

Integers = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int32] | npt.NDArray[np.int64]

DENSE_DIGITS = 3  # the envelope never counts finer
_FREE_GUARANTEE = 0.02  # the geometry of a query that asks for none


def dense_digits(query: Query) -> int:
    """Digits of the codes that are counted in an array."""
    return DENSE_DIGITS if query.digits is None else min(query.digits, DENSE_DIGITS)


def keeps_fine(query: Query) -> bool:
    """Whether summaries have a fine part (core.summary)."""
    has_fine_codes = query.digits is None or query.digits > DENSE_DIGITS
    return query.guarantee is None or query.keeps_lists or has_fine_codes


def geometry_guarantee(query: Query) -> float:
    """The guarantee from which the buckets are cut."""
    return query.guarantee if query.guarantee is not None else _FREE_GUARANTEE


@lru_cache(maxsize=16)
def _lead_cells(digits: int, guarantee: float) -> Integers:
    """The cell, within its decade, of each leading digits."""
    first = 10 ** (digits - 1)
    cells = np.zeros(9 * first, np.int64)
    for bucket, (lead, width) in enumerate(partition(digits, guarantee)):
        for slot in range(width):
            cells[lead + slot - first] = bucket * 16 + slot
    return cells


@lru_cache(maxsize=16)
def table_of(digits: int, guarantee: float) -> npt.NDArray[np.uint64]:
    """The table by which kernels find cells (core.kernels.codes). Takes 1.2 MB, once for all operators."""
    first = 10 ** (digits - 1)
    per_decade = -(-len(partition(digits, guarantee)) // 16)
    lead_cells = _lead_cells(digits, guarantee)
    table = np.zeros(int(AT_CELLS) // 2 + CELLS_ROOM // 2, np.uint64)
    small = table.view(np.uint16)
    for decade in range(6):
        v = np.arange(10**decade, min(10 ** (decade + 1), TABLE_REACH))
        lead = v // 10 ** (decade - digits + 1) if decade >= digits - 1 else v * 10 ** (digits - 1 - decade)
        small[v] = _fitting(256 + decade * per_decade * 256 + lead_cells[lead - first], 16)

    leads = np.arange(first, 10 * first)
    decades = range(FIRST_SLICED_DECADE, FIRST_SLICED_DECADE + SLICED_DECADES)
    powers = [decade - digits + 1 for decade in decades]
    edges = np.concatenate([leads * POWERS[p] if p >= 0 else leads / POWERS[-p] for p in powers])  # as `edge` does
    places = [(decade - LOWEST_DECADE) * per_decade + (decade >= 0) for decade in decades]
    cells = np.concatenate([place * 256 + lead_cells for place in places])
    bits = edges.view(np.uint64)
    reached = np.flatnonzero((bits >= FIRST_BITS) & (bits <= LAST_BITS))
    slices = ((bits[reached] >> LOW_BITS) - FIRST_SLICE).astype(np.int64)
    in_slice = np.bincount(slices, minlength=int(SLICES)).astype(np.uint64)
    _fitting(in_slice, 1)  # at most one edge
    words = (np.cumsum(in_slice) - in_slice) << LOW_BITS  # the ordinal of the code that reaches into the slice
    words[slices] += (U64(1) << LOW_BITS) - (bits[reached] & LOW_MASK)
    table[int(AT_SLICES) : int(AT_SLICES + SLICES)] = words
    coded = cells[reached[0] - 1 : reached[-1] + 1]  # ordinal 0 begins below the first slice
    table.view(np.uint32)[int(AT_CELLS) : int(AT_CELLS) + coded.size] = _fitting(coded, 32)
    return table  # left writeable: Numba is slower to recognise arrays that are not


def _fitting(numbers: npt.NDArray[Any], bits: int) -> npt.NDArray[Any]:
    """Return numbers that fit into so many bits. Raises OverflowError if they do not."""
    if int(numbers.max()) >> bits:
        raise OverflowError(f"{numbers.max()} does not fit into {bits} bits")
    return numbers


def new_cells(words: Integers, dtype: type = np.int32) -> Cells:
    """The counts of an empty operator's open sub-window, and the bucket totals of the last two sub-windows.

    A super has 256 cells; behind all of them come 16 bucket totals for each super of both sides (core.kernels.folds).
    """
    size = (512 + 2 * 32) * int(words[HALF_PLACES])
    cells: Cells = _untouched(-(-size * np.dtype(dtype).itemsize // 8)).view(dtype)
    return cells


def _untouched(words: int) -> Integers:
    """Zeroed words whose pages cost nothing until they are written.

    NumPy asks for huge pages for arrays of this size, which would make an operator take 8 MB instead of 0.2.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(words, np.int64)
    pages = mmap.mmap(-1, 8 * words, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, np.int64)


def _fraction(quantile: Decimal) -> tuple[int, int]:
    exact = Fraction(quantile)
    return exact.numerator, exact.denominator


def new_words(query: Query) -> Integers:
    """InitialState: the words of an empty operator's state."""
    digits, guarantee = dense_digits(query), geometry_guarantee(query)
    buckets = partition(digits, guarantee)
    per_decade = -(-len(buckets) // 16)
    half = DECADES * per_decade + 1
    places, leads = 2 * half, 9 * 10 ** (digits - 1)
    quantiles, thresholds, depths = len(query.quantiles), len(query.thresholds), query.high
    room = query.sub_windows + 1

    size = REGISTERS
    offsets: dict[int, int] = {}
    for register, words in (
        (AT_PHI, PHI_WIDTH * quantiles),
        (AT_DEPTH, DEPTH_WIDTH * len(depths)),
        (AT_THRESHOLD, 4 * thresholds),
        (AT_LEAD, leads),
        (AT_FIRST, 16 * per_decade),
        (AT_SLOTS, 16 * per_decade),
        (AT_SCRATCH, 24),
        (AT_PAIRS, 3 * MOST_PAIRS),
        (AT_HEAD, HEAD_WORDS + quantiles + 2 * thresholds),
        (AT_BAND, 2 * quantiles),
        (AT_PLACE, places),
        (AT_DECADE, half),
        (AT_ACTIVE, places + 1),
        (AT_EXTREME, (2 * quantiles + 2) * (2 * room + 1)),
        (AT_FOLD, 2 * FOLD_WIDTH * half),
        (AT_TOTAL, 16 * places),
        (AT_SUPER_TOTAL, places),
        (AT_FINE, 256 * places),
    ):
        offsets[register] = size
        size += -(-words // 8) * 8
    state = _untouched(size)
    for register, offset in offsets.items():
        state[register] = offset

    state[SUPERS_PER_DECADE], state[ZERO_SUPER], state[HALF_PLACES] = per_decade, half - 1, half
    state[DIGITS], state[PERIOD], state[SUB_WINDOWS] = digits, query.period, query.sub_windows
    state[QUANTILES], state[THRESHOLDS], state[DEPTHS] = quantiles, thresholds, len(depths)
    state[PARTIAL], state[BAND_Z], state[BAND_EXTRA] = query.partial, Z, EXTRA
    state[HAS_ENVELOPE] = query.guarantee is not None
    state[LISTS_CODES] = query.guarantee is not None and not keeps_fine(query)
    state[EXTREME_ROOM] = room
    reals = state.view(np.float64)
    reals[GUARANTEE] = kept_guarantee(digits, guarantee)
    reals[BURST_EFFECT] = (query.few_k or FewK()).burst

    for position, (column, quantile) in enumerate(sorted(enumerate(query.quantiles), key=lambda item: item[1])):
        phi = offsets[AT_PHI] + PHI_WIDTH * position
        state[phi + PHI_NUMERATOR], state[phi + PHI_DENOMINATOR] = _fraction(quantile)
        state[phi + PHI_COLUMN] = column
    for position, quantile in enumerate(depths):
        depth = offsets[AT_DEPTH] + DEPTH_WIDTH * position
        state[depth], state[depth + 1] = _fraction(quantile)
    _fill_geometry(state, digits, guarantee)
    for position, threshold in enumerate(query.thresholds):
        cell = cell_of_double(state, table_of(digits, guarantee), threshold)
        state[offsets[AT_THRESHOLD] + 2 * position] = code_of_cell(state, cell)
        reals[offsets[AT_THRESHOLD] + 2 * position + 1] = threshold
    for register in (RING_BEFORE, RING_OLDEST, RING_NEWEST):
        state[register] = -1
    for register in (LAST_BURST, LAST_RELEASE, NEWEST_NUMBER):
        state[register] = NONE
    clear_open(state)
    return state


def _fill_geometry(state: Integers, digits: int, guarantee: float) -> None:
    """Write the tables of leads, buckets, places and decades."""
    per_decade, zero, half = (
        int(state[SUPERS_PER_DECADE]),
        int(state[ZERO_SUPER]),
        int(state[HALF_PLACES]),
    )
    cells = _lead_cells(digits, guarantee)
    state[state[AT_LEAD] : state[AT_LEAD] + cells.size] = cells
    for bucket, (lead, width) in enumerate(partition(digits, guarantee)):
        state[state[AT_FIRST] + bucket] = lead
        state[state[AT_SLOTS] + bucket] = width
    below_one = -LOWEST_DECADE * per_decade
    distance = np.arange(half)
    place = np.where(distance == 0, below_one, np.where(distance <= below_one, distance - 1, distance))
    state[state[AT_PLACE] + zero : state[AT_PLACE] + zero + half] = place
    state[state[AT_PLACE] : state[AT_PLACE] + zero] = place[:0:-1] + half
    state[state[AT_DECADE] : state[AT_DECADE] + half] = (distance - 1) // per_decade + LOWEST_DECADE
