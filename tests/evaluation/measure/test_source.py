"""A file of one's own: what is read of it, and what is said where it cannot be evaluated."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg import streams
from aomg.evaluation.measure.source import FEWEST, DataError, ValueSource, of_file, of_stream

MANY = 3_000


def parquet(folder, **columns):
    path = folder / "data.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def message(path, column):
    with pytest.raises(DataError) as caught:
        of_file(path, column)
    return str(caught.value)


reals = st.one_of(st.none(), st.floats(), st.sampled_from([math.inf, -math.inf, math.nan, 1.5]))
longs = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))


@given(content=st.one_of(st.lists(reals, max_size=50), st.lists(longs, max_size=50)))
def test_what_is_null_or_not_finite_is_dropped_and_counted(tmp_path_factory, content):
    whole = all(value is None or isinstance(value, int) for value in content)
    padding = list(range(FEWEST))
    column = pa.array([*content, *padding], pa.int64() if whole else pa.float64())
    source = of_file(parquet(tmp_path_factory.mktemp("any"), value=column), "value")
    kept = [value for value in content if value is not None and math.isfinite(value)]
    assert source.values(10**9).tolist() == [*kept, *padding]
    assert source.values(1).dtype == (np.int64 if whole else np.float64)
    assert source.size == len(kept) + FEWEST
    assert source.dropped == len(content) - len(kept)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "json", "CSV"])
def test_the_kinds_of_files_hold_the_same_values(tmp_path, suffix):
    values = streams.pingmesh().take(MANY)
    table = pa.table({"other": ["x"] * MANY, "rtt": values})
    path = tmp_path / f"probes.{suffix}"
    if suffix == "parquet":
        pq.write_table(table, path)
    elif suffix.lower() == "csv":
        pa.csv.write_csv(table, path)
    else:
        path.write_text("".join(f'{{"other": "x", "rtt": {value}}}\n' for value in values))
    source = of_file(path, "rtt")
    assert (source.values(MANY) == values).all()
    assert (source.take(10, 100) == values[100:110]).all()
    assert (source.name, source.title) == ("probes", f"probes.{suffix}, rtt")


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(12, 3)], ids=str
)
def test_every_kind_of_number_is_taken(tmp_path, kind):
    content = [Decimal(i % 100) if pa.types.is_decimal(kind) else i % 100 for i in range(MANY)]
    if kind == pa.float16():
        content = np.array(content, np.float16)
    source = of_file(parquet(tmp_path, value=pa.array(content, kind)), "value")
    assert source.values(MANY).tolist() == [i % 100 for i in range(MANY)]


def test_unsigned_longs_beyond_int64_are_taken_as_doubles(tmp_path):
    source = of_file(parquet(tmp_path, value=pa.array([2**64 - 1] * MANY, pa.uint64())), "value")
    assert source.values(1).tolist() == [2.0**64]


def test_two_files_of_one_name_are_told_apart(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = of_file(parquet(tmp_path / "a", value=np.arange(MANY)), "value")
    other = of_file(parquet(tmp_path / "b", value=np.arange(MANY) + 1), "value")
    assert one.name == other.name
    assert one.identity != other.identity


def test_a_column_must_be_named_and_the_error_lists_them(tmp_path):
    path = parquet(tmp_path, rtt=np.arange(MANY), host=["a"] * MANY, cpu=np.ones(MANY))
    assert message(path, None) == (
        "add --value COLUMN, the column of data.parquet to evaluate; its columns of numbers are rtt, cpu"
    )


def test_a_wrong_column_is_answered_with_the_right_ones(tmp_path):
    path = parquet(tmp_path, rtt=np.arange(MANY), host=["a"] * MANY)
    assert message(path, "latency") == "data.parquet has no column 'latency'; its columns of numbers are rtt"


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["a"] * MANY, "string"),
        ([True] * MANY, "bool"),
        (np.full(MANY, "2026-01-01", "datetime64[us]"), "timestamp"),
        ([[1]] * MANY, "list"),
        (pa.nulls(MANY), "null"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_column_of_another_type_is_refused_with_its_type(tmp_path, column, kind):
    path = parquet(tmp_path, value=column, rtt=np.arange(MANY))
    text = message(path, "value")
    assert f"holds {kind}" in text
    assert text.endswith("its columns of numbers are rtt")


def test_one_word_among_the_numbers_of_a_csv_is_told(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("value\n" + "1\n" * MANY + "n/k\n")
    assert "holds string, not numbers; it has no column of numbers" in message(path, "value")


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("value,value\n" + "1,2\n" * MANY)
    assert "2 columns named 'value'" in message(path, "value")


@pytest.mark.parametrize(
    ("content", "kept"),
    [([1.0] * (FEWEST - 1), FEWEST - 1), ([math.nan] * MANY, 0), ([math.inf, *[1.0] * (FEWEST - 1)], FEWEST - 1)],
    ids=["short", "NaN", "infinite"],
)
def test_too_few_finite_values_are_told_with_the_number_that_is_needed(tmp_path, content, kept):
    text = message(parquet(tmp_path, value=content), "value")
    assert f"has {kept:,} finite values in 'value'; at least {FEWEST:,} are needed" in text


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("content", [b"", b"PAR1 this is no file of the kind \xff\xfe", b'{"value": [1'])
def test_an_empty_or_corrupt_file_gets_one_line(tmp_path, suffix, content):
    path = tmp_path / f"data.{suffix}"
    path.write_bytes(content)
    text = message(path, "value")
    assert text.startswith((f"{path} cannot be read: ", "data."))
    assert "\n" not in text


def test_a_parquet_file_that_was_cut_short_is_refused(tmp_path):
    path = parquet(tmp_path, value=np.arange(MANY))
    path.write_bytes(path.read_bytes()[:-20])
    assert message(path, "value").startswith(f"{path} cannot be read: ")


def test_a_kind_of_file_that_is_not_known_is_refused_with_those_that_are(tmp_path):
    text = message(tmp_path / "data.xlsx", "value")
    assert text.endswith("give a file that ends in .parquet, .csv, .jsonl, .json")


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()], ids=["missing", "folder"])
def test_a_missing_file_is_told(tmp_path, make):
    make(tmp_path / "data.csv")
    assert message(tmp_path / "data.csv", "value").startswith(f"there is no file {tmp_path / 'data.csv'}")


@given(
    events=st.integers(FEWEST, 10**7),
    shape=st.sampled_from([(131_072, 16_384), (131_072, 4_096), (100_000, 1_000), (100_000, 10_000), (1_000, 1_000)]),
)
def test_a_file_fills_its_window_four_times(events, shape):
    source = ValueSource("file", "file", lambda n, start: np.zeros(n), events)
    size, period = source.window(*shape)
    assert 4 * size <= events
    assert size % period == 0
    assert size // period == shape[0] // shape[1]
    assert size <= shape[0]
    if 4 * shape[0] <= events:
        assert (size, period) == shape


def test_a_stream_without_end_keeps_the_window_that_was_asked_for():
    source = of_stream("normal")
    assert source.window(100_000, 1_000) == (100_000, 1_000)
    assert source.most(10**12) == 10**12


def test_a_stream_has_its_parameters_in_its_name_and_cannot_be_changed():
    source = of_stream("ar1", psi=0.9)
    assert (source.name, source.title) == ("ar1-psi-0.9", "AR(1) (psi=0.9)")
    values = source.values(1_000)
    assert (values == streams.ar1(psi=0.9, seed=1).take(1_000)).all()
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 0


def test_events_with_keys_are_refused():
    with pytest.raises(DataError, match="keys and times"):
        of_stream("podsets").values(10)
