"""The ordered list of supers that have live counts."""

from aomg.core.kernels._compile import compiled
from aomg.core.kernels.registers import ACTIVE, AT_ACTIVE


@compiled
def activate_super(state, super_):
    """Put a super into the ordered list of those with live counts."""
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE] + 1]
    i = state[ACTIVE]
    while i > 0 and active[i - 1] > super_:
        active[i] = active[i - 1]
        i -= 1
    active[i] = super_
    state[ACTIVE] += 1


@compiled
def deactivate_super(state, super_):
    """Take a super without live counts out of the list."""
    active = state[state[AT_ACTIVE] : state[AT_ACTIVE] + state[ACTIVE]]
    i = 0
    while active[i] != super_:
        i += 1
    for j in range(i, active.size - 1):
        active[j] = active[j + 1]
    state[ACTIVE] -= 1
