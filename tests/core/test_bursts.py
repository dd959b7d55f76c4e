"""The burst detector: its score is the definition's, bursts are found, calm streams are left alone."""

from math import comb

import numpy as np
import pytest
from fine_reference import limit, score
from hypothesis import example, given
from hypothesis import strategies as st

from aomg import FewK, Operator, Query, Results
from aomg.core.counts import count_codes
from aomg.core.kernels.exceedances import CHANCES, FEWEST
from aomg.core.keyed import LIVE, TALLY, KeyedWindows, KeyRows
from aomg.core.tally import tally
from aomg.streams import normal, pingmesh, with_bursts

codes = st.one_of(
    st.lists(st.integers(-20, 20), min_size=1, max_size=40),
    st.lists(st.integers(-200, 200), min_size=1, max_size=60, unique=True),
)


@given(new=codes, old=codes)
def test_the_score_is_the_mean_sign_over_all_pairs(new, old):
    defined = sum((x > y) - (x < y) for x in new for y in old) / (len(new) * len(old))
    assert score(count_codes(np.array(new)), count_codes(np.array(old))) == pytest.approx(defined, abs=1e-12)


@pytest.mark.parametrize(
    "settings",
    [{}, {"digits": None}, {"guarantee": False}, {"guarantee": False, "digits": None, "few_k": None}],
)
def test_the_reported_score_is_that_of_the_two_newest_tails(settings):
    """With an envelope it is told from bucket counts, without one from samples: both near the raw definition."""
    period, sub_windows = 2_000, 5
    values = pingmesh(seed=4).take(6 * period)
    values[4 * period : 5 * period] = np.rint(values[4 * period : 5 * period] * 1.15)
    query = Query(sub_windows * period, period, quantiles=(0.99,), **settings)
    results = Operator(query).push(values)
    depth = int(period * sub_windows * 0.01) + 1
    tails = [np.sort(part)[-depth:] for part in values.reshape(-1, period)]
    for result, new, old in zip(results[1:], tails[1:], tails, strict=False):
        defined = np.sign(new[:, None] - old[None, :]).mean()
        assert result.burst_score == pytest.approx(defined, abs=0.12)
    assert results[0].burst_score == 0


