"""Every compiled loop of the policies, in one file because Numba's cache does not see edits in another one."""

import numpy as np
from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy")

# ---------------------------------------------------------------------------------------------------------------
# Exact: an ordered multiset
# ---------------------------------------------------------------------------------------------------------------

# A treap in arrays: links are node numbers, 0 is none.
LEFT, RIGHT, NEXT_FREE = 0, 1, 0
ROOT, FREE, USED, DISTINCT = range(4)  # registers
DEPTH = 256  # room for a path at first: four times what a hundred million keys in any usual order need


@compiled
def _priority(node):
    """A fixed pseudo-random number of a node: the tree's shape depends on no seed."""
    x = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _rotate_up(child, parent, links, counts, totals):
    """Make `child` the parent of its `parent`."""
    side = LEFT if links[parent, LEFT] == child else RIGHT
    other = 1 - side
    links[parent, side] = links[child, other]
    links[child, other] = parent
    for node in (parent, child):
        totals[node] = counts[node] + totals[links[node, LEFT]] + totals[links[node, RIGHT]]


@compiled
def add_to_tree(values, registers, keys, counts, totals, links, path):
    """Insert values; returns how many were taken before there was no room for a node or a path (arrays must grow)."""
    for i in range(values.size):
        x = values[i]
        depth, node, side = 0, registers[ROOT], LEFT
        while node != 0 and keys[node] != x:
            if depth == path.size:
                return i
            path[depth] = node
            depth += 1
            side = LEFT if x < keys[node] else RIGHT
            node = links[node, side]
        if node == 0:
            node = registers[FREE]
            if node != 0:
                registers[FREE] = links[node, NEXT_FREE]
            elif registers[USED] + 1 < keys.size:
                registers[USED] += 1
                node = registers[USED]
            else:
                return i
            keys[node], counts[node], totals[node] = x, 1, 1
            links[node, LEFT] = links[node, RIGHT] = 0
            registers[DISTINCT] += 1
            for d in range(depth):
                totals[path[d]] += 1
            if depth == 0:
                registers[ROOT] = node
            else:
                links[path[depth - 1], side] = node
            while depth > 0 and _priority(node) > _priority(path[depth - 1]):
                parent = path[depth - 1]
                depth -= 1
                _rotate_up(node, parent, links, counts, totals)
                if depth == 0:
                    registers[ROOT] = node
                elif links[path[depth - 1], LEFT] == parent:
                    links[path[depth - 1], LEFT] = node
                else:
                    links[path[depth - 1], RIGHT] = node
        else:
            counts[node] += 1
            totals[node] += 1
            for d in range(depth):
                totals[path[d]] += 1
    return values.size


@compiled
def take_from_tree(values, registers, keys, counts, totals, links):
    """Remove values, all of which are there."""
    for i in range(values.size):
        x = values[i]
        above, side, node = 0, LEFT, registers[ROOT]
        while keys[node] != x:
            totals[node] -= 1
            above, side = node, LEFT if x < keys[node] else RIGHT
            node = links[node, side]
        counts[node] -= 1
        totals[node] -= 1
        if counts[node] > 0:
            continue
        registers[DISTINCT] -= 1
        while True:  # turn the empty node down until it can be cut off
            left, right = links[node, LEFT], links[node, RIGHT]
            if left == 0 or right == 0:
                child = left if right == 0 else right
            else:
                child = left if _priority(left) > _priority(right) else right
                _rotate_up(child, node, links, counts, totals)
            if above == 0:
                registers[ROOT] = child
            else:
                links[above, side] = child
            if left == 0 or right == 0:
                break
            above = child
            side = LEFT if links[child, LEFT] == node else RIGHT
        links[node, NEXT_FREE] = registers[FREE]
        registers[FREE] = node


@compiled
def select_in_tree(rank, registers, keys, counts, totals, links):
    """The value of a rank, from 1."""
    node = registers[ROOT]
    while True:
        below = totals[links[node, LEFT]]
        if rank <= below:
            node = links[node, LEFT]
        elif rank <= below + counts[node]:
            return keys[node]
        else:
            rank -= below + counts[node]
            node = links[node, RIGHT]


