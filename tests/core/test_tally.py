"""Counts on their way: bytes of many groups that read back exactly, and merge as if counted in one place."""

from functools import lru_cache

import numpy as np
import pytest
from arbitrary import INT64, streams
from hypothesis import assume, given
from hypothesis import strategies as st

from aomg import FewK, Operator, Query
from aomg.core.counts import Counts, count_codes
from aomg.core.kernels.few_events import FEW
from aomg.core.kernels.registers import INTEGERS, REALS
from aomg.core.keyed import TALLY, KeyedWindows, KeyRows
from aomg.core.tally import Tallies, counts_of, merge_tallies, tally

QUERIES = {
    "default": Query("3 s", "1 s", thresholds=(0, 1000)),
    "one digit": Query("1 s", "1 s", digits=1),
    "finest": Query("2 s", "1 s", guarantee=0.005),
    "no guarantee": Query("2 s", "1 s", guarantee=False),
    "five digits": Query("2 s", "1 s", digits=5, thresholds=(0.5,)),
    "raw": Query("2 s", "1 s", digits=None, few_k=FewK(always=True)),
    "paper": Query.paper("2 s", "1 s"),
}
queries = st.sampled_from(list(QUERIES.values()))
every_query = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
LARGEST = np.finfo(np.float64).max


@lru_cache
def fleet_of(query: Query) -> KeyedWindows:
    return KeyedWindows(query)


def tallied(query: Query, groups: np.ndarray, values: np.ndarray) -> Tallies:
    return tally(fleet_of(query).sliding, groups, values)


def entries(tallies: Tallies) -> dict[int, bytes]:
    """The bytes of each group."""
    assert tallies.offsets[0] == 0
    assert tallies.offsets[-1] == tallies.data.size
    bounds = zip(tallies.groups.tolist(), tallies.offsets[:-1], tallies.offsets[1:], strict=True)
    return {group: tallies.data[first:last].tobytes() for group, first, last in bounds}


def read(query: Query, content: bytes) -> Counts:
    sliding = fleet_of(query).sliding
    return counts_of(np.frombuffer(content, np.uint8), sliding.codec is not sliding.dense)


def double_at_most(value: int) -> float:
    near = float(value)
    return near if int(near) <= value else float(np.nextafter(near, -np.inf))


def counted(query: Query, values: np.ndarray) -> Counts:
    """The same counts, from the codes of all values at once."""
    sliding = fleet_of(query).sliding
    integers = values.dtype == np.int64
    longs = integers and max(abs(int(values.min())), abs(int(values.max()))) > 2**53
    dense = count_codes(sliding.dense.codes(values.astype(np.float64) if longs and query.digits is None else values))
    fine = count_codes(sliding.codec.codes(values) if sliding.codec is not sliding.dense else np.empty(0, np.int64))
    low, high = values.min().item(), values.max().item()
    if integers:
        low, high = double_at_most(low), -double_at_most(-high)
    return Counts(*dense, *fine, INTEGERS if integers else REALS, low + 0.0, high + 0.0)


def said(counts: Counts) -> tuple:
    return (
        counts.codes.tolist(),
        counts.numbers.tolist(),
        counts.fine_codes.tolist(),
        counts.fine_numbers.tolist(),
        counts.domain,
        np.array([counts.minimum, counts.maximum]).tobytes(),  # bit for bit: there is one zero
    )


