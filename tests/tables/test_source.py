"""Tables of every kind, columns of every type, and what is said of those that cannot be used."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from local import MINUTE, NOON, SECOND, assert_same, events_of, expected_rows, instants, rows_of, slices

import aomg
from aomg import InputError, Query
from aomg.tables import source
from aomg.tables.columns import FIXED, flat_names_of

QUERY = Query("3 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(60.0,))
EVENTS = events_of(11, 2000, 7, 15 * 60)
NAN, INFINITE = float("nan"), float("inf")


def answers(events, by="k", query=QUERY, **options) -> pa.Table:
    return aomg.quantiles(events, query, value="v", time="ts", by=by, **options)


class OneBatch:
    """A table of one batch of some other package."""

    def __init__(self, table: pa.Table) -> None:
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


class Stream:
    """A stream of some other package."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def polars_frame(table: pa.Table):
    return pytest.importorskip("polars").from_arrow(table)


def duckdb_relation(table: pa.Table):
    return pytest.importorskip("duckdb").connect().from_arrow(table)


KINDS = {
    "PyArrow": lambda table: table,
    "PyArrow in chunks": lambda table: pa.concat_tables(slices(table, 9)),
    "record batch": lambda table: table.combine_chunks().to_batches()[0],
    "reader": lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=300)),
    "array of another package": OneBatch,
    "stream of another package": Stream,
    "scanner": lambda table: ds.dataset(table).scanner().to_reader(),
    "pandas": lambda table: table.to_pandas(),
    "pandas with an index": lambda table: table.to_pandas().set_index(np.arange(table.num_rows) * 2),
    "pandas with times as index": lambda table: table.to_pandas().set_index("ts"),
    "pandas of Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas with categories": lambda table: table.to_pandas().astype({"k": "category"}),
    "Polars": polars_frame,
    "Polars with categories": lambda table: polars_frame(table).cast({"k": pytest.importorskip("polars").Categorical}),
    "DuckDB": duckdb_relation,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [None, 300])
