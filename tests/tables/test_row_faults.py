"""Each refused row has its first reason, and is read again with all of its columns, in any layout of a file."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg.tables import parquet_reader
from aomg.tables.parquet_columns import FileColumn, Use
from aomg.tables.parquet_reader import FilePart, ParquetReader
from aomg.tables.row_faults import (
    FaultChecker,
    LongKey,
    NoText,
    NoTime,
    NoValue,
    NoWeight,
    RowFaults,
    UnreadableTime,
)

SCHEMA = pa.schema([("ts", pa.float64()), ("k", pa.string()), ("j", pa.binary()), ("v", pa.float64())])
SCHEMA = SCHEMA.append(pa.field("w", pa.int64())).append(pa.field("note", pa.string()))
COLUMNS = (
    FileColumn("k", pa.string(), "key0", Use.KEY),
    FileColumn("j", pa.binary(), "key1", Use.KEY),
    FileColumn("ts", pa.float64(), "time", Use.TIME),
    FileColumn("ts", pa.float64(), "presence", Use.PRESENCE),
    FileColumn("v", pa.float64(), "value0", Use.VALUE),
    FileColumn("w", pa.int64(), "weight0", Use.WEIGHT),
)
LONGEST = 4
LONG, GARBLED_K, GARBLED_J = LongKey(("k", "j"), LONGEST), NoText("k"), NoText("j")
FAULTS = RowFaults(
    (
        (NoTime("ts"), "no time"),
        (UnreadableTime("ts"), "bad time"),
        (GARBLED_K, "k garbled"),
        (GARBLED_J, "j garbled"),
        (LONG, "long"),
        (NoValue(("v",)), "no value"),
        (NoWeight("w"), "no weight"),
    ),
    {"a": (), "b": (GARBLED_K,), "c": (GARBLED_K, GARBLED_J, LONG)},
    SCHEMA,
)
TEXTS = st.sampled_from([None, b"", b"x", "äöü".encode(), b"abcd", b"\xff", b"\xed\xa0\x80", b"ab"])
NUMBERS = st.sampled_from([None, 1.0, -0.0, math.nan, math.inf, 1e300])
ROWS = st.tuples(NUMBERS, TEXTS, TEXTS, NUMBERS, st.sampled_from([None, -1, 0, 1, 2**31]))


def is_text(data: bytes | None) -> bool:
    return data is None or "\ufffd" not in data.decode("utf-8", "replace")


def reason_of(row: tuple) -> str | None:
    ts, k, j, v, w = row
    rules = {
        "no time": ts is None,
        "bad time": ts is not None and not abs(ts) < 2**63,
        "k garbled": not is_text(k),
        "j garbled": not is_text(j),
        "long": is_text(k) and is_text(j) and sum(len((text or b"").decode()) for text in (k, j)) > LONGEST,
        "no value": v is None or not math.isfinite(v),
        "no weight": w is None or not 0 <= w < 2**31,
    }
    return next((reason for reason, holds in rules.items() if holds), None)


def excluded(row: tuple) -> int:
    _, k, j, _, _ = row
    long = is_text(k) and is_text(j) and sum(len((text or b"").decode()) for text in (k, j)) > LONGEST
    return 2 * (not is_text(k)) + 4 * (not is_text(k) or not is_text(j) or long)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("faults") / "events.parquet"


@settings(max_examples=60)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=30),
    group=st.integers(1, 12),
    piece=st.integers(1, 9),
    most=st.integers(0, 4),
    dictionary=st.booleans(),
)
def test_the_first_reason_counts_and_rows_are_read_again(file, rows, group, piece, most, dictionary):
    ts, k, j, v, w = (list(column) for column in zip(*rows, strict=True))
    notes = [f"note {number}" for number in range(len(rows))]
    arrays = [pa.array(ts, from_pandas=False), pa.array(k, pa.binary()).view(pa.string()), pa.array(j, pa.binary())]
    arrays += [pa.array(v, pa.float64(), from_pandas=False), pa.array(w, pa.int64()), pa.array(notes)]
    pq.write_table(pa.table(arrays, schema=SCHEMA), file, row_group_size=group, use_dictionary=dictionary)
    reader = ParquetReader(COLUMNS)
    checker = FaultChecker(FAULTS, reader, ("a", "b", "c"), most, 1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_reader, "PIECE", piece)
        part = FilePart(f"file:{file}", file.stat().st_size, address="address")
        tables = list(reader.tables([part], checker))
    bits = [
        bit
        for table in tables
        for bit in (table["excluded"].to_pylist() if "excluded" in table.column_names else [0] * table.num_rows)
    ]
    assert bits == list(map(excluded, rows))
    assert all("presence" not in table.column_names for table in tables)
    expected: dict[str, list[str]] = {}
    for row, note in zip(rows, notes, strict=True):
        if (reason := reason_of(row)) is not None:
            expected.setdefault(reason, []).append(note)
    collected: dict[str, list[str]] = {}
    for refused in checker.collected:
        assert refused.address == "address"
        for reason, note in zip(refused.reasons, refused.rows.field("note").to_pylist(), strict=True):
            collected.setdefault(reason, []).append(note)
    assert collected == {reason: named[:most] for reason, named in expected.items() if most}
    assert dict(checker.uncollected()) == {
        reason: len(named) - most for reason, named in expected.items() if len(named) > most
    }
    assert checker.events == len(rows)


def test_a_row_that_is_read_again_has_the_columns_of_all_files_and_short_texts(file):
    table = pa.table({"v": [1.0, math.nan], "note": ["n" * 50, "ä" * 50], "other": [1, 2]})
    pq.write_table(table.set_column(0, "V", table["v"]), file)
    reader = ParquetReader(COLUMNS)
    checker = FaultChecker(FAULTS, reader, ("a", "b", "c"), 10, 9)
    day = {"k": pa.scalar("of a folder")}
    list(reader.tables([FilePart(str(file), file.stat().st_size, constants=day)], checker))
    (refused,) = checker.collected
    assert refused.reasons == ["no time", "no time"]
    assert refused.rows.type == pa.struct(list(SCHEMA))
    first, second = refused.rows.field("note").view(pa.binary()).to_pylist()
    assert (
        first == b"n" * 9 and second == "ä".encode() * 4 + b"\xc3"
    )  # Spark cuts the text of the row between characters
    assert refused.rows.field("k").to_pylist() == ["of a fold"] * 2
    assert refused.rows.field("v").to_pylist()[0] == 1.0 and refused.rows.field("w").null_count == 2


def test_a_column_of_another_type_is_left_out_of_a_row_and_parts_are_kept(file):
    nested = pa.array([{"b": [1, None], "A": "x"}, None])
    pq.write_table(pa.table({"w": ["text", "text"], "n": nested, "m": [[("k", 1)], None]},
                            schema=pa.schema([("w", pa.string()), ("n", nested.type),
                                              ("m", pa.map_(pa.string(), pa.int32()))])), file)  # fmt: skip
    kind = pa.struct([("a", pa.string()), ("b", pa.list_(pa.int64())), ("c", pa.float64())])
    schema = pa.schema([("w", pa.int64()), ("n", kind), ("m", pa.map_(pa.string(), pa.int64()))])
    reader = ParquetReader((FileColumn("ts", pa.float64(), "presence", Use.PRESENCE),))
    checker = FaultChecker(RowFaults(((NoTime("ts"), "no time"),), {}, schema), reader, (), 10, 9)
    list(reader.tables([FilePart(str(file), file.stat().st_size)], checker))
    (refused,) = checker.collected
    assert refused.rows.to_pylist() == [
        {"w": None, "n": {"a": "x", "b": [1, None], "c": None}, "m": [("k", 1)]},
        {"w": None, "n": None, "m": None},
    ]
