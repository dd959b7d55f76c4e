"""Answers from stored summaries one by one: a quantile, a share, and the sum of several. SQL on Spark uses it.

A summary answers with `low <= exact <= high` of its own events, as `windows` does for a window of one period. Any
quantile can be asked; any threshold too, but those of the query that wrote the summary have narrower intervals.

Summaries of any keys and sub-windows add up. Their sum has the guarantee, and of queries with a fine part
(aomg.core.summary) at most three digits, as in a roll-up.
"""

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aomg.core.checksums import without_checksums
from aomg.core.histogram import histogram
from aomg.core.kernels.sortable import EXACT_INTEGERS
from aomg.core.keyed import SUMMARY as SUMMARY_KIND
from aomg.core.keyed import KeyRows
from aomg.core.layout import dense_digits, keeps_fine, new_words
from aomg.core.recast import Recast, is_same_summary
from aomg.core.summary import NO_SUB_WINDOW, heads_of, with_number
from aomg.errors import InputError, StateError
from aomg.query import Query, decimal_of
from aomg.result import METHODS, Results
from aomg.tables.checksums import summary_column
from aomg.tables.columns import ESTIMATE
from aomg.tables.keyed_windows import keyed_windows
from aomg.tables.rows import NEVER, binary_buffers

Reals = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]


def quantile_column(summaries: pa.Array, writers: pa.Array, quantiles: pa.Array) -> pa.StructArray:
    """A quantile of each summary: value, low, high and method; null where an argument is null.

    summaries, writers
        The columns `summary` and `query` of stored summaries.
    """
    known, contents, texts = _known(summaries, writers, quantiles)
    asked = [decimal_of(quantile) for quantile in quantiles.take(pa.array(known)).to_pylist()]
    estimates, methods = np.zeros((len(summaries), 3)), np.zeros(len(summaries), np.int64)
    for (text, quantile), rows in _groups(zip(texts, asked, strict=True)).items():
        recast, query, column = _quantile_of(text, quantile)
        results = _results(recast, query, [contents[row] for row in rows])
        estimates[known[rows]] = results.estimates(column)
        methods[known[rows]] = results.methods(column)
    parts = [pa.array(np.ascontiguousarray(part)) for part in estimates.T]
    parts.append(pa.array(METHODS, pa.string()).take(pa.array(methods)))
    return pa.StructArray.from_arrays(parts, names=[*ESTIMATE, "method"], mask=_unknown(len(summaries), known))


def share_column(summaries: pa.Array, writers: pa.Array, thresholds: pa.Array) -> pa.StructArray:
    """The share of each summary's events at or below a threshold: value, low and high; null where an argument is."""
    known, contents, texts = _known(summaries, writers, thresholds)
    asked = [float(threshold) for threshold in thresholds.take(pa.array(known)).to_pylist()]
    if np.isnan(asked).any():
        raise InputError("a threshold is NaN; ask for a number, such as 500")
    shares = np.zeros((len(summaries), 3))
    for (text, threshold), rows in _groups(zip(texts, asked, strict=True)).items():
        members = [contents[row] for row in rows]
        if threshold in _stored(text).thresholds:
            recast, query = _share_of(text)
            shares[known[rows]] = _results(recast, query, members).shares(threshold)
        else:
            shares[known[rows]] = [_share_in_buckets(text, summary, threshold) for summary in members]
    parts = [pa.array(np.ascontiguousarray(part)) for part in shares.T]
    return pa.StructArray.from_arrays(parts, names=list(ESTIMATE), mask=_unknown(len(summaries), known))


def merged(summaries: pa.Array, writers: pa.Array) -> dict[str, Any] | None:
    """The sum of summaries as the columns count, min, max, summary and query; None if there are none.

    Nulls are left out. Every row counts, also one that is stored twice.
    """
    _, contents, texts = _known(summaries, writers)
    if not contents:
        return None
    recast, query = _sum_of(texts[0])
    for text in set(texts):
        if not is_same_summary(_stored(text), _stored(texts[0])):
            raise StateError(
                f"these summaries were written by different queries, {_stored(texts[0])!r} and {_stored(text)!r}; "
                "merge those of each query on their own: GROUP BY ..., query"
            )
    for summary in contents:
        recast.check(summary)
    total = recast(contents)
    numbers = {summary[:8] for summary in contents}
    data = np.frombuffer(total if len(numbers) == 1 else with_number(total, NO_SUB_WINDOW), np.uint8)
    offsets = np.array([0, data.size], np.int64)
    heads, text = heads_of(offsets, data), query.text()
    return {
        "count": int(heads.counts[0]),
        "min": float(heads.minima[0]),
        "max": float(heads.maxima[0]),
        "summary": summary_column(offsets, data, text)[0].as_py(),
        "query": text,
    }


# -- rows --------------------------------------------------------------------------------------------------------------