@st.composite
def groups_of(draw, size: int) -> np.ndarray:
    """Which group each of so many events belongs to: few or many groups, large and small, side by side or far apart."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    groups = random.integers(0, draw(st.sampled_from([1, 2, 5, 40, 1000])), size)
    if draw(st.booleans()):
        groups[random.random(size) < 0.7] = 0  # one large, the others small
    return groups * draw(st.sampled_from([1, 3, 10**5, 10**15])) + draw(st.sampled_from([0, -7, 10**9, -(2**62)]))


@st.composite
def grouped(draw, most: int = 400) -> tuple[np.ndarray, np.ndarray]:
    values = draw(streams(most))
    return draw(groups_of(values.size)), values


# -- reading back ---------------------------------------------------------------------------------------------------


@given(query=queries, events=grouped())
def test_a_tally_reads_back_as_the_counts_of_its_events(query, events):
    groups, values = events
    tallies = tallied(query, groups, values)
    known, numbers = np.unique(groups, return_counts=True)
    assert tallies.groups.tolist() == known.tolist()
    assert tallies.events.tolist() == numbers.tolist()
    for group, content in entries(tallies).items():
        assert said(read(query, content)) == said(counted(query, values[groups == group]))


SPECIAL = {
    "both ends of 64 bits": [INT64.min, INT64.max],
    "the smallest integer alone": [INT64.min],
    "the largest integer alone": [INT64.max],
    "negative integers": [-1, -9, -10, -999, -1000, -131_071, -131_072, -131_073],
    "beyond 2^53, by one": [2**53 - 1, 2**53, 2**53 + 1, -(2**53), -(2**53) - 1],
    "longs that round to one double": [2**62 + 1, 2**62 - 1, 2**62, 10**18 + 1, 10**18 - 1],
    "integers around zero": [-1, 0, 1],
    "two zeros": [-0.0, 0.0],
    "the negative zero alone": [-0.0],
    "zeros among others": [-0.0, -1.5, 2.5, 0.0],
    "subnormal doubles": [5e-324, -5e-324, 1e-320, 2.2250738585072014e-308],
    "the largest doubles": [LARGEST, -LARGEST, 1e308, 9.99e307],
    "every size of double": [1e-300, -1e300, 1.0, -1.0, 1e300, 0.1, 99.95, 1e22, 1e23],
}


@every_query
@pytest.mark.parametrize("values", SPECIAL.values(), ids=SPECIAL)
def test_special_values_read_back_from_small_and_from_large_groups(query, values):
    alone = np.array(values)
    many = np.tile(alone, FEW + 1)
    groups = np.concatenate([np.zeros(alone.size, np.int64), np.ones(many.size, np.int64)])
    small, large = entries(tallied(query, groups, np.concatenate([alone, many]))).values()
    assert said(read(query, small)) == said(counted(query, alone))
    assert said(read(query, large)) == said(counted(query, many))


@every_query
@pytest.mark.parametrize("real", [False, True], ids=["integers", "doubles"])
def test_groups_of_every_size_read_back(query, real):
    sizes = [1, 2, FEW - 1, FEW, FEW + 1, 2 * FEW, 127, 128, 16_384, 1]
    random = np.random.default_rng(3)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    values = random.lognormal(5, 4, groups.size) * random.choice([-1, 1], groups.size)
    values = values if real else np.rint(values).astype(np.int64)
    order = random.permutation(groups.size)
    tallies = tallied(query, groups[order], values[order])
    assert tallies.events.tolist() == sizes
    for group, content in entries(tallies).items():
        assert said(read(query, content)) == said(counted(query, values[groups == group]))


@every_query
def test_a_value_that_comes_often_is_counted_often(query):
    values = np.repeat([7, 8_000_000], [300_000, 129])
    tallies = tallied(query, np.zeros(values.size, np.int64), values)
    counts = read(query, entries(tallies)[0])
    assert counts.numbers.tolist() == [300_000, 129]
    assert counts.total == 300_129
    assert tallies.data.size < 80


@every_query
@pytest.mark.parametrize("size", [2, 3, FEW, FEW + 2])
def test_codes_that_lie_far_apart_find_room(query, size):
    """As many bytes as a pair can take, in as many groups as there are."""
    values = np.tile(np.resize([-LARGEST, LARGEST, -5e-324, 1e-200, 0.0, 1e200], size), 700)
    groups = np.repeat(np.arange(700), size)
    contents = entries(tallied(query, groups, values))
    assert len(contents) == 700
    assert len(set(contents.values())) == 1
    assert said(read(query, contents[699])) == said(counted(query, values[:size]))


@every_query
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_no_events_have_no_tally(query, kind):
    tallies = tallied(query, np.empty(0, np.int64), np.empty(0, kind))
    assert tallies.groups.size == tallies.events.size == tallies.data.size == 0
    assert tallies.offsets.tolist() == [0]


# -- what changes nothing -------------------------------------------------------------------------------------------


@given(query=queries, events=grouped(), seed=st.integers(0, 2**32))
def test_the_order_of_events_changes_no_byte(query, events, seed):
    groups, values = events
    order = np.random.default_rng(seed).permutation(values.size)
    assert entries(tallied(query, groups[order], values[order])) == entries(tallied(query, groups, values))


@given(query=queries, events=grouped(), data=st.data())
def test_the_bytes_of_a_group_do_not_depend_on_the_other_groups(query, events, data):
    groups, values = events
    whole = entries(tallied(query, groups, values))
    left = groups % data.draw(st.integers(1, 5)) == 0
    for group, content in entries(tallied(query, groups[left], values[left])).items():
        assert content == whole[group]


@given(query=queries, values=streams(), far=st.sampled_from([2, 5000, 10**12, 2**55]))
def test_groups_side_by_side_and_far_apart_have_the_same_bytes(query, values, far):
    near = np.arange(values.size) // 9
    one, other = tallied(query, near, values), tallied(query, near * far - 3 * far, values)
    assert other.groups.tolist() == (one.groups * far - 3 * far).tolist()
    assert other.events.tolist() == one.events.tolist()
    assert other.offsets.tolist() == one.offsets.tolist()
    assert other.data.tobytes() == one.data.tobytes()


# -- merging --------------------------------------------------------------------------------------------------------


def rows_of(parts: list[Tallies]) -> KeyRows:
    """Tallies whose groups are sub-windows of one key, as a fleet takes them."""
    contents = sorted(((number, content) for part in parts for number, content in entries(part).items()))
    numbers = np.array([number for number, _ in contents], np.int64)
    nothing = np.zeros(numbers.size, np.int64)
    offsets = np.cumsum([0, *(len(content) for _, content in contents)])
    data = np.frombuffer(b"".join(content for _, content in contents), np.uint8).copy()
    return KeyRows(nothing, numbers, nothing + TALLY, nothing, offsets, data)


def summaries(query: Query, parts: list[Tallies]) -> dict[int, bytes]:
    """What closes if these tallies of one key's sub-windows are merged."""
    zero = np.zeros(1, np.int64)
    closed = fleet_of(query).slide(rows_of(parts), zero, zero, answering=False)
    bounds = zip(
        closed.summaries.numbers.tolist(), closed.summaries.offsets[:-1], closed.summaries.offsets[1:], strict=True
    )
    return {number: closed.summaries.data[first:last].tobytes() for number, first, last in bounds}


