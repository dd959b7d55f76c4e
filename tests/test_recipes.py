"""The recipes of docs/recipes.md run on a monitor's files, and the notebook prints what it shows."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from web.monitor_files import monitor_files

ROOT = Path(__file__).parents[1]
RECIPES = (ROOT / "docs/recipes.md").read_text()


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", RECIPES, re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the blocks of Python define, run from top to bottom in a monitor's folder."""
    monitor = monitor_files(tmp_path_factory.mktemp("monitor"), summaries=True)
    defined = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(monitor.folder)
        first, *others = blocks("python")
        exec(first, defined)
        rows = {"worst_rows": defined["worst"].fetchall(), "p99_rows": defined["p99"].fetchall()}
        for block in others:
            exec(block, defined)
    return {**defined, **rows}


def test_duckdb_and_pandas_find_the_same_worst_podset(names):
    over_time = names["over_time"]
    podset, at_most, certainly = names["worst_rows"][0]
    above = (over_time["low"] > 4000).sum()
    assert above.idxmax() == podset and above.max() == certainly > 0
    assert over_time["high"][podset].max() == at_most


def test_every_window_is_there_once(names):
    p99 = names["p99"]
    assert len(names["p99_rows"]) == 2 * len(p99) == 2 * 20 * 30
    assert not p99.duplicated(["podset", "end"]).any()


def test_summaries_answer_another_quantile_and_window(names):
    windows = names["windows"]
    assert "p95_low" in windows.column_names and len(windows) > 0
    frame = windows.to_pandas()
    assert (frame["p95_low"] <= frame["p95_high"]).all()


def test_the_files_for_prometheus_and_grafana_are_whole():
    prometheus, source, dashboards = map(yaml.safe_load, blocks("yaml"))
    assert (ROOT / "dashboards" / prometheus["rule_files"][0]).exists()
    assert prometheus["scrape_configs"][0]["job_name"] == "aomg"
    assert source["datasources"][0]["type"] == "prometheus"
    assert dashboards["providers"][0]["type"] == "file" and list((ROOT / "dashboards").glob("*.json"))


def test_the_notebook_prints_what_it_shows(capsys):
    notebook = json.loads((ROOT / "docs/first-steps.ipynb").read_text())
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
            shown = "".join("".join(output["text"]) for output in cell["outputs"])
            assert capsys.readouterr().out == shown
    assert isinstance(names["frame"], pd.DataFrame)
