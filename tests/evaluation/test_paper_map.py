"""The map leads from everything that the paper numbers to a file that is there."""

import re
from pathlib import Path

import pytest

from aomg.evaluation import experiment, names

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "paper-map.md"
pytestmark = pytest.mark.skipif(not MAP.exists(), reason="the documents are not beside the tests")

NUMBERED = [
    "Algorithm 1",
    *(f"Table {number}" for number in range(1, 6)),
    *(f"Figure {number}" for number in range(1, 6)),
    "Theorem 1",
]
SECTIONS = ("1", "2", "2.1", "3", "4.1", "4.2", "4.3", "5.1", "5.2", "5.3", "6.1", "6.2", "6.3", "6.4", "7", "8", "9")


def rows():
    return [line.split("|")[1:-1] for line in MAP.read_text().splitlines() if line.startswith("|")]


@pytest.mark.parametrize("named", NUMBERED)
def test_what_the_paper_numbers_is_mapped_to_a_file(named):
    (row,) = [row for row in rows() if row[0].strip() == named]
    assert re.search(r"`(core|evaluation)/[\w/]+\.py`", row[2])


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_mapped(section):
    assert [row for row in rows() if row[0].split()[:1] == [section]]


def test_every_experiment_of_the_paper_is_on_the_map():
    named = set(re.findall(r"`evaluation/experiments/(\w+)\.py`", MAP.read_text()))
    assert {name for name in names() if experiment(name).paper} <= named


def test_the_files_of_the_evaluation_are_there():
    for name in re.findall(r"`(evaluation/\w+\.py)`", MAP.read_text()):
        assert (ROOT / "src" / "aomg" / name).exists(), name
