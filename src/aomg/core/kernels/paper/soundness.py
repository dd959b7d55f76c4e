"""Checks that words are a fine part of the query."""

from aomg.core.kernels._compile import compiled
from aomg.core.kernels.paper.registers import FIXED_WORDS, HIGHEST_CODE, LOWEST_CODE, TAILS
from aomg.core.kernels.registers import QUANTILES, THRESHOLDS


@compiled
def _end_of_list(level, words, offset, count):
    """Where an ordered list of (code, count) of at most `count` values ends; -1 if it is none."""
    if offset >= words.size:
        return -1
    size = words[offset]
    if not 0 <= size <= count or offset + 1 + 2 * size > words.size:
        return -1
    values = 0
    for i in range(offset + 1, offset + 1 + size):
        if not level[LOWEST_CODE] <= words[i] <= level[HIGHEST_CODE]:
            return -1
        if i > offset + 1 and words[i] <= words[i - 1]:
            return -1
        if not 1 <= words[i + size] <= count:
            return -1
        values += words[i + size]
    return offset + 1 + 2 * size if values <= count else -1


@compiled
def fine_is_sound(state, level, words, count):
    """Whether words are the fine part of a summary of `count` events: codes, counts, lists and depths all agree."""
    quantiles, tails = state[QUANTILES], level[TAILS]
    if words.size < level[FIXED_WORDS]:
        return False
    for i in range(quantiles):
        if not level[LOWEST_CODE] <= words[i] <= level[HIGHEST_CODE]:
            return False
    for i in range(quantiles, quantiles + 2 * state[THRESHOLDS]):
        if not 0 <= words[i] <= count:
            return False
    offset = level[FIXED_WORDS]
    for _ in range(2 + tails):
        offset = _end_of_list(level, words, offset, count)
        if offset < 0:
            return False
    sound = offset + tails == words.size
    for i in range(offset, min(offset + tails, words.size)):
        sound = sound and 1 <= words[i] <= count
    return sound
