import os
import re
import tempfile
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from web.monitor_files import DAY, NOON, monitor_files
from web.stored_rows import MINUTE, contents, contents_of_rows, row, table, word

from aomg.monitor.results.reader import read
from aomg.monitor.sinks import small_files
from aomg.monitor.sinks.compaction import compact
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.monitor.sinks.result_folder import days
from aomg.web.follow import results as following
from aomg.web.follow.results import ResultFollower
from aomg.web.memory.columns import in_order
from aomg.web.memory.history import History
from aomg.web.memory.query_store import QueryStore

A_DAY = DAY // MINUTE
SMALL = {"_FIRST_ROWS": 30, "_MOST_ROWS": 30}


@pytest.fixture(scope="module", autouse=True)
def quick():
    with mock.patch.object(os, "fsync", lambda handle: None):
        yield


def write(folder: Path, batch: int, *rows: dict) -> None:
    ParquetSink(folder).write(batch, table(*rows))


def settled(follower: ResultFollower) -> bool:
    """Step until nothing changes, bounded; whether anything did. What has gone is forgotten at the second look."""
    changed = False
    for _ in range(100):
        before = changed
        changed |= follower.step()
        again = follower.step()
        changed |= again
        if not again and follower.loading.done == follower.loading.of and changed == before:
            return changed
    raise AssertionError("it does not end")


def same_as_reading(folder: Path, history: History) -> bool:
    return contents(history) == contents_of_rows(read(folder))


def test_all_that_a_monitor_wrote_is_there_and_then_what_it_writes(tmp_path):
    monitor = monitor_files(tmp_path, keys=15, windows=12)
    history = History()
    follower = ResultFollower(monitor.results, history)
    assert settled(follower) and same_as_reading(monitor.results, history)
    assert follower.loading == (12, 12) and follower.problem is None
    assert not follower.step(), "nothing came"
    end = monitor.add_window(slow=["7"], without=["2"])
    assert follower.step(), "one step is enough"
    query = history.snapshot()["inbound"]
    assert query.newest.end == end and len(query.newest) == 14
    assert query.newest.numbers[query.newest.row(query.keys.number({"podset": "7"})), query.estimate("p99"), 0] == 8000
    assert same_as_reading(monitor.results, history)


