"""What a batch reads, as Spark's checkpoint lists it."""

import json
from pathlib import Path

import pytest
from samples import spark_commits, spark_plans

from aomg.errors import StateError
from aomg.monitor.journal.checkpoint import Checkpoint, SourceReader
from aomg.monitor.journal.entry import SourceFile, SourceRead


def listed(state: Path, name: str, *files: tuple[Path, int]) -> None:
    log = state / "checkpoint" / "sources" / "0" / name
    log.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"path": f"file://{f}", "timestamp": 5, "batchId": n}, separators=(",", ":")) for f, n in files]
    log.write_text("\n".join(["v1", *lines]))


def made(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).write_text(name)
    return [folder / name for name in names]


def paths(read: SourceRead) -> list[str]:
    return [Path(file.path).name for file in read.files]


def test_the_files_of_a_batch_are_those_that_are_listed_since_the_batch_before(tmp_path):
    a, b, c, d = made(tmp_path, "a", "b", "c", "d")
    listed(tmp_path, "0", (a, 0))
    listed(tmp_path, "1", (b, 1))
    listed(tmp_path, "2", (c, 2), (d, 2))
    spark_plans(tmp_path, 0, '{"logOffset":0}')
    spark_plans(tmp_path, 1, '{"logOffset":2}')  # two numbers at once
    spark_plans(tmp_path, 2, '{"logOffset":2}')  # nothing new
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    assert [paths(checkpoint.read_by(batch)) for batch in range(3)] == [["a"], ["b", "c", "d"], []]
    status = a.stat()
    assert checkpoint.read_by(0).files == (SourceFile(str(a), 1, status.st_mtime_ns // 1_000_000),)


def test_lists_that_spark_has_joined_are_read(tmp_path):
    a, b, c = made(tmp_path, "a", "b", "c")
    listed(tmp_path, "9.compact", (a, 7), (b, 8), (c, 9))
    for batch, number in enumerate((6, 7, 9)):
        spark_plans(tmp_path, batch, f'{{"logOffset":{number}}}')
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    assert [paths(checkpoint.read_by(batch)) for batch in (1, 2)] == [["a"], ["b", "c"]]


def test_names_are_decoded_and_other_systems_are_taken_as_they_are(tmp_path):
    (file,) = made(tmp_path, "with space+%")
    listed(tmp_path, "0", (Path(str(file).replace("%", "%25").replace(" ", "%20")), 0))
    spark_plans(tmp_path, 0, '{"logOffset":0}', '{"topic":{"0":3}}', "-")
    read = Checkpoint(tmp_path / "checkpoint").read_by(0)
    assert paths(read) == ["with space+%"] and read.offsets == ('{"topic":{"0":3}}',) and not read.missing
    log = tmp_path / "checkpoint/sources/0/0"
    log.write_text('v1\n{"path":"s3a://bucket/a","timestamp":5,"batchId":0}')
    assert Checkpoint(tmp_path / "checkpoint").read_by(0).files == (SourceFile("s3a://bucket/a", -1, 5),)


def test_a_file_that_is_gone_is_an_error_unless_it_is_to_be_skipped(tmp_path):
    a, b = made(tmp_path, "a", "b")
    listed(tmp_path, "0", (a, 0), (b, 0))
    spark_plans(tmp_path, 0, '{"logOffset":0}')
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    assert paths(SourceReader(checkpoint)(0)) == ["a", "b"]
    b.unlink()
    with pytest.raises(StateError, match=r"the source file .*/b, which batch 0 reads, is gone. Put it back.*skip"):
        SourceReader(checkpoint)(0)
    read = SourceReader(checkpoint, skips_missing=True)(0)
    assert paths(read) == ["a"] and read.missing == (str(b),)


@pytest.mark.parametrize("name", ["offsets/1", "offsets/0", "sources/0/1"])
@pytest.mark.parametrize("content", [None, b"\xff", b"v1\n{nonsense"])
def test_a_damaged_checkpoint_is_named(tmp_path, name, content):
    (a,) = made(tmp_path, "a")
    listed(tmp_path, "0", (a, 0))
    listed(tmp_path, "1", (a, 1))
    for batch in (0, 1):
        spark_plans(tmp_path, batch, f'{{"logOffset":{batch}}}')
    file = tmp_path / "checkpoint" / name
    if content is None:
        file.unlink()
    elif name == "sources/0/1":
        file.write_bytes(content + b'"batchId":1}')
    else:
        file.write_bytes(content)
    if name == "offsets/1" and content == b"v1\n{nonsense":
        assert Checkpoint(tmp_path / "checkpoint").read_by(1) == SourceRead(), "no source at all"
        return
    if name == "offsets/0" and content == b"v1\n{nonsense":
        assert paths(Checkpoint(tmp_path / "checkpoint").read_by(1)) == ["a"]
        return
    with pytest.raises(StateError, match=rf"{name} of Spark's checkpoint is missing or damaged"):
        Checkpoint(tmp_path / "checkpoint").read_by(1)


def test_the_newest_batches_of_a_checkpoint(tmp_path):
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    assert (checkpoint.planned, checkpoint.committed) == (-1, -1)
    for batch in (0, 1, 10):
        spark_plans(tmp_path, batch)
    spark_commits(tmp_path, 9)
    (tmp_path / "checkpoint/commits/.10.crc").touch()
    assert (checkpoint.planned, checkpoint.committed) == (10, 9)


def test_what_another_reading_reads_differently_is_said():
    one, two = SourceFile("/a", 1, 1), SourceFile("/b", 1, 1)
    read = SourceRead((one, two))
    assert read.difference(read) == ""
    assert read.difference(SourceRead((one,))) == "no longer reads /b"
    assert read.difference(SourceRead((one, two, SourceFile("/c", 1, 1)))) == "also reads /c"
    assert read.difference(SourceRead((one, SourceFile("/b", 2, 1)))) == "reads a changed /b"
    assert SourceRead(offsets=("1",)).difference(SourceRead(offsets=("2",))) == "reads 2 instead of 1"