def test_every_kind_of_table_gives_the_same_results(kind, rows, monkeypatch):
    if rows:
        monkeypatch.setattr(source, "_OF_STREAM", rows)
        monkeypatch.setattr(source, "_IN_MEMORY", rows)
    table = answers(KINDS[kind](EVENTS.append_column("other", pa.array([{}] * EVENTS.num_rows))))
    assert table.schema.field("k").type == pa.string()
    assert table.select(["k", "count"]).equals(answers(EVENTS).select(["k", "count"]))
    assert_same(rows_of(table, ["k"]), expected_rows(QUERY, EVENTS, ["k"]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_can_be_pushed(kind):
    operator = aomg.KeyedOperator(QUERY, value="v", time="ts", by="k")
    tables = [operator.push(KINDS[kind](part)) for part in slices(EVENTS, 4)] + [operator.finish()]
    assert_same(rows_of(pa.concat_tables(tables), ["k"]), expected_rows(QUERY, EVENTS, ["k"]))


def test_a_stream_is_read_piece_by_piece(monkeypatch):
    monkeypatch.setattr(source, "_OF_STREAM", 500)
    ahead = []

    def batches():
        for number, batch in enumerate(EVENTS.to_batches(max_chunksize=500)):
            ahead.append(number)
            yield batch

    pieces = source.open_source(pa.RecordBatchReader.from_batches(EVENTS.schema, batches()), ["v"]).tables
    assert [next(pieces).num_rows, *ahead] == [500, 0]
    assert [next(pieces).num_rows, *ahead] == [500, 0, 1]


# -- columns -----------------------------------------------------------------------------------------------------------

TIMES = {
    "seconds": pa.timestamp("s"),
    "milliseconds": pa.timestamp("ms", tz="UTC"),
    "microseconds": pa.timestamp("us"),
    "nanoseconds": pa.timestamp("ns", tz="Europe/Berlin"),
}


@pytest.mark.parametrize("kind", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("start", [NOON, -(10**15) * 3])
def test_times_may_have_every_unit_and_zone(kind, start):
    seconds = start // SECOND + np.arange(900)
    events = pa.table({"ts": pa.array(seconds).cast(pa.timestamp("s")), "v": np.arange(900) % 97})
    expected = expected_rows(QUERY, events.set_column(0, "ts", events["ts"].cast(pa.timestamp("us"))))
    table = answers(events.set_column(0, "ts", events["ts"].cast(kind)), by=None)
    assert_same(rows_of(table), expected)
    assert table.schema.field("window").type.field("end").type == pa.timestamp("us", tz=kind.tz)


def test_nanoseconds_are_rounded_down_and_long_periods_fit():
    nanoseconds = NOON * 1_000 + np.array([-1, 0, MINUTE * 1_000 - 1, MINUTE * 1_000])
    events = pa.table({"ts": pa.array(nanoseconds).cast(pa.timestamp("ns")), "v": [1, 2, 3, 4]})
    assert answers(events, by=None)["count"].to_pylist() == [1, 3, 4]
    long = answers(events, by=None, query=Query("100000 days", "100000 days"))
    assert long["count"].to_pylist() == [4]


def test_the_first_and_the_last_nanosecond_are_times_like_others():
    ends = [-(2**63) + 1, 2**63 - 1]
    for nanoseconds in ([ends[0]], ends, ends[1:]):
        events = pa.table({"ts": pa.array(nanoseconds).cast(pa.timestamp("ns")), "v": [1] * len(nanoseconds)})
        micros = pa.array([time // 1000 for time in nanoseconds]).cast(pa.timestamp("us"))
        assert answers(events, by=None) == answers(events.set_column(0, "ts", micros), by=None)


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint8(), pa.uint32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(12, 2)],
    ids=str,
)
def test_values_may_be_of_every_type_of_number(kind):
    numbers = np.random.default_rng(19).integers(0, 120, 400)
    whole = [None if i % 50 == 7 else n for i, n in enumerate(numbers.tolist())]
    values = (
        pa.array([n and Decimal(n) / 4 for n in whole], kind)
        if pa.types.is_decimal(kind)
        else pa.array(whole).cast(kind)
    )
    events = pa.table({"k": ["a", "b"] * 200, "ts": instants(NOON + np.arange(400) * SECOND), "v": values})
    plain = values.cast(pa.float64() if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else pa.int64())
    assert_same(rows_of(answers(events), ["k"]), expected_rows(QUERY, events.set_column(2, "v", plain), ["k"]))


def test_values_and_weights_may_be_dictionaries_of_numbers():
    plain = EVENTS.append_column("w", pa.array([None if n % 9 == 0 else n % 4 for n in range(EVENTS.num_rows)]))
    for name in ("v", "w"):
        encoded = plain.set_column(plain.column_names.index(name), name, plain[name].dictionary_encode())
        assert answers(encoded, weight="w") == answers(plain, weight="w")
    with pytest.raises(InputError, match=r"column 'v' is dictionary.*values must be numbers"):
        answers(plain.set_column(2, "v", plain["v"].cast(pa.string()).dictionary_encode()))


def test_events_without_a_time_or_a_finite_value_are_refused_and_counted():
    events = pa.table(
        {
            "k": ["a", "b", None, "a", "a", "b"],
            "ts": instants([NOON, None, NOON, NOON, NOON, NOON]),
            "v": pa.array([1.0, 2.0, None, NAN, INFINITE, -5.0], from_pandas=False),
        }
    )
    table = answers(events)
    assert list(zip(table["k"].to_pylist(), table["count"].to_pylist(), strict=True)) == [("a", 1), ("b", 1)]
    operator = aomg.KeyedOperator(QUERY, value="v", time="ts", by="k")
    operator.push(events)
    assert (operator.accounts.came, operator.accounts.refused, operator.accounts.open) == (6, 4, 2)


def test_tables_without_usable_events_give_an_empty_table_with_all_columns():
    full = answers(EVENTS)
    for events in (EVENTS.slice(0, 0), EVENTS.slice(0, 5).set_column(2, "v", pa.nulls(5, pa.int64()))):
        assert answers(events).schema == full.schema
        assert answers(events).num_rows == 0
        stored = aomg.summaries(events, QUERY, value="v", time="ts", by="k")
        assert stored.schema == aomg.summaries(EVENTS, QUERY, value="v", time="ts", by="k").schema
        assert aomg.windows(stored, QUERY).schema == full.schema


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"value": "w"}, r"there is no column 'w'; the events have k, ts, v"),
        ({}, {"time": "tss"}, r"there is no column 'tss'.*did you mean"),
        ({}, {"by": "kk"}, "there is no column 'kk'"),
        ({}, {"by": ["k", "k"]}, "names a column twice"),
        ({}, {"by": [1]}, "by must be the name of a column, such as by='podset', not 1"),
        ({}, {"weight": 1}, "weight must be the name of a column, such as weight='requests', not 1"),
        ({}, {"value": None}, "value must be the name of a column, such as value='rtt_us'"),
        ({"v": pa.array([2**63], pa.uint64())}, {}, r"column 'v' has 9223372036854775808.*events\['v'\].cast\('double"),
        ({}, {"threads": 0}, "threads=0 must be a whole number, 1 or more"),
        ({"v": pa.array(["1"])}, {}, "column 'v' is string; values must be numbers: cast it first"),
        ({"v": pa.array([True])}, {}, "column 'v' is bool; values must be numbers"),
        (
            {"v": pa.array([5], pa.duration("us"))},
            {},
            "column 'v' is duration.*cast it to int64 first, which gives its us",
        ),
        ({"ts": pa.array([5])}, {}, r"column 'ts' is int64; .*pa.timestamp\('s'\).*pl.from_epoch\('ts', 's'\)"),
        ({"ts": pa.array([dt.date(2024, 1, 1)])}, {}, "column 'ts' is date32.*cast dates"),
        ({"ts": pa.array([2**62], pa.timestamp("us"))}, {}, "more than 73,000 years from 1970"),
        ({"ts": pa.array([-(2**62)], pa.timestamp("s"))}, {}, "more than 73,000 years from 1970"),
        ({"k": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}, {}, "by column 'k' is map.* cannot be a key"),
        ({}, {"query": Query(30, 10)}, "counted in events, so time='ts' must be a column of integers"),
        ({}, {"query": "1 hour"}, "the second argument must be an aomg.Query, not str"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_to_do(change, options, message):
    columns = {"k": pa.array(["a"]), "ts": instants([NOON]), "v": pa.array([1])} | change
    options = {"value": "v", "time": "ts", "by": "k", "query": QUERY} | options
    with pytest.raises(InputError, match=message):
        aomg.quantiles(pa.table(columns), options.pop("query"), **options)


def test_a_by_column_cannot_have_the_name_of_an_output_column():
    events = EVENTS.rename_columns(["P50", "ts", "v"])
    with pytest.raises(InputError, match="by column 'P50' has the name of a column of the result; rename it first"):
        answers(events, by="P50")
    twice = pa.table([EVENTS["k"], EVENTS["k"], EVENTS["ts"], EVENTS["v"]], names=["k", "k", "ts", "v"])
    with pytest.raises(InputError, match="the events have 2 columns 'k'"):
        answers(twice)


@pytest.mark.parametrize("name", ["window_start", "window_end", "p99_low", "P99_method", "p50_high", "below_60_low"])
def test_a_by_column_cannot_have_the_name_of_a_column_of_the_flat_table(name):
    events = EVENTS.rename_columns([name, "ts", "v"])
    with pytest.raises(InputError, match=f"by column '{name}' has the name of a column of the result; rename it first"):
        answers(events, by=name)
    with pytest.raises(InputError, match="has the name of a column of the result"):
        aomg.KeyedOperator(QUERY, value="v", time="ts", by=name)
    stored = aomg.summaries(events, QUERY, value="v", time="ts", by=name)
    with pytest.raises(InputError, match="has the name of a column of the result"):
        aomg.windows(stored, QUERY)


@pytest.mark.parametrize("query", [QUERY, QUERY.replace(guarantee=False)], ids=["guarantee", "no guarantee"])
def test_the_names_of_the_flat_table_are_known_before_there_is_one(query):
    flat = aomg.flat_table(answers(EVENTS, query=query)).column_names
    assert set(flat) == {"k", *flat_names_of(query), *FIXED} - {"window"}


DECIMALS = pa.table({"ts": instants([NOON]), "v": pa.array([Decimal(1)], pa.decimal128(38, 16))})
ROUNDED = {
    "PyArrow": (lambda table: table, r"pyarrow.compute.round\(events\['v'\], 3\).*events\['v'\].cast\('double'\)"),
    "empty": (lambda table: table.slice(1), r"events\['v'\].cast\('double'\)"),
    "pandas": (
        lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
        r"events\['v'\].round\(3\).*events\['v'\].astype\('float64'\)",
    ),
    "Polars": (polars_frame, r"polars.col\('v'\).cast\(polars.Decimal\(15, 3\)\).*polars.Float64"),
    "DuckDB": (duckdb_relation, r'CAST\("v" AS DECIMAL\(15, 3\)\).*CAST\("v" AS DOUBLE\)'),
}


@pytest.mark.parametrize(("kind", "message"), ROUNDED.values(), ids=ROUNDED)
def test_decimals_that_a_double_would_round_are_refused_with_the_cast_of_the_library(kind, message):
    with pytest.raises(
        InputError, match=f"column 'v' is decimal128\\(38, 16\\), which a double would round.*{message}"
    ):
        answers(kind(DECIMALS), by=None)


def test_sums_of_duckdb_are_weights():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().from_arrow(EVENTS).aggregate("k, ts, v, sum(v) AS w", "k, ts, v")
    assert relation.arrow().schema.field("w").type == pa.decimal128(38, 0)
    weighted = aomg.quantiles(relation, QUERY, value="v", time="ts", by="k", weight="w")
    assert weighted["count"].to_pylist() != answers(EVENTS)["count"].to_pylist()
    assert weighted.num_rows == answers(EVENTS).num_rows


def test_what_arrow_cannot_read_is_refused_with_what_to_do():
    large = pd.DataFrame({"ts": [dt.datetime(2024, 1, 1)] * 2, "v": pd.Series([1, 2**70], dtype=object)})
    with pytest.raises(InputError, match="integers beyond 64 bits: convert it to doubles"):
        answers(large, by=None)
    levels = pd.DataFrame({("a", "v"): [1], ("a", "ts"): [dt.datetime(2024, 1, 1)]})
    with pytest.raises(InputError, match=r"columns .* have several levels; give each one name first: events.columns ="):
        answers(levels, by=None)
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match="cast it to Int64"):
        answers(polars_frame(EVENTS).with_columns(polars.col("v").cast(polars.Int128)))
    with pytest.raises(InputError, match="must be a table, not Series; pass a DataFrame"):
        answers(polars.Series("v", [1]))


class SparkFrame:
    """A DataFrame of Spark 4: it has Arrow's interface, too, and collects all rows there."""

    __module__ = "pyspark.sql.classic.dataframe"

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError


def test_a_frame_of_spark_has_functions_of_its_own():
    with pytest.raises(InputError, match=r"not a DataFrame of Spark; use aomg.spark.quantiles"):
        answers(SparkFrame())
    with pytest.raises(InputError, match=r"not a DataFrame of Spark; use .*aomg.spark.windows"):
        aomg.windows(SparkFrame(), QUERY)


def test_periods_of_pandas_are_no_keys():
    events = EVENTS.to_pandas().head(2).assign(k=pd.period_range("2024", periods=2, freq="D"))
    with pytest.raises(
        InputError, match=r"by column 'k' is a column of periods of pandas.*events\['k'\].astype\(str\)"
    ):
        answers(events)
    assert answers(events.assign(k=events["k"].astype(str))).num_rows


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"v": [1]}, r"must be a table, not dict; pass pa.table\(events\)"),
        ([1], "must be a table, not list"),
        (np.arange(3), r"must be a table, not ndarray; .*Operator\(query\).push"),
        (pa.array([1]), "must be a table, not Int64Array"),
        (pa.chunked_array([[1]]), "must be a table, not ChunkedArray"),
        (ds.dataset(EVENTS), r"must be a table, not InMemoryDataset; pass events.scanner\(columns=\[...\]\).to_reader"),
        (pd.Series([1]), "must be a table, not Series; pass a DataFrame"),
        (None, "must be a table, not NoneType; pass a table of pandas, Polars, PyArrow or DuckDB"),
    ],
)
def test_what_is_no_table_is_refused_with_what_to_pass(data, message):
    with pytest.raises(InputError, match=message):
        answers(data)


