"""Every key of the configuration and every option of the commands goes through a real run, shares among them.

A new key or option fails `test_every_key_and_option_has_gone_through_a_run` until a run has it: add it to a file in
configurations/, or to the arguments of a command here. `pytest -s -k gone_through` prints the table.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from http_listener import Listening, listening
from key_coverage import Reading, Table
from pyspark.sql import SparkSession
from topics import topics_in
from typer.testing import Result
from web.local_server import wait_until

import aomg.evaluation
from aomg.monitor.config import reader
from aomg.monitor.config.reader import EXAMPLE, load
from aomg.packages import CORE, SPARK
from aomg.spark import windows

pytestmark = pytest.mark.xdist_group("monitor on spark")

NOT_RUN = {
    "source(kafka).options.": "Kafka's client reads them, and there is no broker here",
    "sinks.results[].kafka.options.": "the same",
    "sinks.alerts[].kafka.options.": "the same",
}
"""What cannot go through a run here: how the names of entries begin, and why."""

CONFIGURATIONS = Path(__file__).with_name("configurations")
MAY = 1_714_521_600  # 2024-05-01T00:00:00Z
TOKEN = "a-token-of-these-tests"


@dataclass(frozen=True)
class Ran:
    """A configuration that was run."""

    folder: Path
    done: Result

    @property
    def summary(self) -> Any:
        """The summary of `--json`."""
        return json.loads(self.done.stdout.splitlines()[-1])

    def lines(self, name: str) -> list[Any]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


@pytest.fixture(scope="module")
def table() -> Table:
    return Table()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def placed(home: Path, name: str) -> Path:
    """A folder for a configuration, with its file and an empty folder of input."""
    (home / name / "in" / "deeper").mkdir(parents=True)
    return Path(shutil.copy(CONFIGURATIONS / f"{name}.yaml", home / name))


def put(file: Path, content: bytes | pa.Table, age: int) -> None:
    """Write a file of input; those with a smaller age are newer, and `latestFirst` reads them first."""
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        pq.write_table(content, file)
    os.utime(file, (MAY - age, MAY - age))


# -- runs of the monitor -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def receiver() -> Iterator[Listening]:
    with listening() as heard:
        yield heard


@pytest.fixture(scope="module")
def csv(spark: SparkSession, table: Table, home: Path, receiver: Listening) -> Ran:
    """Two hosts for two minutes around midnight, a probe a second: one is within 250 ms and one is not."""
    file = placed(home, "csv")
    for part, place in enumerate(("first.csv", "deeper/second.csv", "third.csv")):
        lines = ["# the header follows", "when;host;ms;up"]
        for second in range(40 * part, 40 * part + 40):
            when = f"{datetime.fromtimestamp(MAY - 90 + second, ZoneInfo('Europe/Berlin')):%Y-%m-%d %H:%M:%S}"
            lines += [f"{when};'näh \\'1\\' \\\\';{100 + second};true", f"{when};'fern\n2';  '{300 + second}' ;true"]
        lines += [f"{when};nah;{bad};true" for bad in ("-", "n/a", "many")] if part == 0 else []
        put(file.parent / "in" / place, "~".join([*lines, ""]).encode("latin-1"), age=part)
    put(file.parent / "in" / "notes.txt", b"not read", age=0)
    table.aomg("check", file, "--json", RECEIVER=receiver.url, TOKEN=TOKEN)
    return Ran(file.parent, table.aomg("run", file, "--once", "--json", RECEIVER=receiver.url, TOKEN=TOKEN))


@pytest.fixture(scope="module")
def jsonl(spark: SparkSession, table: Table, home: Path) -> Ran:
    file = placed(home, "jsonl")
    for part, place in enumerate(("first.jsonl", "deeper/second.jsonl")):
        lines = []
        for second in range(30 * part, 30 * part + 30):
            more = "requests: 007, seen: '2024-05-01T00:00:00Z'" if second % 2 else "'requests': 1 /* so far */"
            lines.append(f'{{"when": {(MAY + second) * 1000}, host: "\\a\t1", \'seconds\': {second / 8}, {more}}}')
        lines += [f'{{"when": {MAY * 1000}, "host": "a", "seconds": NaN}}'] if part == 0 else []
        put(file.parent / "in" / place, "|".join(lines).encode(), age=part)
    put(file.parent / "in" / "notes.txt", b"not read", age=0)
    return Ran(file.parent, table.aomg("run", file, "--once", "--json"))


@pytest.fixture(scope="module")
def parquet(spark: SparkSession, table: Table, home: Path) -> Ran:
    """Files of which the newer ones have a column more."""
    file = placed(home, "parquet")
    for part, place in enumerate(("first.parquet", "deeper/second.parquet")):
        seconds = range(30 * part, 30 * part + 30)
        when = pa.array([(MAY + second - 4 * 3600) * 1_000_000 for second in seconds]).cast(pa.timestamp("us"))
        columns: dict[str, Any] = {"when": when, "load": [second / 60 for second in seconds]}
        columns |= {"machine": ["m1"] * len(seconds)} if part else {}
        put(file.parent / "in" / place, pa.table(columns), age=part)
    put(file.parent / "in" / "notes.txt", b"not read", age=0)
    return Ran(file.parent, table.aomg("run", file, "--once", "--json"))


@pytest.fixture(scope="module")
def typed(spark: SparkSession, table: Table, home: Path) -> Ran:
    """What `aomg generate` wrote."""
    file = placed(home, "typed")
    out = ("--out", file.parent / "in", "--format", "parquet", "--files", "2")
    shutil.rmtree(file.parent / "in")
    for seed, force in (("1", ()), ("3", ("--force",))):
        table.aomg("generate", "podsets", "--events", "3k", *out, "--seed", seed, "--set", "rate=100", *force)
    table.aomg("generate")
    return Ran(file.parent, table.aomg("run", file, "--once", "--json"))


@pytest.fixture(scope="module")
def generated(spark: SparkSession, table: Table, home: Path) -> Ran:
    """A monitor that waits for more, with its page, until its source has ended."""
    file = placed(home, "generated")
    table.aomg("check", file)
    return Ran(file.parent, table.aomg("run", file, "--web", "--port", "0"))


@pytest.fixture(scope="module")
def kafka(spark: SparkSession, table: Table, home: Path) -> Ran:
    file = placed(home, "kafka")
    events = [{"when": MAY + second, "host": "a", "ms": 10 + second} for second in range(60)]
    bad = [b"no object", b'{"host": "caf\xe9"}', json.dumps({**events[0], "host": "l" * 1000}).encode()]
    lines = [*(json.dumps(event).encode() for event in events), *bad]
    (file.parent / "probes").write_bytes(b"\n".join([*lines, b""]))
    with topics_in(file.parent, spark):
        return Ran(file.parent, table.aomg("run", file, "--once", "--json"))


def test_every_option_of_csv_is_heeded(csv: Ran) -> None:
    counts = csv.summary["accounts"]["latency"]
    assert (counts["came"], counts["late"], counts["refused"], counts["open"]) == (243, 0, 3, 20)
    assert {row["labels"]["host"] for row in csv.lines("results.jsonl")} == {"näh '1' \\", "fern\n2"}
    reasons = json.loads((csv.folder / "quarantine" / "counts.json").read_text())
    assert "many" in (csv.folder / "quarantine" / "refused.jsonl").read_text(), reasons


def test_shares_are_in_results_and_alerts_whichever_the_sink(csv: Ran) -> None:
    rows = csv.lines("results.jsonl")
    shares = {(row["labels"]["host"][:1], row["end"]): row["estimates"] for row in rows}
    assert len(shares) == csv.summary["rows"] == 22
    newest = max(end for _, end in shares)
    assert shares["n", newest]["below_250"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert shares["f", newest]["below_250"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert all(part["below_minus_5"]["value"] == 0 for part in shares.values())
    first = shares["f", min(end for _, end in shares)]["below_305_5"]
    assert first["low"] <= 0.6 <= first["high"] and first["low"] <= first["value"] <= first["high"]
    assert "method" in shares["f", newest]["p99"]
    stored = pq.read_table(csv.folder / "results", columns=["estimates"])["estimates"].to_pylist()
    assert {part["name"]: part["method"] for part in stored[0]}["below_250"] is None
    printed = csv.done.stderr
    assert "below_250 1 (1..1)" in printed and "FIRING  Slow {host=fern 2, up=true, severity=page}" in printed
    alerts = {(alert["rule"], alert["transition"]): alert for alert in csv.lines("alerts.jsonl")}
    assert {rule for rule, _ in alerts} == {"Slow", "MaybeFast", "AnyHostSlow"}
    assert alerts["Slow", "firing"]["quantities"]["latency.below_250"] == [0, 0, 0]
    assert alerts["AnyHostSlow", "firing"]["annotations"] == {"summary": "1 of 2: fern\n2"}
    target = json.loads((csv.folder / "state" / "targets.json").read_text())["targets"][0]
    assert target["target"] == "median" and 0 < target["headroom"][1] < 1


def test_every_receiver_heard_of_the_alerts(csv: Ran, receiver: Listening) -> None:
    fired = csv.summary["fired"] + csv.summary["resolved"]
    assert fired >= 3 and not any(csv.summary["undelivered"].values())
    assert not (csv.folder / "state" / "outbox" / "undelivered.jsonl").exists()
    assert len((csv.folder / "alerts.log").read_text().splitlines()) == fired
    hooks = [heard for heard in receiver.heard if heard.path == "/webhook"]
    assert len(hooks) == fired and {heard.headers["Authorization"] for heard in hooks} == {f"Bearer {TOKEN}"}
    others = [heard for heard in receiver.heard if heard.path.startswith("/alertmanager/")]
    assert others and {heard.headers["X-Token"] for heard in others} == {TOKEN}


def test_stored_summaries_answer_the_shares_later(csv: Ran, receiver: Listening, spark: SparkSession) -> None:
    query = load(csv.folder / "csv.yaml", environment={"RECEIVER": receiver.url, "TOKEN": TOKEN}).queries["latency"]
    later = {
        (row.host, row.window.end.timestamp()): (row.below_250.value, row.below_305_5.low, row.below_305_5.high)
        for row in windows(spark.read.parquet(str(csv.folder / "summaries" / "latency")), query.query).collect()
    }
    results = {
        (row["labels"][0], row["end"].timestamp()): (parts["below_250"]["value"], *below(parts["below_305_5"]))
        for row in pq.read_table(csv.folder / "results").to_pylist()
        for parts in [{part["name"]: part for part in row["estimates"]}]
    }
    assert results and results.items() <= later.items()


def below(part: dict[str, float]) -> tuple[float, float]:
    return part["low"], part["high"]


def test_every_option_of_json_lines_is_heeded(jsonl: Ran) -> None:
    counts = jsonl.summary["accounts"]["duration"]
    assert (counts["came"], counts["late"], counts["refused"]) == (61, 0, 1)
    reasons = json.loads((jsonl.folder / "state" / "quarantine" / "counts.json").read_text())
    assert "the line cannot be read" in str(reasons)
    rows = pq.read_table(jsonl.folder / "results").to_pylist()
    assert {tuple(row["labels"]) for row in rows} == {("a\t1",)}
    assert min(row["count"] for row in rows) == 5 * 1 + 5 * 7, "requests are the weights"


def test_every_option_of_parquet_is_heeded(parquet: Ran) -> None:
    counts = parquet.summary["accounts"]["load"]
    assert (counts["came"], counts["late"], counts["refused"]) == (60, 0, 0)
    rows = pq.read_table(parquet.folder / "results").to_pylist()
    assert {tuple(row["labels"]) for row in rows} == {(None,), ("m1",)}
    assert min(row["end"].timestamp() for row in rows) == MAY + 10
    assert {part["name"] for row in rows for part in row["estimates"]} == {"p90", "below_0_5"}


def test_generated_files_are_read_with_columns_that_are_said(typed: Ran) -> None:
    assert typed.summary["accounts"]["all"]["came"] == 3000 and typed.summary["rows"] == 2


def test_a_source_that_ends_ends_the_monitor_and_its_page(generated: Ran) -> None:
    assert "inbound: came 10,000" in generated.done.stdout
    assert "the page is at http://127.0.0.1:" in generated.done.stdout
    fired = [alert for alert in generated.lines("alerts.jsonl") if alert["transition"] == "firing"]
    assert len(fired) == 20 and all("within 4 ms" in alert["annotations"]["summary"] for alert in fired)


def test_messages_of_a_topic_become_messages_of_others(kafka: Ran) -> None:
    assert kafka.summary["accounts"]["latency"]["came"] == 63 and kafka.summary["refused"] == 3
    results, alerts = kafka.lines("results"), kafka.lines("alerts")
    assert len(results) == kafka.summary["rows"] == 5
    assert {alert["rule"] for alert in alerts} == {"Slow"}
    kept = {row["file"]: (row["reason"], row["row"]) for row in kafka.lines("state/quarantine/refused.jsonl")}
    assert kept["probes/0/60"] == ("the line cannot be read", "no object")
    assert kept["probes/0/61"] == ("not UTF-8", '{"host": "caf\\xe9"}')
    assert kept["probes/0/62"][0] == "longer than 1,000 bytes (longest_line)" and len(kept["probes/0/62"][1]) == 1000


# -- what reads the results --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def read(csv: Ran, table: Table) -> dict[str, Result]:
    """What `aomg query` shows of the results, before and after they are compact."""
    results = csv.folder / "results"
    shown = {"all": table.aomg("query", results)}
    some = ("--query", "latency", "--by", "host", "--where", "up=true", "--last", "1m", "--most", "1", "--json")
    shown["quantile"] = table.aomg("query", results, *some, "--quantile", "p50")
    shown["share"] = table.aomg("query", results, *some, "--quantile", "below_250")
    shown["fsck"] = table.aomg(
        "fsck", csv.folder / "state", "--quarantine", csv.folder / "quarantine", "--repair", "--json"
    )
    shown["compact"] = table.aomg("compact", results)
    shown["again"] = table.aomg("query", results)
    return shown


def test_a_query_shows_shares_beside_quantiles(read: dict[str, Result]) -> None:
    assert "below_250" in read["all"].stdout and "below_305_5" in read["all"].stdout
    assert json.loads(read["fsck"].stdout)["ok"]
    assert "2024-04-30: joined 2 files, 14 rows" in read["compact"].stdout
    assert read["again"].stdout == read["all"].stdout


def test_the_worst_key_by_a_share_is_the_one_with_the_lowest(read: dict[str, Result]) -> None:
    for name in ("quantile", "share"):
        (document,) = json.loads(read[name].stdout)
        assert document["keys"] == 2 and document["worst_first"][0]["labels"] == {"host": "fern\n2"}
        assert len(document["worst_first"][0]["series"]) == 6


@pytest.fixture(scope="module")
def page(csv: Ran, receiver: Listening, table: Table) -> Iterator[httpx.Client]:
    """`aomg web` as a process of its own, asked with its token and by another name."""
    (csv.folder / "token").write_text(TOKEN)
    words = ["web", str(csv.folder / "csv.yaml"), "--host", "127.0.0.1", "--port", "0", "--allow-host", "pages.test"]
    words += ["--token-file", str(csv.folder / "token"), "--memory", "64MB", "--most-series", "500"]
    words += ["--most-connections", "50", "--most-per-client", "40", "--most-viewers", "20", "--header-timeout", "5s"]
    environment = {**os.environ, "RECEIVER": receiver.url, "TOKEN": TOKEN}
    program = str(Path(sys.executable).with_name("aomg"))
    process = subprocess.Popen([program, *words], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("the page is at ").strip()
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": "pages.test"}
        with httpx.Client(base_url=address, headers=headers, timeout=20, trust_env=False) as client:
            wait_until(lambda: all(query["estimates"] for query in client.get("/api/status").json()["queries"]))
            table.note(words)
            yield client
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def test_the_page_and_its_api_show_shares(page: httpx.Client) -> None:
    parameters = {"query": "latency"}
    key = {**parameters, "key.host": "fern\n2", "key.up": "true"}
    answers = {
        "/api/status": {},
        "/api/keys": {**parameters, "sort": "below_250", "order": "asc"},
        "/api/keys.csv": parameters,
        "/api/heatmap": {**parameters, "quantile": "below_250"},
        "/api/heatmap.csv": {**parameters, "quantile": "below_250"},
        "/api/key": key,
        "/api/key.csv": key,
        "/api/histogram": key,
        "/api/alerts": {},
        "/api/health": {},
        "/api/targets": {},
        "/metrics": {},
        "/": {},
    }
    responses = {}
    for path, parameters in answers.items():
        answer = page.get(path, params=parameters)
        assert answer.status_code == 200, (path, answer.text)
        responses[path] = answer
    keys = responses["/api/keys"].json()
    assert keys["rows"][0]["key"]["host"] == "fern\n2", keys
    assert "aomg_share_below{" in responses["/metrics"].text
    assert page.get("/api/status", headers={"Authorization": "Bearer another"}).status_code == 401
    assert page.get("/api/status", headers={"Host": "elsewhere.test"}).status_code in (400, 403, 421)


# -- the other commands ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demonstrated(spark: SparkSession, table: Table, home: Path) -> dict[str, Result]:
    """The demo with fewer events: with its page and all incidents, then as short as can be, and without Spark."""
    example = EXAMPLE.read_text().replace("min_count: 10k", "min_count: 2k")
    shown = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, size, code in (
            ("kept", "rate: 1500, speed: 300, events: 1350k", 0),
            ("short", "rate: 100, speed: 100, events: 10k", 1),
        ):
            (home / f"{name}.yaml").write_text(example.replace("rate: 10000, speed: 10, events: 9M", size))
            patch.setattr(reader, "EXAMPLE", home / f"{name}.yaml")
            words = ("--web", "--port", "0", "--keep", home / "demo") if name == "kept" else ("--no-web",)
            shown[name] = table.aomg("demo", *words, code=code)
    few = ("--events", "200000", "--seed", "2")
    shown["local"] = table.aomg("demo", "--local", *few, "--burst")
    shown["calm"] = table.aomg("demo", "--local", *few, "--no-burst")
    return shown


def test_every_option_of_the_demo_is_heeded(demonstrated: dict[str, Result], home: Path) -> None:
    kept = demonstrated["kept"].stdout
    assert "the page is at http://127.0.0.1:" in kept and "all files are in" in kept
    assert (home / "demo" / "results").is_dir() and "no false alarm" in kept
    assert "the page" not in demonstrated["short"].stdout and "not detected" in demonstrated["short"].stdout
    assert "burst" in demonstrated["local"].stdout and "burst" not in demonstrated["calm"].stdout


@pytest.fixture(scope="module")
def evaluated(table: Table, home: Path) -> dict[str, Result]:
    """One experiment of the paper, on a small file and, so that it is quick, alone in being checked."""
    data, shown = home / "values.csv", {}
    table.aomg("generate", "pingmesh", "--events", "20k", "--out", data)
    own = ("--data", data, "--value", "value", "--json")
    shown["own"] = table.aomg("evaluate", "table1", *own, "--full", "--out", home / "own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aomg.evaluation, "_NAMES", ("table1",))
        shown["check"] = table.aomg("evaluate", "--quick", "--check", "--out", home / "check")
    shown["list"] = table.aomg("evaluate", "--list")
    return shown


def test_every_option_of_the_evaluation_is_heeded(evaluated: dict[str, Result], home: Path) -> None:
    (one,) = json.loads(evaluated["own"].stdout)["experiments"]
    assert one["name"] == "table1"
    assert "The paper's claims" in evaluated["check"].stdout and (home / "check" / "report.html").exists()
    assert "table1" in evaluated["list"].stdout


@pytest.fixture(scope="module")
def begun(csv: Ran, table: Table) -> Result:
    """Configurations of a file: as they are guessed, and with every option."""
    file = csv.folder / "probes.yaml"
    lines = ["when|host|seconds", *(f"{MAY + second}|{'ab'[second % 2]}|{second / 8}" for second in range(60))]
    (csv.folder / "probes").mkdir()
    (csv.folder / "probes" / "first.txt").write_text("\n".join(lines))
    table.aomg("init", csv.folder / "probes", file, "--one-key", "--header", "--value", "seconds", "--unit", "s")
    words = ("--time", "column_1", "--time-format", "epoch_s", "--time-zone", "UTC", "--by", "column_2", "--force")
    windows = ("--size", "30s", "--period", "10s", "--lateness", "1s")
    (csv.folder / "probes" / "first.txt").write_text("\n".join(lines[1:]))
    read = ("--format", "csv", "--no-header", "--separator", "|")
    done = table.aomg("init", csv.folder / "probes", file, *words, *windows, *read)
    table.aomg("check", file)
    return done


def test_a_configuration_is_written_with_what_the_options_say(begun: Result, csv: Ran) -> None:
    config = load(csv.folder / "probes.yaml")
    (query,) = config.queries.values()
    assert (query.value, query.by, query.query.size) == ("column_3", {"column_2": "column_2"}, 30_000_000)
    assert config.source.options == {"sep": "|"} and "set by --by: 2 keys" in begun.stdout


@pytest.fixture(scope="module")
def examined(table: Table) -> dict[str, Result]:
    table.aomg("version")
    table.aomg("warm", "counted", "--processes", "1")
    shown = {"spark": table.aomg("doctor", "--spark", COLUMNS="100")}
    return {**shown, "json": table.aomg("doctor", "--no-spark", "--json")}


def test_everything_needed_is_here_and_spark_runs_a_job_and_a_stream(examined: dict[str, Result]) -> None:
    rows = {line.split("  ")[0]: line for line in examined["spark"].stdout.splitlines()}
    for what in ("Python", *(package.name for package in (*CORE, *SPARK)), "Java", "Spark", "Spark streaming"):
        assert " ok " in rows[what]
    assert pyspark.__version__ in rows["Spark"] and "RocksDB" in rows["Spark streaming"]
    assert max(map(len, examined["spark"].stdout.splitlines())) <= 100
    assert json.loads(examined["json"].stdout)["ok"]


# -- the table ---------------------------------------------------------------------------------------------------------


def test_what_is_only_known_has_not_gone_through_a_run() -> None:
    reading = Reading()
    with reading.recording():
        load(CONFIGURATIONS / "generated.yaml")
        load(CONFIGURATIONS / "jsonl.yaml")
    assert "source(jsonl).options.allowComments" in reading.known & reading.there
    for key in ("quarantine", "queries.*.digits", "queries.*.unit=ms", "source.csv", "groups[].rules[](alert).share"):
        assert key in reading.known - reading.there
    for key in ("every", "queries.*.thresholds", "queries.*.unit=us", "source.generate.seed", "groups[].rules[].alert"):
        assert key in reading.known & reading.there
    empty = Table()
    assert empty.without_a_run() == set(empty.runs) >= {"aomg web --most-series", "aomg demo --no-burst"}
    empty.note(["demo", "--local", "--no-burst"])
    assert set(empty.runs) - empty.without_a_run() == {"aomg demo", "aomg demo --local", "aomg demo --no-burst"}


@pytest.mark.usefixtures(
    *("csv", "jsonl", "parquet", "typed", "generated", "kafka"),
    *("read", "page", "demonstrated", "evaluated", "begun", "examined"),
)
def test_every_key_and_option_has_gone_through_a_run(table: Table) -> None:
    for entry, runs in sorted(table.runs.items()):
        print(f"{entry:<60} {', '.join(runs) or '-'}")
    excused = {entry for entry in table.without_a_run() if entry.startswith(tuple(NOT_RUN))}
    assert sorted(table.without_a_run() - excused) == [], "add these to a run; see the first lines of this file"
    stale = [begin for begin in NOT_RUN if not any(entry.startswith(begin) for entry in excused)]
    assert stale == [], "these have gone through a run; remove them from NOT_RUN"
