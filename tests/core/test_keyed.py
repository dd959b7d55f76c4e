"""The windows of many keys: each gets the results of an operator of its own, bit for bit, however its rows come."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest
from arbitrary import counted_queries, streams, timed_queries
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg import FewK, Operator, Query, Results, StateError
from aomg.core.keyed import LIVE, SUMMARY, TALLY, ClosedWindows, KeyedWindows, KeyRows
from aomg.core.tally import tally

QUERIES = {
    "default": Query("10 s", "1 s"),
    "thresholds": Query("5 s", "1 s", thresholds=(0, 500.0, 1000)),
    "tumbling": Query("1 s", "1 s", thresholds=(100,)),
    "full windows only": Query("4 s", "1 s", partial=False),
    "one digit": Query("10 s", "2 s", digits=1),
    "five digits": Query("6 s", "1 s", digits=5, thresholds=(500.0,)),
    "raw": Query("6 s", "1 s", digits=None, few_k=FewK(always=True)),
    "no guarantee": Query("10 s", "1 s", guarantee=False),
    "paper": Query.paper("4 s", "1 s"),
    "paper with few-k": Query.paper("4 s", "1 s", few_k=FewK(high=0.5)),
}
every_query = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
queries = st.one_of(st.sampled_from(list(QUERIES.values())), timed_queries())
seeds = st.integers(0, 2**32)
some_examples = settings(max_examples=settings.default.max_examples // 5)  # of each query
half_the_examples = settings(max_examples=settings.default.max_examples // 2)

# (key, kind, number, flag, bytes)
Row = tuple[int, int, int, int, bytes]


@lru_cache(maxsize=32)
def fleet_of(query: Query) -> KeyedWindows:
    return KeyedWindows(query)


def rows_of(content: Iterable[Row]) -> KeyRows:
    """KeyRows in the order that a fleet takes: by key, what is live before the rest, by number; else as they come."""
    ordered = sorted(content, key=lambda row: (row[0], row[1] != LIVE, row[2]))
    keys, kinds, numbers, flags = (np.array([row[i] for row in ordered], np.int64) for i in range(4))
    offsets = np.cumsum([0, *(len(row[4]) for row in ordered)])
    data = np.frombuffer(b"".join(row[4] for row in ordered), np.uint8).copy()
    return KeyRows(keys, numbers, kinds, flags, offsets, data)


def kept(closed: ClosedWindows, kind: int = LIVE) -> list[Row]:
    """The summaries that closed, as rows to be handed in again."""
    bounds = zip(closed.summaries.offsets[:-1], closed.summaries.offsets[1:], strict=True)
    told = zip(
        closed.summaries.keys.tolist(),
        closed.summaries.numbers.tolist(),
        closed.summaries.flags.tolist(),
        bounds,
        strict=True,
    )
    return [
        (key, kind, number, flag, closed.summaries.data[first:last].tobytes())
        for key, number, flag, (first, last) in told
    ]


@dataclass
class Batch:
    """Events of several keys: integers or doubles, and the sub-windows they fall into."""

    keys: np.ndarray
    numbers: np.ndarray
    values: np.ndarray

    def counts(self, query: Query, pieces: int = 1, seed: int = 0) -> list[Row]:
        """KeyRows of counts, as if the events had been tallied in so many places."""
        if self.values.size == 0:
            return []
        place = np.random.default_rng(seed).integers(0, pieces, self.values.size)
        lowest = int(self.numbers.min())
        span = int(self.numbers.max()) - lowest + 1
        content: list[Row] = []
        for piece in range(pieces):
            here = place == piece
            groups = self.keys[here] * span + self.numbers[here] - lowest
            tallies = tally(fleet_of(query).sliding, groups, self.values[here])
            for at, group in enumerate(tallies.groups.tolist()):
                data = tallies.data[tallies.offsets[at] : tallies.offsets[at + 1]].tobytes()
                content.append((group // span, TALLY, group % span + lowest, 0, data))
        return content


@dataclass
class Events:
    """Batches of one stream of several keys."""

    size: int  # keys
    batches: list[Batch]

    def counts(self, query: Query, pieces: int = 1, seed: int = 0) -> list[Row]:
        return [row for batch in self.batches for row in batch.counts(query, pieces, seed)]

    @property
    def numbers(self) -> np.ndarray:
        return np.concatenate([batch.numbers for batch in self.batches])

    @property
    def ends(self) -> np.ndarray:
        """Where the stream ends, for each key."""
        return np.full(self.size, self.numbers.max(initial=-1) + 1)

    def alone(self, query: Query, key: int) -> Results:
        """The results of an operator that gets the events of one key alone, and is told how far time has come."""
        operator = Operator(query.replace(lateness="1000 days"))
        for batch in self.batches:
            own = batch.keys == key
            times = batch.numbers[own] * query.period + query.period // 3
            operator.push(batch.values[own], times.astype("datetime64[us]"))
        end = int(self.ends[key]) * query.period - 1
        results = operator.advance(np.datetime64(end, "us")) + operator.finish()
        return Results(query, results.rows, results.densities)


@st.composite
def events(draw, most: int = 250) -> Events:
    """Several keys, some of them rare; times with gaps, in any order; integers, doubles or both."""
    random = np.random.default_rng(draw(seeds))
    size = draw(st.integers(1, 4))
    reach, gap = draw(st.sampled_from([1, 4, 20])), draw(st.sampled_from([0, 0, 3, 25]))
    first = draw(st.sampled_from([0, -15, 1_700_000_000]))
    batches = []
    for values in draw(st.lists(streams(most), min_size=1, max_size=2)):
        keys = random.integers(0, size, values.size)
        keys[random.random(values.size) < draw(st.sampled_from([0, 0.8]))] = 0
        numbers = random.integers(0, reach, values.size)
        batches.append(Batch(keys, first + numbers + gap * (numbers // 5), values))
    return Events(size, batches)


def told(closed: Iterable[ClosedWindows], key: int) -> Results:
    """The results of one key."""
    parts = [(c.results, c.result_keys == key) for c in closed]
    rows = np.concatenate([results.rows[own] for results, own in parts])
    query, densities = parts[0][0].query, None
    if query.guarantee is None:
        densities = np.concatenate([results.densities[own] for results, own in parts])
    return Results(query, rows, densities)


def slid(query: Query, content: Iterable[Row], stream: Events) -> ClosedWindows:
    """All rows in one slide."""
    nowhere = np.zeros(stream.size, np.int64)
    return fleet_of(query).slide(rows_of(content), nowhere, stream.ends)


def slid_in_steps(query: Query, content: list[Row], stops: list[np.ndarray]) -> list[ClosedWindows]:
    """Slide up to one stop of each key after the other; between them only what has to be kept is kept."""
    fleet = KeyedWindows(query)
    closed, live = [], []
    begin = np.full(stops[0].size, -(2**60))
    for stop in stops:
        due = [row for row in content if begin[row[0]] <= row[2] < stop[row[0]]]
        if live or due:
            closed.append(fleet.slide(rows_of(live + due), begin, stop))
            fleet.sliding.check()
            live = [row for row in live + kept(closed[-1]) if row[2] >= stop[row[0]] - fleet.live_span]
        begin = stop
    return closed


def same(one: ClosedWindows, other: ClosedWindows) -> bool:
    """Everything that is handed out."""
    return (
        one.results == other.results
        and one.result_keys.tolist() == other.result_keys.tolist()
        and kept(one) == kept(other)
    )


# -- one slide ------------------------------------------------------------------------------------------------------


def check_one_slide(query: Query, stream: Events) -> None:
    content = stream.counts(query)
    if not content:
        return
    closed = slid(query, content, stream)
    assert (np.diff(closed.result_keys) >= 0).all()
    for key in range(stream.size):
        assert told([closed], key) == stream.alone(query, key)


@every_query
@some_examples
@given(stream=events())
def test_every_key_has_the_results_of_an_operator_of_its_own(query, stream):
    check_one_slide(query, stream)


@given(query=timed_queries(), stream=events())
def test_every_key_has_the_results_of_an_operator_of_its_own_whatever_is_asked(query, stream):
    check_one_slide(query, stream)


@half_the_examples
@given(query=queries, stream=events(), pieces=st.integers(2, 6), seed=seeds)
def test_how_many_rows_of_counts_there_are_and_in_which_order_changes_nothing(query, stream, pieces, seed):
    whole, parts = stream.counts(query), stream.counts(query, pieces, seed)
    if not whole:
        return
    np.random.default_rng(seed).shuffle(parts)
    assert same(slid(query, parts, stream), slid(query, whole, stream))


@every_query
def test_no_rows_have_no_results(query):
    closed = KeyedWindows(query).slide(rows_of([]), np.empty(0, np.int64), np.empty(0, np.int64))
    assert len(closed.results) == closed.result_keys.size == 0
    assert kept(closed) == []


# -- in steps -------------------------------------------------------------------------------------------------------


@st.composite
def stops_of(draw, stream: Events) -> list[np.ndarray]:
    """Up to four stops, each key's own or the same for all, and the end."""
    random = np.random.default_rng(draw(seeds))
    numbers = stream.numbers
    if numbers.size == 0:
        return [stream.ends]
    shape = (draw(st.integers(0, 4)), stream.size if draw(st.booleans()) else 1)
    stops = np.sort(random.integers(numbers.min(), stream.ends[0] + 1, shape), axis=0)
    return [*np.broadcast_to(stops, (shape[0], stream.size)).copy(), stream.ends]


