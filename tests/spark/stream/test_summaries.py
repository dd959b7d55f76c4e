"""A stream's shard reads few of its live summaries in each step, and answers as if it had read them all."""

from dataclasses import dataclass, field
from itertools import count, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg import FewK, Query, StateError
from aomg.core.keyed import TALLY
from aomg.core.tally import tally
from aomg.spark.stream import summaries
from aomg.spark.stream.summaries import MAPS, LiveSummaries
from aomg.spark.stream.tables import MARK, SLOTS, SlotTables, StateMap, slot_of
from aomg.tables.keyed_windows import keyed_windows
from aomg.tables.level2 import Answer, slide
from aomg.tables.rows import content_table

DAY = Query("24 minutes", "1 minute", thresholds=(300.0,), few_k=FewK(high=0.5))
QUERIES = {
    "blocks": DAY,
    "blocks, full windows only": DAY.replace(partial=False),
    "a longer window": DAY.replace(size="101 minutes"),
    "too short for blocks": DAY.replace(size="9 minutes"),
    "with a fine part": DAY.replace(digits=5),
}


@dataclass
class Map:
    """A map of the state store, in memory; counts what is read."""

    content: dict[tuple[int], tuple[bytes]] = field(default_factory=dict)
    read: int = 0

    def getValue(self, key):  # noqa: N802
        self.read += 1
        return self.content.get(key)

    def updateValue(self, key, value):  # noqa: N802
        self.content[key] = value

    def removeKey(self, key):  # noqa: N802
        self.content.pop(key, None)

    def iterator(self):
        for key, value in self.content.items():
            self.read += 1
            yield key, value


class Store:
    """A shard's state store; `states` are its maps as a step sees them."""

    def __init__(self) -> None:
        self.maps: dict[str, Map] = {name: Map() for name in MAPS}
        self.states = {name: StateMap(known) for name, known in self.maps.items()}

    @property
    def entries(self) -> int:
        return sum(len(known.content) for known in self.maps.values())


def tallies(query: Query, keys: np.ndarray, numbers: np.ndarray, values: np.ndarray) -> pa.Table:
    """Rows of counts, as Level 1 sends them."""
    span = int(numbers.max(initial=0)) + 1
    counted = tally(keyed_windows(query).sliding, keys * span + numbers, values)
    ids, names = counted.groups // span, pa.array(np.arange(int(keys.max()) + 1))
    return content_table(
        [names], ids, counted.groups % span, TALLY, counted.offsets, counted.data, events=counted.events
    )


def stepwise(query: Query, rows: pa.Table, ends: list[int], slot: int = 0) -> tuple[pa.Table, Store, list[int]]:
    """What a shard answers that closes up to one end after the other, and how many entries each step read."""
    store = Store()
    live, answer = LiveSummaries(store.states, query, slot), Answer(query, ("k",), pa.timestamp("us", tz="UTC"))
    answers, reads, closed_to = [], [], -(1 << 62)
    numbers = np.asarray(rows["number"])
    for entry, end in enumerate(ends):
        before = sum(known.read for known in store.maps.values())
        for state in store.states.values():
            state.begin()
        stored = live.read()
        due = rows.filter(pa.array((numbers >= closed_to) & (numbers < end)))
        outputs, closed = slide(answer, [*live.rows(stored, end), due], closed_to, end)
        live.store(stored, closed, closed_to, end, entry)
        answers += outputs
        closed_to = end
        reads.append(sum(known.read for known in store.maps.values()) - before)
    return pa.concat_tables([answer.empty([pa.int64()]), *answers]), store, reads


def ordered(table: pa.Table) -> list[dict]:
    return sorted(table.to_pylist(), key=lambda row: (row["k"], row["window"]["end"]))


