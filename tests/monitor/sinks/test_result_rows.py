"""Stored rows as JSON: column by column, and the same as row by row."""

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import NAMES, NOON, row, table

from aomg.monitor.sinks.result_rows import SCHEMA, methods_of, records, stored, with_current_methods
from aomg.times import time_text

NUMBERS = st.none() | st.floats()
ESTIMATE = st.fixed_dictionaries(
    {"name": st.sampled_from(["p50", "p99", "below_5"]), "value": NUMBERS, "low": NUMBERS, "high": NUMBERS,
     "method": st.none() | st.sampled_from(["band", "exact", "certified", "mean"])}
)  # fmt: skip
ROW = st.builds(
    row,
    key=st.tuples(st.none() | st.text(max_size=3)),
    end=st.integers(NOON, NOON + 3),
    query=st.sampled_from(["inbound", "outbound", "pairs", "unknown"]),
    estimates=st.none() | st.lists(ESTIMATE, max_size=3),
    min=NUMBERS,
    burst=st.none() | st.booleans(),
    labels=st.none() | st.lists(st.none() | st.text(max_size=2), max_size=2),
)


def finite(value):
    return value if value is not None and math.isfinite(value) else None


def by_hand(one: dict) -> dict:
    names, labels = one["label_names"], one["labels"]
    named = names and labels is not None and len(names) == len(labels)
    estimates = {}
    for part in one["estimates"] or ():
        numbers = {key: finite(part[key]) for key in ("value", "low", "high") if part[key] is not None}
        estimates[part["name"]] = numbers | ({"method": part["method"]} if part["method"] is not None else {})
    return {
        "batch": one["batch"],
        "query": one["query"],
        "labels": dict(zip(names, labels, strict=True)) if named else labels,
        "start": time_text(one["start"]),
        "end": time_text(one["end"]),
        "count": one["count"],
        "min": finite(one["min"]),
        "max": finite(one["max"]),
        "sub_windows": one["sub_windows"],
        "burst": one["burst"],
        "estimates": estimates,
    }


@given(st.lists(ROW, max_size=6))
def test_rows_are_told_with_names_and_without_what_json_has_not(rows):
    whole = stored(7, table(*rows), NAMES)
    plain = whole
    for name in ("start", "end"):
        plain = plain.set_column(plain.column_names.index(name), name, plain[name].cast("int64"))
    lines = list(records(whole))
    assert lines == [by_hand(one) for one in plain.to_pylist()]
    assert all(list(one) == list(by_hand(rest)) for one, rest in zip(lines, plain.to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("method", "low", "high", "read"),
    [
        ("exact", 1220.0, 1229.0, "certified"),
        ("exact", 1225.0, 1225.0, "exact"),
        ("certified", 1220.0, 1229.0, "certified"),
        ("band", 1225.0, 1225.0, "exact"),
        ("envelope", 1225.0, 1225.0, "exact"),
        ("band", 1220.0, 1229.0, "band"),
        ("mean", 1225.0, 1225.0, "mean"),
        ("sketch", None, None, "sketch"),
        ("exact", None, None, "exact"),
        (None, 0.5, 0.5, None),
        (None, 0.5, 0.6, None),
    ],
)
@pytest.mark.parametrize("encoded", [False, True])
def test_exact_is_read_only_where_the_ends_are_equal(method, low, high, read, encoded):
    words = pa.array([method, "band", None], pa.string())
    words = words.dictionary_encode() if encoded else words
    parts = [pa.array([low, 1.0, None], pa.float64()), pa.array([high, 2.0, None], pa.float64()), words]
    estimates = pa.StructArray.from_arrays(parts, ["low", "high", "method"])
    assert methods_of(estimates).to_pylist() == [read, "band", None]


@given(st.lists(ROW, max_size=6), st.integers(0, 6))
def test_todays_words_change_nothing_but_methods(rows, first):
    whole = stored(7, table(*rows), NAMES).slice(first)
    read = with_current_methods(whole)
    assert read.schema.equals(SCHEMA)
    read.validate(full=True)
    methods = []
    for before, after in zip(whole.to_pylist(), read.to_pylist(), strict=True):
        for old, new in zip(before["estimates"] or (), after["estimates"] or (), strict=True):
            methods.append(new["method"])
            if new["method"] == "exact" and None not in (old["low"], old["high"]):
                assert not old["low"] < old["high"]
            new["method"] = old["method"]
        assert repr(after) == repr(before)
    flat = whole["estimates"].combine_chunks().flatten()
    assert methods == methods_of(flat).to_pylist()
