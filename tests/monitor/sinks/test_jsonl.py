import json
import tempfile
import tracemalloc
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import NAMES, NOON, alert, files, full_disk, quick_disk, row, table

from aomg.monitor.atomic_files import SinkError
from aomg.monitor.sinks import jsonl as json_lines
from aomg.monitor.sinks.jsonl import JsonLinesSink

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_results_are_lines_with_labels_and_estimates_by_name(tmp_path):
    file = tmp_path / "out" / "results.jsonl"
    JsonLinesSink(file, NAMES).write(7, table(row(("17",), p99=4000.0), row(("a", None), query="pairs")))
    first, second = lines(file)
    assert list(first) == ["batch", *(key for key in row() if key != "batch")]
    assert first["batch"] == 7 and first["labels"] == {"podset": "17"} and first["end"] == "2026-11-16T12:00:00Z"
    assert first["estimates"]["p99"] == {"value": 4000.0, "low": 3960.0, "high": 4040.0, "method": "band"}
    assert second["labels"] == {"src": "a", "dst": None}


def test_what_is_not_finite_becomes_null(tmp_path):
    JsonLinesSink(tmp_path / "r", NAMES).write(0, table(row(p99=float("inf"), p50=float("nan"))))
    assert lines(tmp_path / "r")[0]["estimates"]["p99"] == {"value": None, "low": None, "high": None, "method": "band"}


def test_alerts_are_lines_that_tell_all_of_them(tmp_path):
    JsonLinesSink(tmp_path / "alerts").write(3, [alert(), alert("resolved")])
    first, second = lines(tmp_path / "alerts")
    assert first == json.loads(json.dumps(alert().to_json())) and second["transition"] == "resolved"
    assert list(first)[:2] == ["batch", "id"]


def test_a_batch_without_rows_makes_no_file(tmp_path):
    JsonLinesSink(tmp_path / "alerts").write(3, [])
    assert files(tmp_path) == {}


def batch_of(number: int, size: int) -> list:
    return [alert(podset=f"é{i}" * (1 + number % 3), end=NOON + number, batch=number) for i in range(size)]


@given(
    sizes=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    before=st.sampled_from([b"", b"somebody's line\n", b"somebody's last line", b'{"other":"json"}\n']),
    stream=st.sampled_from([None, "3f9a"]),
    data=st.data(),
)
def test_a_repeat_from_any_point_leaves_the_same_file(sizes, before, stream, data):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "alerts.jsonl"
        file.write_bytes(before)
        after = [before]
        sink = JsonLinesSink(file, stream=stream)
        for number, size in enumerate(sizes):
            sink.write(number, batch_of(number, size))
            after.append(file.read_bytes())
        assert after[-1].startswith(before) and len(after[-1].splitlines()) == sum(sizes) + bool(before)
        crashed = data.draw(st.integers(0, len(sizes) - 1), "the batch that was being written")
        again = data.draw(st.integers(0, crashed), "the batch from which on all is repeated")
        torn = data.draw(st.integers(len(after[crashed]), len(after[crashed + 1])), "how much of it was written")
        zeros = data.draw(st.sampled_from([b"", bytes(3)]), "what a power cut left behind")
        file.write_bytes(after[crashed + 1][:torn] + (zeros if torn < len(after[crashed + 1]) else b""))
        if before.endswith(b"line") and torn == len(before) and zeros:
            return  # zeros behind somebody's torn line are somebody's
        sink = JsonLinesSink(file, stream=stream)
        for number in range(again, len(sizes)):
            sink.write(number, batch_of(number, sizes[number]))
        assert file.read_bytes() == after[-1]


def test_a_torn_line_of_a_batch_that_is_not_repeated_goes_and_a_whole_one_gets_its_end(tmp_path):
    file = tmp_path / "alerts"
    for cut, kept in ((-10, 1), (-1, 2)):
        file.unlink(missing_ok=True)
        JsonLinesSink(file).write(3, [alert(), alert("resolved")])
        file.write_bytes(file.read_bytes()[:cut])
        JsonLinesSink(file).write(4, [alert(end=NOON + 1)])
        assert [line["batch"] for line in lines(file)] == [3] * kept + [4]


