"""Stored summaries have a checksum, and are compared with their rows; those of earlier versions have none."""

from zlib import crc32

import pyarrow as pa
import pytest
from local import events_of

import aomg
from aomg import InputError, Query, StateError
from aomg.tables.checksums import COLUMNS, verified

QUERY = Query("3 minutes", "1 minute", thresholds=(500.0,))
EVENTS = events_of(seed=3, size=900, keys=2, seconds=240)
STORED = aomg.summaries(EVENTS, QUERY, value="v", time="ts", by="k")


def replaced(name: str, values: list, table: pa.Table = STORED) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(name), pa.array(values, table.schema.field(name).type))


def without_checksums(table: pa.Table) -> pa.Table:
    """As earlier versions stored it."""
    return replaced("summary", [summary[:-4] for summary in table["summary"].to_pylist()], table)


def test_a_stored_summary_ends_in_the_checksum_of_its_query_and_its_bytes():
    for row in STORED.to_pylist():
        summary, stored = row["summary"][:-4], row["summary"][-4:]
        assert len(summary) % 8 == 0
        assert stored == crc32(row["query"].encode() + summary).to_bytes(4, "little")


def test_summaries_without_a_checksum_answer_the_same_and_are_replays_of_those_with_one():
    expected = aomg.windows(STORED, QUERY)
    old = without_checksums(STORED)
    assert aomg.windows(old, QUERY).equals(expected)
    assert aomg.windows(pa.concat_tables([STORED, old]), QUERY).equals(expected)
    assert aomg.windows(pa.concat_tables([old.slice(0, 3), STORED]), QUERY).equals(expected)


def wrong_cells() -> dict[str, tuple[str, pa.Table]]:
    """A wrong value in the third row of each column, and the column that the error names."""
    rows = STORED.to_pylist()
    cells: dict[str, tuple[str, pa.Table]] = {}
    for name, change in {"count": lambda n: n ^ 1, "min": lambda x: -x, "max": lambda x: 2 * x}.items():
        values = [row[name] for row in rows]
        values[2] = change(values[2])
        cells[name] = name, replaced(name, values)
    for end in ("start", "end"):
        for shift in (1, QUERY.period):
            spans = [{part: int(time.timestamp()) * 10**6 for part, time in row["sub_window"].items()} for row in rows]
            spans[2][end] += shift
            columns = [pa.array([span[part] for span in spans]).cast(pa.timestamp("us", "UTC")) for part in spans[0]]
            span = pa.StructArray.from_arrays(columns, names=["start", "end"])
            cells[f"{end} + {shift}"] = "sub_window", STORED.set_column(1, "sub_window", span)
    return cells


@pytest.mark.parametrize("name", wrong_cells())
@pytest.mark.parametrize("old", [True, False])
def test_a_summary_that_does_not_agree_with_its_row_is_refused(name, old):
    column, table = wrong_cells()[name]
    table = without_checksums(table) if old else table
    with pytest.raises(StateError, match=f"of k='pod-000' is damaged: it does not agree with the column '{column}'; "):
        aomg.windows(table, QUERY)


def test_the_error_names_key_and_sub_window_and_says_what_to_do():
    summaries = STORED["summary"].to_pylist()
    summaries[1] = summaries[1][:-1] + b"!"
    start, end = (time.strftime("%Y-%m-%dT%H:%M:%SZ") for time in STORED["sub_window"][1].as_py().values())
    with pytest.raises(StateError) as error:
        aomg.windows(replaced("summary", summaries), QUERY)
    assert str(error.value) == (
        f"the stored summary of sub-window {start} to {end} of k='pod-000' is damaged: its checksum is wrong; remove "
        "that row or file, or write it again from the events"
    )
    with pytest.raises(StateError, match="too short"):
        aomg.windows(replaced("summary", [b"12345678"] * STORED.num_rows), QUERY)


def test_windows_counted_in_events_are_verified_too():
    query = Query(size=200, period=100)
    events = EVENTS.append_column("n", pa.array(range(EVENTS.num_rows)))
    stored = aomg.summaries(events, query, value="v", time="n")
    counts = stored["count"].to_pylist()
    assert aomg.windows(stored, query).num_rows == 9
    with pytest.raises(StateError, match="summary of sub-window 0 to 100 is damaged: it does not agree"):
        aomg.windows(replaced("count", [counts[0] + 1, *counts[1:]], stored), query)


def test_columns_of_other_types_and_nulls_are_refused_with_their_names():
    for name in ("count", "min", "max", "summary", "query"):
        nulls = STORED.set_column(
            STORED.schema.get_field_index(name), name, pa.nulls(STORED.num_rows, STORED.schema.field(name).type)
        )
        with pytest.raises(InputError, match="null sub_window, count"):
            aomg.windows(nulls, QUERY)
    texts = STORED.set_column(STORED.schema.get_field_index("count"), "count", pa.array(["x"] * STORED.num_rows))
    with pytest.raises(InputError, match="column 'count' of the summaries is string, not int64"):
        aomg.windows(texts, QUERY)


def test_no_summaries_at_all_are_sound():
    assert aomg.windows(STORED.slice(0, 0), QUERY).num_rows == 0
    kinds = [*[pa.int64()] * 3, *[pa.float64()] * 2, pa.binary(), pa.string()]
    numbers, offsets, data = verified(pa.schema(list(zip(COLUMNS, kinds, strict=True))).empty_table(), {})
    assert numbers.size == data.size == 0 and offsets.tolist() == [0]