@given(seed=st.integers(0, 2**32), shift=st.integers(0, 2))
def test_the_score_told_from_buckets_is_the_definitions_where_each_bucket_holds_one_value(seed, shift):
    """Ties everywhere, also where the tail begins: only its part of a tie is compared."""
    period, sub_windows = 1_000, 10
    random = np.random.default_rng(seed)
    levels = np.rint(1000 * 1.3 ** np.arange(14)).astype(np.int64)
    parts = [levels[np.minimum(random.geometric(0.25, period) + shift * (i == 3), 13)] for i in range(5)]
    results = Operator(Query(sub_windows * period, period, quantiles=(0.99,))).push(np.concatenate(parts))
    tails = [np.sort(part)[-(period * sub_windows // 100 + 1) :] for part in parts]
    for result, new, old in zip(results[1:], tails[1:], tails, strict=False):
        defined = np.sign(new[:, None] - old[None, :]).mean()
        assert result.burst_score == pytest.approx(defined, abs=1e-12)


def test_too_few_values_cannot_tell():
    assert limit(0.5, 9, 100, 1000) is None
    assert limit(0.5, 100, 9, 1000) is None
    assert limit(0.5, 10_000, 10_000, 100_000) == 0.5
    assert limit(0.5, 40, 40, 10_000) is None
    assert 0.5 < limit(0.5, 60, 60, 10_000) < 1


@pytest.mark.parametrize("settings", [{}, {"digits": None}, {"guarantee": False}, {"few_k": None}])
@pytest.mark.parametrize("period", [16_384, 4_096])
def test_every_burst_of_the_papers_injection_is_found_and_calm_gives_no_alarm(settings, period):
    size = 131_072 if period == 16_384 else 32_768
    stream = with_bursts(pingmesh(seed=2), size, period, quantile=0.999 if period == 16_384 else 0.99)
    results = Operator(Query(size, period, **settings)).push(stream.take(6 * size))
    newest = [r.burst for r in results]
    bursty = [(r.end // period) % (size // period) == 0 for r in results]
    assert newest == bursty


@pytest.mark.parametrize("query", [Query(131_072, 16_384), Query.paper(131_072, 16_384, few_k=FewK())])
def test_no_false_alarm_in_hundreds_of_calm_sub_windows(query):
    operator = Operator(query)
    for part in pingmesh(seed=9).chunks(300 * 16_384, 50 * 16_384):
        assert not operator.push(part).bursts.any()


@pytest.mark.parametrize("settings", [{}, {"guarantee": False}])
def test_a_burst_that_goes_on_is_told_until_the_tail_falls_back(settings):
    period = 4_000
    values = pingmesh(seed=3).take(12 * period)
    values[4 * period : 7 * period] *= 10
    results = Operator(Query(8 * period, period, **settings)).push(values)
    assert [r.burst for r in results] == [False] * 4 + [True] * 3 + [False] * 5


def test_a_new_normal_is_no_burst_for_ever():
    period, sub_windows = 2_000, 4
    values = pingmesh(seed=3).take(14 * period)
    values[4 * period :] *= 10
    for settings in ({}, {"guarantee": False}):
        results = Operator(Query(sub_windows * period, period, **settings)).push(values)
        assert [r.burst for r in results] == [False] * 4 + [True] * sub_windows + [False] * 6


def test_a_burst_stops_deciding_exactly_one_window_later():
    period, sub_windows = 8_192, 8
    values = pingmesh(seed=6).take(30 * period)
    tail = np.argsort(values[10 * period : 11 * period])[-100:]
    values[10 * period + tail] *= 10
    query = Query.paper(sub_windows * period, period, quantiles=(0.5, 0.999), few_k=FewK(threshold=0))
    results = Operator(query).push(values)
    methods = {r.end // period - 1: r[0.999].method for r in results}
    assert methods == {
        number: "sample-k" if 10 <= number < 10 + sub_windows else "mean" for number in range(sub_windows - 1, 30)
    }
    assert {r[0.5].method for r in results} == {"mean"}


def test_smaller_tails_are_no_burst():
    period = 4_000
    values = pingmesh(seed=3).take(8 * period)
    values[4 * period :] //= 10
    assert not Operator(Query(4 * period, period)).push(values).bursts.any()


# -- short tails ------------------------------------------------------------------------------------------------------

SHORT = Query("8 s", "1 s", quantiles=(0.5, 0.99))  # at most 4 sub-windows of 400 events: tails of up to 33 values
KEYED = KeyedWindows(SHORT)


def levels(numbers: np.ndarray) -> np.ndarray:
    """Values that are in a bucket of their own."""
    return np.rint(1000 * 1.3**numbers).astype(np.int64)


@st.composite
def two_sub_windows(draw):
    """The levels of two sub-windows of different sizes, with many or few ties; some of the largest are raised."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    old, new = (
        random.geometric(draw(st.sampled_from([0.1, 0.3, 0.6])), draw(st.integers(1, 400))).clip(max=30) for _ in "ab"
    )
    side = draw(st.sampled_from([new, old]))
    raised = draw(st.integers(0, 40))
    side[np.argsort(side)[max(side.size - raised, 0) :]] += draw(st.integers(0, 12))
    return old, new


def larger(these: np.ndarray, others: np.ndarray) -> bool:
    """Whether chance does not explain how many events exceed one of the four largest of the others: the definition."""
    share = these.size / (these.size + others.size)
    for rank, level in enumerate(np.sort(others)[::-1][: len(CHANCES)], 1):
        above = int((these > level).sum())
        if above >= FEWEST:
            chance = share**above * sum(comb(above + i - 1, i) * (1 - share) ** i for i in range(rank))
            if chance <= CHANCES[rank - 1]:
                return True
    return False


def flag_of(old: np.ndarray, new: np.ndarray) -> int:
    return 1 if larger(new, old) else -1 if larger(old, new) else 0


def keyed(parts: list[np.ndarray], query: Query = SHORT, windows: KeyedWindows = KEYED) -> tuple[list[int], Results]:
    """The flags of sub-windows with these values, and the results, from core.keyed; one slide for each sub-window."""
    flags, results, live = [], [], []
    for number, part in enumerate(parts):
        tallies = tally(windows.sliding, np.zeros(part.size, np.int64), part)
        content = [*live, (number, TALLY, 0, tallies.data[: tallies.offsets[1]].tobytes())]
        numbers, kinds, stored, data = zip(*content, strict=True)
        rows = KeyRows(
            np.zeros(len(content), np.int64),
            *(np.array(column, np.int64) for column in (numbers, kinds, stored)),
            np.cumsum([0, *map(len, data)]),
            np.frombuffer(b"".join(data), np.uint8).copy(),
        )
        closed = windows.slide(rows, np.array([number]), np.array([number + 1]))
        flags.append(int(closed.summaries.flags[0]))
        live = [*live, (number, LIVE, flags[-1], closed.summaries.data.tobytes())][-query.sub_windows :]
        results.append(closed.results)
    return flags, sum(results[1:], results[0])


def pushed(parts: list[np.ndarray], query: Query = SHORT) -> Results:
    """The results of an operator that gets these values, a sub-window each."""
    seconds = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    operator = Operator(query)
    return (
        operator.push(np.concatenate(parts), seconds.astype("datetime64[s]").astype("datetime64[us]"))
        + operator.finish()
    )


@given(parts=two_sub_windows())
@example(parts=(np.arange(100) % 20, np.r_[np.arange(83) % 20, [25] * 17]))
@example(parts=(np.r_[np.arange(83) % 20, [25] * 17], np.arange(100) % 20))
@example(parts=(np.arange(100) % 20, np.full(20, 25)))
@example(parts=(np.full(20, 25), np.arange(100) % 20))
@example(parts=(np.r_[np.arange(100) % 20, 25], np.r_[np.arange(83) % 20, [25] * 17]))
def test_exceedances_decide_where_tails_are_short_and_an_operator_agrees_with_many_keys(parts):
    values = [levels(part) for part in parts]
    flags, results = keyed(values)
    assert flags == [0, flag_of(*parts)]
    assert results == pushed(values)
    assert results.bursts.tolist() == [False, flags[1] > 0]


@given(first=two_sub_windows(), second=two_sub_windows())
def test_bursts_of_short_tails_begin_last_and_end_the_same_in_an_operator_and_with_many_keys(first, second):
    values = [levels(part) for part in (*first, *second)]
    flags, results = keyed(values)
    assert results == pushed(values)
    bursting, expected = False, []
    for flag in flags:
        bursting = flag > 0 or (bursting and flag == 0)
        expected.append(bursting)
    assert results.bursts.tolist() == expected


@given(parts=two_sub_windows(), seed=st.integers(0, 2**32))
def test_the_order_of_events_in_a_sub_window_does_not_matter(parts, seed):
    random = np.random.default_rng(seed)
    values = [levels(part) for part in parts]
    assert pushed([random.permutation(part) for part in values]) == pushed(values)


@given(parts=two_sub_windows(), width=st.integers(2, 30))
@example(parts=(np.full(50, 3), np.full(300, 3)), width=30)
def test_ties_never_raise_a_flag(parts, width):
    """Where neighbouring levels become one, a flag may go, but none comes."""
    apart = keyed([levels(part) for part in parts])[0][1]
    tied = keyed([levels(part // width * width) for part in parts])[0][1]
    assert tied in (0, apart)


def test_fewer_than_five_events_are_no_burst_however_many_smaller_ones_there_were():
    calm = pingmesh(seed=5).take(200_000)
    for few in range(1, 6):
        flags, _ = keyed([calm, np.full(few, 10**6)])
        assert flags == [0, int(few == 5)]


def test_long_tails_are_left_to_the_score():
    """17 values above all of the sub-window before are no burst of a tail of 132 or 1,311."""
    period = 16_384
    values = pingmesh(seed=8).take(4 * period)
    values[2 * period : 2 * period + 17] = 10**6
    assert not Operator(Query(8 * period, period)).push(values).bursts.any()
    assert Operator(Query(period, period)).push(values).bursts.tolist() == [False, False, True, False]


def test_the_score_of_a_short_tail_counts_if_its_exceedances_differ():
    period = 1_024
    values = pingmesh(seed=8).take(4 * period)
    values[2 * period : 2 * period + 17] = 10**6
    alone, beside = Query(16 * period, period, quantiles=(0.999,)), Query(16 * period, period, quantiles=(0.99, 0.999))
    scores = Operator(alone).push(values).burst_scores
    assert scores[:2].tolist() == [0, 0] and scores[2] == 1 and scores[3] < -0.9
    results = Operator(beside).push(values)
    assert results.bursts.tolist() == [False, False, True, False]
    assert results.burst_scores[2] == 1 and 0 < abs(results.burst_scores[1]) < 0.4


@pytest.mark.parametrize(("size", "period"), [(32_768, 1_024), (32_768, 4_096), (16_384, 1_024)])
@pytest.mark.parametrize("settings", [{}, {"digits": None}, {"guarantee": 0.01}])
def test_bursts_of_short_tails_are_found_and_over_in_the_next_sub_window(size, period, settings):
    bursts, sub_windows = 100, size // period
    stream = with_bursts(pingmesh(seed=2), size, period)
    flags = Operator(Query(size, period, **settings)).push(stream.take(bursts * size + period)).bursts
    assert flags[sub_windows - 1 :: sub_windows].mean() >= 0.95
    assert flags[sub_windows::sub_windows].mean() <= 0.05


@pytest.mark.parametrize("stream", [pingmesh, normal])
@pytest.mark.parametrize(("size", "period"), [(32_768, 1_024), (16_384, 1_024), (1_024, 1_024)])
def test_calm_sub_windows_with_short_tails_raise_hardly_any_alarm(stream, size, period):
    flags = Operator(Query(size, period)).push(stream(seed=7).take(20_000 * period)).bursts
    assert int((flags[1:] & ~flags[:-1]).sum()) <= 5  # 2 are expected at most
