"""An event with a weight is as many events: the same results, exact sums beyond 32 bits, and honest refusals."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg import FewK, InputError, Operator, Query
from aomg.core.counts import Counts
from aomg.core.keyed import TALLY, KeyedWindows, KeyRows
from aomg.core.recast import Recast
from aomg.core.tally import Tallies, counts_of, merge_tallies, tally
from aomg.result import BURST, SCORE, Results

MINUTE = 60_000_000
DEFAULT = Query("4 minutes", "1 minute", quantiles=(0.5, 0.9, 0.99), thresholds=(100.0,))
QUERIES = [
    pytest.param(DEFAULT, id="default"),
    pytest.param(DEFAULT.replace(digits=5), id="five digits"),
    pytest.param(DEFAULT.replace(digits=None), id="raw"),
]
REALS = st.floats(-1e6, 1e6, allow_subnormal=False)
LONGS = st.integers(-(10**6), 10**6)


def events_of(values, heaviest=7):
    """Lists of (value, time, weight)."""
    return st.lists(st.tuples(values, st.integers(0, 9 * MINUTE), st.integers(0, heaviest)), min_size=1, max_size=60)


def arrays_of(events, dtype):
    values, times, weights = zip(*events, strict=True)
    return np.array(values, dtype), np.array(times).astype("datetime64[us]"), np.array(weights)


def without_bursts(results):
    """The rows of results, without what the burst detector says: it counts events, not weights."""
    return np.delete(results.rows, (BURST, SCORE), axis=1)


def exact(values, quantile):
    return np.sort(values)[max(int(np.ceil(quantile * len(values))), 1) - 1]


@pytest.mark.parametrize("query", QUERIES)
@settings(max_examples=30)
@given(data=st.data())
def test_a_weight_is_as_many_equal_events(query, data):
    dtype = data.draw(st.sampled_from([np.float64, np.int64]))
    values, times, weights = arrays_of(data.draw(events_of(REALS if dtype is np.float64 else LONGS)), dtype)
    query = query.replace(lateness="1 hour")
    weighted, repeated = Operator(query), Operator(query)
    results = weighted.push(values, times, weights)
    weighted.check()
    results += weighted.finish()
    expected = repeated.push(np.repeat(values, weights), np.repeat(times, weights))
    latest = times.max()  # an event of weight 0 moves time, too
    expected += repeated.advance(latest)
    expected += repeated.finish()
    if weights.any():
        shown = without_bursts(expected)
        assert np.array_equal(without_bursts(results)[: len(shown)], shown)
    assert weighted.refused == 0


@pytest.mark.parametrize("disorder", [0, MINUTE // 20, MINUTE, 600 * MINUTE, 10**15])
def test_weights_stay_with_their_events_in_any_order_of_times(disorder):
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 20 * MINUTE, 6_000)) + rng.integers(0, disorder + 1, 6_000)
    values, weights = rng.lognormal(6, 1, 6_000), rng.integers(0, 4, 6_000)
    weights[np.argmax(times)] = 1  # an event of weight 0 would move time further
    times = times.astype("datetime64[us]")
    query = DEFAULT.replace(lateness="40000 days")
    weighted, repeated = Operator(query), Operator(query)
    results, expected = (
        weighted.push(values, times, weights),
        repeated.push(np.repeat(values, weights), np.repeat(times, weights)),
    )
    assert weighted.open == np.count_nonzero(weights)
    results += weighted.finish()
    expected += repeated.finish()
    assert np.array_equal(without_bursts(results), without_bursts(expected))


@settings(max_examples=30)
@given(events_of(REALS), st.data())
def test_pushes_may_be_split_and_saved_anywhere(events, data):
    values, times, weights = arrays_of(events, np.float64)
    query = DEFAULT.replace(lateness="1 hour")
    whole = Operator(query)
    expected = whole.push(values, times, weights)
    expected += whole.finish()
    split = data.draw(st.integers(0, len(values)))
    parts = Operator(query)
    results = parts.push(values[:split], times[:split], weights[:split])
    parts = Operator.load(query, parts.save())
    results += parts.push(values[split:], times[split:], weights[split:])
    results += parts.finish()
    assert results == expected


@settings(max_examples=40)
@given(events_of(REALS, heaviest=2**31 - 1))
def test_sums_of_the_largest_weights_are_exact(events):
    values, times, weights = arrays_of(events, np.float64)
    operator = Operator(DEFAULT.replace(lateness="1 hour", size="10 minutes"))
    results = operator.push(values, times, weights)
    operator.check()
    results += operator.finish()
    if not len(results):
        assert not weights.any()
        return
    window = results[-1]
    counted = (times >= window.start) & (times < window.end)
    order = np.argsort(values[counted])
    values, weights = values[counted][order], weights[counted][order].tolist()
    assert window.count == sum(weights)
    for percent in (50, 90, 99):
        rank = -(-percent * sum(weights) // 100)
        position = next(i for i in range(len(weights)) if sum(weights[: i + 1]) >= rank)
        estimate = window[percent / 100]
        assert estimate.low <= values[position] <= estimate.high


def test_more_events_than_32_bits_can_count_are_answered():
    query = Query("2 minutes", "1 minute", quantiles=(0.25, 0.5), thresholds=(15.0,))
    times = np.array([0, 1, 2, MINUTE], "datetime64[us]")
    operator = Operator(query)
    results = operator.push([10, 20, 30, 20], times, weights=[2**31 - 1, 2**31 - 1, 2**31 - 1, 1])
    results += operator.finish()
    assert results.counts.tolist() == [3 * (2**31 - 1), 3 * (2**31 - 1) + 1]
    assert results[-1][0.25].low <= 10 <= results[-1][0.25].high
    assert results[-1][0.5].low <= 20 <= results[-1][0.5].high
    share = results[-1].below(15.0)
    assert share.low <= 1 / 3 <= share.high + 1e-9 and share.high - share.low < 1e-9


def test_a_weight_of_zero_moves_time_and_nothing_else():
    query = Query("2 minutes", "1 minute", lateness="0 seconds")
    operator = Operator(query)
    assert len(operator.push([5.0], np.array([0], "datetime64[us]"), weights=[1])) == 0
    results = operator.push([1e9], np.array([MINUTE], "datetime64[us]"), weights=[0])
    assert results.counts.tolist() == [1], "the first sub-window closed"
    assert operator.open == 0
    rest = operator.finish()
    assert rest.counts.tolist() == [1] and rest.maxima.tolist() == [5.0]


def test_late_events_are_counted_as_rows_and_those_of_weight_zero_are_none():
    operator = Operator(Query("2 minutes", "1 minute", lateness="0 seconds"))
    times = np.array([5 * MINUTE, 0, 1, 5 * MINUTE + 1, 2], "datetime64[us]")
    operator.push([1.0, 2.0, 3.0, 4.0, 5.0], times, weights=[1, 7, 0, 3, 9])
    assert (operator.late, operator.open, operator.refused) == (2, 2, 0)


@pytest.mark.parametrize(
    "weights",
    [
        [1, -1, 2],
        [1, 2**31, 2],
        [1.0, 0.5, 2.0],
        [1.0, np.nan, 2.0],
        [1.0, np.inf, 2.0],
        [1, None, 2],
        pa.array([1, None, 2]),
        np.ma.masked_array([1, 5, 2], [False, True, False]),
        np.array([1, 2**63, 2], np.uint64),
        np.array([1, np.inf, 2], np.float16),
        np.array([1, 2**31, 2], np.float32),
        [1, 2**63, 2],
        [1, 2**70, 2],
        [Decimal(1), Decimal("0.5"), Decimal("2.0")],
        [Decimal(1), Decimal("1E+999999"), Decimal(2)],
        pa.array([Decimal(1), Decimal(2**100), Decimal(2)], pa.decimal128(38, 0)),
        pa.array([Decimal(1), Decimal(-1), Decimal(2)], pa.decimal256(60, 0)),
        pa.array([Decimal(1), Decimal("1.0000000000000000001"), Decimal(2)], pa.decimal128(38, 19)),
        pa.array([Decimal(1), Decimal("1.000000001"), Decimal(2)], pa.decimal64(18, 9)),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_other_weights_are_refused_row_by_row(weights):
    operator = Operator(Query("2 minutes", "1 minute"))
    times = np.array([0, 30 * MINUTE, 1], "datetime64[us]")
    operator.push([1.0, 2.0, 3.0], times, weights)
    assert (operator.refused, operator.open, operator.late) == (1, 2, 0), "and they do not move time"
    (result,) = operator.finish()
    assert result.count == 3


@pytest.mark.parametrize(
    "kind", [pa.decimal64(18, 2), pa.decimal128(38, 0), pa.decimal128(38, 20), pa.uint64()], ids=str
)
def test_weights_may_have_any_type_of_number(kind):
    """DuckDB adds integers up to decimal(38, 0)."""
    operator = Operator(Query("2 minutes", "1 minute"))
    number = int if kind == pa.uint64() else Decimal
    weights = pa.array([number(7), None, number(0), number(2**31 - 1)], kind)
    operator.push([1.0, 2.0, 3.0, 4.0, 5.0], np.zeros(5, "datetime64[us]"), pa.concat_arrays([weights, weights])[3:8])
    assert (operator.refused, operator.open) == (1, 3)
    (result,) = operator.finish()
    assert result.count == 7 + 2 * (2**31 - 1)


def test_weights_may_be_decimals_of_polars():
    polars = pytest.importorskip("polars")
    operator = Operator(Query("2 minutes", "1 minute"))
    weights = polars.Series([Decimal(3), None, Decimal("0.5")], dtype=polars.Decimal(38, 4))
    operator.push([1.0, 2.0, 3.0], np.zeros(3, "datetime64[us]"), weights)
    assert (operator.refused, operator.open) == (2, 1)


def test_nulls_of_values_times_and_weights_are_refused_once():
    operator = Operator(Query("2 minutes", "1 minute"))
    values = [1.0, None, 3.0, float("nan"), 5.0, 6.0]
    times = np.array(["1970", "1970", "NaT", "1970", "1970", "1970"], "datetime64[us]")
    operator.push(values, times, weights=[1, -1, 1, 1, None, 4])
    assert (operator.refused, operator.open) == (4, 2)
    (result,) = operator.finish()
    assert (result.count, result.minimum, result.maximum) == (5, 1.0, 6.0)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        (Query(2000, 1000), "counted in events"),
        (Query.paper("2 minutes", "1 minute"), "guarantee"),
        (Query("2 minutes", "1 minute", guarantee=False), "guarantee"),
        (Query("2 minutes", "1 minute", few_k=FewK(always=True)), "few-k"),
    ],
)
def test_queries_that_keep_single_values_refuse_weights(query, word):
    times = None if query.counted else np.array([0], "datetime64[us]")
    with pytest.raises(InputError, match=word):
        Operator(query).push([1.0], times, weights=[1])


def test_as_many_weights_as_values_are_needed():
    with pytest.raises(InputError, match="2 values but 1 weights"):
        Operator(DEFAULT).push([1.0, 2.0], np.array([0, 1], "datetime64[us]"), weights=[1])
    with pytest.raises(InputError, match="cast them to int64"):
        Operator(DEFAULT).push([1.0], np.array([0], "datetime64[us]"), weights=["1"])


# -- tallies and summaries -------------------------------------------------------------------------------------------


def windows_of(query, tallies, end):
    """Results of one key from tallies, whose groups are sub-windows."""
    numbers = tallies.groups
    rows = KeyRows(
        np.zeros(numbers.size, np.int64),
        numbers,
        np.full(numbers.size, TALLY, np.int64),
        np.zeros(numbers.size, np.int64),
        tallies.offsets,
        tallies.data.copy(),
    )
    return KeyedWindows(query).slide(rows, np.array([-(2**62)]), np.array([end]))


@pytest.mark.parametrize("query", QUERIES)
@settings(max_examples=25)
@given(data=st.data())
def test_tallies_of_weights_merge_exactly(query, data):
    # sums beyond 32 bits for one query only: each kind of query compiles its loops for them
    events = data.draw(events_of(REALS, heaviest=2**31 - 1 if query is DEFAULT else 7))
    parts = data.draw(st.integers(1, 4))
    events = [event for event in events if event[2] > 0] or [(1.0, 0, 1)]
    values, times, weights = arrays_of(events, np.float64)
    numbers = times.astype(np.int64) // MINUTE
    sliding = KeyedWindows(query).sliding
    whole = tally(sliding, numbers, values, weights)
    pieces = [tally(sliding, numbers[i::parts], values[i::parts], weights[i::parts]) for i in range(parts)]
    groups = np.concatenate([piece.groups for piece in pieces])
    order = np.argsort(groups, kind="stable")
    contents = [
        piece.data[first:last]
        for piece in pieces
        for first, last in zip(piece.offsets[:-1], piece.offsets[1:], strict=True)
    ]
    offsets = np.concatenate([[0], np.cumsum([contents[i].size for i in order])])
    together = Tallies(
        groups[order],
        np.concatenate([piece.events for piece in pieces])[order],
        offsets,
        np.concatenate([contents[i] for i in order]),
    )
    merged = merge_tallies(sliding, together)
    assert merged.data.tobytes() == whole.data.tobytes() and np.array_equal(merged.events, whole.events)
    end = int(numbers.max()) + 1
    unmerged, single = windows_of(query, together, end), windows_of(query, whole, end)
    assert unmerged.results == single.results
    assert unmerged.summaries.data.tobytes() == single.summaries.data.tobytes()
    operator = Operator(query.replace(lateness="1 hour"))
    results = operator.push(values, times, weights)
    results += operator.finish()
    assert np.array_equal(results.rows, single.results.rows)


def test_a_tally_says_by_how_much_weights_exceed_events():
    sliding = KeyedWindows(DEFAULT).sliding
    plain = tally(sliding, np.zeros(3, np.int64), np.array([1, 2, 2]))
    ones = tally(sliding, np.zeros(3, np.int64), np.array([1, 2, 2]), np.ones(3, np.int64))
    assert plain.data.tobytes() == ones.data.tobytes(), "a weight of one changes nothing"
    heavy = tally(sliding, np.zeros(3, np.int64), np.array([1, 2, 2]), np.array([1, 5, 10]))
    counts: Counts = counts_of(heavy.data, fine=False)
    assert (counts.total, counts.events, counts.surplus) == (16, 3, 13)


def test_sums_of_summaries_have_the_weight_of_all():
    heavy = 2**31 - 1
    summaries = []
    for value in (10.0, 20.0, 30.0):
        operator = Operator(DEFAULT)
        values = np.full(300, value) + np.arange(300)
        operator.push(values, np.zeros(300, "datetime64[us]"), np.full(300, heavy))
        operator.advance(np.datetime64(MINUTE, "us"))
        summaries.append(operator._state.summaries()[-1])
    summary = Recast(DEFAULT, DEFAULT)(summaries)
    operator = Operator(DEFAULT)
    operator._sliding.enter(summary)
    operator.check()
    assert operator._state.live_events == 3 * 300 * heavy
    rows, _ = operator._sliding.answer_empty(1, 2)
    (result,) = Results(DEFAULT, rows)
    values = np.concatenate([np.arange(300) + start for start in (10.0, 20.0, 30.0)])
    assert result[0.5].low <= exact(values, 0.5) <= result[0.5].high


# -- bursts ----------------------------------------------------------------------------------------------------------


def burst_of(values, weights):
    """Whether the second of two sub-windows is a burst."""
    operator = Operator(Query("4 minutes", "1 minute", quantiles=(0.5, 0.99)))
    times = np.repeat(np.array([0, MINUTE], "datetime64[us]"), len(values) // 2)
    operator.push(values, times, weights)
    return operator.finish()[-1]


def test_weights_do_not_make_a_burst_more_certain():
    calm = np.concatenate([np.arange(100.0, 140.0), np.arange(100.0, 140.0)])
    calm[-4:] = 500.0  # outliers
    assert not burst_of(calm, np.ones(80, np.int64)).burst
    assert not burst_of(calm, np.full(80, 10_000)).burst, "a row of 10,000 events is one row"
    assert burst_of(np.repeat(calm, 10_000), np.ones(800_000, np.int64)).burst, "as many events would be a burst"


def test_a_burst_of_many_rows_is_found_whatever_their_weights():
    rng = np.random.default_rng(7)
    values = rng.lognormal(6, 0.5, 20_000)
    values[10_000:11_000] *= 10
    for weights in (np.ones(20_000, np.int64), np.full(20_000, 1_000), np.full(20_000, 2**31 - 1)):
        assert burst_of(values, weights).burst
