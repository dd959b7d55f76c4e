"""An ordered multiset as a treap in arrays, and selection across sorted arrays."""

import numpy as np

from aomg.policies.kernels._compile import compiled

# A treap in arrays: links are node numbers, 0 means none.
LEFT, RIGHT, NEXT_FREE = 0, 1, 0
ROOT, FREE, USED, DISTINCT = range(4)  # registers
DEPTH = 256  # first length of a path: four times what 100 million keys in a usual order need


@compiled
def _priority(node):
    """Return a fixed pseudo-random number of a node, so that the tree's shape needs no seed."""
    x = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _rotate_up(child, parent, links, counts, totals):
    """Make `child` the parent of its `parent`."""
    side = LEFT if links[parent, LEFT] == child else RIGHT
    opposite = 1 - side
    links[parent, side] = links[child, opposite]
    links[child, opposite] = parent
    for node in (parent, child):
        totals[node] = counts[node] + totals[links[node, LEFT]] + totals[links[node, RIGHT]]


@compiled
def add_to_tree(values, registers, keys, counts, totals, links, path):
    """Insert values; return how many were inserted before an array was full and must grow."""
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
    """Remove values, all of which are in the tree."""
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
        while True:  # rotate the empty node down until it can be removed
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
    """Return the value of a rank, from 1."""
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
    """Return the value of a rank in the union of sorted parts.

    Narrows the bounds of the value's position in each part by the median of the part with the widest bounds.
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
