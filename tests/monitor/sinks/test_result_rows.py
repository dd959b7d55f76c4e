"""Stored rows as JSON: column by column, and the same as row by row."""

import math

from hypothesis import given
from hypothesis import strategies as st
from samples import NAMES, NOON, row, table

from aomg.monitor.sinks.result_rows import records, stored
from aomg.times import time_text

NUMBERS = st.none() | st.floats()
ESTIMATE = st.fixed_dictionaries(
    {"name": st.sampled_from(["p50", "p99", "below_5"]), "value": NUMBERS, "low": NUMBERS, "high": NUMBERS,
     "method": st.none() | st.sampled_from(["band", "exact"])}
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