@compiled
def select_in_parts(values, starts, ends, rank):
    """The value of a rank in the union of sorted parts.

    Bounds for the value's place in each part are narrowed by the median of the part that is least certain.
    """
    parts = starts.size
    lows, highs = starts.copy(), ends.copy()
    while True:
        widest, width = 0, 0
        for part in range(parts):
            if highs[part] - lows[part] > width:
                widest, width = part, highs[part] - lows[part]
        x = values[(lows[widest] + highs[widest]) // 2]
        below, up_to = 0, 0
        for part in range(parts):
            low, high = lows[part], highs[part]
            while low < high:
                middle = (low + high) // 2
                if values[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            below += low - starts[part]
            high = highs[part]
            while low < high:
                middle = (low + high) // 2
                if values[middle] <= x:
                    low = middle + 1
                else:
                    high = middle
            up_to += low - starts[part]
        if below < rank <= up_to:
            return x
        for part in range(parts):
            low, high = lows[part], highs[part]
            while low < high:
                middle = (low + high) // 2
                if values[middle] < x or (up_to < rank and values[middle] == x):
                    low = middle + 1
                else:
                    high = middle
            if up_to < rank:
                lows[part] = low
            else:
                highs[part] = low


# ---------------------------------------------------------------------------------------------------------------
# GK summaries: CMQS and AM
# ---------------------------------------------------------------------------------------------------------------

# An open summary has tuples (key, gap, spread) in ascending order: the least rank of a key is the sum of the gaps up to
# it, and its largest rank is higher by its spread. While few values are distinct, they are counted instead: the gap is
# then a value's count. Closed summaries are steps: passing an entry raises the least rank by LEAST, and the largest
# rank that the next entry can have by MOST. Steps of many summaries, sorted together, bound ranks in their union.
GK_ELEMENTS, GK_TUPLES, GK_COUNTS = range(3)  # registers
LEAST, MOST = range(2)  # columns of steps; where summaries leave, a last column says where each starts


@compiled
def _shift_down(first, end, keys, gaps, spreads):
    for i in range(first, end):
        keys[i - first], gaps[i - first], spreads[i - first] = keys[i], gaps[i], spreads[i]


@compiled
def _insert_sorted(batch, width, registers, keys, gaps, spreads):
    """Insert a sorted batch and compress, in one pass from the right and in place.

    What is written never overtakes what is still to be read: there is an entry of room for each of the batch.
    """
    old, new = registers[GK_TUPLES] - 1, batch.size - 1
    end = registers[GK_TUPLES] + batch.size
    registers[GK_ELEMENTS] += batch.size
    widest = int(width * registers[GK_ELEMENTS])
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
    registers[GK_ELEMENTS] += batch.size
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
    """Go on with tuples: what compression leaves of all elements so far, each with its exact rank."""
    elements, pairs = registers[GK_ELEMENTS], registers[GK_TUPLES]
    widest = max(1, int(width * elements))
    end = elements // widest + 3
    new_keys, new_gaps = np.empty(end), np.empty(end, np.int64)
    put = end
    for pair in range(pairs - 1, -1, -1):
        left = gaps[pair]
        while left > 0:
            if put < end and new_gaps[put] < widest and not (pair == 0 and left == 1):
                taken = min(left - (1 if pair == 0 else 0), widest - new_gaps[put])
                new_gaps[put] += taken
                left -= taken
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
    """Insert sorted batches, a row each; returns how many were taken before the room ran out.

    No gap and spread together exceed width * elements. More than `most_counts` distinct values are no longer counted.
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
    """All that an open summary knows, as steps."""
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
    """Keep the best answers to parts + 1 ranks, spread evenly from the first to the last, and what is known of them."""
    elements = steps[:, LEAST].sum()
    kept = np.empty(parts + 1, np.int64)
    lows, highs = np.empty(parts + 1, np.int64), np.empty(parts + 1, np.int64)
    used, at, low, high = 0, 0, steps[0, LEAST], 1
    for part in range(parts + 1):
        rank = max(1, (part * elements + parts - 1) // parts)
        while at + 1 < values.size:  # bounds ascend, so the best only moves up
            next_low, next_high = low + steps[at + 1, LEAST], high + steps[at, MOST]
            if max(next_high - rank, rank - next_low) > max(high - rank, rank - low):
                break
            at, low, high = at + 1, next_low, next_high
        if used == 0 or kept[used - 1] != at:
            kept[used], lows[used], highs[used] = at, low, high
            used += 1
    new_steps = np.empty((used, 2), np.int64)
    for i in range(used):
        new_steps[i, LEAST] = lows[i] - (lows[i - 1] if i > 0 else 0)
        new_steps[i, MOST] = (highs[i + 1] if i + 1 < used else elements + 1) - highs[i]
    return values[kept[:used]], new_steps


@compiled
def merge_steps(values, steps, more_values, more_steps, out_values, out_steps, oldest):
    """Merge two sorted lists of steps into a third place; of equal values the first list's come first.

    Of the first list, steps whose last column is below `oldest` are left out. Returns how many are merged.
    """
    last = steps.shape[1] - 1  # columns 0, 1 and the last are all there are
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
    """The value for each of ascending ranks in the union of two lists of steps whose bounds are closest to the rank.

    Closest is the least max(largest - rank, rank - least), where the largest rank is raised by `lift`. Both bounds
    ascend, so it is where they cross the rank, or just before.
    """
    found = np.empty(ranks.size)
    i = j = at = 0
    value = last = np.nan
    low, reach, last_low, last_high = 0, 0, 0, 0
    while at < ranks.size and i + j < values.size + more_values.size:
        if j == more_values.size or (i < values.size and values[i] <= more_values[j]):
            value, least, most = values[i], steps[i, LEAST], steps[i, MOST]
            i += 1
        else:
            value, least, most = more_values[j], more_steps[j, LEAST], more_steps[j, MOST]
            j += 1
        low += least
        high = reach + 1 + lift
        reach += most
        while at < ranks.size and low + high >= 2 * ranks[at]:
            rank = ranks[at]
            before = i + j > 1 and max(last_high - rank, rank - last_low) < max(high - rank, rank - low)
            found[at] = last if before else value
            at += 1
        last, last_low, last_high = value, low, high
    found[at:] = value
    return found


# ---------------------------------------------------------------------------------------------------------------
# Random
# ---------------------------------------------------------------------------------------------------------------

# Buffers of s values, each of weight 2^level; a level of -1 is a free buffer.
SAMPLED, FILLING, FILLED, CHOSEN = range(4)  # registers: elements so far, the buffer that fills, its values, a place


@compiled
def _random_bits(state):
    """Sixty-four of them (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _collapse(buffers, levels, state):
    """Halve two full buffers of the lowest level that has two, and free one; returns the freed one.

    There always are two of a level: buffers are full at whole multiples of the weight that is sampled, so no level
    below it has an odd number of them, and h + 1 different levels from it on would hold more than has come.
    """
    count, size = buffers.shape
    one, other = -1, -1
    for a in range(count):
        for b in range(a + 1, count):
            if levels[a] == levels[b] and (one < 0 or levels[a] < levels[one]):
                one, other = a, b
    merged = np.empty(2 * size)
    i = j = 0
    for put in range(2 * size):
        if j == size or (i < size and buffers[one, i] <= buffers[other, j]):
            merged[put] = buffers[one, i]
            i += 1
        else:
            merged[put] = buffers[other, j]
            j += 1
    first = np.int64(_random_bits(state) >> np.uint64(63))
    for i in range(size):
        buffers[one, i] = merged[2 * i + first]
    levels[one] += 1
    levels[other] = -1
    return other


@compiled
def add_to_random(values, h, registers, buffers, levels, state):
    """Take values: all of them until level h is full (s 2^h), then one of two, of four..."""
    count, size = buffers.shape
    done = 0
    while done < values.size:
        level = 0
        while registers[SAMPLED] >= size << (h + level):
            level += 1
        place = registers[SAMPLED] & ((1 << level) - 1)
        if registers[FILLED] == size and place == 0:  # not before the block ends: it may end with the sub-window
            free = -1
            for i in range(count):
                if levels[i] < 0:
                    free = i
            registers[FILLING] = free if free >= 0 else _collapse(buffers, levels, state)
            registers[FILLED] = 0
        filling, filled = registers[FILLING], registers[FILLED]
        levels[filling] = level
        if level == 0:
            piece = min(size - filled, values.size - done)
            buffers[filling, filled : filled + piece] = values[done : done + piece]
            registers[FILLED] += piece
        else:
            if place == 0:
                registers[CHOSEN] = np.int64(_random_bits(state) >> np.uint64(64 - level))
            piece = min((1 << level) - place, values.size - done)
            if place <= registers[CHOSEN] < place + piece:
                buffers[filling, filled] = values[done + registers[CHOSEN] - place]
                registers[FILLED] += 1
        if registers[FILLED] == size:
            buffers[filling].sort()
        registers[SAMPLED] += piece
        done += piece


@compiled
def select_weights(values, steps, ranks):
    """The first value up to which the weights add up to each rank."""
    found = np.full(ranks.size, np.nan)
    order = np.argsort(ranks)
    at, reached = 0, 0
    for i in range(values.size):
        reached += steps[i, LEAST]
        while at < ranks.size and reached >= ranks[order[at]]:
            found[order[at]] = values[i]
            at += 1
        if at == ranks.size:
            break
    return found


# ---------------------------------------------------------------------------------------------------------------
# Moments
# ---------------------------------------------------------------------------------------------------------------


BLOCK_OF_SUMS = 128  # powers are summed in blocks, and the blocks summed: rounding grows with their square roots
MOMENT_COUNT, MOMENT_MINIMUM, MOMENT_MAXIMUM, MOMENT_SUMS = range(4)  # columns of a row; K sums of x, then K of ln x
TOO_MANY = -1


@compiled
def add_powers(values, row, block):
    """Add the powers of values, and of their logarithms, to a row: full blocks to its sums, the last one to `block`."""
    K = block.size // 2
    count = int(row[MOMENT_COUNT])
    least, most = row[MOMENT_MINIMUM], row[MOMENT_MAXIMUM]
    for i in range(values.size):
        x = values[i]
        least, most = min(least, x), max(most, x)
        power = x
        for order in range(K):
            block[order] += power
            power *= x
        if x > 0.0:  # with any other, the window has no logarithms
            logarithm = np.log(x)
            power = logarithm
            for order in range(K, 2 * K):
                block[order] += power
                power *= logarithm
        count += 1
        if count % BLOCK_OF_SUMS == 0:
            for order in range(2 * K):
                row[MOMENT_SUMS + order] += block[order]
                block[order] = 0.0
    row[MOMENT_COUNT], row[MOMENT_MINIMUM], row[MOMENT_MAXIMUM] = count, least, most


@compiled
def exponential(multipliers, polynomials, weights):
    """Weights times the exponential of a sum of polynomials, and its largest exponent. BLAS would wake its threads."""
    exponents = np.zeros(weights.size)
    for order in range(multipliers.size):
        for node in range(weights.size):
            exponents[node] += multipliers[order] * polynomials[order, node]
    return weights * np.exp(exponents), exponents.max()


@compiled
def integrals_of(polynomials, masses):
    """The sum of each polynomial over masses at the nodes, of which there are a multiple of four."""
    sums = np.empty(len(polynomials))
    for order in range(sums.size):
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for node in range(0, masses.size, 4):
            first += polynomials[order, node] * masses[node]
            second += polynomials[order, node + 1] * masses[node + 1]
            third += polynomials[order, node + 2] * masses[node + 2]
            fourth += polynomials[order, node + 3] * masses[node + 3]
        sums[order] = (first + second) + (third + fourth)
    return sums


@compiled
def newton_step(integrals, gradient):
    """Minus the inverse Hessian times the gradient, by Cholesky; not finite where rounding has left it indefinite.

    The Hessian of the integrals of T_0 to T_2K is T_i T_j = (T_{i+j} + T_{|i-j|}) / 2.
    """
    n = gradient.size
    root, step = np.empty((n, n)), -gradient
    for i in range(n):
        for j in range(i + 1):
            left = (integrals[i + j] + integrals[i - j]) / 2
            for m in range(j):
                left -= root[i, m] * root[j, m]
            root[i, j] = np.sqrt(left) if i == j else left / root[j, j]
            if i != j:
                step[i] -= root[i, j] * step[j]
        step[i] /= root[i, i]
    for i in range(n - 1, -1, -1):
        for m in range(i + 1, n):
            step[i] -= root[m, i] * step[m]
        step[i] /= root[i, i]
    return step


@compiled
def add_distinct(values, known, distinct, tallies):
    """Count each of `known` distinct values, ascending; returns how many there are now, or TOO_MANY for the arrays."""
    for i in range(values.size):
        x = values[i]
        low, high = 0, known
        while low < high:
            middle = (low + high) // 2
            if distinct[middle] < x:
                low = middle + 1
            else:
                high = middle
        if low < known and distinct[low] == x:
            tallies[low] += 1
            continue
        if known == distinct.size:
            return TOO_MANY
        for place in range(known, low, -1):
            distinct[place], tallies[place] = distinct[place - 1], tallies[place - 1]
        distinct[low], tallies[low] = x, 1
        known += 1
    return known
