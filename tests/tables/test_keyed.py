"""A keyed operator answers like an operator for each key that is told the same times, however events are pushed."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from arbitrary import counted_queries, streams, timed_queries
from hypothesis import given, settings
from hypothesis import strategies as st
from local import (
    MINUTE,
    NOON,
    SECOND,
    assert_same,
    events_of,
    expected_rows,
    in_order,
    instants,
    keys_of,
    local_rows,
    rows_of,
    slices,
    tick,
)

import aomg
from aomg import FinishedError, InputError, KeyedOperator, Operator, Query, StateError
from aomg.tables import events as events_module
from aomg.tables import keyed, keyed_state, source

QUERY = Query("5 minutes", "1 minute", thresholds=(900.0,), lateness="20 s")
seeds = st.integers(0, 2**32)


@pytest.fixture(autouse=True, scope="module")
def small_parts():
    """A few events are enough for several threads, for several pieces of a stream, and for merging and forgetting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events_module, "_LEAST_PART", 16)
        patch.setattr(keyed_state, "_LEAST_ROWS", 1)
        patch.setattr(source, "_OF_STREAM", 100)
        patch.setattr(keyed, "_UNMERGED", 3)
        patch.setattr(keyed, "_FEW_KEYS", 2)
        yield


def operator_of(query: Query, **options) -> KeyedOperator:
    return KeyedOperator(query, value="v", time="ts", by="k", **options)


