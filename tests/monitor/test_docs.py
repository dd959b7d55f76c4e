"""What the pages on the monitor say is true: configurations load, conditions parse, and the guide gives its alert."""

import contextlib
import dataclasses
import io
import itertools
import json
import re
import shutil
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer.main
import yaml
from judging import MINUTE, rows
from rich.console import Console
from typer.testing import CliRunner

from aomg.cli import app
from aomg.monitor import command
from aomg.monitor.alert import Alert, FleetReport
from aomg.monitor.alerts.judge import Judge
from aomg.monitor.alerts.state import State
from aomg.monitor.config.model import Config
from aomg.monitor.config.options import ALLOWED
from aomg.monitor.config.reader import load
from aomg.monitor.config.schema import NEEDED, Section, keys_of
from aomg.monitor.config.source import KINDS
from aomg.monitor.draft.draft import Settings
from aomg.monitor.errors import ConfigError
from aomg.monitor.registry import RECEIVERS, RULES, SINKS
from aomg.monitor.rules.builder import build, check_rules
from aomg.monitor.rules.intervals import CERTAIN, POSSIBLE, Interval, Truth, compare
from aomg.monitor.rules.language import constant, parse
from aomg.monitor.rules.templates import FIELDS, FLEET_FIELDS
from aomg.terminal import Terminal

ROOT = Path(__file__).parent.parent.parent
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("monitor", "rules", "operations")}
ENVIRONMENT = {
    "HOOK_TOKEN": "hunter2",
    "KAFKA_LOGIN": "org.apache.kafka.common.security.plain.PlainLoginModule required;",
}


# -- reading the pages -------------------------------------------------------------------------------------------------


FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, language: str = "") -> list[str]:
    """The code of one language; of none, what a terminal shows."""
    return [text for name, text in FENCED.findall(PAGES[page]) if name == language]


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next one of the same or a higher level; without code."""
    text = FENCED.sub("", PAGES[page])
    start = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert start, heading
    rest = text[start.end() :]
    end = re.search(rf"^#{{1,{len(start[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def tables(text: str) -> list[list[list[str]]]:
    """All tables: their rows but the heading, cell by cell."""
    bodies = re.findall(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[[cell.strip() for cell in row.strip("|").split("|")] for row in part.splitlines()] for part in bodies]


def bare(cell: str) -> str:
    return cell.strip("`")


def configurations() -> list[tuple[str, str]]:
    return [(page, block) for page in PAGES for block in blocks(page, "yaml")]


def whole(block: str) -> str:
    """A whole configuration; a fragment gets what is missing around it."""
    head, _, body = block.partition("\n")
    part = re.fullmatch(r"# fragment of (.+):", head)
    if part is None:
        return block
    if part[1] == "rules":
        base = blocks("rules", "yaml")[0]
        return base[: base.index("groups:")] + f"groups: [{{name: docs, rules:\n{_flow(body)}}}]\n"
    text = body if part[1] == "the file" else f"{part[1]}:\n{textwrap.indent(body, '  ')}"
    keys = yaml.safe_load(text)
    if "state" not in keys:
        text += "\nstate: state/\n"
    if "queries" not in keys:
        columns = keys.get("source", {}).get("columns", {"rtt_us": "long"})
        value = next(name for name, kind in columns.items() if kind in ("long", "double") and name != "ts")
        text += f"\nqueries: {{requests: {{value: {value}, size: 5m, period: 1m}}}}\n"
    if "source" not in keys:
        queries = yaml.safe_load(text)["queries"].values()
        columns = {query["value"]: "double" for query in queries}
        for query in queries:
            by = query.get("by", [])
            columns |= dict.fromkeys(by.values() if isinstance(by, dict) else by, "string")
        text += f"\nsource: {{jsonl: in/, time: ts, columns: {json.dumps(columns)}}}\n"
    return text


def _flow(body: str) -> str:
    return json.dumps(yaml.safe_load(body))


def loaded(folder: Path, block: str) -> Config:
    file = folder / "aomg.yaml"
    file.write_text(whole(block))
    return load(file, environment=ENVIRONMENT)


@pytest.fixture
def network(tmp_path: Path) -> Config:
    """The configuration that the examples of the rules belong to."""
    return loaded(tmp_path, blocks("rules", "yaml")[0])


# -- configurations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "block"), configurations())
def test_every_configuration_that_is_shown_loads_and_its_rules_can_be_built(page, block, tmp_path):
    config = loaded(tmp_path, block)
    assert len(check_rules(config)) == len(config.rules)


def test_every_key_of_the_configuration_is_explained(tmp_path, monkeypatch):
    known: set[str] = set()
    take, choose, close = Section.take, Section.choose, Section.close

    def taking(self, key, kind, default=NEEDED):
        known.add(key)
        return take(self, key, kind, default)

    def choosing(self, kinds):
        known.update(kinds)
        return choose(self, kinds)

    def closing(self, also=(), why=None):
        known.update(also)
        return close(self, also, why)

    monkeypatch.setattr(Section, "take", taking)
    monkeypatch.setattr(Section, "choose", choosing)
    monkeypatch.setattr(Section, "close", closing)
    configs = [loaded(tmp_path, block) for _, block in configurations()]
    # all kinds are shown, so that all sections were read
    assert {config.source.kind for config in configs} == set(KINDS)
    assert {rule.kind for config in configs for rule in config.rules} == {kind.kind for kind in RULES}
    assert {r.kind for c in configs for r in c.receivers} == {kind.kind for kind in RECEIVERS}
    assert {"fraction", "most_rows", "servers", "at_most", "remember", "headers", "incidents"} <= known
    reference = section("operations", "Every key of the configuration") + section("rules", "Kinds of rules")
    explained = {word for code in re.findall(r"`([^`]+)`", reference) for word in re.findall(r"\w+", code)}
    assert known - explained == set()


def test_every_key_of_a_rule_has_a_row_with_its_help():
    rows = {}
    for kind in RULES:
        for key in keys_of(kind).values():
            kinds = [*rows[key.name][1].split(", "), kind.kind] if key.name in rows else [kind.kind]
            rows[key.name] = [f"`{key.name}`", ", ".join(kinds), key.help]
    listed = [[row[0], row[1], row[3]] for row in tables(section("rules", "Kinds of rules"))[2]]
    assert listed == list(rows.values()), "| key | for | default | help |"


def test_every_sink_has_a_row_with_its_help():
    rows = [[f"`{kind.kind}`", ", ".join(kind.stores), keys[0].help] for kind, keys in kinds_with_keys(SINKS)]
    assert tables(section("operations", "Sinks and receivers"))[0] == rows, "| sink | of | value |"


def test_every_key_of_a_receiver_has_a_row_with_its_help():
    rows = [
        [f"`{kind.kind}`" if key is keys[0] else "", f"`{key.name}`", key.help]
        for kind, keys in kinds_with_keys(RECEIVERS)
        for key in keys
    ]
    listed = [[row[0], row[1], row[3]] for row in tables(section("operations", "Sinks and receivers"))[1]]
    assert listed == rows, "| receiver | key | default | help |"


def kinds_with_keys(kinds):
    return [(kind, list(keys_of(kind).values())) for kind in kinds]


def test_every_option_that_is_allowed_is_listed_and_no_other():
    (table,) = tables(section("operations", "Options of sources and sinks"))
    listed = [name for _, names in table for name in re.findall(r"`([^`]+)`", names)]
    assert sorted(set(listed)) == sorted({name for names in ALLOWED.values() for name in names})


def test_every_option_of_init_is_explained_and_no_other():
    (table,) = tables(section("operations", "A first configuration"))
    listed = [name for row in table for name in re.findall(r"`(--[a-z-]+)`", row[0])]
    command_ = typer.main.get_command(app).commands["init"]
    known = [name for option in command_.params for name in (*option.opts, *option.secondary_opts)]
    assert sorted(listed) == sorted(name for name in known if name.startswith("--"))


def test_the_errors_that_are_explained_exist():
    code = "\n".join(file.read_text() for file in sorted((ROOT / "src/aomg/monitor").rglob("*.py")))
    (table,) = tables(section("operations", "When it stops"))
    assert [bare(row[0]) for row in table if bare(row[0]) not in code] == []


def test_figures_on_sizes_are_those_of_the_page_of_figures():
    measured = (ROOT / "docs/figures.md").read_text()
    text = section("operations", "Sizing") + section("operations", "How late a result is")
    figures = re.findall(r"\b\d+\.\d+\b|\b\d{1,3},\d{3}\b", text)
    assert figures
    assert [figure for figure in figures if figure not in measured] == []


# -- rules -------------------------------------------------------------------------------------------------------------


def examples(number: int) -> list[list[str]]:
    return tables(section("rules", "Examples"))[number]


@pytest.mark.parametrize("condition", [bare(row[0]) for row in examples(0)])
def test_every_example_of_a_condition_parses(condition, network):
    assert parse(condition, network.queries, "inbound").reads


@pytest.mark.parametrize(("condition", "message"), [(bare(row[0]), row[1]) for row in examples(1)])
def test_every_condition_that_is_said_to_be_refused_is_refused_so(condition, message, network):
    with pytest.raises(ConfigError) as caught:
        parse(condition, network.queries, "inbound")
    assert message in caught.value.message


@pytest.mark.parametrize(("written", "read_as"), tables(section("rules", "Operators"))[1])
def test_operators_bind_as_is_told(written, read_as, network):
    def shape(text):
        read = parse(bare(text), network.queries, "inbound").condition
        return re.sub(r", position=\d+", "", repr(read))

    assert shape(written) == shape(read_as)


def test_certain_and_possible_are_as_the_table_says():
    truths = tables(section("rules", "Certain and possible"))[0]
    limit = Interval.exactly([constant("4ms", "us")])
    for bounds, certain, possible, fires_if_certain, fires_if_possible in truths:
        low, high = (constant(text, "us") for text in bounds.split(".."))
        p99 = Interval(np.array([low]), np.array([(low + high) / 2]), np.array([high]))
        holds = compare(">", p99, limit).holds[:, 0]
        assert (holds[CERTAIN], holds[POSSIBLE]) == (certain == "yes", possible == "yes")
        fires = ["fires" if holds[truth] else "" for truth in (CERTAIN, POSSIBLE)]
        assert [fires_if_certain, fires_if_possible] == fires


def test_and_or_not_are_as_the_table_says():
    words = tables(section("rules", "Certain and possible"))[1]
    assert [bare(row[0]) for row in words] == ["A and B", "A or B", "not A"]
    meanings = {
        "both are certain": lambda a, b: a[0] and b[0],
        "both are possible": lambda a, b: a[1] and b[1],
        "one is certain": lambda a, b: a[0] or b[0],
        "one is possible": lambda a, b: a[1] or b[1],
        "A is not possible": lambda a, b: not a[1],
        "A is not certain": lambda a, b: not a[0],
    }
    truths = [(False, False), (False, True), (True, True)]  # certain, possible
    for a, b in itertools.product(truths, truths):
        left, right = (Truth.of(*np.array([[c], [c], [p]])) for c, p in (a, b))
        for (_, certain, possible), truth in zip(words, (left & right, left | right, ~left), strict=True):
            assert bool(truth.holds[CERTAIN, 0]) == meanings[certain](a, b)
            assert bool(truth.holds[POSSIBLE, 0]) == meanings[possible](a, b)


def test_an_alert_lives_as_the_timeline_says(network):
    condition, transition = tables(section("rules", "States of an alert"))[0]
    rule = dataclasses.replace(network.rules[1], expr="p99 > 4ms", for_=2 * MINUTE, keep_firing_for=2 * MINUTE)
    judge = Judge([build(rule, network.queries)], network.queries)
    windows = [
        rows((1 + minute) * MINUTE, {"6": {"p99": 5000.0 if holds == "yes" else 1000.0}})
        for minute, holds in enumerate(condition[1:])
    ]
    _, alerts = judge.step(State(), {"inbound": windows}, 0)
    transitions = {alert.end // MINUTE - 1: alert.transition for alert in alerts}
    assert [transitions.get(minute, "") for minute in range(len(condition) - 1)] == transition[1:]


def test_every_field_of_an_alert_is_explained_and_no_other():
    table = tables(section("rules", "What an alert says"))[0]
    listed = [name for row in table for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(listed) == sorted(field.name for field in dataclasses.fields(Alert))
    of_fleets = re.findall(r"`(\w+)`", next(row[1] for row in table if row[0] == "`fleet`"))
    assert sorted(of_fleets) == sorted(field.name for field in dataclasses.fields(FleetReport))


def test_every_value_of_annotations_is_explained_and_no_other():
    table = tables(section("rules", "Annotations"))[0]
    listed = [name for row in table for name in re.findall(r"`\$(\w+)`", row[0])]
    assert sorted(listed) == sorted([*FIELDS, *FLEET_FIELDS])


@pytest.mark.parametrize(
    ("violating", "silent", "fires"), [(3, 0, []), (4, 0, ["PerformanceCrisis"]), (0, 1, ["MachineLost"])]
)
def test_of_40_machines_four_are_a_crisis_and_one_is_missed(violating, silent, fires, tmp_path):
    assert "With 40 machines, 10 % are 4" in PAGES["rules"] and "0.01 % is 1" in PAGES["rules"]
    (block,) = (block for block in blocks("rules", "yaml") if "PerformanceCrisis" in block)
    config = loaded(tmp_path, block)
    judge = Judge(check_rules(config), config.queries)

    def machines(end, slow, count):
        table = {("eu", f"m{number:02}"): {"p99": 0.95 if number < slow else 0.5} for number in range(count)}
        return rows(end, table, query="load", size=15 * MINUTE)

    state, before = judge.step(State(), {"load": [machines(5 * MINUTE, 0, 40)]}, 0)
    _, alerts = judge.step(state, {"load": [machines(10 * MINUTE, violating, 40 - silent)]}, 1)
    assert before == []
    assert [alert.rule for alert in alerts if alert.transition == "firing"] == fires


def test_exit_codes_are_as_the_table_says(tmp_path):
    def code(*words: str) -> int:
        return CliRunner().invoke(app, list(words)).exit_code

    table = tables(section("rules", "Exit codes"))[0]
    assert [row[0] for row in table] == ["0", "1", "2"]
    (tmp_path / "telemetry").mkdir()
    (tmp_path / "telemetry" / "requests-1.csv").write_text("ts,service,latency_ms\n")
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(guide_configuration())
    bad.write_text("source: {}\n")
    assert (code("check", str(good)), code("check", str(bad)), code("run", str(bad))) == (0, 2, 2)
    assert code("query", str(tmp_path / "nothing")) == 1
    assert code("query", str(tmp_path), "--where", "podset") == 2


# -- the guide ---------------------------------------------------------------------------------------------------------


def guide_configuration() -> str:
    (text,) = (block for block in blocks("monitor", "yaml") if not block.startswith("# fragment"))
    return text


def shown(begin: str) -> str:
    """What the guide shows after a command, or in a block that begins so."""
    (text,) = (block for block in blocks("monitor") if block.startswith(begin))
    return text.removeprefix(begin).strip("\n") if begin.startswith("$") else text.strip("\n")


def test_the_guide_shows_what_check_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("telemetry").mkdir()
    Path("telemetry/requests-1.csv").write_text("ts,service,latency_ms\n")
    file = Path("aomg.yaml")
    file.write_text(guide_configuration())
    output = io.StringIO()
    command.check(Console(file=output), file)
    assert output.getvalue().strip("\n") == shown("$ aomg check aomg.yaml\n")
    file.write_text(guide_configuration().replace("quantiles:", "quantile:"))
    with pytest.raises(ConfigError) as caught:
        command.check(Console(file=output), file)
    assert f"cannot run:\n{caught.value}" == shown("cannot run:")


def test_the_guide_builds_its_configuration_from_its_fragments():
    configuration = yaml.safe_load(guide_configuration())
    for block in blocks("monitor", "yaml"):
        head, _, body = block.partition("\n")
        if head in ("# fragment of source:", "# fragment of queries:"):
            assert configuration[head.removeprefix("# fragment of ").removesuffix(":")] == yaml.safe_load(body)


@pytest.fixture(scope="module")
def guide(spark, tmp_path_factory) -> SimpleNamespace:
    """The guide from its CSV to its second run."""
    from aomg.monitor.run.monitor import Monitor
    from aomg.monitor.run.view import View

    output = io.StringIO()
    console = Console(file=output, width=120)

    def run():
        config, changes = load(Path("aomg.yaml")), command.Changes()
        monitor = Monitor(config, console, [changes, View(console, config)], spark, once=True)
        monitor.run()
        return changes, monitor.accounts()["requests"]

    def lines(file):
        return [json.loads(line) for line in Path(file).read_text().splitlines()]

    with contextlib.chdir(tmp_path_factory.mktemp("guide")):
        make_csv, make_bad_rows = blocks("monitor", "python")
        exec(make_csv, {})
        drafting = io.StringIO()
        command.init(Terminal(file=drafting, width=80), "telemetry/", Path("aomg.yaml"), Settings())
        command.check(Terminal(file=io.StringIO()), Path("aomg.yaml"))
        drafted = load(Path("aomg.yaml"))
        of_draft = command.Changes()
        monitor = Monitor(drafted, Console(file=io.StringIO()), [of_draft], spark, once=True)
        monitor.run()
        accounts_of_draft = monitor.accounts()["latency"]
        for name in ("state", "results", "quarantine"):
            shutil.rmtree(name, ignore_errors=True)
        Path("alerts.jsonl").unlink(missing_ok=True)
        Path("aomg.yaml").write_text(guide_configuration())
        changes, accounts = run()
        viewed = output.getvalue()
        command.query(console, Path("results"), last="20m")
        queried = output.getvalue().removeprefix(viewed)
        first = Path("telemetry/requests-1.csv").read_text().splitlines()[:2]
        alerts = lines("alerts.jsonl")
        exec(make_bad_rows, {})
        again, accounts_after = run()
        return SimpleNamespace(
            drafting=drafting.getvalue(),
            of_draft=(accounts_of_draft, of_draft.rows),
            csv=first,
            changes=changes,
            accounts=accounts,
            viewed=viewed.splitlines(),
            queried=queried,
            alerts=alerts,
            again=again,
            accounts_after=accounts_after,
            alerts_after=lines("alerts.jsonl"),
            refused=lines("quarantine/refused.jsonl"),
        )


on_spark = pytest.mark.xdist_group("spark")


@on_spark
def test_what_init_writes_runs_as_it_is_and_says_what_the_guide_shows(guide):
    def plain(text):
        return [line.rstrip() for line in text.strip("\n").splitlines()]

    assert plain(guide.drafting) == plain(shown("$ aomg init telemetry/\n"))
    accounts, rows = guide.of_draft
    assert accounts.came == 27_000 and accounts.refused == accounts.late == 0
    assert rows == 3 * 29, "three services, each minute but the last"


@on_spark
def test_the_guide_gives_the_alert_that_it_shows(guide):
    (text,) = blocks("monitor", "json")
    expected = json.loads(text)
    (fired,) = (alert for alert in guide.alerts if alert["transition"] == "firing")
    assert expected.keys() == fired.keys()
    made_up = ("stream", "batch")
    assert {key: expected[key] for key in expected if key not in made_up} == {
        key: fired[key] for key in fired if key not in made_up
    }
    changes = [(alert["transition"], alert["end"][11:16]) for alert in guide.alerts]
    assert changes == [("pending", "09:11"), ("firing", "09:13"), ("resolved", "09:22")]


@on_spark
def test_the_guide_shows_the_file_that_it_makes_and_what_came_of_it(guide):
    assert shown("ts,service") == "\n".join(guide.csv)
    expected = shown("$ aomg run aomg.yaml --once\n")
    alerts = expected.splitlines()[:-2]
    assert len(alerts) == 3 and set(alerts) <= set(guide.viewed)
    counts = vars(guide.accounts)
    line = ", ".join(f"{name} {number:,}" for name, number in counts.items() if number or name == "came")
    assert f"requests: {line}" in expected
    assert f"{guide.changes.rows:,} rows; alerts: 1 fired, 1 resolved" in expected
    assert guide.accounts.reconcile


@on_spark
def test_the_guide_shows_what_query_prints(guide):
    def plain(text):
        return [line.rstrip() for line in text.strip("\n").splitlines()]

    assert plain(guide.queried) == plain(shown("$ aomg query results --last 20m\n"))


@on_spark
def test_the_guide_s_bad_rows_are_in_quarantine_with_the_reasons_that_it_lists(guide):
    listed = [[reason, bare(row)] for reason, row in tables(section("monitor", "9. Bad rows"))[0]]
    assert sorted(listed) == sorted([line["reason"], line["row"]] for line in guide.refused)
    assert all(line["file"].endswith("telemetry/requests-2.csv") for line in guide.refused)


@on_spark
def test_the_guide_s_second_run_goes_on_from_the_first(guide):
    assert guide.alerts_after == guide.alerts
    assert guide.accounts_after.came == guide.accounts.came + 4
    assert guide.accounts_after.refused == 3
