"""Sub-windows of few events: sorts their codes, which is faster than counting them in cells.

A code's place is the number of codes below it. That takes more comparisons than a sort by insertion and half the time:
they are sixteen at once, and no branch depends on a value.

The summary is that of `close_dense` after `count_chunk`, bit for bit.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.code_lists import derive_head, pair_arrays, shift_list, unfold_list, write_list
from aomg.core.kernels.codes import cell_of_double, cell_of_long, code_of_cell
from aomg.core.kernels.folds import share_of_events
from aomg.core.kernels.lanes import count_below
from aomg.core.kernels.registers import ADD, INTEGERS, NO, REALS, ROWS_SIDE, YES
from aomg.core.kernels.sortable import bits_of, double_of, double_of_key, key_of_double, round_down, round_up

FEW = 48  # with more events, counting is faster
_PLACE_BITS = 6  # of the place of an event among FEW
_LANES = 16  # that are compared at once
_ABOVE_ALL = np.int64(2**63 - 1)


@inlined
def few_codes(state, table, bits, weights, first, last, real, codes, numbers):
    """Codes of a few values in ascending order with their weights, and their extremes as sortable keys.

    Overwrites the third of the state's arrays of pairs.
    """
    _, _, keys = pair_arrays(state)  # codes with the place of their event behind: no two are equal
    size = last - first
    low, high = np.int64(2**63 - 1), np.int64(-(2**63) + 1)
    for i in range(first, last):
        if real:
            x = double_of(bits[i])
            cell = cell_of_double(state, table, x)
            low, high = min(low, key_of_double(x)), max(high, key_of_double(x))
        else:
            v = bits[i]
            cell = cell_of_long(state, table, v)
            low, high = min(low, key_of_double(round_down(v))), max(high, key_of_double(round_up(v)))
        keys[i - first] = (code_of_cell(state, cell) << _PLACE_BITS) | (i - first)
    full = (size + _LANES - 1) & -_LANES
    for i in range(size, full):
        keys[i] = _ABOVE_ALL
    for i in range(size):
        below = count_below(keys, 0, keys[i])
        for block in range(_LANES, full, _LANES):
            below += count_below(keys, block, keys[i])
        codes[below] = keys[i] >> _PLACE_BITS
        if weights is not None:
            numbers[below] = weights[first + i]
    return low, high


@compiled
def close_few(state, cells, table, ring, words, bits, real, start, number, entering):
    """Write the summary of a sub-window of at most FEW events at `start`; returns its length in bytes.

    `entering` adds it to the sliding totals. Only for queries that list codes, with an open sub-window that is empty.
    """
    codes, numbers, ends = pair_arrays(state)
    low, high = few_codes(state, table, bits, None, 0, bits.size, real, codes, numbers)
    before, pairs = np.int64(-1), 0
    for i in range(bits.size):
        pairs += codes[i] != before
        before = codes[i]
        codes[pairs - 1], ends[pairs - 1] = before, i + 1
    for i in range(pairs):
        numbers[i] = ends[i] - (ends[i - 1] if i > 0 else 0)
    minimum, maximum = bits_of(double_of_key(low)), bits_of(double_of_key(high))
    domain = REALS if real else INTEGERS
    length = write_list(state, ring, words, start, number, bits.size, minimum, maximum, domain, 0, pairs)
    if entering:
        derive_head(state, words, start, pairs, YES)
        shift_list(state, pairs, bits.size, ADD, NO)
    state[ROWS_SIDE] ^= 1
    unfold_list(state, cells, pairs, share_of_events(state, bits.size, 0))
    return length
