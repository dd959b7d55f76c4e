"""Rows of a micro-batch become columns: all of them, in their windows, whatever order Spark gave them in."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import MINUTE, queries, query

from aomg.errors import InputError
from aomg.monitor.rules.rows import windows_of

ESTIMATE = pa.struct(
    [("name", pa.string()), *((part, pa.float64()) for part in ("value", "low", "high")), ("method", pa.string())]
)
SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("start", pa.timestamp("us", "UTC")),
        ("end", pa.timestamp("us", "UTC")),
        ("count", pa.int64()),
        ("min", pa.float64()),
        ("max", pa.float64()),
        ("sub_windows", pa.int32()),
        ("burst", pa.bool_()),
        ("estimates", pa.list_(ESTIMATE)),
    ]
)
QUERIES = queries(query(labels=("cluster", "server")), query("load", labels=(), thresholds=(500,)))


def row(end, labels, count=7, name="inbound", **estimates):
    parts = [
        {"name": part, "value": value, "low": value - 1, "high": value + 1, "method": "band"}
        for part, value in (estimates or {"p50": 100.0 + count, "p99": 200.0 + count}).items()
    ]
    return {
        "query": name,
        "labels": list(labels),
        "start": (end - 10) * MINUTE,
        "end": end * MINUTE,
        "count": count,
        "min": float(count) / 2,
        "max": float(count) * 2,
        "sub_windows": 3,
        "burst": count % 2 == 1,
        "estimates": parts,
    }


def table(records):
    return pa.Table.from_pylist(records, SCHEMA)


def plain(windows):
    """Everything in Python's own types, to be compared."""
    return {
        name: [
            (
                part.query,
                part.start,
                part.end,
                part.labels,
                part.count.tolist(),
                part.minimum.tolist(),
                part.maximum.tolist(),
                part.sub_windows.tolist(),
                part.burst.tolist(),
                {key: estimates.tolist() for key, estimates in sorted(part.estimates.items())},
                dict(sorted(part.methods.items())),
            )
            for part in parts
        ]
        for name, parts in windows.items()
    }


def test_every_row_is_found_in_its_window_with_all_it_holds():
    by_query = windows_of(
        table(
            [
                row(12, ["east", "b"], 4),
                row(11, ["west", "a"], 1),
                row(11, ["east", "c"], 2),
                row(11, [], 9, "load", p99=5.0, below_500=0.25),
            ]
        ),
        QUERIES,
    )
    first, second = by_query["inbound"]
    assert (first.start, first.end, second.end) == (1 * MINUTE, 11 * MINUTE, 12 * MINUTE)
    assert first.labels == (("east", "c"), ("west", "a"))
    assert first.count.tolist() == [2, 1] and first.burst.tolist() == [False, True]
    assert first.minimum.tolist() == [1.0, 0.5] and first.maximum.tolist() == [4.0, 2.0]
    assert first.estimates["p99"].tolist() == [[202.0, 201.0, 203.0], [201.0, 200.0, 202.0]]
    assert first.methods["p99"] == ["band", "band"] and first.sub_windows.tolist() == [3, 3]
    assert second.labels == (("east", "b"),)
    (load,) = by_query["load"]
    assert load.labels == ((),) and load.estimates["below_500"].tolist() == [[0.25, -0.75, 1.25]]


def test_times_are_microseconds_in_utc_whatever_zone_the_table_names():
    records = table([row(11, ["east", "a"])])
    end = int(datetime(1970, 1, 1, 0, 11, tzinfo=UTC).timestamp()) * 1_000_000
    elsewhere = records.set_column(3, "end", records["end"].cast(pa.timestamp("us", "Asia/Tokyo")))
    for given_as in (records, elsewhere):
        assert windows_of(given_as, QUERIES)["inbound"][0].end == end


keys = st.tuples(st.sampled_from([None, "", "a", "b", "é", "aa"]), st.sampled_from([None, "1", "10", "2"]))


@given(st.lists(st.tuples(st.integers(11, 13), keys), unique=True, max_size=30), st.randoms(), st.integers(1, 5))
def test_the_order_of_rows_their_chunks_and_the_order_of_estimates_change_nothing(places, random, chunks):
    records = [row(end, key, count=index + 1) for index, (end, key) in enumerate(places)]
    shuffled = [
        {**part, "estimates": random.sample(part["estimates"], 2)} for part in random.sample(records, len(records))
    ]
    pieces = pa.concat_tables([table(shuffled[index::chunks]) for index in range(chunks)])
    by_query = windows_of(pieces, QUERIES)
    assert plain(by_query) == plain(windows_of(table(records), QUERIES))
    seen = [(part.end // MINUTE, key) for part in by_query["inbound"] for key in part.labels]
    assert sorted(seen, key=repr) == sorted(places, key=repr)
    for part in by_query["inbound"]:
        assert list(part.labels) == sorted(
            part.labels, key=lambda key: [(text is not None, text or "") for text in key]
        )
        for index, key in enumerate(part.labels):
            count = places.index((part.end // MINUTE, key)) + 1
            assert part.count[index] == count and part.estimates["p99"][index].tolist() == [
                200 + count,
                199 + count,
                201 + count,
            ]


def test_a_row_without_an_estimate_has_no_bounds_there():
    window = windows_of(table([row(11, ["a", "1"], p50=1.0), row(11, ["a", "2"], p99=2.0)]), QUERIES)["inbound"][0]
    assert np.isnan(window.estimates["p99"][0]).all() and window.methods["p99"] == [None, "band"]
    interval = window.interval("p99")
    assert (interval.low[0], interval.high[0]) == (-np.inf, np.inf)
    assert (interval.low[1], interval.value[1], interval.high[1]) == (1.0, 2.0, 3.0)


def test_rows_of_refused_events_belong_to_no_query_and_are_left_out():
    refused = {**row(11, ["reason", "text"], name=""), "start": None, "end": None, "estimates": None}
    assert plain(windows_of(table([refused]), QUERIES)) == {"inbound": [], "load": []}


@pytest.mark.parametrize(
    "records, problem",
    [
        ([row(11, ["a", "1"], name="inbuond")], "the query 'inbuond'"),
        ([row(11, ["a"])], "do not have the 2 labels cluster, server"),
        ([row(11, ["a", None]), row(11, ["a", None])], "have the same labels and window"),
    ],
)
def test_rows_that_cannot_be_of_this_configuration_are_refused(records, problem):
    with pytest.raises(InputError) as refused:
        windows_of(table(records), QUERIES)
    assert problem in str(refused.value)


def test_null_and_empty_labels_are_different_keys():
    window = windows_of(table([row(11, ["a", ""]), row(11, ["a", None])]), QUERIES)["inbound"][0]
    assert window.labels == (("a", None), ("a", ""))
