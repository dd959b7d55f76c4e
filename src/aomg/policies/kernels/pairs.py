"""Adds ordered (code, count) pairs to others, and subtracts them again."""

from aomg.policies.kernels._compile import compiled


@compiled
def merge_in(codes, counts, size, new_codes, new_counts):
    """Add ordered pairs to the first `size` pairs, in place, from the back; returns the new size."""
    known = 0
    j = 0
    for i in range(new_codes.size):
        while j < size and codes[j] < new_codes[i]:
            j += 1
        known += j < size and codes[j] == new_codes[i]
    grown = size + new_codes.size - known
    i, j, end = new_codes.size - 1, size - 1, grown - 1
    while i >= 0:
        while j >= 0 and codes[j] > new_codes[i]:
            codes[end], counts[end] = codes[j], counts[j]
            j -= 1
            end -= 1
        if j >= 0 and codes[j] == new_codes[i]:
            codes[end], counts[end] = codes[j], counts[j] + new_counts[i]
            j -= 1
        else:
            codes[end], counts[end] = new_codes[i], new_counts[i]
        end -= 1
        i -= 1
    return grown


@compiled
def merge_out(codes, counts, size, old_codes, old_counts):
    """Take away ordered pairs that are among the first `size`, in place; returns the new size."""
    written, i = 0, 0
    for j in range(size):
        number = counts[j]
        if i < old_codes.size and codes[j] == old_codes[i]:
            number -= old_counts[i]
            i += 1
        if number > 0:
            codes[written], counts[written] = codes[j], number
            written += 1
    return written
