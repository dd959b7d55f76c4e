import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Killed, dying, files, quick_disk, row, table

from aomg.errors import StateError
from aomg.monitor.sinks.quarantine import Quarantine, RefusedRow, refused_in

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


def kept(folder: Path) -> list[dict]:
    """The older file first."""
    paths = [folder / "refused.1.jsonl", folder / "refused.jsonl"]
    return [json.loads(line) for file in paths if file.exists() for line in file.read_text().splitlines()]


def refused(number: int, size: int) -> list[RefusedRow]:
    return [RefusedRow(f"{number}.csv", ("no time", "no value")[i % 2], f"row {number} {i}") for i in range(size)]


def test_rows_are_kept_with_reason_file_and_batch(tmp_path):
    Quarantine(tmp_path / "q").keep(
        4, [RefusedRow("a.csv", "no value", "1,x"), RefusedRow("a.csv", "no time", None, 7)]
    )
    assert kept(tmp_path / "q") == [{"batch": 4, "reason": "no value", "file": "a.csv", "row": "1,x"}]
    assert Quarantine(tmp_path / "q").counts() == {"no time": 7, "no value": 1}


def test_the_refused_rows_of_a_micro_batch_are_those_of_no_query():
    mixed = table(
        row(), row(("no value", "1,x", None), query="", count=1), row(("no time", None, "f"), query="", count=9)
    )
    assert refused_in(mixed) == [RefusedRow("", "no value", "1,x", 1), RefusedRow("f", "no time", None, 9)]
    assert refused_in(table(row())) == []


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    most=st.integers(2, 20),
    stream=st.sampled_from([None, "abc"]),
    data=st.data(),
)
def test_bounds_hold_counts_go_on_and_repeats_change_nothing(sizes, most, stream, data):
    with tempfile.TemporaryDirectory() as name:
        wanted, actual = Path(name) / "wanted", Path(name) / "found"
        one = Quarantine(wanted, most, stream=stream)
        crashed = data.draw(st.integers(0, len(sizes) - 1))
        for number, size in enumerate(sizes):
            one.keep(number, refused(number, size))
            rows = kept(wanted)
            assert len(rows) <= most
            newest = [line["row"] for line in rows if line["batch"] == number]
            assert len(newest) == min(size, most // 2)
        assert sum(one.counts().values()) == sum(sizes)
        other = Quarantine(actual, most, stream=stream)
        for number, size in enumerate(sizes[:crashed]):
            other.keep(number, refused(number, size))
        try:
            with dying(data.draw(st.integers(0, 8)), data.draw(st.booleans())):
                other.keep(crashed, refused(crashed, sizes[crashed]))
        except Killed:
            pass
        other = Quarantine(actual, most, stream=stream)
        for number in range(crashed, len(sizes)):
            other.keep(number, list(reversed(refused(number, sizes[number]))))
        assert other.counts() == one.counts() == Quarantine(actual, stream=stream).counts()
        assert kept(actual) == kept(wanted)


def test_bytes_are_bounded_too(tmp_path):
    one = Quarantine(tmp_path, 1_000, most_bytes=20_000)
    for number in range(20):
        one.keep(number, [RefusedRow("f", "long", "é" * 1_000 + str(i)) for i in range(6)])
        assert sum(len(text) for name, text in files(tmp_path).items() if "refused" in name) <= 20_000
    assert one.counts() == {"long": 120} and len(kept(tmp_path)) >= 4
    one.keep(20, [RefusedRow("f", "endless", "x" * 10**6)])
    assert one.counts()["endless"] == 1


def test_counts_of_many_batches_survive_restarts(tmp_path):
    for number in range(60):
        one = Quarantine(tmp_path, 10)
        one.keep(number, refused(number, 3))
        one.keep(number, refused(number, 2))
    assert one.counts() == {"no time": 60, "no value": 60}
    assert json.loads((tmp_path / "counts.json").read_text())["total"] == one.counts()
    one.keep(3, refused(3, 2))  # long ago
    assert sum(one.counts().values()) == 120


def test_another_stream_goes_on_counting(tmp_path):
    for stream in ("old", "new"):
        for number in range(30):
            Quarantine(tmp_path, 10, stream=stream).keep(number, refused(number, 1))
    assert Quarantine(tmp_path, 10, stream="new").counts() == {"no time": 60}


def test_there_are_at_most_a_hundred_reasons(tmp_path):
    one = Quarantine(tmp_path)
    one.keep(0, [RefusedRow("f", f"reason {number}", "x") for number in range(500)])
    assert len(one.counts()) == 101 and one.counts()["other reasons"] == 400


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stream":null,"last":"x","before":{},"batches":{}}'])
def test_damaged_counts_are_an_error(tmp_path, text):
    (tmp_path / "counts.json").write_text(text)
    with pytest.raises(StateError, match=r"counts.json is damaged; remove it"):
        Quarantine(tmp_path)


def test_a_repeat_with_other_rows_replaces_rows_and_counts_of_this_batch_and_later_ones(tmp_path):
    one = Quarantine(tmp_path)
    for number, size in ((2, 1), (3, 4), (4, 2)):
        one.keep(number, refused(number, size))
    one.keep(3, [])
    assert one.counts() == {"no time": 1} and [line["batch"] for line in kept(tmp_path)] == [2]