def test_lines_of_somebody_else_stay_wherever_they_are(tmp_path):
    file = tmp_path / "alerts"
    JsonLinesSink(file).write(3, [alert()])
    JsonLinesSink(file).write(4, [alert(end=NOON + 1)])
    with file.open("ab") as raw:
        raw.write(b"a note of mine\n")
    JsonLinesSink(file).write(4, [alert("resolved")])
    text = file.read_text().splitlines()
    assert [line[:11] for line in text] == ['{"batch":3,', "a note of m", '{"batch":4,'] and "resolved" in text[2]


def test_lines_of_another_stream_stay(tmp_path):
    file = tmp_path / "alerts"
    JsonLinesSink(file, stream="old").write(3, [alert()])
    JsonLinesSink(file, stream="new").write(0, [alert()])
    JsonLinesSink(file, stream="new").write(0, [alert()])
    assert [(line["stream"], line["batch"]) for line in lines(file)] == [("old", 3), ("new", 0)]


def test_only_the_end_of_a_long_file_is_read(tmp_path, monkeypatch):
    file = tmp_path / "alerts"
    sink = JsonLinesSink(file)
    for number in range(30):
        sink.write(number, batch_of(number, 20))
    monkeypatch.setattr(json_lines, "_BLOCK", 1_000)
    read = []
    real = json_lines._lines_from_the_end
    monkeypatch.setattr(json_lines, "_lines_from_the_end", lambda raw: (read.append(1) or line for line in real(raw)))
    before = file.read_bytes()
    JsonLinesSink(file).write(29, batch_of(29, 20))
    assert file.read_bytes() == before and len(read) == 21


def test_a_long_file_of_others_is_not_read_into_memory(tmp_path):
    """The first write of a new state folder looks through all that an old one wrote, for lines to cut."""
    file = tmp_path / "alerts"
    other = b'{"batch":1,"stream":"old","x":"' + b"a" * 1000 + b'"}\n'
    with file.open("wb") as raw:
        raw.write(b'{"batch":7,"stream":"new","torn":"by a crash"}\n')
        for _ in range(8_000):
            raw.write(other)

    def most(number: int) -> int:
        tracemalloc.start()
        JsonLinesSink(file, stream="new").put(number, [{"batch": number, "stream": "new", "x": 1}])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    assert most(8) < 1_000_000, "it only looks"
    assert most(7) < 1_000_000, "it cuts a line before all others and one behind them, and copies what is between"
    assert file.read_bytes() == other * 8_000 + b'{"batch":7,"stream":"new","x":1}\n'


@given(st.lists(st.sampled_from(["new 3", "new 4", "new 5", "old 4", "a note", ""]), max_size=12), st.booleans())
def test_what_is_cut_are_the_own_lines_of_later_batches_wherever_they_stand(present, ended):
    """Behind the last own line of an earlier batch; all other lines stay as they are, in their order."""

    def line(what: str) -> str:
        stream, _, batch = what.partition(" ")
        return f'{{"batch":{batch},"stream":"{stream}","x":1}}' if batch.isdigit() else what

    last = max((place for place, what in enumerate(present) if what == "new 3"), default=-1)
    stays = [line(what) for place, what in enumerate(present) if place <= last or what not in ("new 4", "new 5")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "alerts.jsonl"
        text = "".join(f"{line(what)}\n" for what in present)
        file.write_text(text if ended or not present or not present[-1] else text.removesuffix("\n"))
        with mock.patch.object(json_lines, "_BLOCK", 16):
            JsonLinesSink(file, stream="new").put(4, [{"batch": 4, "stream": "new", "x": 1}])
        assert file.read_text() == "".join(f"{one}\n" for one in stays) + '{"batch":4,"stream":"new","x":1}\n'


def test_a_full_disk_is_an_error_and_leaves_no_half_line(tmp_path):
    file = tmp_path / "alerts"
    sink = JsonLinesSink(file)
    sink.write(0, [alert()])
    before = file.read_bytes()
    with full_disk(len(before) + 100), pytest.raises(SinkError, match="alerts cannot be written"):
        sink.write(1, [alert(end=NOON + 1)])
    assert file.read_bytes() == before
    sink.write(1, [alert(end=NOON + 1)])
    assert len(lines(file)) == 2


def test_a_folder_in_place_of_the_file_is_an_error_that_says_so(tmp_path):
    with pytest.raises(SinkError, match="it is a file where a folder is needed, or the reverse"):
        JsonLinesSink(tmp_path).write(0, [alert()])