def test_a_lazy_frame_has_to_be_collected():
    with pytest.raises(InputError, match=r"not LazyFrame; collect it first: events.collect\(\)"):
        answers(polars_frame(EVENTS).lazy())


def test_other_columns_of_pandas_may_have_one_name():
    frame = EVENTS.to_pandas().assign(x=1, y=2)
    assert answers(frame.rename(columns={"y": "x"})) == answers(frame)


def test_columns_of_an_empty_frame_of_pandas_fit_any_type():
    for kind in (object, float):
        empty = pd.DataFrame({name: pd.Series([], dtype=kind) for name in ("k", "ts", "v")})
        assert answers(empty).num_rows == 0


def test_pandas_names_the_columns_that_it_has():
    with pytest.raises(InputError, match="there is no column 'kk'; the events have k, ts, v"):
        answers(EVENTS.to_pandas(), by="kk")


# -- keys --------------------------------------------------------------------------------------------------------------

KEYS = {
    "string": pa.array(["", "a", "A", "ä", "naïve\x00", None, "b" * 300]),
    "large string": pa.array(["", "a", None], pa.large_string()),
    "string view": pa.array(["", "a", None, "b" * 300], pa.string_view()),
    "byte": pa.array([1, -128, None], pa.int8()),
    "integers close together": pa.array([5, 3, -2, 11], pa.int32()),
    "long": pa.array([0, 2**63 - 1, -(2**63), None], pa.int64()),
    "unsigned": pa.array([0, 2**64 - 1, 7], pa.uint64()),
    "float": pa.array([0.0, -0.0, 0.1, NAN, -INFINITE, None], pa.float32(), from_pandas=False),
    "double": pa.array([0.0, -0.0, 0.1, NAN, INFINITE, None, 5e-324], pa.float64(), from_pandas=False),
    "boolean": pa.array([True, False, None]),
    "date": pa.array([dt.date(2024, 2, 29), dt.date(1, 1, 1), None]),
    "timestamp": pa.array([dt.datetime(2024, 1, 1), dt.datetime(1815, 6, 18), None], pa.timestamp("us", tz="UTC")),
    "decimal": pa.array([Decimal("1.10"), Decimal("-0.01"), Decimal("0.00"), None], pa.decimal128(20, 2)),
    "binary": pa.array([b"", b"\x00", b"\x00\x00", None], pa.binary()),
    "duration": pa.array([1, -1, None], pa.duration("us")),
    "struct": pa.array([{"rack": "r1", "row": 1}, {"rack": None, "row": 1}, None]),
    "list": pa.array([[1, 2], [2, 1], [], [None], None], pa.list_(pa.int64())),
    "null": pa.nulls(2),
    "dictionary": pa.array(["b", "a", None, "b"]).dictionary_encode(),
    "dictionary with what does not occur, nulls and a value twice": pa.DictionaryArray.from_arrays(
        pa.array([4, 1, 2, None, 3], pa.int8()), pa.array(["unused", "a", None, "a", "b"])
    ),
    "dictionary of doubles": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 3]), pa.array([0.0, -0.0, NAN, 1.5], from_pandas=False)
    ),
}


