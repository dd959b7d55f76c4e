"""The README's example on Spark runs as it is written."""

import re
from pathlib import Path

import pytest

import aomg.spark

README = Path(__file__).parents[2] / "README.md"

pytestmark = pytest.mark.xdist_group("spark")


def test_the_example_runs_and_prints_results(spark, monkeypatch, capsys):
    monkeypatch.setattr(aomg.spark, "session", lambda: spark)
    (block,) = re.findall(r"```python\n([^`]*aomg\.spark[^`]*)```", README.read_text())
    names = {}
    exec(block, names)
    assert len(capsys.readouterr().out.splitlines()) == 10  # five rows in a frame, and that there are more
    for row in names["windows"].collect():
        assert row.p99.low <= row.p99.value <= row.p99.high
