"""Summaries are stored and asked later, without Spark: the same windows, longer ones, other quantiles, fewer keys."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from arbitrary import streams, timed_queries
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from local import NOON, SECOND, assert_same, events_of, rows_of, slices

import aomg
from aomg import InputError, Query, StateError
from aomg.core.keyed import KeyedWindows
from aomg.tables import keyed_state, source

QUERY = Query("5 minutes", "1 minute", thresholds=(500.0,))
COLUMNS = {"value": "v", "time": "ts", "by": ["site", "k"]}


def with_site(events: pa.Table) -> pa.Table:
    sites = ["north" if key < "pod-002" else "south" for key in events["k"].to_pylist()]
    return events.append_column("site", pa.array(sites))


EVENTS = with_site(events_of(seed=7, size=6_000, keys=5, seconds=900))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two files, the second appended a while after the first."""
    folder = tmp_path_factory.mktemp("stored")
    half = pc.less(EVENTS["ts"].cast(pa.int64()), (NOON + 400 * SECOND) // 60_000_000 * 60_000_000)
    for number, part in enumerate((EVENTS.filter(half), EVENTS.filter(pc.invert(half)))):
        pq.write_table(aomg.summaries(part, QUERY, **COLUMNS), folder / f"{number}.parquet")
    return pq.read_table(folder)


def assert_same_tables(table: pa.Table, expected: pa.Table, by=("site", "k")) -> None:
    assert_same(rows_of(table, by), rows_of(expected, by))


def test_windows_from_summaries_are_those_from_the_events(stored):
    expected = aomg.quantiles(EVENTS, QUERY, **COLUMNS)
    assert expected.num_rows > 50
    assert aomg.windows(stored, QUERY).schema == expected.schema
    for threads in (1, 2):
        assert_same_tables(aomg.windows(stored, QUERY, threads=threads), expected)
    longer = QUERY.replace(size="12 minutes")
    assert_same_tables(aomg.windows(stored, longer), aomg.quantiles(EVENTS, longer, **COLUMNS))


@settings(max_examples=30)
@given(query=timed_queries(), values=streams(200), seed=st.integers(0, 2**32), streamed=st.booleans())
def test_summaries_of_any_query_answer_like_the_events_themselves(query, values, seed, streamed):
    assume(values.size)
    random = np.random.default_rng(seed)
    times = NOON + random.integers(0, 20 * query.period, values.size)
    events = pa.table({"k": random.integers(0, 4, values.size), "ts": pa.array(times).cast(pa.timestamp("us"))})
    events = events.append_column("v", pa.array(values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_OF_STREAM", 40)
        patch.setattr(keyed_state, "_LEAST_ROWS", 1)
        data = pa.RecordBatchReader.from_batches(events.schema, events.to_batches(20)) if streamed else events
        written = aomg.summaries(data, query, value="v", time="ts", by="k", threads=2)
    expected = aomg.quantiles(events, query, value="v", time="ts", by="k")
    assert_same(rows_of(aomg.windows(written, query), ["k"]), rows_of(expected, ["k"]))
    windows = KeyedWindows(query)
    for summary in written["summary"].to_pylist():
        windows.check(summary[:-4])  # without its checksum
    assert pc.sum(written["count"]).as_py() == values.size


@pytest.mark.parametrize("kind", ["pandas", "polars", "duckdb", "reader"])
def test_summaries_may_come_from_tables_of_every_kind(stored, kind):
    expected = aomg.windows(stored, QUERY)
    if kind == "pandas":
        table = stored.to_pandas()
    elif kind == "polars":
        table = pytest.importorskip("polars").from_arrow(stored)
    elif kind == "duckdb":
        table = pytest.importorskip("duckdb").connect().from_arrow(stored)
    else:
        table = pa.RecordBatchReader.from_batches(stored.schema, stored.to_batches(7))
    assert_same_tables(aomg.windows(table, QUERY), expected)


def test_a_summary_that_was_stored_twice_counts_once_and_another_one_is_an_error(stored):
    expected = aomg.quantiles(EVENTS, QUERY, **COLUMNS)
    assert_same_tables(aomg.windows(pa.concat_tables([stored, stored]), QUERY), expected)
    other = aomg.summaries(EVENTS.slice(0, 50), QUERY, **COLUMNS)
    with pytest.raises(StateError, match="two different summaries"):
        aomg.windows(pa.concat_tables([stored, other]), QUERY)


def test_a_roll_up_with_other_quantiles_covers_the_answers_from_the_events(stored):
    query = QUERY.replace(size="10 minutes", quantiles=(0.5, 0.95, 0.99))
    rolled_up = aomg.windows(stored, query, by="site")
    exact = aomg.quantiles(EVENTS, query, value="v", time="ts", by="site")
    assert rolled_up.num_rows == exact.num_rows > 20
    fixed = ["site", "window", "count", "min", "max", "below_500"]
    assert rolled_up.select(fixed).equals(exact.select(fixed))
    for name in ("p50", "p95", "p99"):
        for mine, theirs in zip(rolled_up[name].to_pylist(), exact[name].to_pylist(), strict=True):
            assert mine["low"] <= theirs["high"]
            assert mine["high"] >= theirs["low"]
    everything = aomg.windows(stored, QUERY, by=[])
    assert everything.column_names[0] == "window"
    assert everything["count"].to_pylist() == aomg.quantiles(EVENTS, QUERY, value="v", time="ts")["count"].to_pylist()


def test_what_are_no_summaries_is_refused(stored):
    with pytest.raises(InputError, match="no column 'sub_window', so it does not contain summaries; write them with"):
        aomg.windows(EVENTS, QUERY)
    with pytest.raises(InputError, match="no key column 'rack'; their key columns are site, k"):
        aomg.windows(stored, QUERY, by=["rack"])
    with pytest.raises(InputError, match="names a column twice"):
        aomg.windows(stored, QUERY, by=["k", "k"])
    with pytest.raises(InputError, match="the summaries are of windows in time, the query counts events; use a query"):
        aomg.windows(stored, Query(100, 10))
    with pytest.raises(StateError, match="the summaries have period '1m', the query asks for '2m'"):
        aomg.windows(stored, Query("10 minutes", "2 minutes"))
    with pytest.raises(InputError, match=r"'sub_window' is string, but .* a struct of start and end"):
        aomg.windows(stored.set_column(2, "sub_window", pa.array(["x"] * stored.num_rows)), QUERY)
    with pytest.raises(InputError, match="null sub_window, count, min, max, summary or query"):
        aomg.windows(stored.set_column(6, "summary", pa.nulls(stored.num_rows, pa.binary())), QUERY)
    with pytest.raises(InputError, match=r"second argument must be an aomg\.Query"):
        aomg.windows(stored, "5 minutes")


def test_summaries_of_counted_windows_are_refused_for_windows_in_time():
    events = pa.table({"n": range(20), "v": range(20)})
    stored = aomg.summaries(events, Query(20, 10), value="v", time="n")
    with pytest.raises(
        InputError, match="the summaries are of windows counted in events, the query has windows in time"
    ):
        aomg.windows(stored, QUERY)


def test_pieces_of_a_table_give_the_same_summaries(monkeypatch):
    whole = aomg.summaries(EVENTS, QUERY, **COLUMNS)
    assert whole["sub_window"].combine_chunks().field("start").type == pa.timestamp("us", tz="UTC")
    monkeypatch.setattr(source, "_IN_MEMORY", 700)
    assert aomg.summaries(pa.concat_tables(slices(EVENTS, 3)), QUERY, **COLUMNS).equals(whole)
