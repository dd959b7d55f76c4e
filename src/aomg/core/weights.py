"""Checks the weights of events: how many events each one counts as.

Weights are whole numbers from 0 to 2^31 - 1, in any type of number. An event whose weight is null, negative, a
fraction or larger is refused and counted, like one without a value, whatever its type. An event of weight 0 moves time
and nothing else.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from aomg.core.entries import entries_of
from aomg.core.kernels.counting import weight_bits
from aomg.errors import InputError
from aomg.query import Query

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LARGEST_WEIGHT = 2**31 - 1


def refuse_weights(query: Query) -> None:
    """Raise InputError if the query's windows or its summaries cannot have weights."""
    if query.counted:
        raise InputError("windows that are counted in events cannot have weights; use windows in time")
    if query.guarantee is None or query.keeps_lists:
        raise InputError(
            "few-k lists and queries without a guarantee keep single values, so events cannot have weights; "
            "use a query with a guarantee and without FewK(always=True)"
        )


def weights_of(data: Any, size: int) -> tuple[Integers, Mask | None, int]:
    """Return the weight of each of `size` events, which of them can be used (None: all), and a bound of all weights.

    Events that cannot be used have weight 0.
    """
    array, valid = entries_of(data, "weights", exact=False)
    if (array.size if valid is None else valid.size) != size:
        given = array.size if valid is None else valid.size
        raise InputError(f"got {size} values but {given} weights; give one weight for each value")
    weights, sound, heaviest = checked_weights(array)
    if valid is None:
        return weights, sound, heaviest
    spread = np.zeros(size, np.int64)
    usable = valid.copy()
    if sound is not None:
        usable[valid] = sound
    spread[valid] = weights
    return spread, usable, heaviest


def checked_weights(array: npt.NDArray[Any]) -> tuple[Integers, Mask | None, int]:
    """Return weights as integers, which of them can be used (None: all; others become 0), and a bound of them."""
    kind = array.dtype.kind
    if kind not in "iuf" or array.dtype.itemsize > 8:
        raise InputError(f"weights of type {array.dtype} cannot be used; cast them to int64 first")
    if array.size == 0:
        return np.empty(0, np.int64), None, 0
    if kind == "i":
        weights = np.ascontiguousarray(array, np.int64)
        bits = int(weight_bits(weights))
        if 0 <= bits <= LARGEST_WEIGHT:
            return weights, None, bits
    if kind == "f":  # in their own type, the largest weight would be infinite or 2^31
        array = array.astype(np.float64, copy=False)
    sound = (array >= 0) & (array <= LARGEST_WEIGHT)
    if kind == "f":
        sound &= array == np.floor(array)
    weights = np.where(sound, array, 0).astype(np.int64)
    return weights, None if sound.all() else sound, LARGEST_WEIGHT
