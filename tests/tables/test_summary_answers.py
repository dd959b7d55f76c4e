"""Stored summaries, one by one and merged, answer quantiles and shares with intervals that contain the exact one."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from arbitrary import QUANTILES, THRESHOLDS, streams, timed_queries
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from local import NOON, SECOND
from reference import exact_quantile

import aomg
from aomg import FewK, InputError, Query, QueryError, StateError
from aomg.tables.summary_answers import merged, quantile_column, share_column

QUERY = Query("5 minutes", "1 minute", thresholds=(500.0,))


def table_of(values, query, seed, keys=3, weights=None) -> tuple[pa.Table, pa.Table]:
    random = np.random.default_rng(seed)
    times = NOON + random.integers(0, 3 * query.period, values.size)
    columns = {"k": random.integers(0, keys, values.size), "ts": pa.array(times).cast(pa.timestamp("us")), "v": values}
    events = pa.table(columns if weights is None else {**columns, "n": weights})
    options = {} if weights is None else {"weight": "n"}
    return events, aomg.summaries(events, query, value="v", time="ts", by=["k"], **options)


def members_of(events: pa.Table, row: dict, query: Query) -> list:
    """The values of the events of one summary, each as often as its weight."""
    numbers = np.asarray(events["ts"].cast(pa.int64())) // query.period
    start = round(row["sub_window"]["start"].timestamp()) if not isinstance(row["sub_window"]["start"], int) else 0
    inside = (numbers == start * SECOND // query.period) & (np.asarray(events["k"]) == row["k"])
    weights = np.asarray(events["n"])[inside] if "n" in events.column_names else None
    return np.repeat(np.asarray(events["v"])[inside], 1 if weights is None else weights).tolist()


def ask(function, table: pa.Table, number) -> list:
    columns = [table[name].combine_chunks() for name in ("summary", "query")]
    return function(*columns, pa.array([number] * table.num_rows)).to_pylist()


def assert_covered(values: list, quantile: str, threshold: float, answer: dict, share: dict, query: Query) -> None:
    exact = exact_quantile(values, quantile)
    assert answer["low"] <= exact <= answer["high"]
    assert answer["low"] <= answer["value"] <= answer["high"]
    assert abs(answer["value"] - exact) <= query.guarantee * abs(exact) * (1 + 1e-12)
    exact_share = Fraction(sum(value <= threshold for value in values), len(values))
    assert share["low"] <= share["value"] <= share["high"]
    assert Fraction(share["low"]) - Fraction(1, 10**15) <= exact_share <= Fraction(share["high"]) + Fraction(1, 10**15)


@settings(max_examples=25)
@given(
    query=timed_queries(),
    values=streams(300),
    seed=st.integers(0, 2**32),
    quantile=st.sampled_from(QUANTILES),
    threshold=st.sampled_from(THRESHOLDS),
    weighted=st.booleans(),
)
def test_summaries_and_their_sums_cover_the_exact_answers(query, values, seed, quantile, threshold, weighted):
    assume(values.size and query.guarantee is not None)
    weighted = weighted and not query.keeps_lists
    weights = np.random.default_rng(seed).integers(1, 9, values.size) if weighted else None
    events, stored = table_of(values, query, seed, weights=weights)
    everything = np.repeat(values, 1 if weights is None else weights).tolist()
    try:
        answers = ask(quantile_column, stored, Decimal(quantile))
        total = merged(*(stored[name].combine_chunks() for name in ("summary", "query")))
    except StateError as error:
        assert "beyond 2^53" in str(error)
        assert query.digits is None
        assert np.abs(values.astype(float)).max() >= 2**53
        return
    shares = ask(share_column, stored, threshold)
    for row, answer, share in zip(stored.to_pylist(), answers, shares, strict=True):
        assert_covered(members_of(events, row, query), quantile, threshold, answer, share, query)
    assert total["count"] == len(everything)
    both = pa.table({name: [total[name]] for name in ("summary", "query")})
    event(f"{stored.num_rows} summaries")
    answer, share = ask(quantile_column, both, Decimal(quantile))[0], ask(share_column, both, threshold)[0]
    assert_covered(everything, quantile, threshold, answer, share, query)


@settings(max_examples=12)
@given(query=timed_queries(), values=streams(300), seed=st.integers(0, 2**32))
def test_one_summary_answers_like_a_window_of_one_period(query, values, seed):
    assume(values.size and query.guarantee is not None and not query.keeps_lists)
    _, stored = table_of(values, query, seed)
    alone = query.replace(size=query.arguments()["period"], partial=True)
    windows = {(row["k"], row["window"]["start"]): row for row in aomg.windows(stored, alone).to_pylist()}
    for quantile in query.quantiles:
        name = aomg.names.quantile_name(quantile)
        for row, answer in zip(stored.to_pylist(), ask(quantile_column, stored, quantile), strict=True):
            assert answer == windows[row["k"], row["sub_window"]["start"]][name]
    for threshold in query.thresholds:
        name = aomg.names.threshold_name(threshold)
        for row, answer in zip(stored.to_pylist(), ask(share_column, stored, threshold), strict=True):
            assert answer == windows[row["k"], row["sub_window"]["start"]][name]


def test_sums_of_one_sub_window_are_stored_summaries_of_the_roll_up():
    events, stored = table_of(np.random.default_rng(1).lognormal(6, 1, 5_000), QUERY, 1)
    rows = []
    for start in sorted({row["sub_window"]["start"] for row in stored.to_pylist()}):
        part = stored.filter(pa.array([row["sub_window"]["start"] == start for row in stored.to_pylist()]))
        columns = [part[name].combine_chunks() for name in ("summary", "query")]
        rows.append({"sub_window": part["sub_window"][0].as_py(), **merged(*columns)})
    rolled_up = pa.Table.from_pylist(rows, stored.schema.remove(0))
    assert aomg.windows(rolled_up, QUERY) == aomg.windows(stored, QUERY, by=[])
    everything = merged(*(rolled_up[name].combine_chunks() for name in ("summary", "query")))
    assert (everything["count"], everything["max"]) == (events.num_rows, max(events["v"].to_pylist()))
    forged = pa.Table.from_pylist([{**rows[0], **everything}], rolled_up.schema)
    with pytest.raises(StateError, match="is the sum of several sub-windows"):
        aomg.windows(forged, QUERY)


def test_nulls_have_no_answer_and_are_left_out_of_sums():
    _, stored = table_of(np.arange(100.0), QUERY, 2)
    summaries, writers = stored["summary"].to_pylist(), stored["query"].to_pylist()
    size = stored.num_rows
    for place, columns in enumerate([(summaries, writers, [0.5] * size)] * 3):
        arrays = [pa.array([None, *column[1:]] if i == place else column) for i, column in enumerate(columns)]
        for function in (quantile_column, share_column):
            answers = function(*arrays).to_pylist()
            assert answers[0] is None
            assert None not in answers[1:]
    left_out = merged(pa.array([None, *summaries]), pa.array([writers[0], *writers]))
    assert left_out == merged(pa.array(summaries), pa.array(writers))
    assert merged(pa.array([None], pa.binary()), pa.array([None], pa.string())) is None
    assert quantile_column(pa.array([], pa.binary()), pa.array([], pa.string()), pa.array([], pa.float64())).type == (
        quantile_column(pa.array(summaries), pa.array(writers), pa.array([0.5] * size)).type
    )


def test_damaged_summaries_and_impossible_questions_are_refused():
    _, stored = table_of(np.arange(500.0), QUERY, 3, keys=1)
    summary, text = stored["summary"][0].as_py(), stored["query"][0].as_py()
    texts, half = pa.array([text]), pa.array([0.5])
    for place in range(len(summary)):
        damaged = pa.array([summary[:place] + bytes([summary[place] ^ 4]) + summary[place + 1 :]])
        with pytest.raises(StateError, match="is damaged: its checksum is wrong"):
            quantile_column(damaged, texts, half)
    for content in (b"", summary[:8], summary[:-12]):
        for function in (quantile_column, share_column):
            with pytest.raises(StateError, match="damaged"):
                function(pa.array([content]), texts, half)
        with pytest.raises(StateError, match="damaged"):
            merged(pa.array([content]), texts)
    with pytest.raises(StateError, match="its checksum is wrong"):
        quantile_column(pa.array([summary]), pa.array(["SELECT 1"]), half)
    with pytest.raises(QueryError, match="not the text of a query"):
        quantile_column(pa.array([summary[:-4]]), pa.array(["SELECT 1"]), half)
    with pytest.raises(QueryError, match="must be above 0 and at most 1"):
        quantile_column(pa.array([summary]), texts, pa.array([99]))
    with pytest.raises(InputError, match="NaN"):
        share_column(pa.array([summary]), texts, pa.array([float("nan")]))


def test_sums_of_other_queries_and_without_a_guarantee_are_refused():
    (_, stored), (_, other) = (table_of(np.arange(90.0), QUERY.replace(quantiles=q), 4) for q in ((0.5,), (0.9,)))
    together = pa.concat_tables([stored, other])
    with pytest.raises(StateError, match=r"written by different queries, .*GROUP BY \.\.\., query"):
        merged(*(together[name].combine_chunks() for name in ("summary", "query")))
    _, free = table_of(np.arange(90.0), QUERY.replace(guarantee=False), 4)
    with pytest.raises(StateError, match=r"answer only windows\(\.\.\.\) of the query that wrote them"):
        ask(quantile_column, free, 0.5)


def test_summaries_with_few_k_lists_answer_from_their_three_digits():
    values = np.random.default_rng(5).lognormal(6, 1, 3_000)
    _, stored = table_of(values, QUERY.replace(few_k=FewK(always=True)), 5)
    _, plain = table_of(values, QUERY.replace(few_k=None), 5)
    assert ask(quantile_column, stored, 0.99) == ask(quantile_column, plain, 0.99)
    assert ask(share_column, stored, 500) == ask(share_column, plain, 500)