def test_the_newest_windows_come_first_and_each_step_reads_some(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "_FIRST_ROWS", 2)
    monkeypatch.setattr(following, "_MOST_ROWS", 6)
    for batch in range(10):
        write(tmp_path, batch, *(row(str(key), batch * A_DAY // 4, batch) for key in range(3)))
    history = History()
    follower = ResultFollower(tmp_path, history)
    observed = []
    for _ in range(20):
        if not follower.step():
            break
        observed.append(
            [(window.end - NOON) // MINUTE // (A_DAY // 4) for window in history.snapshot()["inbound"].windows]
        )
        assert follower.loading.of == 10 and follower.loading.done in (len(observed[-1]) - 1, len(observed[-1]))
    assert observed == [[9], [7, 8, 9], [5, 6, 7, 8, 9], list(range(3, 10)), list(range(1, 10)), list(range(10))]


def test_while_old_files_are_read_what_comes_goes_first(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "_MOST_ROWS", 4)
    for batch in range(3):
        write(tmp_path, batch, *(row(str(key), batch * 10 + index, batch) for key in range(3) for index in range(10)))
    write(tmp_path, 3, row(end=A_DAY))
    compact(tmp_path, days(tmp_path)[0])
    history = History()
    follower = ResultFollower(tmp_path, history)
    monkeypatch.setattr(follower, "_rows", 4)
    for _ in range(3):
        follower.step()
    assert follower.loading.done < follower.loading.of
    write(tmp_path, 4, row("new", end=A_DAY + 5, batch=4))
    assert follower.step() and history.snapshot()["inbound"].newest.end == NOON + DAY + 5 * MINUTE
    assert follower.loading.done < follower.loading.of
    assert settled(follower) and same_as_reading(tmp_path, history)


operation = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 3), st.integers(0, 2)),
    st.tuples(st.just("repeat"), st.integers(0, 5), st.integers(0, 3)),
    st.tuples(st.just("compact"), st.integers(0, 2), st.just(0)),
    st.tuples(st.just("tidy"), st.just(0), st.just(0)),
    st.tuples(st.just("look"), st.integers(1, 3), st.just(0)),
)


@settings(max_examples=40)
@given(operations=st.lists(operation, max_size=10), seed=st.integers(0, 3), rows=st.sampled_from([1, 5, 1000]))
def test_whatever_is_written_replaced_and_joined_it_holds_what_reading_everything_gives(operations, seed, rows):
    """Batches of up to three days; repeated ones bring other rows, some of windows that another batch had."""
    with tempfile.TemporaryDirectory() as name, mock.patch.multiple(following, _MOST_ROWS=rows, _FIRST_ROWS=rows):
        folder, history, batch = Path(name), History(), 0
        follower = ResultFollower(folder, history)
        write(folder, 0, row("0"))
        for subject, one, two in operations:
            if subject in ("write", "repeat"):
                batch, index = (batch + 1, batch + 1) if subject == "write" else (batch, max(batch - one, 0))
                ends = [(index + two) % 5 + day * A_DAY for day in range(min(one, 3))]
                keys = [str((seed + two + key) % 5) for key in range(two + 1)]
                write(folder, index, *(row(key, end, index, count=seed + one + two) for key in keys for end in ends))
            elif subject == "compact" and one < len(days(folder)):
                compact(folder, days(folder)[one])
            elif subject == "tidy":
                with mock.patch.multiple(small_files, MOST_FILES=2, APART=1):
                    ParquetSink(folder).tidy()
            elif subject == "look":
                for _ in range(one):
                    follower.step()
        settled(follower)
        expected = contents_of_rows(read(folder)) if any(folder.glob("day=*/*.parquet")) else {}
        assert contents(history) == expected
        fresh = History()
        settled(ResultFollower(folder, fresh))
        assert contents(fresh) == expected


@st.composite
def differing_queries(draw):
    """Some queries, each with estimates, methods, labels, size and period of its own."""
    names = st.sampled_from(["p50", "p90", "p99", "p99_9", "below_250", "below_0_5", "below_minus_5"])
    requested = st.fixed_dictionaries(
        {
            "estimates": st.lists(names, unique=True, max_size=4),
            "methods": st.lists(st.sampled_from(["band", "exact", "envelope", None]), min_size=1, max_size=2),
            "labels": st.sampled_from([(), ("podset",), ("rack", "host")]),
            "size": st.integers(1, 60),
            "period": st.integers(1, 3),
        }
    )
    return draw(st.dictionaries(st.sampled_from("abcd"), requested, min_size=2))


@settings(max_examples=25)
@given(queries=differing_queries(), batches=st.integers(1, 4), rows=st.sampled_from([5, 1000]), is_joined=st.booleans())
def test_queries_that_share_files_keep_their_own_columns(queries, batches, rows, is_joined):
    with tempfile.TemporaryDirectory() as name, mock.patch.multiple(following, _MOST_ROWS=rows, _FIRST_ROWS=rows):
        folder, history = Path(name), History()
        written = []
        for batch in range(batches):
            result = [
                row(
                    tuple(str(key) for _ in requested["labels"]),
                    batch,
                    batch,
                    query,
                    requested["labels"],
                    estimates={
                        estimate: (
                            1.0 + key,
                            2.0 + key,
                            3.0 + key,
                            requested["methods"][(key + index) % len(requested["methods"])],
                        )
                        for index, estimate in enumerate(requested["estimates"])
                    },
                    start=NOON + (batch - requested["size"]) * MINUTE,
                )
                for query, requested in queries.items()
                if batch % requested["period"] == 0
                for key in range(2 if requested["labels"] else 1)
            ]
            written += result
            if result:
                write(folder, batch, *result)
        write(folder, batches, row(end=A_DAY, batch=batches, query="z"))
        if is_joined:
            compact(folder, days(folder)[0])
        follower = ResultFollower(folder, history)
        settled(follower)
        assert same_as_reading(folder, history) and follower.problem is None
        snapshot = history.snapshot()
        assert set(snapshot) == {*queries, "z"}
        for query, requested in queries.items():
            own = [one for one in written if one["query"] == query]
            methods = {word(**part) for one in own for part in one["estimates"]}
            assert snapshot[query].estimates == in_order(requested["estimates"])
            assert set(snapshot[query].methods) - {""} == methods - {""}
            assert snapshot[query].keys.names == requested["labels"]
            assert {window.end - window.start for window in snapshot[query].windows} == {requested["size"] * MINUTE}


def test_what_compaction_joined_is_not_read_again(tmp_path, monkeypatch):
    for batch in range(5):
        write(tmp_path, batch, row("1", batch, batch), row("2", batch, batch))
    write(tmp_path, 5, row(end=A_DAY, batch=5))
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    before = history.snapshot()
    compact(tmp_path, days(tmp_path)[0])
    with mock.patch.object(History, "add") as add:
        assert not settled(follower)
        add.assert_not_called()
    assert history.snapshot() is before and follower.loading == (2, 2)
    write(tmp_path, 6, row("3", 7, 6))
    write(tmp_path, 7, row("3", A_DAY + 1, 7))
    compact(tmp_path, days(tmp_path)[0])
    settled(follower)
    assert same_as_reading(tmp_path, history) and ("inbound", (("podset", "3"),), NOON + 7 * MINUTE) in contents(
        history
    )


@pytest.mark.parametrize("batches", [2, 3])
def test_a_batch_that_was_repeated_and_joined_between_two_looks_is_seen(tmp_path, batches):
    """Its file has as many rows as before, and the joined one as many as were read, or more."""
    write(tmp_path, 0, row("1", 0, 0), row("2", 0, 0))
    write(tmp_path, 1, row("1", 1, 1), row("2", 1, 1))
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    write(tmp_path, 1, row("1", 1, 1, count=55), row("3", 1, 1))
    for batch in range(2, batches):
        write(tmp_path, batch, row("1", batch, batch))
    write(tmp_path, batches, row("1", A_DAY, batches))
    compact(tmp_path, days(tmp_path)[0])
    settled(follower)
    assert same_as_reading(tmp_path, history)


def test_a_joined_file_with_more_than_was_read_is_read(tmp_path):
    write(tmp_path, 0, row("1", 0, 0))
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    write(tmp_path, 1, row("1", 1, 1))
    write(tmp_path, 2, row("1", A_DAY, 2))
    compact(tmp_path, days(tmp_path)[0])
    settled(follower)
    assert same_as_reading(tmp_path, history) and len(history.snapshot()["inbound"].windows) == 3


def test_a_batch_that_was_repeated_after_it_was_joined_takes_its_old_rows_along(tmp_path):
    write(tmp_path, 0, row("1", 0, 0))
    write(tmp_path, 1, row("1", 1, 1), row("2", 1, 1))
    write(tmp_path, 2, row("1", A_DAY, 2))
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    compact(tmp_path, days(tmp_path)[0])
    write(tmp_path, 1, row("3", 1, 1))
    settled(follower)
    assert same_as_reading(tmp_path, history) and len(contents(history)) == 3


def test_a_repeated_batch_takes_its_old_rows_along_in_one_step(tmp_path):
    write(tmp_path, 0, row("1", 0, 0, count=5), row("2", 0, 0))
    write(tmp_path, 1, row("1", 0, 1), row("2", 1, 1))
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    write(tmp_path, 1, row("2", 1, 1, count=77))
    follower.step()
    follower.step()
    assert same_as_reading(tmp_path, history)
    counts = {
        (labels[0][1], (end - NOON) // MINUTE): result[1] for (_, labels, end), result in contents(history).items()
    }
    assert counts == {("1", 0): 5, ("2", 0): 10, ("2", 1): 77}, "batch 0 is heard again where batch 1 hid it"


def test_a_file_that_went_is_forgotten_but_not_while_the_folder_is_away(tmp_path):
    folder = tmp_path / "results"
    write(folder, 0, row("1", 0, 0))
    write(folder, 1, row("2", 1, 1))
    write(folder, 2, row("3", A_DAY, 2))
    history = History()
    follower = ResultFollower(folder, history)
    settled(follower)
    first = days(folder)[0]
    next((folder / f"day={first}").glob("batch-0000000001.*")).unlink()
    assert not follower.step(), "it may be in the middle of a compaction"
    assert follower.step() and same_as_reading(folder, history)
    folder.rename(tmp_path / "elsewhere")
    assert not settled(follower) and len(contents(history)) == 2 and "does not exist" in follower.problem
    (tmp_path / "elsewhere").rename(folder)
    assert not settled(follower) and same_as_reading(folder, history)


def test_a_folder_that_comes_back_is_read_to_its_end(tmp_path):
    """Also a joined file of which only a part was read, and a file that was seen and was not there to be opened."""
    folder = tmp_path / "results"
    for batch in range(3):
        write(folder, batch, *(row(str(key), batch * 10 + index, batch) for key in range(3) for index in range(10)))
    write(folder, 3, row(end=A_DAY, batch=3))
    compact(folder, days(folder)[0])
    history = History()
    with mock.patch.multiple(following, _FIRST_ROWS=4, _MOST_ROWS=4):
        follower = ResultFollower(folder, history)
        follower.step()
        assert 1 < len(contents(history)) < 91
        folder.rename(tmp_path / "elsewhere")
        assert not follower.step() and follower.loading == (1, 2) and 1 < len(contents(history)) < 91
        (tmp_path / "elsewhere").rename(folder)
        first = folder / f"day={days(folder)[0]}"
        first.rename(tmp_path / "aside")
        follower.step()
        (tmp_path / "aside").rename(first)
        settled(follower)
    assert same_as_reading(folder, history) and len(contents(history)) == 91
    write(folder, 4, row("4", 0, batch=4))
    with mock.patch.object(following, "tables", side_effect=lambda *_: iter_not_found()):
        follower.step()
    assert follower.step() and follower.problem is None and same_as_reading(folder, history)


def iter_not_found():
    raise FileNotFoundError("it was joined meanwhile")
    yield


def test_a_folder_that_is_not_there_yet_is_waited_for(tmp_path):
    history = History()
    follower = ResultFollower(tmp_path / "results", history)
    assert not follower.step() and follower.loading == (0, 0)
    assert "does not exist" in follower.problem and "first results" in follower.problem
    write(tmp_path / "results", 0, row())
    assert follower.step() and follower.problem is None and history.snapshot()


def test_a_file_instead_of_a_folder_is_said(tmp_path):
    (tmp_path / "results").write_text("no folder")
    follower = ResultFollower(tmp_path / "results", History())
    assert not follower.step() and "is a file; give the folder" in follower.problem


@pytest.mark.parametrize("content", [b"", b"half of a file", None])
@pytest.mark.parametrize("digest", [True, False])
def test_a_damaged_file_is_said_and_the_others_are_read(tmp_path, content, digest):
    for batch in range(4):
        write(tmp_path, batch, row("1", batch, batch))
    damaged = next((tmp_path / f"day={days(tmp_path)[0]}").glob("batch-0000000002.*"))
    whole = damaged.read_bytes()
    if not digest:  # as earlier versions wrote it
        damaged = damaged.rename(damaged.with_name("batch-0000000002.parquet"))
    if content is None:
        pq.write_table(pa.table({"other": [1]}), damaged)
    else:
        damaged.write_bytes(content)
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    assert len(history.snapshot()["inbound"].windows) == 3 and follower.loading == (4, 4)
    assert str(damaged) in follower.problem and "move it away" in follower.problem
    assert not follower.step(), "it is not tried again and again"
    damaged.write_bytes(whole)
    assert settled(follower) and follower.problem is None and same_as_reading(tmp_path, history)


def test_a_flipped_bit_is_reported_with_the_file_and_the_others_are_shown(tmp_path):
    for batch in range(3):
        write(tmp_path, batch, row("1", batch, batch))
    file = next((tmp_path / f"day={days(tmp_path)[0]}").glob("batch-0000000001.*"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    assert f"{file} cannot be read (its content does not have the digest in its name)" in follower.problem
    assert [end for _, _, end in contents(history)] == [NOON, NOON + 2 * MINUTE]


def test_a_repeated_batch_with_another_digest_replaces_its_rows(tmp_path):
    """Also while both files are there, as a kill may leave them."""
    for batch in range(3):
        write(tmp_path, batch, row("1", batch, batch), row("2", batch, batch))
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    old = next((tmp_path / f"day={days(tmp_path)[0]}").glob("batch-0000000001.*"))
    before = old.read_bytes()
    write(tmp_path, 1, row("1", 1, 1, count=77))
    old.write_bytes(before)
    os.utime(old, (1, 1))
    assert settled(follower) and same_as_reading(tmp_path, history) and len(contents(history)) == 5
    old.unlink()
    assert not settled(follower) and same_as_reading(tmp_path, history) and len(contents(history)) == 5


def test_a_file_whose_texts_are_torn_is_said(tmp_path):
    write(tmp_path, 0, row("1", 0, 0))
    whole = table(row("x", 1, 1))
    torn = pa.ListArray.from_arrays([0, 1], pa.array([b"\xff\xfe"], pa.binary()).view(pa.string()))
    file = tmp_path / f"day={days(tmp_path)[0]}" / "batch-0000000001.parquet"
    pq.write_table(
        whole.set_column(1, whole.schema.field("labels"), torn.cast(whole.schema.field("labels").type)), file
    )
    history = History()
    follower = ResultFollower(tmp_path, history)
    settled(follower)
    assert str(file) in follower.problem and len(contents(history)) == 1


class Clock:
    """Seconds that pass when they are told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def refuse_rows_of(query: str, error: Exception):
    """As long as this is entered, no row of a query can be taken."""
    real = QueryStore.add

    def add(self, *given):
        if self.name == query:
            raise error
        return real(self, *given)

    return mock.patch.object(QueryStore, "add", add)


def test_rows_that_cannot_be_taken_are_said_once_and_all_others_are_shown_and_they_come_when_they_can(tmp_path, caplog):
    clock, history = Clock(), History()
    follower = ResultFollower(tmp_path, history, clock)
    write(tmp_path, 0, row("1", 0, 0))
    write(tmp_path, 1, row("1", 1, 1), row("1", 1, 1, "outbound"))
    write(tmp_path, 2, row("1", 2, 2))
    with refuse_rows_of("outbound", ValueError("'p90' is not in list")):
        settled(follower)
        assert {(query, end) for query, _, end in contents(history)} == {
            ("inbound", NOON + index * MINUTE) for index in range(3)
        }
        assert re.search(
            r"batch-0000000001\.\w{16}\.parquet cannot be read \(ValueError: 'p90' is not in list\)", follower.problem
        )
        assert "all other results are shown" in follower.problem and not follower.is_waiting
        write(tmp_path, 3, row("1", 3, 3))
        for _ in range(20):
            clock.now += 3
            follower.step()
        assert "batch-0000000001" in follower.problem and len(contents(history)) == 4
        assert len([one for one in caplog.records if "ValueError" in one.getMessage()]) == 1, "logged once"
        assert caplog.records[0].exc_info is not None, "with its trace"
    clock.now += 600
    assert follower.step() and follower.problem is None and same_as_reading(tmp_path, history)
    assert follower.loading == (4, 4)


def test_a_replaced_file_whose_rows_cannot_be_taken_takes_the_place_of_the_old_one_when_they_can(tmp_path):
    clock, history = Clock(), History()
    follower = ResultFollower(tmp_path, history, clock)
    write(tmp_path, 0, row("old", 0, 0), row("old", 0, 0, "outbound"))
    settled(follower)
    write(tmp_path, 0, row("new", 0, 0), row("new", 0, 0, "outbound"))
    with mock.patch.object(following, "tables", side_effect=lambda *_: iter_failed()):
        assert not settled(follower) and "too many open files" in follower.problem
    assert not settled(follower), "not at once again"
    with refuse_rows_of("outbound", ValueError("no")):
        clock.now += 5
        settled(follower)
        assert "ValueError: no" in follower.problem and len(contents(history)) == 1
    clock.now += 600
    assert settled(follower) and follower.problem is None and same_as_reading(tmp_path, history)


def iter_failed():
    raise OSError("too many open files")
    yield


def test_a_large_file_that_was_tried_again_is_read_once(tmp_path):
    """Its parts are read in several steps, and each of them looks at the folder."""
    clock, history = Clock(), History()
    write(tmp_path, 0, *(row(str(key), end, 0) for key in range(10) for end in range(3)))
    with mock.patch.multiple(following, _FIRST_ROWS=4, _MOST_ROWS=4):
        follower = ResultFollower(tmp_path, history, clock)
        with mock.patch.object(following, "tables", side_effect=lambda *_: iter_failed()):
            settled(follower)
        clock.now += 5
        settled(follower)
        with mock.patch.object(History, "add") as add:
            for _ in range(5):
                clock.now += 600
                follower.step()
            add.assert_not_called()
    assert follower.problem is None and follower.loading == (1, 1) and same_as_reading(tmp_path, history)


@pytest.mark.parametrize("where", ["_drop_removed", "_newest", "_take", "_part_of"])
def test_a_step_that_fails_loses_nothing(tmp_path, where):
    history = History()
    write(tmp_path, 0, *(row(str(key), end, 0) for key in range(3) for end in range(4)))
    with mock.patch.multiple(following, _FIRST_ROWS=5, _MOST_ROWS=5):
        follower = ResultFollower(tmp_path, history)
        follower.step()
        write(tmp_path, 1, row("1", 9, 1))
        with mock.patch.object(ResultFollower, where, side_effect=RuntimeError("no")), pytest.raises(RuntimeError):
            for _ in range(3):
                follower.step()
        settled(follower)
    assert same_as_reading(tmp_path, history) and follower.problem is None


def test_files_of_others_and_hidden_ones_are_none(tmp_path):
    write(tmp_path, 0, row())
    day = tmp_path / f"day={days(tmp_path)[0]}"
    for name in ("notes.txt", ".batch-0000000001.parquet.partial", "part-0.parquet"):
        (day / name).write_bytes(b"mine")
    (tmp_path / "day=soon").mkdir()
    follower = ResultFollower(tmp_path, History())
    settled(follower)
    assert follower.problem is None and follower.loading == (1, 1)


def test_files_that_are_too_old_for_the_history_are_not_opened(tmp_path):
    for batch in range(40):
        rows = [row(str(key), (batch - 39) * A_DAY // 4, batch) for key in range(30)]
        write(tmp_path, batch, *rows)
    compact(tmp_path, days(tmp_path)[-3])
    probe = History()
    probe.add(table(*(row(str(key), end) for key in range(30) for end in range(5))))
    history = History(probe.bytes())
    opened = []
    real = pq.ParquetFile

    def opening(path, **more):
        opened.append(path)
        return real(path, **more)

    with mock.patch.object(pq, "ParquetFile", opening), mock.patch.multiple(following, **SMALL):
        follower = ResultFollower(tmp_path, history)
        for _ in range(50):
            follower.step()
    ends = [(window.end - NOON) // MINUTE // (A_DAY // 4) for window in history.snapshot()["inbound"].windows]
    assert ends == [-4, -3, -2, -1, 0] and history.bytes() <= history.most_bytes
    assert follower.loading.done == follower.loading.of and len(opened) < 12
    between = -5 * A_DAY // 8  # not the newest, and not too old
    write(tmp_path, 40, *(row(str(key), between, 40) for key in range(30)))
    follower.step()
    ends = [(window.end - NOON) // MINUTE for window in history.snapshot()["inbound"].windows]
    assert ends == [-3 * A_DAY // 4, between, -A_DAY // 2, -A_DAY // 4, 0]


def test_a_step_without_news_looks_at_no_file(tmp_path):
    for batch in range(5):
        write(tmp_path, batch, row("1", batch, batch))
    for day in tmp_path.glob("day=*"):
        os.utime(day, (1, 1))  # it has not changed for long
    follower = ResultFollower(tmp_path, History())
    settled(follower)
    with mock.patch("aomg.web.follow.result_files._files_in", side_effect=AssertionError("listed")):
        assert not follower.step()
