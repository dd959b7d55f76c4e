"""Lines that are too long are found, in files of any size and compression, as Hadoop would count them."""

import bz2
import gzip
import io
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aomg.monitor.config.model import SourceConfig
from aomg.monitor.errors import RunError
from aomg.monitor.source import long_lines as module
from aomg.monitor.source.long_lines import LongLines, SplitLineError, _Scan, long_lines, separator_of

MEGABYTE = 1 << 20


def by_hand(content: bytes, limit: int, separator: bytes | None) -> list[tuple[int, int, bytes]]:
    begin = 3 if content.startswith(b"\xef\xbb\xbf") else 0
    ending = rb"\r\n|\n|\r" if separator is None else re.escape(separator)
    lines, start = [], begin
    for match in re.finditer(ending, content[begin:]):
        lines.append((start, begin + match.end() - start))
        start = begin + match.end()
    lines.append((start, len(content) - start))
    return [(start, size, content[start : start + size][:1000]) for start, size in lines if size > limit]


def source(kind="jsonl", longest_line=1000, **options):
    return SourceConfig(kind, 1, "ts", Path("in"), longest_line=longest_line, options=options)


texts = st.lists(st.sampled_from([b"a", b"bb", b"\r", b"\n", b"\r\n", b"~", b"~~", b"c" * 9]), max_size=60).map(
    b"".join
)


@example(b"aaaa\r\n", 5, 5, None)
@example(b"aaaa\r\n", 5, 6, None)
@example(b"\xef\xbb\xbfaaaaa", 1, 4, None)
@given(
    texts | texts.map(lambda text: b"\xef\xbb\xbf" + text),
    st.integers(1, 20),
    st.integers(1, 30),
    st.sampled_from([None, b"\n", b"~", b"~a"]),
)
def test_lines_that_are_too_long_are_those_that_one_finds_by_hand(content, chunk, limit, separator):
    stream = io.BytesIO(content)
    first = stream.read(max(chunk, 3))  # a file gives at least its byte order mark at once
    pieces = iter([first, *iter(lambda: stream.read(chunk), b"")])
    lines = _Scan(limit, separator).run(lambda size: next(pieces, b""))
    assert [(line.offset, line.size, line.head) for line in lines] == by_hand(content, limit, separator)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zst"])
def test_a_huge_line_is_found_in_little_memory_whatever_the_compression(tmp_path, suffix):
    file = tmp_path / f"a.jsonl{suffix}"
    line = b'{"host": "' + b"x" * (30 * MEGABYTE) + b'"}\n'
    content = b'{"a": 1}\n' * 5 + line + b'{"a": 2}\n' * 5
    if suffix == ".zst":
        import pyarrow as pa

        with pa.CompressedOutputStream(str(file), "zstd") as stream:
            stream.write(content)
    else:
        file.write_bytes({"": bytes, ".gz": lambda c: gzip.compress(c, 1), ".bz2": bz2.compress}[suffix](content))
    del content
    tracemalloc.start()
    try:
        (found,) = long_lines(file, MEGABYTE)
        assert tracemalloc.get_traced_memory()[1] < 8 * MEGABYTE
    finally:
        tracemalloc.stop()
    assert (found.offset, found.size, found.head) == (45, len(line), line[:1000])


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_a_file_of_several_compressed_parts_is_read_to_its_end(tmp_path, suffix, compress):
    file = tmp_path / f"a.jsonl.{suffix}"
    file.write_bytes(compress(b"short\n") + compress(b"y" * 500) + compress(b"y" * 500 + b"\nshort\n"))
    assert [(line.offset, line.size) for line in long_lines(file, 999)] == [(6, 1001)]


def test_a_small_file_is_not_opened(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_bytes(b"x" * 100)
    monkeypatch.setattr(module, "opened", lambda file: pytest.fail("it was opened"))
    assert list(long_lines(tmp_path / "a.csv", 100)) == []


def test_long_lines_become_refused_rows_with_their_file_once_files_are_whole(tmp_path):
    file = tmp_path / "ä b.jsonl"
    file.write_bytes(b"ok\n" + b"\xff" + b"l" * 2000 + b"\nok\n")
    finder = LongLines(source())
    with pytest.raises(SplitLineError):
        finder.of([file])
    assert finder.whole_files
    (row,) = finder.of([file, tmp_path / "gone.jsonl"])
    assert row.file == f"file:{tmp_path}/ä%20b.jsonl", "as Spark writes it in other refused rows"
    assert row.reason == "longer than 1,000 bytes (longest_line)"
    assert row.text == f"\\xff{'l' * 999} ... (2,002 bytes)"


def test_compressed_files_are_never_split_and_need_no_second_reading(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"l" * 2000))
    finder = LongLines(source())
    assert len(finder.of([tmp_path / "a.jsonl.gz"])) == 1 and not finder.whole_files


def test_of_many_long_lines_some_are_kept_and_all_are_counted(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress((b"l" * 2000 + b"\n") * 250))
    rows = LongLines(source()).of([tmp_path / "a.gz"])
    assert sum(row.count for row in rows) == 250 and sum(row.text is not None for row in rows) == 100


def test_a_line_that_spark_cannot_skip_names_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LARGEST", 5000)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"l" * 6000))
    with pytest.raises(RunError, match=r"a.gz has a line of 6,000 bytes, which Spark cannot skip; remove the file"):
        LongLines(source()).of([tmp_path / "a.gz"])


def test_a_damaged_file_is_left_to_spark(tmp_path):
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8b damaged")
    assert LongLines(source()).of([tmp_path / "a.gz"]) == []


def test_the_line_ending_is_that_of_the_options():
    assert separator_of(source()) is None
    assert separator_of(source(lineSep="|")) == b"|"
    assert separator_of(source("csv", lineSep="§", encoding="ISO-8859-1")) == b"\xa7"
