"""Converts stored summaries to those of another query: other quantiles, a longer window, several keys in one.

Envelope and band are counts of values, so summaries of the same sub-window add up, and any quantile can be read from
the sum: its bucket in the envelope is known. A summary's head has only the quantiles of its own query. For other
quantiles, and for sums, the code is known to its bucket (exactly if the band has it), and the interval follows from
that. The guarantee is that of the envelope, unchanged. A list of codes has every code, so any quantile of lists, and of
their sum, is known to its code.

Fine parts (core.summary) do not add up. But every summary with a guarantee has an envelope and a band of at most three
digits, which carry the guarantee alone: a query of three digits gets those, and a query with a fine part gets only what
was written for it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aomg.core.kernels.heads import domain_in
from aomg.core.kernels.registers import HEAD_LENGTH, HEAD_MAXIMUM, HEAD_MINIMUM, REALS
from aomg.core.kernels.sortable import EXACT_INTEGERS
from aomg.core.kernels.soundness import summary_is_sound
from aomg.core.kernels.sums import recast
from aomg.core.layout import dense_digits, keeps_fine
from aomg.core.sliding import Sliding
from aomg.errors import StateError
from aomg.query import Query

_FIRST_BYTES = 1 << 16


def refuse_unlike(stored: Query, requested: Query) -> None:
    """Raise StateError if summaries of the stored query cannot answer the requested one."""
    theirs, ours = stored.arguments(), requested.arguments()
    if stored.counted != requested.counted:
        windows = ("windows in time", "windows counted in events")
        raise StateError(
            f"the summaries have {windows[stored.counted]}, the query asks for {windows[requested.counted]}; "
            f"use their period: {theirs['period']!r}"
        )
    for name in ("period", "digits", "guarantee"):
        if theirs[name] != ours[name] and not (name == "digits" and _is_answered_coarsely(stored, requested)):
            raise StateError(
                f"the summaries have {name} {theirs[name]!r}, the query asks for {ours[name]!r}; use theirs: "
                f"Query(size, period={theirs['period']!r}, digits={theirs['digits']}, guarantee={theirs['guarantee']})"
            )
    missing = [limit for limit in requested.thresholds if limit not in stored.thresholds]
    if missing:
        has = ", ".join(map(str, stored.thresholds)) or "none"
        raise StateError(f"threshold {missing[0]:g} is not in the summaries; they have {has}")


def _is_answered_coarsely(stored: Query, requested: Query) -> bool:
    """Whether the requested query needs nothing of the stored summaries' fine parts, and has the digits of the rest."""
    return stored.guarantee is not None and not keeps_fine(requested) and dense_digits(stored) == requested.digits


def refuse_conversion(requested: Query, stored: Query | None = None) -> None:
    """Raise StateError if summaries would have to be converted to a query with a fine part.

    stored
        The query that wrote them; None if they are to be rolled up, whichever wrote them.
    """
    if not keeps_fine(requested) or (stored is not None and is_same_summary(stored, requested)):
        return
    if requested.guarantee is None:
        raise StateError(
            "summaries without a guarantee have no sums: they answer only the quantiles, the size and the by columns "
            "that they were written with; use those, or compute the windows from the events with quantiles(...)"
        )
    changes = [] if requested.digits in (1, 2, 3) else ["digits=3"]
    changes += ["few_k=None"] if requested.keeps_lists else []
    raise StateError(
        f"use query.replace({', '.join(changes)}): other quantiles, fewer thresholds and roll-ups of summaries with "
        "more than three digits, raw values or few-k lists, and other sizes of few-k lists, are answered from their "
        "part of up to three digits, with the same guarantee"
    )


def is_same_summary(stored: Query, requested: Query) -> bool:
    """Whether summaries of one query are those of the other, byte for byte."""
    names = ("counted", "period", "quantiles", "thresholds", "digits", "guarantee", "keeps_lists")
    if any(getattr(stored, name) != getattr(requested, name) for name in names):
        return False
    lists = stored.guarantee is None or stored.keeps_lists
    return not lists or (stored.size, stored.few_k, stored.as_paper) == (
        requested.size,
        requested.few_k,
        requested.as_paper,
    )


class Recast:
    """Summaries of one query as those of another. Costs microseconds for each that is written."""

    def __init__(self, stored: Query, requested: Query) -> None:
        refuse_unlike(stored, requested)
        self._stored, self._requested = Sliding(stored), Sliding(requested)
        self.same = is_same_summary(stored, requested)
        self._columns = np.array(
            [stored.quantiles.index(q) if q in stored.quantiles else -1 for q in requested.quantiles], np.int64
        )
        self._limits = np.array([stored.thresholds.index(limit) for limit in requested.thresholds], np.int64)
        self._counts = len(stored.quantiles), len(stored.thresholds)

    def check(self, summary: bytes) -> None:
        """Raise StateError if these bytes are not a summary of the stored query."""
        content = np.frombuffer(summary, np.uint8).copy()
        if content.size % 8 or not summary_is_sound(self._stored.state.words, content):
            raise StateError("a summary is damaged or of another query; compute the summaries again from the events")

    def _refuse_rounded(self, summary: bytes) -> None:
        """Refuse raw longs beyond 2^53: they were counted as their nearest doubles, so a code may not cover them."""
        if self._stored.query.digits is not None:
            return
        words = np.frombuffer(summary, np.int64)
        extremes = words[[HEAD_MINIMUM, HEAD_MAXIMUM]].view(np.float64)
        if domain_in(words[HEAD_LENGTH]) != REALS and np.abs(extremes).max() > EXACT_INTEGERS:
            raise StateError(
                "a summary has raw integers beyond 2^53, which have no other quantiles and no roll-ups; compute these "
                "from the events with quantiles(...), and write summaries with digits=6 or fewer"
            )

    def __call__(self, summaries: Sequence[bytes]) -> bytes:
        """Return one summary of the requested query from those of a sub-window (of one or several keys)."""
        if self.same and len(summaries) == 1:
            return summaries[0]
        refuse_conversion(self._requested.query)
        for summary in summaries:
            self._refuse_rounded(summary)
        data = np.frombuffer(b"".join(summaries), np.uint8).copy()
        lengths = [len(summary) for summary in summaries]
        starts: npt.NDArray[np.int64] = np.cumsum([0, *lengths[:-1]], dtype=np.int64)
        out = np.empty(_FIRST_BYTES, np.uint8)
        state, arguments = self._requested.state.words, (*self._counts, self._columns, self._limits)
        size = int(recast(state, data, starts, *arguments, out))
        if size < 0:  # the bytes that it needs
            out = np.empty(-(size // 8) * 8, np.uint8)
            size = int(recast(state, data, starts, *arguments, out))
        return out[:size].tobytes()