def with_keys(**keys: pa.Array) -> pa.Table:
    """Three hundred events in ten minutes whose keys take turns."""
    random = np.random.default_rng(17)
    columns = {
        "ts": instants(NOON + np.sort(random.integers(0, 10 * MINUTE, 300))),
        "v": np.rint(random.lognormal(4, 1, 300)).astype(np.int64),
    }
    for name, values in keys.items():
        chosen = random.integers(0, len(values), 300).tolist()
        is_view = pa.types.is_string_view(values.type)  # of which Arrow cannot take entries
        columns[name] = pa.array([values[i] for i in chosen], values.type) if is_view else values.take(pa.array(chosen))
    return pa.table(columns)


def plain(events: pa.Table, by: list[str]) -> pa.Table:
    """The same events without dictionaries and views, which the expected rows do not know."""
    for name in by:
        kind = events[name].type
        kind = kind.value_type if pa.types.is_dictionary(kind) else pa.string() if kind == pa.string_view() else kind
        events = events.set_column(events.column_names.index(name), name, events[name].cast(kind))
    return events


@pytest.mark.parametrize("name", KEYS)
def test_keys_may_be_of_every_type(name):
    events = with_keys(key=KEYS[name])
    table = answers(events, by=["key"])
    expected = expected_rows(QUERY, plain(events, ["key"]), ["key"])
    assert_same(rows_of(table, ["key"]), expected)
    assert table.schema.field("key").type == plain(events, ["key"]).schema.field("key").type
    chunks = pa.concat_tables([part.combine_chunks() for part in slices(events, 5)])
    assert_same(rows_of(answers(chunks, by=["key"]), ["key"]), expected)
    operator = aomg.KeyedOperator(QUERY, value="v", time="ts", by=["key"])
    pushed = []
    for part in slices(events, 3):
        pushed.append(operator.push(part))
        operator = aomg.KeyedOperator.load(QUERY, operator.save())
    pushed.append(operator.finish())
    assert_same(rows_of(pa.concat_tables(pushed), ["key"]), expected)


