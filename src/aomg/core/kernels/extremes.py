"""Keeps the extremes of the live summaries: their maximum, their minimum, and those of each quantile's code.

For each quantile there are the largest and the smallest of the live sub-windows' codes; the smallest are stored
negated, so that all are maxima. Each is a queue of two stacks. Values since the last turn have one running maximum.
Each older value has the maximum of itself and all that followed it until the turn. A turn moves all live values to the
second stack, once per window length: one addition for each value. The cost of a step does not depend on the data.
"""

import numpy as np

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.registers import AT_EXTREME, ENTERED, EXTREME_ROOM, LIVE_SUMMARIES, QUANTILES, TURNED
from aomg.core.kernels.sortable import U64


@inlined
def _extremes(state):
    return 2 * state[QUANTILES] + 2


@inlined
def slot_of(position, room):
    """Where a summary's values are: its position is the number of summaries that had entered, with itself."""
    return np.int64(U64(position) % U64(room))


@inlined
def push_largest(words, base, slot, value):
    """A value of the newest summary enters."""
    words[base] = max(words[base], value)
    words[base + 1 + slot] = value


@inlined
def turn_stack(words, base, room, entered, live):
    """All that is live moves to the second stack, each with the maximum of itself and those after it."""
    largest = -(2**62) * 2
    slot = slot_of(entered, room)
    for _ in range(live):
        largest = max(largest, words[base + 1 + slot])
        words[base + 1 + room + slot] = largest
        slot = room - 1 if slot == 0 else slot - 1
    words[base] = -(2**62) * 2


@inlined
def largest_of(words, base, room, slot):
    """The largest live value, `slot` being that of the oldest live summary."""
    return max(words[base], words[base + 1 + room + slot])


@inlined
def newest_slot(state):
    """The slot of the newest summary."""
    return slot_of(state[ENTERED], state[EXTREME_ROOM])


@inlined
def oldest_slot(state):
    """The slot of the oldest live summary."""
    return slot_of(state[ENTERED] - state[LIVE_SUMMARIES] + 1, state[EXTREME_ROOM])


@inlined
def push_extreme(state, extreme, slot, value):
    """Push a value of the newest summary, which has this slot, to one of the extremes."""
    push_largest(state, state[AT_EXTREME] + extreme * (2 * state[EXTREME_ROOM] + 1), slot, value)


@compiled
def _turn_extremes(state):
    room = state[EXTREME_ROOM]
    for extreme in range(_extremes(state)):
        base = state[AT_EXTREME] + extreme * (2 * room + 1)
        turn_stack(state, base, room, state[ENTERED], state[LIVE_SUMMARIES])
    state[TURNED] = state[ENTERED] + 1


@inlined
def settle_extremes(state):
    """Make the stacks ready to be read: turn them when the second one has been used up."""
    oldest = state[ENTERED] - state[LIVE_SUMMARIES] + 1
    if oldest >= state[TURNED]:
        _turn_extremes(state)


@inlined
def extreme_of(state, extreme, slot):
    """The largest live value; after settle_extremes, with something live. `slot` is that of the oldest summary."""
    room = state[EXTREME_ROOM]
    return largest_of(state, state[AT_EXTREME] + extreme * (2 * room + 1), room, slot)
