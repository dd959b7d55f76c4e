"""Converts between values and codes at the query's own resolution: raw values, dense codes, or four to six digits."""

from aomg.core.kernels._compile import compiled, inlined
from aomg.core.kernels.codes import (
    cell_of_double,
    code_of_cell,
    code_of_double,
    digits_code_of_double,
    digits_interval,
    interval,
    raw_interval,
)
from aomg.core.kernels.paper.registers import DENSE, RAW, RESOLUTION
from aomg.core.kernels.registers import REALS
from aomg.core.kernels.sortable import key_of_double


@compiled
def _coded_interval(state, digits, code, domain):
    if digits == DENSE:
        return interval(state, code, domain)
    return digits_interval(code, digits, domain)


@inlined
def fine_interval(state, level, code, domain):
    """low, high (inclusive, rounded outward) of the values that a code covers."""
    if level[RESOLUTION] == RAW:
        return raw_interval(code, domain)
    return _coded_interval(state, level[RESOLUTION], code, domain)


@inlined
def fine_middle(state, level, code, domain):
    """What a code reports: its one integer, or its middle."""
    low, high = fine_interval(state, level, code, domain)
    return low + (high - low) / 2


@compiled
def fine_code(state, level, x):
    """The code of a finite double."""
    if level[RESOLUTION] == RAW:
        return key_of_double(x)
    if level[RESOLUTION] == DENSE:
        return code_of_double(state, x)
    return digits_code_of_double(x, level[RESOLUTION])


@inlined
def dense_code_of(state, table, level, code):
    """The dense code of a code: that of its end nearest to zero."""
    low, high = fine_interval(state, level, code, REALS)
    return code_of_cell(state, cell_of_double(state, table, high if low < 0.0 else low))