@pytest.mark.parametrize("names", [("string", "integers close together"), ("double", "dictionary", "boolean"), ()])
def test_keys_may_have_several_columns_or_none(names):
    events = with_keys(**{f"key{i}": KEYS[name] for i, name in enumerate(names)})
    by = [f"key{i}" for i in range(len(names))]
    assert_same(rows_of(answers(events, by=by), by), expected_rows(QUERY, plain(events, by), by))


def test_keys_are_in_ascending_order_with_null_last():
    keys = answers(with_keys(key=KEYS["string"]), by="key")["key"].to_pylist()
    assert list(dict.fromkeys(keys)) == ["", "A", "a", "b" * 300, "naïve\x00", "ä", None]


def test_dictionaries_of_chunks_may_differ():
    events = with_keys(key=KEYS["string"])
    encoded = [
        part.set_column(2, "key", part["key"].combine_chunks().dictionary_encode()) for part in slices(events, 4)
    ]
    assert_same(rows_of(answers(pa.concat_tables(encoded), by="key"), ["key"]), expected_rows(QUERY, events, ["key"]))


def test_integers_far_apart_are_keys_too():
    keys = pa.array(np.random.default_rng(3).integers(-(2**62), 2**62, 40))
    events = with_keys(key=keys)
    assert_same(rows_of(answers(events, by="key"), ["key"]), expected_rows(QUERY, events, ["key"]))
    assert pc.count_distinct(answers(events, by="key")["key"]).as_py() == pc.count_distinct(events["key"]).as_py()
