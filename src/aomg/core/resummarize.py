"""A summary for another query: other quantiles, a longer window, several keys in one.

Envelope and band are counts of values, so summaries of the same sub-window add up, and any quantile can be asked of the
sum: its place among the envelope's buckets is known. What a summary says of its own quantiles holds for it alone; for
others, and for sums, the code of the quantile is known to its bucket (to the code where the band knows it), which is
what the interval of the window is made of. The guarantee is that of the envelope, unchanged.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.registers import HEAD_WORDS
from aomg.core.kernels.soundness import record_is_sound
from aomg.core.kernels.sums import recast
from aomg.core.sliding import Sliding
from aomg.errors import StateError
from aomg.query import Query


def refuse_unlike(written: Query, asked: Query) -> None:
    """Refuse a query that summaries of another one cannot answer."""
    theirs, ours = written.arguments(), asked.arguments()
    if written.counted != asked.counted:
        windows = ("windows in time", "windows counted in elements")
        raise StateError(
            f"the summaries have {windows[written.counted]}, the query asks for {windows[asked.counted]}; "
            f"ask with their period: {theirs['period']!r}"
        )
    for name in ("period", "digits", "guarantee"):
        if theirs[name] != ours[name]:
            raise StateError(
                f"the summaries have {name} {theirs[name]!r}, the query asks for {ours[name]!r}; ask with theirs: "
                f"Query(size, period={theirs['period']!r}, digits={theirs['digits']}, guarantee={theirs['guarantee']})"
            )
    missing = [limit for limit in asked.thresholds if limit not in written.thresholds]
    if missing:
        has = ", ".join(map(str, written.thresholds)) or "none"
        raise StateError(f"threshold {missing[0]:g} is not in the summaries; they have {has}")


def is_same_record(written: Query, asked: Query) -> bool:
    """Whether summaries of one query are those of the other, byte for byte."""
    names = ("counted", "period", "quantiles", "thresholds", "digits", "guarantee", "keeps_lists")
    if any(getattr(written, name) != getattr(asked, name) for name in names):
        return False
    lists = written.guarantee is None or written.keeps_lists
    return not lists or (written.size, written.few_k, written.as_paper) == (asked.size, asked.few_k, asked.as_paper)


class Recast:
    """Summaries of one query as those of another. Costs microseconds for each that is written."""

    def __init__(self, written: Query, asked: Query) -> None:
        refuse_unlike(written, asked)
        self._written, self._asked = Sliding(written), Sliding(asked)
        self.same = is_same_record(written, asked)
        self._columns = np.array(
            [written.quantiles.index(q) if q in written.quantiles else -1 for q in asked.quantiles], np.int64
        )
        self._limits = np.array([written.thresholds.index(limit) for limit in asked.thresholds], np.int64)
        self._counts = len(written.quantiles), len(written.thresholds)

    def check(self, record: bytes) -> None:
        """Refuse bytes that are no summary of the query that is said to have written them."""
        content = np.frombuffer(record, np.uint8).copy()
        sound = content.size >= 8 * HEAD_WORDS and content.size % 8 == 0
        if not sound or not record_is_sound(self._written.state, content):
            raise StateError("a summary is damaged or of another query; make the summaries again from the events")

    def __call__(self, records: Sequence[bytes]) -> bytes:
        """One summary of the asked query from those of a sub-window (of several keys, or one)."""
        if self.same and len(records) == 1:
            return records[0]
        if self._written.has_fine or self._asked.has_fine:
            raise StateError(
                "only summaries with a guarantee, up to three digits and no few-k lists can be added up or asked for "
                "other quantiles; ask for the quantiles and by columns they were written with"
            )
        data = np.frombuffer(b"".join(records), np.uint8).copy()
        lengths = [len(record) for record in records]
        starts: npt.NDArray[np.int64] = np.cumsum([0, *lengths[:-1]], dtype=np.int64)
        out = np.empty(self._room(data.size), np.uint8)
        size = recast(self._asked.state, data, starts, *self._counts, self._columns, self._limits, out)
        return out[:size].tobytes()

    def _room(self, size: int) -> int:
        """Bytes that are enough: a row takes at least three, and at most 70."""
        words = HEAD_WORDS + len(self._asked.query.quantiles) + 2 * len(self._asked.query.thresholds)
        return 8 * words + 24 * size + 1024
