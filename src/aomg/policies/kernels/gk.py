"""Summaries of Greenwald and Khanna, for CMQS and AM, and merged steps of their ranks."""

import numpy as np

from aomg.policies.kernels._compile import compiled

# An open summary has tuples (key, gap, spread) in ascending order: the least rank of a key is the sum of the gaps up to
# it, and its largest rank is higher by its spread. While few values are distinct, they are counted instead: the gap is
# then a value's count. Closed summaries are steps: passing a value raises the least rank by LEAST, and the largest
# possible rank of the next value by MOST. Steps of many summaries, sorted together, bound ranks in their union.
GK_EVENTS, GK_TUPLES, GK_COUNTS = range(3)  # registers
LEAST, MOST = range(2)  # columns of steps; if summaries expire, a last column has the start of each


@compiled
def _shift_down(first, end, keys, gaps, spreads):
    for i in range(first, end):
        keys[i - first], gaps[i - first], spreads[i - first] = keys[i], gaps[i], spreads[i]


@compiled
def _insert_sorted(batch, width, registers, keys, gaps, spreads):
    """Insert a sorted batch and compress, in one pass from the right and in place.

    Writing never overtakes reading: there is one free place per value of the batch.
    """
    old, new = registers[GK_TUPLES] - 1, batch.size - 1
    end = registers[GK_TUPLES] + batch.size
    registers[GK_EVENTS] += batch.size
    widest = int(width * registers[GK_EVENTS])
    put = end
    above = 0  # gap + spread - 1 of the old tuple above; above all old ones a new value's rank is exact
    while old >= 0 or new >= 0:
        if new >= 0 and (old < 0 or batch[new] >= keys[old]):
            key, gap, spread = batch[new], 1, above
            new -= 1
        else:
            key, gap, spread = keys[old], gaps[old], spreads[old]
            above = gap + spread - 1
            old -= 1
        first = old < 0 and new < 0  # the minimum stays
        if put < end and not first and gap + gaps[put] + spreads[put] <= widest:
            gaps[put] += gap
        else:
            put -= 1
            keys[put], gaps[put], spreads[put] = key, gap, spread
    _shift_down(put, end, keys, gaps, spreads)
    registers[GK_TUPLES] = end - put


@compiled
def _count_sorted(batch, registers, keys, gaps, spreads):
    """Add a sorted batch to the counts of distinct values, as `_insert_sorted` does to tuples."""
    old, new = registers[GK_TUPLES] - 1, batch.size - 1
    end = registers[GK_TUPLES] + batch.size
    registers[GK_EVENTS] += batch.size
    put = end
    while old >= 0 or new >= 0:
        if new >= 0 and (old < 0 or batch[new] >= keys[old]):
            key, count = batch[new], 1
            new -= 1
        else:
            key, count = keys[old], gaps[old]
            old -= 1
        if put < end and keys[put] == key:
            gaps[put] += count
        else:
            put -= 1
            keys[put], gaps[put], spreads[put] = key, count, 0
    _shift_down(put, end, keys, gaps, spreads)
    registers[GK_TUPLES] = end - put


@compiled
def _counts_to_tuples(width, registers, keys, gaps, spreads):
    """Replace counts by tuples: all events so far, compressed, each tuple with its exact rank."""
    events, pairs = registers[GK_EVENTS], registers[GK_TUPLES]
    widest = max(1, int(width * events))
    end = events // widest + 3
    new_keys, new_gaps = np.empty(end), np.empty(end, np.int64)
    put = end
    for pair in range(pairs - 1, -1, -1):
        left = gaps[pair]
        while left > 0:
            if put < end and new_gaps[put] < widest and not (pair == 0 and left == 1):
                moved = min(left - (1 if pair == 0 else 0), widest - new_gaps[put])
                new_gaps[put] += moved
                left -= moved
            else:
                put -= 1
                new_keys[put], new_gaps[put] = keys[pair], 1
                left -= 1
    registers[GK_TUPLES] = end - put
    registers[GK_COUNTS] = 0
    for i in range(put, end):
        keys[i - put], gaps[i - put], spreads[i - put] = new_keys[i], new_gaps[i], 0


@compiled
def add_to_gk(batches, width, most_counts, registers, keys, gaps, spreads):
    """Insert sorted batches, one per row; return how many fitted into the arrays.

    Gap plus spread never exceeds width * events. Above `most_counts` distinct values, counts become tuples.
    """
    for row in range(batches.shape[0]):
        if registers[GK_TUPLES] + batches.shape[1] > keys.size:
            return row
        if registers[GK_COUNTS] == 1:
            _count_sorted(batches[row], registers, keys, gaps, spreads)
            if registers[GK_TUPLES] > most_counts:
                _counts_to_tuples(width, registers, keys, gaps, spreads)
        else:
            _insert_sorted(batches[row], width, registers, keys, gaps, spreads)
    return batches.shape[0]