def stream(seed: int, reach: int, keys: int = 3, size: int = 14_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, of which one pauses; sub-window numbers; values that rise tenfold now and then."""
    random = np.random.default_rng(seed)
    key, number = random.integers(0, keys, size), np.sort(random.integers(0, reach, size))
    values = random.lognormal(5, 0.4, size)
    values[(number // 7) % 3 == key % 3] *= 10
    there = (key > 0) | (number % 40 < 15)
    return key[there], number[there], values[there]


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@settings(max_examples=max(settings.default.max_examples // 10, 3))
@given(
    seed=st.integers(0, 2**32),
    cuts=st.sets(st.integers(1, 150), min_size=1, max_size=60),
    slot=st.integers(0, SLOTS - 1),
    size=st.sampled_from([300, 14_000]),
)
def test_steps_answer_as_one_does(query, seed, cuts, slot, size):
    rows = tallies(query, *stream(seed, 120, size=size))
    ends = sorted({*cuts, 300})  # at the end everything has left the window
    results, store, _ = stepwise(query, rows, ends, slot)
    whole, _, _ = stepwise(query, rows, [300])
    assert ordered(results) == ordered(whole)
    assert store.entries == 0


@pytest.mark.parametrize("query", [QUERIES["blocks"], QUERIES["a longer window"]], ids=["24", "101"])
def test_a_step_reads_a_few_times_the_square_root_of_the_window(query):
    rows = tallies(query, *stream(1, 400))
    _, store, reads = stepwise(query, rows, list(range(1, 402)))
    steady = reads[2 * query.sub_windows :]
    assert 0 < max(steady) < 5 * query.sub_windows**0.5
    numbers = np.asarray(rows["number"])
    stored = [SlotTables(store.states[name], 0).read().values() for name in ("live", "summaries")]
    assert sum(table.num_rows for tables in stored for table in tables) >= np.sum(numbers > 400 - query.sub_windows)


def block_bytes(store: Store) -> tuple[int, int]:
    """The bytes of the sums of blocks, and of their summaries."""
    return tuple(
        sum(len(content) for (content,) in store.maps[name].content.values()) for name in ("blocks", "summaries")
    )


def test_sparse_keys_are_stored_once_and_dense_keys_have_sums():
    sparse = tallies(DAY, *stream(4, 100, keys=50, size=10_000))
    _, store, _ = stepwise(DAY, sparse, list(range(1, 101)))
    sums, members = block_bytes(store)
    assert sums == len(MARK) * len(store.maps["blocks"].content) < members
    dense = tallies(DAY, *stream(4, 110, size=100_000))
    _, store, _ = stepwise(DAY.replace(size="101 minutes"), dense, list(range(1, 111)))
    sums, members = block_bytes(store)
    assert 0 < sums < members


@pytest.mark.parametrize("had_sums", [True, False])
@pytest.mark.parametrize("size", [600, 14_000])
def test_a_state_goes_on_whether_its_blocks_have_sums_or_not(had_sums, size, monkeypatch):
    """Blocks always had sums in checkpoints of before."""
    rows = tallies(DAY, *stream(5, 120, size=size))
    whole, _, _ = stepwise(DAY, rows, [300])
    decide = summaries._save_space
    blocks = count()
    monkeypatch.setattr(summaries, "_save_space", lambda *tables: had_sums if next(blocks) < 15 else decide(*tables))
    results, store, _ = stepwise(DAY, rows, [*range(1, 121), 300])
    assert ordered(results) == ordered(whole)
    assert store.entries == 0


def test_a_key_that_pauses_leaves_the_state_and_comes_back_as_new():
    key, number, values = stream(6, 120, keys=4, size=8_000)
    there = (key > 0) | (number < 20) | (number >= 80)
    rows = tallies(DAY, key[there], number[there], values[there])
    ends = list(range(1, 121))
    for end, present in ((45, False), (79, False), (81, True)):
        _, store, _ = stepwise(DAY, rows, ends[:end])
        stored = [SlotTables(store.states[name], 0).read().values() for name in ("live", "summaries")]
        keys = {k for tables in stored for table in tables for k in table["by0"].to_pylist()}
        assert keys == {1, 2, 3} | ({0} if present else set())
    results, _, _ = stepwise(DAY, rows, [*ends, 300])
    whole, _, _ = stepwise(DAY, rows, [300])
    assert ordered(results) == ordered(whole)


def test_bursts_are_in_the_answers():
    rows = tallies(DAY, *stream(2, 120))
    results, _, _ = stepwise(DAY, rows, list(range(1, 121)))
    assert 0 < sum(row["burst"] for row in results.to_pylist()) < results.num_rows


@pytest.mark.parametrize(("first", "second"), list(pairwise([1, 20, 24, 25, 48, 200])))
def test_a_long_step_after_short_ones(first, second):
    rows = tallies(DAY, *stream(3, 150))
    ends = [*range(1, first + 1), second, 300]
    results, _, _ = stepwise(DAY, rows, ends)
    whole, _, _ = stepwise(DAY, rows, [300])
    assert ordered(results) == ordered(whole)


@given(
    slots=st.sets(st.integers(0, SLOTS - 1), min_size=2, max_size=4),
    numbers=st.sets(st.integers(1 - 2**56, 2**56 - 1), min_size=1, max_size=5),
    read_before=st.booleans(),
)
def test_queries_share_a_map_and_see_their_own_tables_only(slots, numbers, read_before):
    state = StateMap(Map())
    tables = {slot: SlotTables(state, slot) for slot in slots}
    if read_before:
        state.entries()
    for slot, own in tables.items():
        for number in numbers:
            own.put(number, pa.table({"slot": [slot], "number": [number]}))
    removed, *kept = sorted(slots)
    state.clear(removed)
    state.begin()
    assert tables[removed].read() == {}
    for slot in kept:
        stored = tables[slot].read()
        assert {number: table.to_pylist() for number, table in stored.items()} == {
            number: [{"slot": slot, "number": number}] for number in numbers
        }
        tables[slot].remove(list(stored))
    assert state.entries() == {}


def test_entries_of_checkpoints_with_one_query_are_those_of_slot_0():
    assert [slot_of(entry) for entry in (0, 1, -1, 2**40, -(2**40))] == [0] * 5


def test_a_table_that_is_missing_is_a_damaged_checkpoint():
    with pytest.raises(StateError, match="table 7 is missing; start with a new checkpoint"):
        SlotTables(StateMap(Map()), 3).get(7)
