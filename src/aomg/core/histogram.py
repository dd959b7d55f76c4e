"""Computes the histogram of a window from its summaries: how many values are in each bucket of the envelope.

The envelope counts every value of a sub-window in one bucket, and counts add up. So the histogram of any set of
summaries of a query is exact. A bucket is as wide as the guarantee allows, 1.4 % for 2 %. Queries without a
guarantee have no envelope, and so no histogram.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.keys import restart
from aomg.core.kernels.registers import ACTIVE, LIVE_WITH_REALS
from aomg.core.kernels.ring import add_summary
from aomg.core.kernels.sortable import EXACT_INTEGERS
from aomg.core.kernels.soundness import summary_is_sound
from aomg.core.kernels.sums import list_buckets
from aomg.core.layout import new_words
from aomg.errors import StateError
from aomg.query import Query

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Buckets that hold values, ascending: `counts[i]` values v have lows[i] <= v < highs[i], exactly.

    Longs beyond 2^53 are the exception. Below -2^53, `lows` are rounded up, by one unit in the last place at most. A
    query of raw values (digits=None) counts a long as its nearest double.
    """

    lows: Reals
    highs: Reals
    counts: Integers

    @property
    def total(self) -> int:
        """All values."""
        return int(self.counts.sum())


def histogram(summaries: Iterable[bytes], query: Query, words: Integers | None = None) -> Histogram:
    """Add up summaries that `query` wrote. Costs about a microsecond for each of them, and milliseconds for the words.

    words
        `new_words(query)`, to use them again for the next histogram; one thread at a time.

    Raises StateError for bytes that are not a summary of such a query, and where it keeps no envelope.
    """
    if query.guarantee is None:
        raise StateError("a query without a guarantee keeps no bucket counts, so it has no histogram; add a guarantee")
    if words is None:
        words = new_words(query)
    else:
        restart(words, None)
    for summary in summaries:
        content = np.frombuffer(summary, np.uint8).copy()
        if content.size % 8 or not summary_is_sound(words, content):
            raise _damaged()
        add_summary(words, content, content.view(np.int64), 0)
    room = 16 * int(words[ACTIVE])
    lows, highs, counts = np.empty(room), np.empty(room), np.empty(room, np.int64)
    size = list_buckets(words, lows, highs, counts)
    if size < 0:
        raise _damaged()
    lows, highs, counts = lows[:size], highs[:size], counts[:size]
    # The smallest doubles are coarser than codes, so that the interval of a code reaches into the next: a value belongs
    # to the code that begins nearest below it, in magnitude.
    np.maximum(lows[1:], highs[:-1], out=lows[1:], where=highs[1:] <= 0)
    np.minimum(highs[:-1], lows[1:], out=highs[:-1], where=lows[:-1] >= 0)
    if words[LIVE_WITH_REALS] == 0:  # only integers: [4000, 4050), not [3999.9999999999995, 4049.9999999999995)
        lows = np.where(np.abs(lows) < EXACT_INTEGERS, np.ceil(lows), lows)
        highs = np.where(np.abs(highs) < EXACT_INTEGERS, np.ceil(highs), highs)
    return Histogram(lows, highs, counts)


def _damaged() -> StateError:
    return StateError("a summary is damaged or of another query; compute the summaries again from the events")