class KeyByKey:
    """One operator for each key, which never closes by itself: every push is followed by `advance` for all of them."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.operators: dict[tuple[str, ...], Operator] = {}
        self.rows: list = []
        self.latest = self.watermark = None

    def push(self, events: pa.Table) -> None:
        keys = keys_of(events, ["k"])
        for key in dict.fromkeys(keys):
            own = events.filter(pa.array([other == key for other in keys]))
            if key not in self.operators:
                self.operators[key] = Operator(self.query.replace(lateness="1000000 days"))
                if self.watermark is not None:
                    self.operators[key].advance(np.datetime64(self.watermark, "us"))
            results = self.operators[key].push(own["v"], own["ts"].cast(pa.timestamp("us")))
            assert len(results) == 0
        usable = pc.and_(pc.is_valid(events["v"]), pc.is_valid(events["ts"]))
        times = events["ts"].cast(pa.int64()).filter(usable)
        if len(times):
            latest = pc.max(times).as_py()
            self.latest = latest if self.latest is None else max(latest, self.latest)
            self.advance(self.latest - self.query.lateness)

    def advance(self, watermark: int) -> None:
        self.watermark = watermark if self.watermark is None else max(watermark, self.watermark)
        for key, operator in self.operators.items():
            self.rows += local_rows(operator.advance(np.datetime64(self.watermark, "us")), key)

    def finish(self) -> None:
        if self.latest is not None:
            self.advance(max(self.latest + 1, self.watermark))
        for key, operator in self.operators.items():
            self.rows += local_rows(operator.finish(), key)

    def take_rows(self) -> list:
        rows, self.rows = in_order(self.rows), []
        return rows

    @property
    def late(self) -> int:
        return sum(operator.late for operator in self.operators.values())


def some_events(seed: int, values: np.ndarray, keys: int, gap: float, disorder: float, nulls: bool) -> pa.Table:
    """Values of random keys at times that are in order but for `disorder` seconds; some values and times are null."""
    random = np.random.default_rng(seed)
    times = np.cumsum(random.exponential(gap, values.size)) + random.uniform(-disorder, disorder, values.size)
    names = [f"k{i}" for i in (keys * random.random(values.size) ** 2).astype(int)]
    missing = random.random((2, values.size)) < (0.05 if nulls else 0.0)
    micros = pa.array(NOON + (times * SECOND).astype(np.int64), mask=missing[0])
    return pa.table({"k": pa.array(names, pa.string()), "ts": instants(micros), "v": pa.array(values, mask=missing[1])})


@given(
    query=timed_queries(),
    values=streams(300),
    seed=seeds,
    keys=st.sampled_from([1, 3, 40]),
    gap=st.sampled_from([0.01, 0.5, 5, 100]),
    disorder=st.sampled_from([0, 3, 60]),
    pushes=st.integers(1, 6),
    threads=st.integers(1, 2),
    reload=st.integers(-1, 6),
    nulls=st.booleans(),
)
def test_any_pushes_answer_like_operators_with_the_same_watermark(
    query, values, seed, keys, gap, disorder, pushes, threads, reload, nulls
):
    events = some_events(seed, values, keys, gap, disorder, nulls)
    operator, expected = operator_of(query, threads=threads), KeyByKey(query)
    for number, part in enumerate(slices(events, pushes)):
        if number == reload:
            operator = KeyedOperator.load(query, operator.save(), threads=threads)
        table = operator.push(part)
        expected.push(part)
        assert_same(rows_of(table, ["k"]), expected.take_rows())
        assert operator.accounts.reconcile
        assert operator.accounts.late == expected.late
    if seed % 2 and expected.latest is not None:
        time = expected.latest + seed % (3 * query.period)
        table = operator.advance(np.datetime64(time, "us"))
        expected.advance(time)
        assert_same(rows_of(table, ["k"]), expected.take_rows())
    if reload >= pushes:
        operator = KeyedOperator.load(query, operator.save())
    table = operator.finish()
    expected.finish()
    assert_same(rows_of(table, ["k"]), expected.take_rows())
    accounts = operator.accounts
    assert accounts.reconcile
    assert (accounts.came, accounts.open, accounts.late) == (events.num_rows, 0, expected.late)
    usable = pc.and_(pc.is_valid(events["v"]), pc.is_valid(events["ts"]))
    assert accounts.refused == events.num_rows - (pc.sum(usable).as_py() or 0)


@settings(max_examples=30)
@given(query=counted_queries(), values=streams(300), seed=seeds, pushes=st.integers(1, 5), reload=st.integers(-1, 5))
def test_windows_counted_in_events_close_when_they_are_full(query, values, seed, pushes, reload):
    random = np.random.default_rng(seed)
    names = [f"k{i}" for i in random.integers(0, 3, values.size)]
    numbers = [names[:place].count(name) for place, name in enumerate(names)]
    events = pa.table({"k": pa.array(names, pa.string()), "ts": pa.array(numbers, pa.int64()), "v": values})
    operator = operator_of(query, threads=2)
    operators = {name: Operator(query) for name in dict.fromkeys(names)}
    for number, part in enumerate(slices(events, pushes)):
        if number == reload:
            operator = KeyedOperator.load(query, operator.save())
        expected = []
        for name, alone in operators.items():
            own = part.filter(pc.equal(part["k"], name))
            expected += local_rows(alone.push(own["v"]), (repr(name),))
        assert_same(rows_of(operator.push(part), ["k"]), in_order(expected))
        assert operator.accounts.open == sum(alone.open for alone in operators.values())
    expected = [row for name, alone in operators.items() for row in local_rows(alone.finish(), (repr(name),))]
    assert_same(rows_of(operator.finish(), ["k"]), in_order(expected))
    assert operator.accounts.reconcile


def test_a_push_counts_all_its_events_before_it_closes_anything():
    events = pa.concat_tables([tick(0), tick(600), tick(1), tick(599)])
    operator = operator_of(QUERY)
    operator.push(events)
    assert (operator.accounts.late, operator.accounts.used, operator.accounts.open) == (0, 2, 2)
    operator.push(tick(2))
    assert operator.accounts.late == 1


def test_pushes_in_one_or_in_many_give_what_a_batch_gives():
    events = events_of(5, 3000, 9, 30 * 60, disorder=15)
    expected = expected_rows(QUERY, events, ["k"])
    for pushes in (1, 7, 60):
        operator = operator_of(QUERY)
        tables = [operator.push(part) for part in slices(events, pushes)] + [operator.finish()]
        assert operator.accounts.late == 0
        assert_same(in_order(row for table in tables for row in rows_of(table, ["k"])), expected)


def test_keys_that_are_gone_are_forgotten():
    operator = operator_of(QUERY)
    for minute in range(0, 300, 10):
        names = [f"k{minute}-{i}" for i in range(50)]
        times = instants([NOON + minute * MINUTE] * 50)
        operator.push(pa.table({"k": names, "ts": times, "v": range(50)}))
    assert operator.keys == 50
    assert operator._state.keys.size <= 200
    assert operator.nbytes < 20_000


def test_events_far_ahead_of_the_clock_are_future_and_move_nothing():
    clock = np.datetime64(NOON, "us")
    operator = operator_of(QUERY, clock=clock, max_clock_skew="10 minutes")
    operator.push(pa.concat_tables([tick(0), tick(601), tick(600)]))
    assert (operator.accounts.future, operator.accounts.used, operator.accounts.open) == (1, 1, 1)
    operator.push(tick(10**9))
    assert operator.accounts.future == 2
    processing = operator_of(QUERY, clock="processing")
    processing.push(pa.concat_tables([tick(0), tick(10**10)]))
    assert (processing.accounts.future, processing.accounts.open) == (1, 1)
    assert operator_of(QUERY).push(tick(10**10)).num_rows == 0


def test_a_refused_push_changes_nothing():
    operator = operator_of(QUERY)
    operator.push(tick(0))
    state = operator.save()
    for events in (
        tick(90).set_column(2, "v", pa.array(["1"])),
        tick(90).drop_columns(["k"]),
        tick(90).set_column(0, "k", pa.array([b"x"])),
        tick(90).set_column(1, "ts", tick(90)["ts"].cast(pa.timestamp("us"))),
    ):
        with pytest.raises(InputError):
            operator.push(events)

    def broken():
        yield from tick(90).to_batches()
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="the network is gone"):
        operator.push(pa.RecordBatchReader.from_batches(tick(0).schema, broken()))
    assert operator.save() == state


def test_texts_and_integers_of_other_widths_are_the_same_keys():
    operator = operator_of(QUERY)
    operator.push(tick(0, "a"))
    operator.push(tick(1, "a").set_column(0, "k", pa.array(["a"], pa.large_string())))
    operator.push(tick(2, "a").set_column(0, "k", pa.array(["a"]).dictionary_encode()))
    table = operator.finish()
    assert table["k"].to_pylist() == ["a"]
    assert table["count"].to_pylist() == [3]
    assert table.schema.field("k").type == pa.string()


def test_what_was_saved_names_its_columns_and_loads_only_with_its_query():
    operator = operator_of(QUERY)
    operator.push(events_of(5, 300, 4, 500))
    data = operator.save()
    loaded = KeyedOperator.load(QUERY, data)
    assert loaded.save() == data
    assert loaded.accounts == operator.accounts
    assert loaded.push(tick(2000)).equals(operator.push(tick(2000)))
    with pytest.raises(StateError, match="another query"):
        KeyedOperator.load(QUERY.replace(size="6 minutes"), data)
    with pytest.raises(StateError, match="damaged"):
        KeyedOperator.load(QUERY, data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(StateError, match="not the saved state"):
        KeyedOperator.load(QUERY, Operator(QUERY).save())
    with pytest.raises(StateError, match="version 2"):
        KeyedOperator.load(QUERY, data[:4] + bytes([2, 0]) + data[6:])


def test_an_operator_without_events_can_be_saved_advanced_and_finished():
    operator = operator_of(QUERY)
    assert operator.advance("2026-01-01T00:01:30").num_rows == 0
    operator = KeyedOperator.load(QUERY, operator.save())
    operator.push(pa.table({"k": ["a"], "ts": instants([NOON]), "v": [1.0]}))  # years before
    assert operator.accounts.late == 1
    assert operator.finish().column_names == ["k", "window", "count", "min", "max", "sub_windows", "burst", *QUANTILES]
    assert operator_of(QUERY).finish().num_rows == 0


QUANTILES = ("p50", "p90", "p99", "p99_9", "below_900")


def test_a_finished_operator_takes_nothing_more():
    operator = operator_of(QUERY)
    operator.finish()
    for call in (lambda: operator.push(tick(0)), lambda: operator.advance("2026-01-01"), operator.finish):
        with pytest.raises(FinishedError, match="finished its stream; create a new one"):
            call()
    with pytest.raises(FinishedError):
        KeyedOperator.load(QUERY, operator.save()).push(tick(0))


def test_windows_counted_in_events_have_no_watermark():
    operator = operator_of(Query(30, 10))
    with pytest.raises(InputError, match=r"advance\(\) is for windows in event time"):
        operator.advance("2026-01-01")


# -- types that differ between pushes ----------------------------------------------------------------------------------

TYPED = pd.DataFrame(
    {"k": ["a", "b"], "ts": pd.to_datetime([NOON, NOON + MINUTE], unit="us"), "v": [1, 2], "w": [3, 4]}
)
UNTYPED = {
    "pandas": pd.DataFrame({"k": [], "ts": [], "v": [], "w": []}, dtype=object),
    "pandas of nulls": pd.DataFrame({"k": [None], "ts": [None], "v": [None], "w": [None]}),
    "PyArrow": pa.table({name: pa.nulls(2) for name in ("k", "ts", "v", "w")}),
}


@pytest.mark.parametrize("untyped", UNTYPED.values(), ids=UNTYPED)
@pytest.mark.parametrize("kind", [pa.string(), pa.list_(pa.int64())], ids=str)
def test_a_push_without_rows_or_of_nulls_fits_any_type(untyped, kind):
    typed = pa.Table.from_pandas(TYPED, preserve_index=False)
    if kind != pa.string():
        typed = typed.set_column(0, "k", pa.array([[1], [2]], kind))
    expected = KeyedOperator(QUERY, value="v", time="ts", by="k", weight="w")
    tables = [expected.push(typed), expected.finish()]
    refused = len(untyped)
    for position in (0, 1):
        operator = KeyedOperator(QUERY, value="v", time="ts", by="k", weight="w")
        pushes = [untyped, typed] if position == 0 else [typed, untyped]
        got = []
        for events in pushes:
            got.append(operator.push(events))
            operator = KeyedOperator.load(QUERY, operator.save())
        got = [table for table in [*got, operator.finish()] if table.num_rows]
        assert pa.concat_tables(got).equals(pa.concat_tables([table for table in tables if table.num_rows]))
        assert (operator.accounts.came, operator.accounts.refused, operator.accounts.used) == (2 + refused, refused, 2)


def test_keys_of_null_stay_what_they_are_when_their_type_becomes_known():
    operator = operator_of(QUERY)
    nulls = pa.table({"k": pa.nulls(1), "ts": instants([NOON]), "v": [1]})
    operator.push(nulls)
    operator.push(pa.table({"k": ["a", None], "ts": instants([NOON + 1, NOON + 2]), "v": [2, 3]}))
    operator.push(nulls)
    table = operator.finish()
    assert dict(zip(table["k"].to_pylist(), table["count"].to_pylist(), strict=True)) == {"a": 1, None: 3}
    assert table.schema.field("k").type == pa.string()


def test_a_batch_without_rows_has_columns_without_a_type():
    table = aomg.quantiles(UNTYPED["pandas"], QUERY, value="v", time="ts", by="k")
    assert table.num_rows == 0
    assert table.schema.field("window").type.field("end").type == pa.timestamp("us", tz="UTC")


FIRST_AND_THEN = {
    "integers": (pa.array([1], pa.int32()), pa.array([2**40], pa.int64())),
    "unsigned": (pa.array([1], pa.int64()), pa.array([2**63], pa.uint64())),
    "times": (pa.array([1], pa.timestamp("s")), pa.array([1], pa.timestamp("us"))),
    "decimals": (pa.array([Decimal("1.5")], pa.decimal128(5, 1)), pa.array([Decimal("1.25")], pa.decimal128(5, 2))),
    "floats": (pa.array([1.0], pa.float32()), pa.array([1.0, 1.0 + 1e-9], pa.float64())),
}


@pytest.mark.parametrize(("first", "then"), FIRST_AND_THEN.values(), ids=FIRST_AND_THEN)
def test_keys_that_an_earlier_type_cannot_hold_are_refused_with_what_to_cast(first, then):
    operator = operator_of(QUERY)
    operator.push(pa.table({"k": first, "ts": instants([NOON]), "v": [1]}))
    state = operator.save()
    match = f"'k' is {then.type} but was {first.type} before.*cast it to {then.type} from the first push on"
    with pytest.raises(InputError, match=re.escape(match).replace(r"\.\*", ".*")):
        operator.push(pa.table({"k": then, "ts": instants([NOON] * len(then)), "v": [1] * len(then)}))
    assert operator.save() == state


@pytest.mark.parametrize(("then", "first"), FIRST_AND_THEN.values(), ids=FIRST_AND_THEN)
def test_keys_that_an_earlier_type_holds_are_the_same_keys(first, then):
    ones = pa.array([1, None, 1]).cast(pa.timestamp("s") if pa.types.is_timestamp(then.type) else pa.int8())
    then, first = ones.cast(then.type), ones[:1].cast(first.type)
    operator = operator_of(QUERY)
    operator.push(pa.table({"k": first, "ts": instants([NOON]), "v": [1]}))
    operator.push(pa.table({"k": then, "ts": instants([NOON] * 3), "v": [1, 2, 3]}))
    table = operator.finish()
    assert table["k"].to_pylist() == [first[0].as_py(), None]
    assert table["count"].to_pylist() == [3, 1]
    assert table.schema.field("k").type == first.type


def test_keys_that_are_times_have_always_a_zone_or_never():
    operator = operator_of(QUERY)
    operator.push(pa.table({"k": pa.array([1], pa.timestamp("us", "UTC")), "ts": instants([NOON]), "v": [1]}))
    with pytest.raises(InputError, match=r"'k' is .* but was .* before; cast it"):
        operator.push(pa.table({"k": pa.array([1], pa.timestamp("us")), "ts": instants([NOON]), "v": [1]}))
