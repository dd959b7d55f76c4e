"""Dashboards and rules ask only for what is exported, and can be imported anywhere."""

import json
import re
from pathlib import Path

import pytest
import yaml
from scraped import example

from aomg.web.metrics.exposition import exposition
from aomg.web.metrics.labels import OURS

FOLDER = Path(__file__).parents[3] / "dashboards"
BOARDS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
RULES = yaml.safe_load((FOLDER / "aomg.rules.yml").read_text())

OF_SCRAPING = {"instance", "job"}
BUILT_IN = {"bargauge", "gauge", "heatmap", "stat", "state-timeline", "status-history", "table", "text", "timeseries"}


def parts(node):
    """Everything in a tree of JSON that has a name, with its name."""
    for name, part in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield name, part
        yield from parts(part)


def questions(board):
    """Every expression of a dashboard: of panels, of variables, of annotations."""
    result = [part for name, part in parts(board) if name in ("expr", "definition") and isinstance(part, str)]
    result += [part for name, part in parts(board["templating"]) if name == "query" and isinstance(part, str)]
    return sorted({one for one in result if one != "prometheus"})


EXPRESSIONS = {name: questions(board) for name, board in BOARDS.items()}
EXPRESSIONS["rules"] = [rule["expr"] for group in RULES["groups"] for rule in group["rules"]]


def exported():
    """Every metric that is exported, with the names of its labels."""
    result = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", exposition(example())[0].decode(), re.MULTILINE):
        result.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return result


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_every_metric_and_label_that_is_asked_for_is_exported(place):
    present = exported()
    assert EXPRESSIONS[place]
    for expression in EXPRESSIONS[place]:
        names = set(re.findall(r"\b(?:aomg_\w+|up\b)", expression))
        assert names, expression
        assert names <= {*present, "up"}, expression
        for name, selector in re.findall(r"\b(aomg_\w+)\{([^}]*)\}", expression):
            requested = set(re.findall(r"([$\w]+)\s*(?:=~|!~|!=|=)\s*\"", selector)) - {"$label"}
            assert requested <= present[name] | OF_SCRAPING, f"{name} in {expression}"
        for listed in re.findall(r"\b(?:by|without|ignoring|on)\s*\(([\w\s,]*)\)", expression):
            requested = {one.strip() for one in listed.split(",")} - {""}
            assert requested <= set.union(*present.values()) | OF_SCRAPING, expression


def test_every_metric_is_shown_or_watched_somewhere():
    requested = set(re.findall(r"\baomg_\w+", " ".join(one for result in EXPRESSIONS.values() for one in result)))
    bounds = {"aomg_share_below_low", "aomg_share_below_high", "aomg_target_headroom", "aomg_target_headroom_high"}
    assert set(exported()) - requested == bounds


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_can_be_imported_into_any_grafana(name):
    board = BOARDS[name]
    assert board["uid"] == f"aomg-{name}" and board["id"] is None and board["schemaVersion"] >= 36 and board["title"]
    assert "__inputs" not in board
    for panel in board["panels"]:
        assert panel["type"] in BUILT_IN and panel["title"] and panel["targets"]
        assert "libraryPanel" not in panel
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource" and variables["datasource"]["query"] == "prometheus"
    sources = [part for key, part in parts(board) if key == "datasource"]
    assert sources and all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)
    used = set(re.findall(r"\$\{?([a-zA-Z]\w*)", json.dumps(board)))
    assert used <= set(variables), "every variable is there"
    assert set(variables) - used <= {"filter"}, "and of use"


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_leads_nowhere_outside(name):
    assert not re.search(r"https?:|//\w", json.dumps(BOARDS[name]))
    assert all(link["type"] == "dashboards" and not link["url"] for link in BOARDS[name]["links"])


@pytest.mark.parametrize("name", BOARDS)
def test_the_panels_of_a_dashboard_do_not_overlap(name):
    selected = set()
    for panel in BOARDS[name]["panels"]:
        index = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(index["x"], index["x"] + index["w"])
            for y in range(index["y"], index["y"] + index["h"])
        }
        assert not cells & selected and max(x for x, _ in cells) < 24
        selected |= cells


def test_dashboards_take_only_labels_of_keys_for_labels_of_keys():
    for name in ("overview", "key"):
        (label,) = (one for one in BOARDS[name]["templating"]["list"] if one["name"] == "label")
        chosen = re.compile(label["regex"].strip("/"))
        assert not any(chosen.match(ours) for ours in OURS - {"le"} | OF_SCRAPING | {"__name__"})
        assert chosen.match("podset") and chosen.match("key_job") and chosen.match("queryable")


def test_rules_say_who_is_to_be_told_and_what_to_do():
    rules = [rule for group in RULES["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("page", "ticket", "info") and rule["annotations"]["summary"]