@every_query
@some_examples
@given(stream=events(), data=st.data())
def test_sliding_in_steps_gives_the_results_of_one_slide(query, stream, data):
    content = stream.counts(query)
    if not content:
        return
    whole, steps = slid(query, content, stream), slid_in_steps(query, content, data.draw(stops_of(stream)))
    for key in range(stream.size):
        assert told(steps, key) == told([whole], key)
    assert sorted(row for closed in steps for row in kept(closed)) == kept(whole)


@given(query=timed_queries(), stream=events(), data=st.data())
def test_sliding_in_steps_gives_the_results_of_one_operator_whatever_is_asked(query, stream, data):
    content = stream.counts(query, pieces=2)
    if not content:
        return
    steps = slid_in_steps(query, content, data.draw(stops_of(stream)))
    for key in range(stream.size):
        assert told(steps, key) == stream.alone(query, key)


@some_examples
@given(query=queries, stream=events(), other=events())
def test_a_fleet_holds_nothing_between_slides(query, stream, other):
    content, others = stream.counts(query), other.counts(query)
    if not (content and others):
        return
    used = fleet_of(query)
    slid(query, others, other)
    used.slide(rows_of(others), np.zeros(other.size, np.int64), other.ends, answering=False)
    fresh = KeyedWindows(query).slide(rows_of(content), np.zeros(stream.size, np.int64), stream.ends)
    assert same(slid(query, content, stream), fresh)


