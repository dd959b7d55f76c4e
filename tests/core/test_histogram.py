"""The histogram of a window from its summaries counts every value once, in the bucket that holds it."""

from itertools import pairwise

import numpy as np
import pytest
from arbitrary import streams
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aomg import Query
from aomg.core.histogram import histogram
from aomg.core.keyed import TALLY, KeyedWindows, KeyRows
from aomg.core.tally import tally
from aomg.errors import StateError

QUERIES = (
    Query("2 minutes", "15 seconds"),
    Query("2 minutes", "15 seconds", quantiles=(0.5,), thresholds=(4.0, 500.0), digits=2, guarantee=0.2),
    Query("2 minutes", "15 seconds", digits=1, guarantee=0.5),
    Query("2 minutes", "15 seconds", digits=5, guarantee=0.005),
    Query("2 minutes", "15 seconds", digits=None),
)


def records_of(query: Query, parts: list[np.ndarray]) -> list[bytes]:
    """A summary for each part that has values, as the stream writes them."""
    fleet = KeyedWindows(query)
    values, numbers = np.concatenate(parts), np.repeat(np.arange(len(parts)), [part.size for part in parts])
    tallies = tally(fleet.sliding, numbers, values)
    nothing = np.zeros(tallies.groups.size, np.int64)
    rows = KeyRows(nothing, tallies.groups, nothing + TALLY, nothing, tallies.offsets, tallies.data)
    closed = fleet.slide(rows, np.zeros(1, np.int64), np.zeros(1, np.int64), answering=False)
    bounds = closed.summaries.offsets.tolist()
    return [closed.summaries.data[a:b].tobytes() for a, b in pairwise(bounds)]


def is_a_long_beyond_doubles(values: np.ndarray) -> bool:
    return values.dtype == np.int64 and values.size > 0 and int(values.min()) < -(2**53)


@settings(deadline=None, max_examples=150)
@given(streams(most=3000), st.integers(1, 5), st.sampled_from(QUERIES))
@example(np.array([10**17, 10**17 - 5]), 1, QUERIES[-1])  # the second one is 1e17 as a double
def test_every_value_is_counted_in_the_one_bucket_that_holds_it(values, parts, query):
    found = histogram(records_of(query, np.array_split(values, parts)), query)
    assert found.total == values.size
    assert np.all(found.counts > 0) and np.all(found.lows < found.highs)
    assert np.all(found.highs[:-1] <= found.lows[1:])
    if is_a_long_beyond_doubles(values):
        return
    exact = values.tolist()  # Python compares longs with doubles exactly
    if query.digits is None:
        exact = [float(value) for value in exact]
    for low, high, count in zip(found.lows.tolist(), found.highs.tolist(), found.counts.tolist(), strict=True):
        assert sum(low <= value < high for value in exact) == count


def test_buckets_of_integers_have_whole_edges():
    found = histogram(records_of(QUERIES[0], [np.array([0, 0, 7, -7, 4000, 4001, 123_456])]), QUERIES[0])
    assert found.lows.tolist()[:3] == [-7, 0, 7] and found.highs.tolist()[:3] == [-6, 1, 8]
    assert found.counts.tolist() == [1, 2, 1, 2, 1]
    assert found.lows[3] <= 4000 and 4001 < found.highs[3] <= 4000 * 1.03


def test_a_bucket_is_no_wider_than_the_guarantee_allows():
    values = np.random.default_rng(1).lognormal(6, 2, 20_000)
    found = histogram(records_of(QUERIES[0], [values]), QUERIES[0])
    assert np.all(found.highs / found.lows <= 1.02 / 0.98)


def test_no_summaries_have_an_empty_histogram():
    found = histogram([], QUERIES[0])
    assert found.total == 0 and found.lows.size == 0


def test_without_a_guarantee_there_is_no_histogram():
    query = Query("2 minutes", "15 seconds", guarantee=False)
    with pytest.raises(StateError, match="add a guarantee"):
        histogram(records_of(query, [np.arange(10)]), query)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_a_cut_or_changed_summary_is_an_error_or_adds_up(data):
    (record,) = records_of(QUERIES[0], [np.arange(300) ** 2])
    at = data.draw(st.integers(64, len(record) - 1))
    changed = record[:at] if data.draw(st.booleans()) else record[:at] + b"\xff\xff" + record[at + 2 :]
    try:
        found = histogram([changed], QUERIES[0])
    except StateError:
        return
    assert found.total == 300
