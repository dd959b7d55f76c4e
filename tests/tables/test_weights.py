"""Rows with weights: many keys give what an operator for each key gives, and every row is accounted for."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aomg
from aomg import InputError, KeyedOperator, Operator, Query
from aomg.result import METHODS

MINUTE = 60_000_000
QUERY = Query("3 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(100.0,), lateness="1 hour")
QUERIES = [pytest.param(QUERY, id="three digits"), pytest.param(QUERY.replace(digits=5), id="five digits")]
COLUMNS = {"value": "v", "time": "t", "by": "k", "weight": "w"}


def rows_with(weights):
    """Lists of (key, time, value, weight)."""
    row = (st.sampled_from("abc"), st.integers(0, 6 * MINUTE), st.floats(-1e6, 1e6, allow_subnormal=False), weights)
    return st.lists(st.tuples(*row), min_size=1, max_size=80)


def table_of(rows):
    keys, times, values, weights = zip(*rows, strict=True)
    return pa.table(
        {
            "k": list(keys),
            "t": pa.array(times, pa.timestamp("us")),
            "v": pa.array(values, pa.float64()),
            "w": pa.array(weights, pa.int64()),
        }
    )


def expected_rows(query, events):
    """Key, end, count and estimates of an operator for each key, up to the latest event of all keys."""
    latest = max(events["t"].cast(pa.int64()).to_pylist())
    rows = []
    for key in sorted(set(events["k"].to_pylist())):
        own = events.filter(pa.compute.equal(events["k"], key))
        operator = Operator(query)
        results = operator.push(own["v"], own["t"], own["w"])
        results += operator.advance(np.datetime64(latest + 1, "us"))  # the latest event may begin a sub-window
        for result in results + operator.finish():
            share = result.below(100.0)
            estimates = [(e.value, e.low, e.high, e.method) for e in (result[0.5], result[0.99])]
            rows.append((key, result.end.item(), result.count, *estimates, (share.value, share.low, share.high)))
    return rows


def rows_of(table):
    return [
        (
            row["k"],
            row["window"]["end"].replace(tzinfo=None),
            row["count"],
            *(tuple(row[name].values()) for name in ("p50", "p99", "below_100")),
        )
        for row in table.to_pylist()
    ]


@pytest.mark.parametrize("query", QUERIES)
@settings(max_examples=25)
@given(data=st.data())
def test_rows_with_weights_give_what_operators_give(query, data):
    # sums beyond 32 bits for one query only: each kind of query compiles its loops for them
    large = st.just(2**31 - 1) if query is QUERY else st.nothing()
    rows = data.draw(rows_with(st.one_of(st.integers(0, 5), large)))
    events = table_of(rows)
    expected = expected_rows(query, events)
    assert {row[3][3] for row in expected} <= set(METHODS)
    assert rows_of(aomg.quantiles(events, query, **COLUMNS, threads=2)) == expected
    order = data.draw(st.permutations(range(len(rows))))
    cut = data.draw(st.integers(0, len(rows)))
    shuffled = events.take(pa.array(order, pa.int64()))
    operator = KeyedOperator(query, **COLUMNS, threads=1)
    tables = [operator.push(shuffled.slice(0, cut))]
    operator = KeyedOperator.load(query, operator.save(), threads=1)
    tables += [operator.push(shuffled.slice(cut)), operator.finish()]
    assert (
        sorted(rows_of(pa.concat_tables(table for table in tables if table.num_rows or table is tables[-1])))
        == expected
    )
    counts = operator.accounts
    assert (counts.came, counts.used, counts.late, counts.refused, counts.open) == (len(rows), len(rows), 0, 0, 0)


def test_a_stream_of_batches_gives_what_a_table_gives():
    random = np.random.default_rng(4)
    size = 20_000
    events = pa.table(
        {
            "k": random.integers(0, 7, size),
            "t": pa.array(random.integers(0, 10 * MINUTE, size), pa.timestamp("us")),
            "v": random.lognormal(6, 1, size),
            "w": random.integers(0, 2**31, size),
        }
    )
    whole = aomg.quantiles(events, QUERY, **COLUMNS)
    reader = pa.RecordBatchReader.from_batches(events.schema, events.to_batches(1_000))
    assert aomg.quantiles(reader, QUERY, **COLUMNS).equals(whole)
    stored = aomg.summaries(events, QUERY, **COLUMNS)
    assert aomg.windows(stored, QUERY).equals(whole)
    assert sum(stored["count"].to_pylist()) == int(np.asarray(events["w"]).sum())


def test_rows_that_cannot_be_used_are_counted_once():
    events = pa.table(
        {
            "k": ["a"] * 6,
            "t": pa.array([0, 0, 0, 0, None, 3 * MINUTE], pa.timestamp("us")),
            "v": [1.0, None, 3.0, 4.0, 5.0, 6.0],
            "w": pa.array([2.0, -1.0, 0.5, None, 1.0, 0.0]),
        }
    )
    operator = KeyedOperator(QUERY.replace(lateness="0 seconds"), **COLUMNS)
    table = operator.push(events)
    assert table["count"].to_pylist() == [2, 2, 2], "the row of weight 0 moved time"
    counts = operator.accounts
    assert (counts.came, counts.refused, counts.used, counts.late, counts.open) == (6, 4, 2, 0, 0)


def test_what_cannot_be_a_weight_is_refused():
    events = table_of([("a", 0, 1.0, 1)])
    with pytest.raises(InputError, match="there is no column 'ww'"):
        aomg.quantiles(events, QUERY, value="v", time="t", weight="ww")
    with pytest.raises(InputError, match="column 'k' is string; weights must be whole numbers"):
        aomg.quantiles(events, QUERY, value="v", time="t", weight="k")
    with pytest.raises(InputError, match="weight must be the name of a column"):
        aomg.quantiles(events, QUERY, value="v", time="t", weight=3)
    with pytest.raises(InputError, match="guarantee"):
        KeyedOperator(QUERY.replace(guarantee=False), value="v", time="t", weight="w")