# -- sums of summaries ----------------------------------------------------------------------------------------------


def slid_with_sums(query: Query, content: list[Row], stops: list[np.ndarray], parts: int) -> list[ClosedWindows]:
    """Slide in steps; before each, the live summaries that stay in the window are added up, in so many parts."""
    fleet = KeyedWindows(query)
    closed, live = [], []
    begin = np.full(stops[0].size, -(2**60))
    for stop in stops:
        due = [row for row in content if begin[row[0]] <= row[2] < stop[row[0]]]
        leaving = [row for row in live if row[2] < stop[row[0]] - query.sub_windows]
        staying = [row for row in live if row not in leaving]
        cuts = np.quantile([row[2] for row in staying], np.linspace(0, 1, parts + 1)) if staying else []
        sums = []
        for part in range(len(cuts) - 1):
            last = part + 2 == len(cuts)
            own = [row for row in staying if cuts[part] <= row[2] and (row[2] < cuts[part + 1] or last)]
            sums += added_up(fleet, own) if own else []
        if live or due:
            closed.append(fleet.slide(rows_of(leaving + sums + due), begin, stop))
            live = [row for row in live + kept(closed[-1]) if row[2] >= stop[row[0]] - fleet.live_span]
        begin = stop
    return closed


def added_up(fleet: KeyedWindows, live: list[Row]) -> list[Row]:
    sums = fleet.add_up(rows_of(live))
    bounds = zip(sums.offsets[:-1], sums.offsets[1:], strict=True)
    told = zip(sums.keys.tolist(), sums.numbers.tolist(), sums.flags.tolist(), bounds, strict=True)
    return [(key, LIVE, number, flag, sums.data[first:last].tobytes()) for key, number, flag, (first, last) in told]


