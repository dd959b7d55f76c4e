"""A table of events is answered like an operator for each key, bit for bit, however it comes and in any order."""

import numpy as np
import pyarrow as pa
import pytest
from arbitrary import counted_queries, streams, timed_queries
from hypothesis import given, settings
from hypothesis import strategies as st
from local import SECOND, assert_same, events_of, expected_rows, instants, rows_of

import aomg
from aomg import FewK, Query
from aomg.tables import events as events_module
from aomg.tables import keyed_state, source

WINDOW = ("5 minutes", "1 minute")
QUERIES = {
    "default": Query(*WINDOW),
    "thresholds": Query(*WINDOW, thresholds=(500.0, 1234.0, -0.5)),
    "tumbling": Query("1 minute", "1 minute", quantiles=(0.5, 1)),
    "full windows only": Query(*WINDOW, partial=False),
    "five digits": Query(*WINDOW, digits=5),
    "one digit": Query(*WINDOW, digits=1, quantiles=("0.000000001", 0.25)),
    "raw values": Query(*WINDOW, digits=None),
    "no guarantee": Query(*WINDOW, guarantee=False),
    "few-k always": Query(*WINDOW, few_k=FewK(always=True, fraction=0.2)),
    "paper": Query.paper(*WINDOW, few_k=FewK(fraction=0.2)),
    "windows counted in events": Query(300, 100),
    "windows counted in events, full ones only": Query(300, 100, partial=False, digits=4),
    "paper's windows counted in events": Query.paper(300, 100),
}
seeds = st.integers(0, 2**32)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """A few events are enough for several threads, and for several pieces of a stream."""
    monkeypatch.setattr(events_module, "_LEAST_PART", 16)
    monkeypatch.setattr(keyed_state, "_LEAST_ROWS", 1)
    monkeypatch.setattr(source, "_OF_STREAM", 100)


def shuffled(events: pa.Table, seed: int) -> pa.Table:
    return events.take(pa.array(np.random.default_rng(seed).permutation(events.num_rows)))


def numbered(events: pa.Table) -> pa.Table:
    """The events of each key numbered from 0 instead of their times."""
    seen: dict[str, int] = {}
    numbers = []
    for key in events["k"].to_pylist():
        numbers.append(seen.get(key, 0))
        seen[key] = numbers[-1] + 1
    return events.set_column(events.column_names.index("ts"), "ts", pa.array(numbers, pa.int64()))


def timed_events(seed: int, values: np.ndarray, keys: int, start: int, gap: float) -> pa.Table:
    """Values at random times, `gap` seconds apart on average, of random keys."""
    random = np.random.default_rng(seed)
    times = start + np.cumsum(random.exponential(gap, values.size))
    times = np.where(random.random(values.size) < 0.3, np.rint(times), times)
    names = [f"k{i}" for i in random.integers(0, keys, values.size)]
    return pa.table({"k": pa.array(names, pa.string()), "ts": instants((times * SECOND).astype(np.int64)), "v": values})


def reader(events: pa.Table, rows: int = 37) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(events.schema, events.to_batches(max_chunksize=rows))


def answers(events, query, by="k", **options) -> pa.Table:
    return aomg.quantiles(events, query, value="v", time="ts", by=by, **options)


@pytest.mark.parametrize("name", QUERIES)
def test_every_kind_of_query_answers_like_local_operators(name):
    query = QUERIES[name]
    events = events_of(7, 4000, 6, 20 * 60)
    events = numbered(events) if query.counted else events
    expected = expected_rows(query, events, ["k"])
    assert len(expected) > 20
    assert_same(rows_of(answers(shuffled(events, 1), query, threads=1), ["k"]), expected)
    assert_same(rows_of(answers(reader(shuffled(events, 2)), query, threads=2), ["k"]), expected)


@given(
    query=timed_queries(),
    values=streams(300),
    seed=seeds,
    keys=st.sampled_from([1, 3, 40]),
    start=st.sampled_from([0, -1000, 1_700_000_000, -(10**10)]),
    gap=st.sampled_from([0.01, 0.5, 5, 100, 10**5]),
    threads=st.integers(1, 3),
    ordered=st.booleans(),
    streamed=st.booleans(),
)
def test_any_query_over_any_events_answers_like_local_operators(
    query, values, seed, keys, start, gap, threads, ordered, streamed
):
    events = timed_events(seed, values, keys, start, gap)
    expected = expected_rows(query, events, ["k"]) if values.size else []
    events = events if ordered else shuffled(events, seed)
    table = answers(reader(events, 50) if streamed else events, query, threads=threads)
    assert_same(rows_of(table, ["k"]), expected)


@settings(max_examples=30)
@given(
    query=counted_queries(), values=streams(300), seed=seeds, keys=st.sampled_from([1, 3, 40]), streamed=st.booleans()
)
def test_any_windows_counted_in_events_answer_like_local_operators(query, values, seed, keys, streamed):
    events = numbered(timed_events(seed, values, keys, 0, 1))
    expected = expected_rows(query, events, ["k"])
    events = shuffled(events, seed)
    assert_same(rows_of(answers(reader(events) if streamed else events, query, threads=2), ["k"]), expected)


def test_rows_are_ordered_by_key_and_window_whatever_the_threads():
    events = shuffled(events_of(3, 5000, 50, 30 * 60), 4)
    query = QUERIES["default"]
    one = answers(events, query, threads=1)
    assert one.equals(answers(events, query, threads=2))
    assert one.equals(answers(reader(events), query, threads=3))
    rows = list(zip(one["k"].to_pylist(), [window["end"] for window in one["window"].to_pylist()], strict=True))
    assert rows == sorted(rows)
    assert len(set(rows)) == len(rows) > 500