@st.composite
def sub_windows_of(draw, size: int) -> np.ndarray:
    """Which sub-window each of so many events belongs to: one for all, some large and small, many with gaps."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    numbers = random.integers(0, draw(st.sampled_from([1, 3, 20])), size)
    return numbers * draw(st.sampled_from([1, 4, 10**6])) - draw(st.sampled_from([0, 50]))


@given(query=queries, values=streams(), pieces=st.sampled_from([2, 3, 10]), data=st.data())
def test_tallies_of_any_split_merge_to_the_summaries_of_all_events(query, values, pieces, data):
    assume(values.size)
    numbers = data.draw(sub_windows_of(values.size))
    place = np.random.default_rng(data.draw(st.integers(0, 2**32))).integers(0, pieces, values.size)
    parts = [tallied(query, numbers[place == at], values[place == at]) for at in range(pieces)]
    whole = tallied(query, numbers, values)
    assert summaries(query, parts) == summaries(query, [whole])
    merged: dict[int, Counts] = {}
    for part in parts:
        for number, content in entries(part).items():
            merged[number] = merged.get(number, Counts()).merge(read(query, content))
    for number, content in entries(whole).items():
        assert said(merged[number]) == said(read(query, content))


def side_by_side(parts: list[Tallies]) -> Tallies:
    """Tallies from several places, those of one group one after the other."""
    contents = [(group, content) for part in parts for group, content in entries(part).items()]
    order = sorted(range(len(contents)), key=lambda at: contents[at][0])
    events = np.concatenate([part.events for part in parts])[order]
    groups = np.array([contents[at][0] for at in order], np.int64)
    offsets = np.cumsum([0, *(len(contents[at][1]) for at in order)])
    return Tallies(groups, events, offsets, np.frombuffer(b"".join(contents[at][1] for at in order), np.uint8).copy())


@given(query=queries, events=grouped(), pieces=st.sampled_from([1, 2, 3, 10]), seed=st.integers(0, 2**32))
def test_tallies_of_any_split_merge_to_the_bytes_of_all_events(query, events, pieces, seed):
    groups, values = events
    place = np.random.default_rng(seed).integers(0, pieces, values.size)
    parts = [tallied(query, groups[place == at], values[place == at]) for at in range(pieces)]
    merged, whole = merge_tallies(fleet_of(query).sliding, side_by_side(parts)), tallied(query, groups, values)
    assert entries(merged) == entries(whole)
    assert merged.events.tolist() == whole.events.tolist()


@given(query=queries, events=grouped(), others=grouped())
def test_merged_tallies_of_integers_and_doubles_are_counts_of_both(query, events, others):
    parts = [tallied(query, *events), tallied(query, *others)]
    merged = entries(merge_tallies(fleet_of(query).sliding, side_by_side(parts)))
    expected: dict[int, Counts] = {}
    for part in parts:
        for group, content in entries(part).items():
            expected[group] = expected.get(group, Counts()).merge(read(query, content))
    assert {group: said(read(query, content)) for group, content in merged.items()} == {
        group: said(counts) for group, counts in expected.items()
    }


@given(query=queries, values=streams(), others=streams(), data=st.data())
def test_integers_and_doubles_of_one_sub_window_merge_to_what_an_operator_counts(query, values, others, data):
    """The operator counts all events in one place; its results are told by the fleet's, bit for bit."""
    assume(values.size + others.size)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    operator = Operator(query.replace(lateness="1 day"))
    parts, end = [], 0
    for batch in (values, others):
        numbers = data.draw(sub_windows_of(batch.size)) % 30
        operator.push(batch, numbers.astype("datetime64[s]"))
        end = max(end, *(numbers + 1), 0)
        place = random.integers(0, 3, batch.size)
        parts += [tallied(query, numbers[place == at], batch[place == at]) for at in range(3)]
    closed = fleet_of(query).slide(rows_of(parts), np.zeros(1, np.int64), np.array([end]))
    expected = operator.finish()
    assert np.array_equal(closed.results.rows, expected.rows)
    if expected.densities is not None:
        assert np.array_equal(closed.results.densities, expected.densities, equal_nan=True)