ADDING = {name: query for name, query in QUERIES.items() if KeyedWindows(query).adds_up}


@some_examples
@given(query=st.sampled_from(list(ADDING.values())), stream=events(), parts=st.integers(1, 3), data=st.data())
def test_sums_stand_in_for_the_summaries_that_stay(query, stream, parts, data):
    content = stream.counts(query)
    if not content:
        return
    stops = data.draw(stops_of(stream))
    whole, steps = slid(query, content, stream), slid_with_sums(query, content, stops, parts)
    for key in range(stream.size):
        assert told(steps, key) == told([whole], key)
    assert sorted(row for closed in steps for row in kept(closed)) == kept(whole)


def test_each_key_is_one_sum_and_its_newest_summary():
    query = QUERIES["thresholds"]
    stream = Events(2, [Batch(np.repeat([0, 1], 50), np.tile(np.arange(50) // 10, 2), np.arange(100))])
    live = kept(slid(query, stream.counts(query), stream))
    sums = added_up(fleet_of(query), live)
    assert [(key, number, flag) for key, _, number, flag, _ in sums] == [(0, 0, 2), (0, 4, 0), (1, 0, 2), (1, 4, 0)]
    assert [sums[1], sums[3]] == [live[4], live[9]]
    alone = [live[0], live[5]]
    assert added_up(fleet_of(query), alone) == alone


def test_only_what_has_no_fine_part_is_added_up():
    assert set(QUERIES) - set(ADDING) == {"five digits", "raw", "no guarantee", "paper", "paper with few-k"}


# -- bursts ---------------------------------------------------------------------------------------------------------

WATCHED = FewK(high=0.5)  # at this depth a sub-window of some thirty values is enough to tell a burst
BURSTING = {
    "default": Query("6 s", "1 s", few_k=WATCHED),
    "thresholds and full windows only": Query("6 s", "1 s", thresholds=(500,), partial=False, few_k=WATCHED),
    "tumbling": Query("1 s", "1 s", quantiles=(0.1, 0.99), few_k=FewK(high=0.1)),
    "five digits": Query("6 s", "1 s", digits=5, few_k=WATCHED),
    "raw": Query("6 s", "1 s", digits=None, few_k=FewK(high=0.5, always=True)),
    "no guarantee": Query("6 s", "1 s", guarantee=False, few_k=WATCHED),
    "paper": Query.paper("6 s", "1 s", few_k=WATCHED),
}


def bursting_stream(seed: int) -> Events:
    """Two keys whose values rise tenfold and fall again, each at other times.

    The second has gaps; one of them is as long as a tail is remembered, and ends with a burst.
    """
    random = np.random.default_rng(seed)
    keys, numbers = np.divmod(np.arange(2 * 24 * 36) // 36, 24)
    values = random.lognormal(6, 0.3, keys.size)
    for key, first, last in ((0, 3, 4), (0, 7, 19), (1, 0, 2), (1, 8, 10), (1, 14, 24)):
        values[(keys == key) & (first <= numbers) & (numbers < last)] *= 10
    there = (keys == 0) | ~np.isin(numbers, [3, 4, 5, 6, 7, *random.integers(9, 24, 2)])
    return Events(2, [Batch(keys[there], numbers[there], values[there])])


every_bursting_query = pytest.mark.parametrize("query", BURSTING.values(), ids=BURSTING)


@every_bursting_query
def test_a_burst_is_told_the_same_wherever_the_stream_is_cut(query):
    stream = bursting_stream(1)
    content = stream.counts(query)
    whole = slid(query, content, stream)
    assert 0 < whole.results.bursts.sum() < len(whole.results)
    for cut in range(1, 24) if not fleet_of(query).sliding.has_fine else range(2, 24, 3):
        steps = slid_in_steps(query, content, [np.full(2, cut), stream.ends])
        for key in range(2):
            assert told(steps, key) == told([whole], key)


@every_bursting_query
def test_a_burst_that_goes_on_is_remembered_over_every_step(query):
    stream = bursting_stream(2)
    steps = slid_in_steps(query, stream.counts(query), [np.full(2, stop) for stop in range(1, 25)])
    for key in range(2):
        assert told(steps, key) == stream.alone(query, key)
    if fleet_of(query).adds_up:
        sums = slid_with_sums(query, stream.counts(query), [np.full(2, stop) for stop in range(1, 25)], parts=1)
        for key in range(2):
            assert told(sums, key) == told(steps, key)
    results = told(steps, 0)
    goes_on = results.bursts & (results.burst_scores < 0.5)
    assert goes_on.any() or query.sub_windows == 1


@some_examples
@given(query=st.sampled_from(list(BURSTING.values())), seed=seeds, data=st.data())
def test_bursts_of_any_stream_survive_being_cut(query, seed, data):
    stream = bursting_stream(seed)
    steps = slid_in_steps(query, stream.counts(query), data.draw(stops_of(stream)))
    for key in range(2):
        assert told(steps, key) == stream.alone(query, key)


# -- summaries that closed elsewhere --------------------------------------------------------------------------------


def closed_elsewhere(query: Query, content: list[Row]) -> list[Row]:
    nowhere = np.zeros(1 + max(row[0] for row in content), np.int64)
    closed = KeyedWindows(query).slide(rows_of(content), nowhere, nowhere, answering=False)
    assert len(closed.results) == closed.result_keys.size == 0
    return kept(closed, SUMMARY)


@given(query=queries, stream=events(), data=st.data())
def test_summaries_that_closed_elsewhere_give_the_results_of_their_counts(query, stream, data):
    content = stream.counts(query)
    if not content:
        return
    summaries = closed_elsewhere(query, content)
    counted = slid(query, content, stream)
    assert same(slid(query, summaries, stream), counted)
    steps = slid_in_steps(query, summaries, data.draw(stops_of(stream)))
    for key in range(stream.size):
        assert told(steps, key) == told([counted], key)


@half_the_examples
@given(query=queries, stream=events(), seed=seeds)
def test_counts_and_summaries_of_one_key_may_take_turns(query, stream, seed):
    content = stream.counts(query)
    if not content:
        return
    elsewhere = set(np.random.default_rng(seed).permutation(np.unique(stream.numbers))[::2].tolist())
    mixed = [row for row in content if row[2] not in elsewhere]
    mixed += [row for row in closed_elsewhere(query, content) if row[2] in elsewhere]
    assert same(slid(query, mixed, stream), slid(query, content, stream))


@every_bursting_query
def test_bursts_are_found_in_summaries_that_closed_elsewhere(query):
    stream = bursting_stream(3)
    content = stream.counts(query)
    counted, summaries = slid(query, content, stream), closed_elsewhere(query, content)
    assert counted.results.bursts.any()
    assert same(slid(query, summaries, stream), counted)


@every_query
def test_what_closes_is_a_summary_of_the_query_and_damage_is_refused(query):
    fleet, stream = KeyedWindows(query), bursting_stream(4)
    summaries = closed_elsewhere(query, stream.counts(query))
    for *_, content in summaries:
        fleet.check(content)
    *_, content = summaries[0]
    for damaged in (
        b"",
        content[:-8],
        content[:-1],
        content + bytes(8),
        bytes(len(content)),
        content[8:] + content[:8],
    ):
        with pytest.raises(StateError, match="damaged"):
            fleet.check(damaged)


@every_query
def test_only_what_is_wanted_is_handed_out(query):
    stream = bursting_stream(5)
    rows, nowhere = rows_of(stream.counts(query)), np.zeros(2, np.int64)
    whole = KeyedWindows(query).slide(rows, nowhere, stream.ends)
    results = KeyedWindows(query).slide(rows, nowhere, stream.ends, listing=False)
    summaries = KeyedWindows(query).slide(rows, nowhere, stream.ends, answering=False)
    assert results.results == whole.results
    assert results.result_keys.tolist() == whole.result_keys.tolist()
    assert kept(results) == []
    assert len(summaries.results) == 0
    assert [(*row[:3], row[4]) for row in kept(summaries)] == [(*row[:3], row[4]) for row in kept(whole)]


# -- windows counted in elements ------------------------------------------------------------------------------------


@half_the_examples
@given(query=counted_queries(), sizes=st.lists(st.integers(0, 120), min_size=1, max_size=4), data=st.data())
def test_windows_counted_in_elements_end_where_their_key_does(query, sizes, data):
    """Every key has its own time: the numbers of its elements."""
    streams_ = [data.draw(streams(size)) for size in sizes]
    content, ends, expected = [], np.zeros(len(sizes), np.int64), []
    for key, values in enumerate(streams_):
        operator = Operator(query)
        expected.append(operator.push(values) + operator.finish())
        values = values[: values.size // query.period * query.period] if query.as_paper else values
        numbers = np.arange(values.size) // query.period
        content += Batch(np.full(values.size, key), numbers, values).counts(query, 2)
        ends[key] = numbers.max(initial=-1) + 1
    if not content:
        return
    random = np.random.default_rng(data.draw(seeds))
    cuts = np.sort(random.integers(0, ends + 1, (data.draw(st.integers(0, 3)), ends.size)), axis=0)
    whole = fleet_of(query).slide(rows_of(content), np.zeros_like(ends), ends)
    steps = slid_in_steps(query, content, [*cuts, ends])
    for key, results in enumerate(expected):
        assert told([whole], key) == results
        assert told(steps, key) == results


# -- room -----------------------------------------------------------------------------------------------------------


def wide_stream(size: int, keys: int, sub_windows: int) -> Events:
    """Values of every magnitude, whose summaries are large."""
    random = np.random.default_rng(9)
    values = 10.0 ** random.uniform(-60, 60, size) * random.choice([-1, 1], size)
    return Events(keys, [Batch(random.integers(0, keys, size), random.integers(0, sub_windows, size), values)])


def test_large_summaries_find_room():
    query = Query("100 s", "1 s", guarantee=0.005)
    stream = wide_stream(450_000, 2, 200)  # with fewer events in each, summaries are lists of codes
    content, nowhere = stream.counts(query), np.zeros(2, np.int64)
    whole = KeyedWindows(query).slide(rows_of(content), nowhere, stream.ends)
    assert whole.summaries.data.size > 2 << 20
    elsewhere = KeyedWindows(query).slide(rows_of(content), nowhere, stream.ends, answering=False)
    assert elsewhere.summaries.data.tobytes() == whole.summaries.data.tobytes()
    again = KeyedWindows(query).slide(rows_of(kept(elsewhere, SUMMARY)), nowhere, stream.ends)
    assert same(again, whole)
    steps = slid_in_steps(query, content, [np.array([150, 170]), stream.ends])
    for key in range(2):
        alone = stream.alone(query, key)
        assert told([whole], key) == told(steps, key) == alone


@pytest.mark.parametrize("settings_", [{}, {"partial": False}, {"digits": 5}, {"guarantee": False}])
def test_large_summaries_leave_room_for_the_next_key(settings_):
    """Keys with large and with small summaries take turns in one ring."""
    query = Query("20 s", "1 s", **settings_)
    random = np.random.default_rng(2)
    keys, numbers = random.integers(0, 6, 9000), random.integers(0, 60, 9000)
    values = np.where(keys % 2, 10.0 ** random.uniform(-9, 9, 9000), random.uniform(1, 2, 9000))
    check_one_slide(query, Events(6, [Batch(keys, numbers, values)]))


def test_long_idle_stretches_find_room_for_their_results():
    query = Query("2500 s", "1 s", quantiles=(0.5,))
    numbers = np.array([0, 1, 4000, 0, 100, 9000])
    stream = Events(3, [Batch(np.array([0, 0, 0, 1, 1, 2]), numbers, np.arange(6))])
    content = stream.counts(query)
    whole = KeyedWindows(query).slide(rows_of(content), np.zeros(3, np.int64), stream.ends)
    assert len(whole.results) > 4 * (2 * len(content) + 1024)
    steps = slid_in_steps(query, content, [np.full(3, 2000), np.full(3, 5000), stream.ends])
    for key in range(3):
        assert told([whole], key) == told(steps, key) == stream.alone(query, key)


def test_many_small_sub_windows_find_room():
    query = Query("3 s", "1 s")
    random = np.random.default_rng(7)
    values = random.integers(0, 10**6, 80_000)
    stream = Events(800, [Batch(np.arange(80_000) % 800, random.integers(0, 40, 80_000), values)])
    content = stream.counts(query, 2)
    whole = KeyedWindows(query).slide(rows_of(content), np.zeros(800, np.int64), stream.ends)
    assert whole.summaries.data.size > 1 << 20
    for key in range(0, 800, 19):
        assert told([whole], key) == stream.alone(query, key)
