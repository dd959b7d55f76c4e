"""Power sums of values, and the Newton step to the density of maximum entropy."""

import numpy as np

from aomg.policies.kernels._compile import compiled

BLOCK_OF_SUMS = 128  # powers are summed in blocks, then blocks are summed: rounding errors grow with the square roots
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
        if x > 0.0:  # otherwise the window has no logarithms
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
    """Return weights times the exponential of a sum of polynomials, and the largest exponent.

    No BLAS, which would start its threads.
    """
    exponents = np.zeros(weights.size)
    for order in range(multipliers.size):
        for node in range(weights.size):
            exponents[node] += multipliers[order] * polynomials[order, node]
    return weights * np.exp(exponents), exponents.max()


@compiled
def integrals_of(polynomials, masses):
    """Return the sum of each polynomial over masses at the nodes; their number is a multiple of four."""
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
    """Return minus the inverse Hessian times the gradient, by Cholesky; not finite if rounding made it indefinite.

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
    """Count values in `known` ascending distinct ones; return their new number, or TOO_MANY if the arrays are full."""
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
