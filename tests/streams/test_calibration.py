import re
from pathlib import Path

import numpy as np
import pytest

from aomg.streams import calibration, named

DOCUMENT = Path(__file__).parents[2] / "docs" / "streams.md"


@pytest.fixture(scope="module")
def figures() -> list[calibration.Figure]:
    return list(calibration.figures())


def test_every_figure_that_the_paper_prints_is_met(figures):
    print(*figures, sep="\n")
    assert [str(figure) for figure in figures if not figure.met] == []
    assert len(figures) >= 30


def test_the_table_of_the_document_is_the_one_that_is_measured(figures):
    text = DOCUMENT.read_text()
    assert [str(figure) for figure in figures if str(figure) not in text] == []


def test_the_examples_of_the_document_run_from_top_to_bottom(capsys):
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert blocks
    known: dict[str, object] = {}
    for block in blocks:
        exec(block, known)
    output = capsys.readouterr().out
    assert output.startswith("1000000\n1000000\n1000000\n")
    assert re.search(r"^9\.\d% of the probes", output, re.MULTILINE)


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("name", calibration.TABLE_1)
def test_other_seeds_have_the_papers_quantiles_too(name, seed):
    values = named(name, seed).take(1_000_000)
    for phi, printed in calibration.TABLE_1[name][0].items():
        assert calibration.quantile(values, phi) == pytest.approx(printed, rel=0.02)


def test_a_figure_that_is_off_is_told():
    values = np.repeat(named("search").take(200_000), 50) * 2
    rows = list(calibration._table_1("search", values))
    assert not any(figure.met for figure in rows)
    assert all("**no**" in str(figure) for figure in rows)