def _known(*columns: pa.Array) -> tuple[Indexes, list[bytes], list[str]]:
    """The rows without a null, and of these the summaries, verified and without checksums, and their queries' texts."""
    valid = np.ones(len(columns[0]), bool)
    for column in columns:
        valid &= np.asarray(column.is_valid())
    rows = np.flatnonzero(valid)
    summaries, writers = (column.take(pa.array(rows)) for column in columns[:2])
    texts = writers.cast(pa.binary()).to_pylist()
    seeds = np.array([crc32(text) for text in texts], np.uint32)
    offsets, data, damaged = without_checksums(*binary_buffers(summaries.cast(pa.large_binary())), seeds)
    if damaged >= 0:
        raise _damaged("its checksum is wrong")
    content = data.tobytes()
    parts = [content[first:last] for first, last in pairwise(offsets.tolist())]
    return rows, parts, [text.decode(errors="replace") for text in texts]


def _groups(keys: Iterable[Hashable]) -> dict[Any, list[int]]:
    """The rows of each key."""
    groups: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    return groups


def _unknown(size: int, known: Indexes) -> pa.Array:
    """The mask of the rows that have no answer."""
    mask = np.ones(size, bool)
    mask[known] = False
    return pa.array(mask)


def _damaged(reason: str) -> StateError:
    return StateError(
        f"a stored summary is damaged: {reason}; windows(...) names its key and its sub-window. Remove that row or "
        "file, or write it again from the events"
    )


# -- queries -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _stored(text: str) -> Query:
    """The query that wrote a summary. Raises StateError if its summaries have no sums."""
    query = Query.parse(text)
    if query.guarantee is None:
        raise StateError(
            "summaries without a guarantee (guarantee=False) answer only windows(...) of the query that wrote them; "
            "write summaries with a guarantee, or compute the windows from the events with quantiles(...)"
        )
    return query


def _coarse(query: Query) -> Query:
    """The query that the part of at most three digits of its summaries answers."""
    return query.replace(digits=dense_digits(query), few_k=None) if keeps_fine(query) else query


def _alone(query: Query, **changes: Any) -> Query:
    """The query with a window of one period, which one summary answers."""
    return query.replace(size=query.arguments()["period"], partial=True, **changes)


def _own(query: Query) -> Query:
    """The query that one summary answers as it is, if it has no few-k lists: they are for windows of their own size."""
    return _alone(_coarse(query) if query.keeps_lists else query)


@lru_cache(maxsize=16)
def _quantile_of(text: str, quantile: Decimal) -> tuple[Recast, Query, int]:
    """How summaries of a query answer a quantile, and its index among those of the query that is asked."""
    stored = _stored(text)
    if quantile in stored.quantiles:
        query = _own(stored)
        return Recast(stored, query), query, stored.quantiles.index(quantile)
    query = _alone(_coarse(stored), quantiles=(quantile,), thresholds=())
    return Recast(stored, query), query, 0


@lru_cache(maxsize=16)
def _share_of(text: str) -> tuple[Recast, Query]:
    """How summaries of a query answer its thresholds."""
    query = _own(_stored(text))
    return Recast(_stored(text), query), query


@lru_cache(maxsize=16)
def _sum_of(text: str) -> tuple[Recast, Query]:
    """How summaries of a query are added up."""
    query = _coarse(_stored(text))
    return Recast(_stored(text), query), query


# -- answers -----------------------------------------------------------------------------------------------------------


def _results(recast: Recast, query: Query, summaries: Sequence[bytes]) -> Results:
    """The results of windows that have one of these summaries each."""
    parts = []
    for summary in summaries:
        recast.check(summary)
        parts.append(recast([with_number(summary, 0)]))
    size = len(parts)
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    keys, zeros = np.arange(size), np.zeros(size, np.int64)
    data = np.frombuffer(b"".join(parts), np.uint8).copy()
    rows = KeyRows(keys, zeros, np.full(size, SUMMARY_KIND, np.int64), zeros, offsets, data)
    ends: npt.NDArray[np.int64] = np.ones(size, np.int64)
    return keyed_windows(query).slide(rows, np.full(size, NEVER, np.int64), ends, listing=False).results


@lru_cache(maxsize=16)
def _words(text: str) -> npt.NDArray[np.int64]:
    """What a histogram of a query needs, for one thread at a time."""
    return new_words(_stored(text))


def _share_in_buckets(text: str, summary: bytes, threshold: float) -> tuple[float, float, float]:
    """The share at or below a threshold that the query does not have, from the counts of buckets."""
    counted = histogram([summary], _stored(text), _words(text))
    heads = heads_of(np.array([0, len(summary)], np.int64), np.frombuffer(summary, np.uint8))
    if threshold >= heads.maxima[0]:
        return 1.0, 1.0, 1.0
    if threshold < heads.minima[0]:
        return 0.0, 0.0, 0.0
    lows = np.where(counted.lows < -EXACT_INTEGERS, np.nextafter(counted.lows, -np.inf), counted.lows)
    low = counted.counts[counted.highs <= threshold].sum()
    inside = (lows <= threshold) & (counted.highs > threshold)
    high = low + counted.counts[inside].sum()
    width = np.maximum(counted.highs[inside] - lows[inside], np.finfo(float).tiny)
    part = np.clip((threshold - lows[inside]) / width, 0, 1)
    value = low + (counted.counts[inside] * part).sum()
    total = counted.total
    return float(value / total), float(low / total), float(high / total)