@compiled
def steps_of_gk(registers, keys, gaps, spreads):
    """Return an open summary as steps."""
    size = registers[GK_TUPLES]
    values = np.empty(2 * size)
    steps = np.empty((2 * size, 2), np.int64)
    used = 0
    for i in range(size):
        if registers[GK_COUNTS] == 0:
            values[used], steps[used, LEAST] = keys[i], gaps[i]
            steps[used, MOST] = gaps[i + 1] + spreads[i + 1] - spreads[i] if i + 1 < size else 1 - spreads[i]
            used += 1
        else:  # first and last of the equal values, with their exact ranks
            values[used], steps[used, LEAST], steps[used, MOST] = keys[i], 1, max(1, gaps[i] - 1)
            used += 1
            if gaps[i] > 1:
                values[used], steps[used, LEAST], steps[used, MOST] = keys[i], gaps[i] - 1, 1
                used += 1
    return values[:used].copy(), steps[:used].copy()


@compiled
def pruned(values, steps, parts):
    """Return the best answers to parts + 1 evenly spread ranks, from the first to the last, with their steps."""
    events = steps[:, LEAST].sum()
    indices = np.empty(parts + 1, np.int64)
    lows, highs = np.empty(parts + 1, np.int64), np.empty(parts + 1, np.int64)
    used, index, low, high = 0, 0, steps[0, LEAST], 1
    for part in range(parts + 1):
        rank = max(1, (part * events + parts - 1) // parts)
        while index + 1 < values.size:  # bounds ascend, so the best only moves up
            next_low, next_high = low + steps[index + 1, LEAST], high + steps[index, MOST]
            if max(next_high - rank, rank - next_low) > max(high - rank, rank - low):
                break
            index, low, high = index + 1, next_low, next_high
        if used == 0 or indices[used - 1] != index:
            indices[used], lows[used], highs[used] = index, low, high
            used += 1
    new_steps = np.empty((used, 2), np.int64)
    for i in range(used):
        new_steps[i, LEAST] = lows[i] - (lows[i - 1] if i > 0 else 0)
        new_steps[i, MOST] = (highs[i + 1] if i + 1 < used else events + 1) - highs[i]
    return values[indices[:used]], new_steps


@compiled
def merge_steps(values, steps, more_values, more_steps, out_values, out_steps, oldest):
    """Merge two sorted lists of steps into a third; among equal values, those of the first list go first.

    Omits steps of the first list whose last column is below `oldest`. Returns the length of the merged list.
    """
    last = steps.shape[1] - 1  # there are only columns 0, 1 and the last
    j = put = 0
    for i in range(values.size + 1):
        while j < more_values.size and (i == values.size or more_values[j] < values[i]):
            out_values[put] = more_values[j]
            out_steps[put, 0], out_steps[put, 1], out_steps[put, last] = (
                more_steps[j, 0],
                more_steps[j, 1],
                more_steps[j, last],
            )
            put += 1
            j += 1
        if i < values.size and steps[i, last] >= oldest:
            out_values[put] = values[i]
            out_steps[put, 0], out_steps[put, 1], out_steps[put, last] = steps[i, 0], steps[i, 1], steps[i, last]
            put += 1
    return put


@compiled
def select_ranks(values, steps, more_values, more_steps, ranks, lift):
    """Return for each of ascending ranks the value whose rank bounds are closest, in the union of two lists of steps.

    Closest means the least max(largest - rank, rank - least), with the largest rank raised by `lift`. Both bounds
    ascend, so the closest value is where they cross the rank, or the one before.
    """
    selected = np.empty(ranks.size)
    i = j = number = 0
    value = last = np.nan
    low, reach, last_low, last_high = 0, 0, 0, 0
    while number < ranks.size and i + j < values.size + more_values.size:
        if j == more_values.size or (i < values.size and values[i] <= more_values[j]):
            value, least, most = values[i], steps[i, LEAST], steps[i, MOST]
            i += 1
        else:
            value, least, most = more_values[j], more_steps[j, LEAST], more_steps[j, MOST]
            j += 1
        low += least
        high = reach + 1 + lift
        reach += most
        while number < ranks.size and low + high >= 2 * ranks[number]:
            rank = ranks[number]
            before = i + j > 1 and max(last_high - rank, rank - last_low) < max(high - rank, rank - low)
            selected[number] = last if before else value
            number += 1
        last, last_low, last_high = value, low, high
    selected[number:] = value
    return selected
