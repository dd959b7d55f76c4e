"""The files of a micro-batch are those that Spark's checkpoint lists for it."""

import json
from pathlib import Path

import pytest

from aomg.monitor.source.batch_files import files_of


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Batches 0 to 4, of which batch 3 read nothing; what came before number 2 was joined by Spark."""
    for name in ("offsets", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    for batch, number in enumerate((0, 1, 2, 2, 4)):
        offset = json.dumps({"logOffset": number}, separators=(",", ":"))
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{offset}')

    def listed(*numbers: int) -> str:
        lines = [
            json.dumps({"path": f"file:///in/{number}%20%C3%A4.csv", "timestamp": 1, "batchId": number})
            for number in numbers
        ]
        return "v1\n" + "\n".join(line.replace(": ", ":").replace(", ", ",") for line in lines)

    (tmp_path / "sources/0/1.compact").write_text(listed(0, 1))
    for number in (2, 3, 4):
        (tmp_path / "sources/0" / str(number)).write_text(listed(number))
    return tmp_path


def test_each_batch_has_its_files_wherever_they_are_listed(checkpoint):
    names = [[file.name for file in files_of(checkpoint, batch)] for batch in range(5)]
    assert names == [["0 ä.csv"], ["1 ä.csv"], ["2 ä.csv"], [], ["3 ä.csv", "4 ä.csv"]]


def test_sources_without_files_have_none(checkpoint):
    (checkpoint / "offsets" / "4").write_text('v1\n{}\n{"probes":{"0":7}}')
    assert files_of(checkpoint, 4) == files_of(checkpoint, 9) == files_of(checkpoint / "none", 0) == []
