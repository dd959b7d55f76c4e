import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Killed, dying, files, quick_disk, row, table

from aomg.monitor.sinks.quarantine import Quarantine, RefusedRow, read_counts, refused_in

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


def kept(folder: Path) -> list[dict]:
    """The older file first."""
    paths = [folder / "refused.1.jsonl", folder / "refused.jsonl"]
    return [json.loads(line) for file in paths if file.exists() for line in file.read_text().splitlines()]


def refused(number: int, size: int) -> list[RefusedRow]:
    return [RefusedRow(f"{number}.csv", ("no time", "no value")[i % 2], f"row {number} {i}") for i in range(size)]


class Counting(Quarantine):
    """A quarantine with the counts of each batch, which a monitor has in its journal."""

    def __init__(self, folder: Path, *arguments, entries: dict | None = None, **more) -> None:
        super().__init__(folder, *arguments, **more)
        self.entries: dict[int, dict[str, int]] = {} if entries is None else entries

    def take(self, batch: int, rows: list[RefusedRow]) -> None:
        counts = self.keep(batch, rows, self.entries.get(batch - 1, {}))
        self.entries[batch] = counts
        self.write_counts(counts)

    def counts(self) -> dict[str, int]:
        counts = read_counts(self.file) or {}
        assert counts == self.entries[max(self.entries)]
        return counts


def test_rows_are_kept_with_reason_file_and_batch(tmp_path):
    one = Quarantine(tmp_path / "q")
    counts = one.keep(4, [RefusedRow("a.csv", "no value", "1,x"), RefusedRow("a.csv", "no time", None, 7)], {"old": 2})
    assert kept(tmp_path / "q") == [{"batch": 4, "reason": "no value", "file": "a.csv", "row": "1,x"}]
    assert counts == {"no time": 7, "no value": 1, "old": 2}
    assert not one.file.exists(), "the journal comes first"
    assert one.write_counts(counts) and not one.write_counts(counts)
    assert list(json.loads(one.file.read_text())["total"]) == ["no time", "old", "no value"]


def test_the_refused_rows_of_a_micro_batch_are_those_of_no_query():
    mixed = table(
        row(),
        row(("no value", "1,x", None), query="", count=1),
        row((None, None, None), query="", count=500),
        row(("no time", None, "f"), query="", count=9),
        row((None, None, None), query="", count=41),
    )
    refused = [RefusedRow("", "no value", "1,x", 1), RefusedRow("f", "no time", None, 9)]
    assert refused_in(mixed) == (refused, 541)
    assert refused_in(table(row())) == ([], 0)


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    most=st.integers(2, 20),
    stream=st.sampled_from([None, "abc"]),
    data=st.data(),
)
def test_bounds_hold_counts_go_on_and_repeats_change_nothing(sizes, most, stream, data):
    with tempfile.TemporaryDirectory() as name:
        wanted, actual = Path(name) / "wanted", Path(name) / "found"
        one = Counting(wanted, most, stream=stream)
        crashed = data.draw(st.integers(0, len(sizes) - 1))
        for number, size in enumerate(sizes):
            one.take(number, refused(number, size))
            rows = kept(wanted)
            assert len(rows) <= most
            newest = [line["row"] for line in rows if line["batch"] == number]
            assert len(newest) == min(size, most // 2)
        assert sum(one.counts().values()) == sum(sizes)
        other = Counting(actual, most, stream=stream)
        for number, size in enumerate(sizes[:crashed]):
            other.take(number, refused(number, size))
        try:
            with dying(data.draw(st.integers(0, 8)), data.draw(st.booleans())):
                other.take(crashed, refused(crashed, sizes[crashed]))
        except Killed:
            pass
        other = Counting(actual, most, stream=stream, entries=other.entries)
        for number in range(crashed, len(sizes)):
            other.take(number, list(reversed(refused(number, sizes[number]))))
        assert other.counts() == one.counts()
        assert kept(actual) == kept(wanted)


def test_bytes_are_bounded_too(tmp_path):
    one = Counting(tmp_path, 1_000, most_bytes=20_000)
    for number in range(20):
        one.take(number, [RefusedRow("f", "long", "é" * 1_000 + str(i)) for i in range(6)])
        assert sum(len(text) for name, text in files(tmp_path).items() if "refused" in name) <= 20_000
    assert one.counts() == {"long": 120} and len(kept(tmp_path)) >= 4
    one.take(20, [RefusedRow("f", "endless", "x" * 10**6)])
    assert one.counts()["endless"] == 1


def test_there_are_at_most_a_hundred_reasons(tmp_path):
    one = Counting(tmp_path)
    one.take(0, [RefusedRow("f", f"reason {number}", "x") for number in range(500)])
    assert len(one.counts()) == 101 and one.counts()["other reasons"] == 400


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"total": {"x": "y"}}', '{"total": {"x": -1}}', "\xff"])
def test_damaged_counts_are_none_and_written_anew(tmp_path, text):
    one = Quarantine(tmp_path)
    one.file.write_bytes(text.encode("latin-1"))
    assert read_counts(one.file) is None
    assert one.write_counts({"no time": 3}) and read_counts(one.file) == {"no time": 3}


def test_counts_of_an_earlier_version_are_read(tmp_path):
    file = tmp_path / "counts.json"
    counts = {"stream": "abc", "last": 7, "before": {"no time": 4}, "batches": {"8": {"no time": 1, "no value": 2}}}
    file.write_text(json.dumps({"total": {"no time": 9}, **counts}))
    assert read_counts(file) == {"no time": 5, "no value": 2}
    assert read_counts(tmp_path / "none") is None


def test_a_repeat_with_other_rows_replaces_rows_of_this_batch_and_later_ones(tmp_path):
    one = Counting(tmp_path)
    for number, size in ((2, 1), (3, 4), (4, 2)):
        one.take(number, refused(number, size))
    one.take(3, [])
    assert [line["batch"] for line in kept(tmp_path)] == [2]
