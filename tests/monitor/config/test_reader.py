import copy
import dataclasses
import json
import os
import pickle
import random
import re
import traceback
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from aomg.monitor.config import schema
from aomg.monitor.config.model import Config
from aomg.monitor.config.options import ALLOWED
from aomg.monitor.config.reader import EXAMPLE, load
from aomg.monitor.config.secret import Secret
from aomg.monitor.config.source import PODSETS
from aomg.monitor.errors import MOST_PROBLEMS, ConfigError
from aomg.monitor.rules.builder import check_rules
from aomg.query import FewK, Query
from aomg.streams.podsets import SCHEMA

SECOND = 1_000_000
SECRET = "hunter2-of-the-test"
ENVIRONMENT = {"PASSWORD": SECRET, "HOST": "alerts.example.org", "TOKEN": SECRET}

FULL = """\
source:
  csv: telemetry/
  time: ts
  time_format: yyyy-MM-dd'T'HH:mm:ss
  time_zone: Europe/Berlin
  columns: {ts: timestamp, cluster: string, machine: string, rtt_us: long, load: double}
  files_per_batch: 10
  longest_line: 20k
  longest_key: 200
  options: {header: true, sep: ";"}
state: state/
log_size: 5M
every: 5 seconds
clock: none
max_clock_skew: 30m
quarantine:
  folder: quarantine/
  most_rows: 1k
queries:
  latency:
    value: rtt_us
    unit: us
    by: [cluster, machine]
    size: 1 hour
    period: 1 minute
    quantiles: [0.5, 0.999]
    thresholds: [500, 0.25]
    digits: 2
    guarantee: 0.1
    few_k: {fraction: 0.2, budget: 100, high: 0.95, threshold: 5, burst: 0.4, offset: paper, always: true}
    lateness: 30s
    partial: false
  load:
    value: load
    size: 1h
    period: 5m
    quantiles: 0.99
    few_k: null
sinks:
  results:
    - parquet: results/
    - kafka: {servers: "127.0.0.1:9092", topic: results, options: {kafka.acks: all}}
    - console: true
  summaries: [{parquet: summaries/}]
  alerts: [{jsonl: alerts.jsonl}]
receivers:
  - alertmanager: http://me:${PASSWORD}@${HOST}:9093
    timeout: 2s
  - webhook: https://example.org/hook?token=abc
    headers: {Authorization: "Bearer ${TOKEN}", X-Team: network}
  - command: [notify-send, "{{ $alert }}"]
  - log: alerts.log
groups:
  - name: fleet
    rules:
      - alert: PerformanceCrisis
        expr: latency.p99_9 > 200ms or load.p99 > 0.9
        when: possible
        for: 2m
        keep_firing_for: 5m
        min_count: 1000
        share: 10%
        of: [cluster]
        silent: violating
        remember: 3h
        labels: {severity: page, tier: 1.10}
        annotations:
          summary: "crisis in {{ $labels.cluster }}"
  - name: targets
    rules:
      - target: latency_p99_9
        query: latency
        quantile: p99_9
        at_most: 200ms
        min_count: 10
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str) -> Path:
        file = tmp_path / "aomg.yaml"
        file.write_text(text)
        return file

    return write


def refused(file: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(file, environment=ENVIRONMENT)
    return caught.value


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


# -- what is read ------------------------------------------------------------------------------------------------------


def test_all_of_a_configuration_is_read(written, tmp_path):
    config = load(written(FULL), environment=ENVIRONMENT)
    source = config.source
    assert (source.kind, source.path, source.time) == ("csv", tmp_path / "telemetry", "ts")
    assert (source.time_format, source.time_zone) == ("yyyy-MM-dd'T'HH:mm:ss", "Europe/Berlin")
    assert list(source.columns) == ["ts", "cluster", "machine", "rtt_us", "load"]
    assert source.options == {"header": "true", "sep": ";"} and source.files_per_batch == 10
    assert (source.longest_line, source.longest_key, config.log_size) == (20_000, 200, 5_000_000)
    assert (config.every, config.clock, config.max_clock_skew) == (5 * SECOND, None, 1_800 * SECOND)
    assert (config.state, config.quarantine.folder) == (tmp_path / "state", tmp_path / "quarantine")
    assert config.quarantine.most_rows == 1_000
    latency, load_query = config.queries.values()
    assert latency.query == Query(
        "1 hour",
        "1 minute",
        quantiles=(0.5, 0.999),
        thresholds=(500, 0.25),
        digits=2,
        guarantee=0.1,
        few_k=FewK(0.2, 100, 0.95, 5, 0.4, "paper", True),
        lateness="30 seconds",
        partial=False,
    )
    assert (latency.value, latency.unit, latency.labels) == ("rtt_us", "us", ("cluster", "machine"))
    assert (load_query.unit, load_query.by, load_query.query.few_k) == (None, {}, None)
    assert load_query.query.quantiles == (Decimal("0.99"),)
    results, summaries, alerts = config.sinks.results, config.sinks.summaries, config.sinks.alerts
    assert [sink.kind for sink in results] == ["parquet", "kafka", "console"]
    assert results[1].kafka.topic == "results" and results[1].kafka.options == {"kafka.acks": "all"}
    assert (summaries[0].path, alerts[0].path) == (tmp_path / "summaries", tmp_path / "alerts.jsonl")
    manager, hook, command, log = config.receivers
    assert manager.url.reveal() == f"http://me:{SECRET}@alerts.example.org:9093" and manager.timeout == 2 * SECOND
    assert hook.headers["Authorization"].reveal() == f"Bearer {SECRET}" and hook.headers["X-Team"] == "network"
    assert command.command == ("notify-send", "{{ $alert }}") and log.path == tmp_path / "alerts.log"
    crisis, target = config.rules
    assert (crisis.kind, crisis.name, crisis.group) == ("fleet", "PerformanceCrisis", "fleet")
    assert (crisis.when, crisis.for_, crisis.keep_firing_for) == ("possible", 120 * SECOND, 300 * SECOND)
    assert (crisis.share, crisis.of, crisis.silent, crisis.remember) == (
        0.1,
        ("cluster",),
        "violating",
        10_800 * SECOND,
    )
    assert crisis.labels == {"severity": "page", "tier": "1.10"} and crisis.min_count == 1_000
    assert crisis.line == line_of(FULL, "- alert:")
    assert (target.kind, target.query, target.quantile, target.at_most) == ("target", "latency", "p99_9", "200ms")


def test_the_smallest_configuration_has_sensible_defaults(written, tmp_path):
    config = load(written("source: {generate: {}}\nstate: s\nqueries: {rtt: {value: rtt_us, size: 1m, period: 10s}}"))
    assert config.source.generate.stream == "podsets" and config.source.generate.incidents
    assert config.source.time == "ts" and config.source.columns["rtt_us"] == "long"
    assert config.queries["rtt"].query == Query("1 minute", "10 seconds")
    assert config.quarantine.folder == tmp_path / "s" / "quarantine"
    assert (config.every, config.clock, config.receivers, config.rules) == (10 * SECOND, "processing", (), ())


def test_the_example_runs_fifteen_minutes_in_ninety_seconds_with_both_incidents():
    config = load(EXAMPLE, environment={})
    generated = config.source.generate
    assert generated.events / generated.rate == 15 * 60
    assert generated.events / generated.rate / generated.speed == 90
    assert generated.incidents
    assert [config.queries[name].by for name in ("inbound", "outbound")] == [
        {"podset": "dst_podset"},
        {"podset": "src_podset"},
    ]
    assert {(query.query.size, query.query.period) for query in config.queries.values()} == {
        (120 * SECOND, 15 * SECOND)
    }
    assert [rule.name for rule in config.rules] == ["PodsetSwitchFault", "TailAgainstMedian", "inbound_p99"]


def test_the_source_that_the_example_teaches_in_a_comment_can_be_used(written):
    lines = EXAMPLE.read_text().splitlines()
    first = lines.index("# source:")
    taught = [line.removeprefix("# ") for line in lines[first : first + 7]]
    own = lines.index("source:")
    text = "\n".join([*lines[:own], *taught, *lines[own + 3 :]])
    config = load(written(text), environment={})
    assert config.source.kind == "csv" and config.source.time_zone == "Europe/Berlin"


def test_what_is_commented_out_in_the_example_can_be_used(written):
    text = EXAMPLE.read_text()
    for first, indent in (("  # - alertmanager", 2), ("      # - alert: NetworkCrisis", 6)):
        lines = text.splitlines()
        index = next(i for i, line in enumerate(lines) if line.startswith(first))
        while lines[index].startswith(" " * indent + "# "):
            lines[index] = " " * indent + lines[index][indent + 2 :]
            index += 1
        text = "\n".join(lines)
    config = load(written(text), environment={"HOOK_TOKEN": "abc"})
    assert [receiver.kind for receiver in config.receivers] == ["log", "alertmanager", "webhook", "command"]
    assert [rule.kind for rule in config.rules] == ["alert", "alert", "fleet", "target"]


def test_relative_paths_start_at_the_file_or_where_told(written, tmp_path, monkeypatch):
    file = written(FULL.replace("state: state/", "state: ../elsewhere/./state"))
    monkeypatch.chdir("/")
    assert load(file, environment=ENVIRONMENT).state == tmp_path.parent / "elsewhere" / "state"
    moved = load(file, folder="/data", environment=ENVIRONMENT)
    assert moved.state == Path("/elsewhere/state") and moved.source.path == Path("/data/telemetry")
    monkeypatch.chdir(tmp_path)
    assert load("aomg.yaml", environment=ENVIRONMENT).source.path == tmp_path / "telemetry"


def test_loading_looks_at_no_other_file_and_writes_none(written, tmp_path):
    load(written(FULL), environment=ENVIRONMENT)
    assert [path.name for path in tmp_path.iterdir()] == ["aomg.yaml"]


def test_columns_by_name_need_not_list_the_time(written):
    text = FULL.replace("csv: telemetry/", "jsonl: telemetry/").replace("{ts: timestamp, ", "{")
    text = text.replace('options: {header: true, sep: ";"}', "")
    assert load(written(text), environment=ENVIRONMENT).source.columns["ts"] == "string"


def test_kafka_is_a_source_with_its_options(written):
    text = FULL.replace("csv: telemetry/", "kafka: {servers: '${HOST}:9092', topic: rtts}").replace(
        "files_per_batch: 10", ""
    )
    text = text.replace('{header: true, sep: ";"}', "{kafka.ssl.key.password: literal, startingOffsets: earliest}")
    source = load(written(text), environment=ENVIRONMENT).source
    assert source.kafka.servers.reveal() == "alerts.example.org:9092" and source.kafka.topic == "rtts"
    assert source.options["kafka.ssl.key.password"] == Secret("literal")
    assert source.kafka.options == source.options and "literal" not in repr(source)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "instead", "message"),
    [
        (
            "quantiles: [0.5, 0.999]",
            "quantile: [0.5]",
            "unknown key 'quantile' in queries.latency; did you mean quantiles?",
        ),
        (
            "csv: telemetry/",
            "cvs: telemetry/",
            "source needs one of parquet, csv, jsonl, kafka, generate; did you mean csv?",
        ),
        ("csv: telemetry/", "csv: a\n  parquet: b", "source has parquet and csv; keep only one of"),
        ("csv: telemetry/", "csv: s3a://bucket/a", "must be a path on this machine"),
        ("csv: telemetry/", "csv: ${PASSWORD}", "cannot use"),
        ("csv: telemetry/", "csv: ~nobody-of-that-name/a", "an unknown user"),
        ("time: ts", "", "source lacks the key 'time'; add it"),
        ("yyyy-MM-dd'T'HH:mm:ss", "epoch_millis", "did you mean epoch_ms?"),
        ("yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-ddTHH:mm", "in quotes"),
        ("Europe/Berlin", "Europe/Berlim", "did you mean Europe/Berlin?"),
        ("Europe/Berlin", "Europe", "an unknown time zone"),
        ("Europe/Berlin", "../../etc/passwd", "an unknown time zone"),
        ("Europe/Berlin", "/etc/localtime", "an unknown time zone"),
        ("Europe/Berlin", "localtime", "'localtime', an unknown time zone; write a name such as UTC"),
        ("rtt_us: long", "rtt_us: bigint", "write long"),
        ("rtt_us: long", "rtt_us: lnog", "must be string, int, long, double, .* did you mean long?"),
        ("{ts: timestamp, ", "{", "lacks the time column 'ts'; list all columns"),
        ("{header: true", "{heade: true", "the option 'heade' in source.options is unknown; did you mean header?"),
        ("{header: true", "{Header: true", "must be written header"),
        ("{header: true", "{maxFilesPerTrigger: 3", "use files_per_batch"),
        ("{header: true", "{mode: DROPMALFORMED", "quarantine"),
        ("{header: true", "{startingOffsets: earliest", "is unknown"),
        ("files_per_batch: 10", "files_per_batch: 0", "must be 1 to 100,000, but is '0'"),
        ("longest_line: 20k", "longest_line: 99", "source.longest_line must be 100 to 1,073,741,824, but is '99'"),
        ("longest_line: 20k", "longest_line: 1MB", "must be a whole number such as 1000, 500k or 12M"),
        ("longest_key: 200", "longest_key: 5000", "source.longest_key must be 1 to 4,096, but is '5000'"),
        ("log_size: 5M", "log_size: 1k", "log_size must be 100,000 to 1,000,000,000,000, but is '1k'"),
        ("csv: telemetry/", "parquet: telemetry/", "'longest_line' in source is for lines of text"),
        ("state: state/", "state: [a]", "state must be text, but is a list"),
        ("state: state/", "state: telemetry/state", "is inside the folder that source reads"),
        ("every: 5 seconds", "every: 5", "every: '5' has no unit, so it is not a duration; write 5s, 5m or 5h"),
        ("clock: none", "clock: wall", "clock must be processing or none, but is 'wall'"),
        ("most_rows: 1k", "most_rows: few", "a whole number such as 1000"),
        ("  folder: quarantine/\n", "", "quarantine lacks the key 'folder'"),
        ("value: rtt_us", "value: rtt", "is 'rtt', which is not a column of the source; did you mean rtt_us?"),
        ("value: rtt_us", "value: cluster", "a column of type string; quantiles need numbers"),
        ("unit: us", "unit: ns", "unit must be us, ms, s or none"),
        ("by: [cluster, machine]", "by: [cluster, cluster]", "twice"),
        ("by: [cluster, machine]", "by: {a: cluster, A: machine}", "differ in capitals only"),
        ("by: [cluster, machine]", "by: {a: cluster, b: cluster}", "two labels of the same column"),
        ("by: [cluster, machine]", "by: {count: cluster}", "count is a reserved name"),
        ("by: [cluster, machine]", "by: {a.b: cluster}", "is not a valid label name"),
        ("size: 1 hour", "size: 90 seconds", "size='1m30s' is not a multiple of period='1m'; make it '1m' or '2m'"),
        ("size: 1 hour", "size: 1000", "size: '1000' has no unit"),
        ("period: 1 minute", "period: 0s", "period='0s' must be positive"),
        ("quantiles: [0.5, 0.999]", "quantiles: [50, 99]", r"write 99 % as 0.99"),
        ("quantiles: [0.5, 0.999]", "quantiles: [0.5, 0.5]", "quantile 0.5 is given twice"),
        ("quantiles: [0.5, 0.999]", "quantiles: [p99]", r"quantiles\[0\] must be a number such as 0.99, but is 'p99'"),
        ("thresholds: [500, 0.25]", "thresholds: [1, 1]", "contains a number twice"),
        ("digits: 2", "digits: 9", "digits=9 must be 1 to 6"),
        ("guarantee: 0.1", "guarantee: 0.0001", "the smallest is"),
        ("{fraction: 0.2", "{fraction: 2", "few_k.fraction=2.0 must be above 0"),
        ("{fraction: 0.2", "{fractoin: 0.2", "did you mean fraction?"),
        ("partial: false", "partial: no", "must be true or false, but is 'no'"),
        ("  latency:", "  and:", "queries.and is a reserved name"),
        ("  latency:", "  p99:", "queries.p99 is a reserved name"),
        ("  latency:", "  my-latency:", "queries.my-latency is not a valid query name"),
        ("- console: true", "- console: false", "remove the sink"),
        ("parquet: summaries/", "jsonl: summaries", r"sinks.summaries\[0\] needs one of parquet"),
        ("parquet: summaries/", "parquet: results/", r"sinks.summaries and sinks.results \(line"),
        ("topic: results", "topic: a b", "must be the name of one topic"),
        ("kafka.acks: all", "kafka.key.serializer: x", "is unknown"),
        ("jsonl: alerts.jsonl", "jsonl: state/alerts.jsonl", "overlap"),
        ("http://me:${PASSWORD}@${HOST}:9093", "me:9093", "is not an http address; write it as http://host:port/path"),
        ("http://me:${PASSWORD}@${HOST}:9093", "http://a:port", "is not an address"),
        ("${HOST}", "${HOTS}", "needs HOTS from the environment"),
        ("${HOST}", "${}", "without a name"),
        ("timeout: 2s", "timeout: 0s", "must be 1ms to 1h"),
        ('[notify-send, "{{ $alert }}"]', "notify-send hello", "must be a list"),
        ('[notify-send, "{{ $alert }}"]', "[]", "is empty"),
        ("- log: alerts.log", "- log: alerts.log\n    timeout: 3s", "is not for log"),
        ("X-Team: network", "'X Team': network", "not a valid header name"),
        ("X-Team: network", 'X-Team: "a\\r\\nHost: b"', "headers cannot have"),
        ("share: 10%", "share: 110%", "a share such as 10% or 0.1"),
        ("share: 10%", "", "'of' in fleet.PerformanceCrisis is only for rules of kind fleet; add 'share'"),
        ("of: [cluster]", "of: [cluster, cluster]", "names a label twice"),
        ("for: 2m", "fro: 2m", "unknown key 'fro' in fleet.PerformanceCrisis; did you mean for?"),
        ("for: 2m", "for: 2 fortnights", "fleet.PerformanceCrisis.for: '2 fortnights' is not a duration"),
        ("expr: latency.p99_9 > 200ms or load.p99 > 0.9", "", "lacks the key 'expr'"),
        ("severity: page", "alertname: page", "is set by the rule's name"),
        ("at_most: 200ms", "at_most: 200ms\n        for: 2m", "is only for rules of kind alert"),
        ("query: latency", "query: latenci", "is 'latenci', which is not a query; did you mean latency?"),
        ("- name: targets", "- name: fleet", "like the group in line"),
        ("groups:", "rules:", "belongs into groups"),
        ("- target: latency_p99_9", "- record: latency_p99_9", "needs one of alert, target"),
    ],
)
def test_what_cannot_be_is_refused_with_the_line_and_the_remedy(written, part, instead, message):
    assert FULL.count(part) >= 1
    text = FULL.replace(part, instead, 1)
    with pytest.raises(ConfigError, match=message) as caught:
        load(written(text), environment=ENVIRONMENT)
    error = caught.value
    assert error.file == written(text) and str(error).startswith(f"{error.file}, line {error.line}: ")
    changed = line_of(FULL, part)  # a key that is missing is told at the line of its section
    assert changed - 5 <= error.line <= changed + 10


def test_the_line_is_that_of_the_key(written):
    for part, instead in [
        ("every: 5 seconds", "every: x"),
        ("partial: false", "partial: x"),
        ("at_most: 200ms", "most: 1"),
    ]:
        text = FULL.replace(part, instead)
        assert line_of(text, instead) in [problem.line for problem in refused(written(text)).problems]


def test_a_missing_key_is_told_at_the_line_of_its_section(written):
    text = FULL.replace("    value: rtt_us\n", "")
    error = refused(written(text))
    assert error.line == line_of(text, "  latency:") and "queries.latency lacks the key 'value'" in error.message


FIXED = """
    source time time_format time_zone columns files_per_batch longest_line longest_key options state log_size
    every clock max_clock_skew quarantine folder most_rows queries value unit by size period quantiles
    thresholds digits guarantee few_k lateness partial fraction budget high threshold burst offset always sinks
    results summaries alerts receivers timeout headers groups rules expr when keep_firing_for min_count of
    silent remember labels annotations query quantile at_most servers topic
"""


@pytest.mark.parametrize("key", FIXED.split())
def test_every_known_key_that_is_misspelt_is_refused_with_a_suggestion(written, key):
    text = re.sub(rf"\b{key}:", f"{key}x:", FULL, count=1)
    assert text != FULL
    matches = [problem for problem in refused(written(text)).problems if f"unknown key '{key}x'" in problem.message]
    assert matches and f"did you mean {key}?" in matches[0].message
    assert matches[0].line == line_of(text, f"{key}x:")


def test_several_problems_are_told_at_once_in_the_order_of_their_lines(written):
    text = FULL.replace("every: 5 seconds", "every: 5").replace("unit: us", "unti: us").replace("for: 2m", "for: 2")
    error = refused(written(text))
    assert [problem.line for problem in error.problems] == [
        line_of(text, part) for part in ("every:", "unti:", "for: 2")
    ]
    assert len(str(error).splitlines()) == 3 and error.line == error.problems[0].line


def test_no_more_than_ten_problems_are_told_or_looked_for(written, monkeypatch):
    looked = []
    monkeypatch.setattr(schema, "suggestion", lambda name, known, otherwise: looked.append(name) or otherwise)
    text = FULL + "".join(f"unknown{number}: 1\n" for number in range(5_000))
    assert len(refused(written(text)).problems) == MOST_PROBLEMS
    assert len(looked) <= MOST_PROBLEMS


@pytest.mark.parametrize("text", ["3", "a", "[1, 2]", "null", "{}", "{a: 1}"])
def test_a_file_that_is_something_else_is_refused(written, text):
    assert all(problem.line == 1 for problem in refused(written(text)).problems)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("yyyy-mm-dd HH:mm:ss", "which is MM (mm is minutes)"),
        ("yyyy-MM-DD HH:mm:ss", "the day of the month is dd"),
        ("yyyy-MM-dd HH:MM:ss", "which is mm (MM is the month)"),
        ("yyyy-MM-dd mm:ss", "which is HH"),
        ("yyyy-MM-dd hh:mm:ss", "the hour of the day is HH"),
        ("YYYY-MM-DD", "write the year as yyyy, and the day as dd"),
        ("%Y-%m-%d %H:%M:%S", "write %Y-%m-%d as yyyy-MM-dd"),
    ],
)
def test_a_pattern_that_reads_other_times_than_it_looks_like_is_refused(written, pattern, message):
    text = FULL.replace("yyyy-MM-dd'T'HH:mm:ss", json.dumps(pattern))
    problem = refused(written(text))
    assert message in problem.message and problem.line == line_of(text, json.dumps(pattern))


@pytest.mark.parametrize(
    "pattern", ["yyyyMMdd", "dd.MM.yy HH:mm", "yyyy-DDD HH:mm:ss", "MM/dd/yyyy hh:mm:ss a", "yyyy"]
)
def test_patterns_of_other_places_are_fine(written, pattern):
    text = FULL.replace("yyyy-MM-dd'T'HH:mm:ss", json.dumps(pattern))
    assert load(written(text), environment=ENVIRONMENT).source.time_format == pattern


@pytest.mark.parametrize("folder", ["telemetry/*.csv", "telemetry/2024-0[1-5]", "tele{a,b}"])
def test_a_folder_that_spark_would_take_for_a_pattern_is_refused(written, folder):
    text = FULL.replace("csv: telemetry/", f"csv: {json.dumps(folder)}")
    assert "pathGlobFilter" in refused(written(text)).message


def test_a_file_in_this_folder_is_told_by_its_short_name(written, monkeypatch):
    file = written(FULL.replace("value:", "valeu:", 1))
    monkeypatch.chdir(file.parent)
    assert str(refused(file)).startswith("aomg.yaml, line ")
    monkeypatch.chdir("/")
    assert str(refused(file)).startswith(f"{str(file)[1:]}, line ")


TRUE_OR_FALSE = [name for name in (*ALLOWED["csv"], *ALLOWED["jsonl"]) if name.startswith("allow")]
TRUE_OR_FALSE += ["header", "multiLine", "recursiveFileLookup", "latestFirst", "fileNameOnly", "mergeSchema"]
TRUE_OR_FALSE += ["ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"]
GOOD = dict.fromkeys(TRUE_OR_FALSE, "true") | {"maxColumns": "9", "maxCharsPerColumn": "-1", "maxFileAge": "7d"}
GOOD |= {"encoding": "ISO-8859-1", "datetimeRebaseMode": "LEGACY", "int96RebaseMode": "CORRECTED"}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("header", "yes", "must be true or false"),
        ("multiLine", "1", "must be true or false"),
        ("recursiveFileLookup", "deep", "must be true or false"),
        ("maxColumns", "many", "must be a whole number"),
        ("encoding", "latin1", "must be UTF-8, US-ASCII, ISO-8859-1"),
        ("quote", "''", "must be one character"),
        ("sep", "", "must not be empty"),
        ("maxFileAge", "a week", "must be a time such as 90s"),
    ],
)
def test_a_value_that_spark_would_refuse_when_it_runs_is_refused_before(written, option, value, message):
    text = FULL.replace('{header: true, sep: ";"}', json.dumps({option: value}))
    problem = refused(written(text))
    assert f"the option {option!r} in source.options {message}" in problem.message and problem.line


def test_every_allowed_option_is_accepted_and_of_its_own_kind_only(written):
    for kind in ("parquet", "csv", "jsonl"):
        full = FULL.replace("  longest_line: 20k\n", "") if kind == "parquet" else FULL
        some = dict.fromkeys(ALLOWED[kind], "x") | {name: GOOD[name] for name in ALLOWED[kind] if name in GOOD}
        text = full.replace("csv: telemetry/", f"{kind}: telemetry/").replace(
            '{header: true, sep: ";"}', json.dumps(some)
        )
        assert load(written(text), environment=ENVIRONMENT).source.options == some
        other = full.replace("csv: telemetry/", f"{kind}: telemetry/").replace(
            '{header: true, sep: ";"}', "{startingOffsets: earliest}"
        )
        assert "unknown" in refused(written(other)).message


# -- secrets -----------------------------------------------------------------------------------------------------------


def test_a_secret_is_seen_nowhere_but_by_reveal(written):
    config = load(written(FULL), environment=ENVIRONMENT)
    shown = [repr(config), str(config), f"{config.receivers[0].url}", repr(dataclasses.asdict(config))]
    shown.append(json.dumps(dataclasses.asdict(config), default=str))
    shown.append(repr(copy.deepcopy(config.receivers)))
    assert not any(SECRET in text or "token=abc" in text for text in shown)
    assert str(config.receivers[0].url) == "http://alerts.example.org:9093"
    assert str(config.receivers[1].url) == "https://example.org/hook"
    with pytest.raises(TypeError, match="reveal"):
        pickle.dumps(config.receivers[0].url)


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        ("${PASSWORD}@${HOST}:9093", "${PASSWORD}@${HOST}:x${PASSWORD}"),
        ("${PASSWORD}@${HOST}", "${PASSWORD} ${HOST}"),
        ("http://me:${PASSWORD}@${HOST}:9093", f"ftp://me:{SECRET}@example.org"),
        ("http://me:${PASSWORD}@${HOST}:9093", f"[http://me:{SECRET}@example.org]"),
        ('"Bearer ${TOKEN}"', '"${TOKEN}\\n"'),
        ("{header: true", f"{{kafka.sasl.jaas.config: 'x {SECRET}'"),
        ("{header: true", f"{{kafka.ssl.key.password: [{SECRET}]"),
        ('options: {header: true, sep: ";"}', f"options: password={SECRET}"),
        ("csv: telemetry/", f"csv: https://me:{SECRET}@example.org"),
        ("unit: us", f"unit: http://me:{SECRET}@example.org"),
        ("every: 5 seconds", f"password: {SECRET}"),
        ("every: 5 seconds", f"every: 'password {SECRET}'"),
        ("time: ts", f"time: 'a: {SECRET}"),  # no YAML
    ],
)
def test_no_error_shows_a_secret(written, part, instead):
    assert part in FULL
    error = refused(written(FULL.replace(part, instead, 1)))
    output = "".join(traceback.format_exception(error)) + repr(error)
    assert SECRET not in output


def test_a_login_module_that_would_load_other_code_is_refused(written):
    text = FULL.replace("csv: telemetry/", "kafka: {servers: a, topic: b}").replace("files_per_batch: 10", "")
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required password='${PASSWORD}';"
    other = "com.sun.security.auth.module.JndiLoginModule required;"
    good, bad = (
        text.replace('{header: true, sep: ";"}', json.dumps({"kafka.sasl.jaas.config": module}))
        for module in (plain, other)
    )
    assert SECRET in load(written(good), environment=ENVIRONMENT).source.options["kafka.sasl.jaas.config"].reveal()
    assert "login module" in refused(written(bad)).message


def test_two_dollars_stand_for_one(written):
    text = FULL.replace("X-Team: network", "X-Team: '$${NAME}'")
    assert load(written(text), environment=ENVIRONMENT).receivers[1].headers["X-Team"] == "${NAME}"


def test_the_environment_is_that_of_the_process_unless_told(written, monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert load(written(FULL)).receivers[1].headers["Authorization"].reveal().endswith(SECRET)


# -- rules -------------------------------------------------------------------------------------------------------------


def test_rules_are_checked_by_their_own_room_and_its_errors_get_their_place(written, monkeypatch):
    def build(rule, queries):
        assert list(queries) == ["latency", "load"]
        if rule.kind == "target":
            raise ConfigError("p99_9 is not computed; add 0.999 to quantiles")
        return rule.name

    monkeypatch.setattr("aomg.monitor.rules.builder.build", build)
    config = load(written(FULL), environment=ENVIRONMENT)
    with pytest.raises(ConfigError, match=r"add 0\.999") as caught:
        check_rules(config)
    assert caught.value.line == line_of(FULL, "- target:") and caught.value.file == config.file
    assert check_rules(dataclasses.replace(config, rules=config.rules[:1])) == ("PerformanceCrisis",)


def test_the_columns_of_a_generated_stream_are_those_that_it_has():
    kinds = {"int32": "int", "int64": "long", "timestamp[us, tz=UTC]": "timestamp"}
    assert {field.name: kinds[str(field.type)] for field in SCHEMA} == PODSETS


def test_the_rules_of_the_example_can_be_built():
    pytest.importorskip("aomg.monitor.rules.builder", exc_type=ImportError)
    config = load(EXAMPLE, environment={})
    assert len(check_rules(config)) == len(config.rules)


# -- whatever is written -----------------------------------------------------------------------------------------------

WRONG = [
    *(
        None,
        True,
        False,
        -1,
        0,
        3,
        10**25,
        2.5,
        1e300,
        "",
        " ",
        "x",
        "none",
        "1h",
        "99999 weeks",
        "10%",
        "${NO}",
        "${TOKEN}",
    ),
    *("9" * 500, "a\nb", "\x7f", "\u202e", "http://a", "[", "../..", "/", "~", "*", "a/" * 3000, "p99", "1e5", "é"),
    *([], [None], [[]], ["x"], ["x", "x"], [1, 2], {}, {"x": None}, {"x": {"x": "x"}}, [{}], [{"x": 1}]),
]


def places(value, path=()):
    """The path of every value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def misspelt(key: str, chance: random.Random) -> str:
    position = chance.randrange(len(key) + 1)
    return chance.choice(
        [
            key[:position] + key[position + 1 :],
            key[:position] + "x" + key[position:],
            key.upper(),
            key + ".",
            "",
            key + " ",
        ]
    )


def mutated(tree, path, how, wrong, chance):
    inner = tree
    for key in path[:-1]:
        inner = inner[key]
    key = path[-1]
    if how == "drop":
        del inner[key]
    elif how == "misspell" and isinstance(inner, dict):
        items = [(misspelt(old, chance) if old == key else old, value) for old, value in inner.items()]
        inner.clear()
        inner.update(items)
    elif how == "double" and isinstance(inner, list):
        inner.append(copy.deepcopy(inner[key]))
    else:
        inner[key] = copy.deepcopy(wrong)


class NoAliases(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
    def ignore_aliases(self, data):
        return True


TREES = {"full": yaml.safe_load(FULL), "example": yaml.safe_load(EXAMPLE.read_text())}
PLACES = {name: list(places(tree)) for name, tree in TREES.items()}


@settings(max_examples=300)
@given(
    st.sampled_from([*TREES]),
    st.lists(
        st.tuples(
            st.integers(0, 10**6), st.sampled_from(["drop", "misspell", "wrong", "double"]), st.sampled_from(WRONG)
        ),
        min_size=1,
        max_size=3,
    ),
    st.randoms(use_true_random=False),
)
def test_a_configuration_with_mistakes_is_read_or_refused_with_a_line(tmp_path_factory, name, mistakes, chance):
    tree = copy.deepcopy(TREES[name])
    for number, how, wrong in mistakes:
        there = list(places(tree))
        if there:
            mutated(tree, there[number % len(there)], how, wrong, chance)
    file = tmp_path_factory.getbasetemp() / "mistakes.yaml"
    file.write_text(yaml.dump(tree, Dumper=NoAliases, sort_keys=False, allow_unicode=True))
    assert_read_or_refused(file)


@settings(max_examples=150)
@given(st.sampled_from([FULL, EXAMPLE.read_text()]), st.data())
def test_a_text_with_slips_of_the_pen_is_read_or_refused_with_a_line(tmp_path_factory, text, data):
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 5))
        text = text[:start] + data.draw(st.text(":-[]{}'\"#&*!| \n\t?,~a1$\\", max_size=3)) + text[end:]
    file = tmp_path_factory.getbasetemp() / "slips.yaml"
    file.write_text(text)
    assert_read_or_refused(file)


def assert_read_or_refused(file: Path) -> None:
    lines = len(file.read_text().splitlines())
    try:
        config = load(file, environment=ENVIRONMENT)
    except ConfigError as error:
        assert 1 <= len(error.problems) <= MOST_PROBLEMS
        for problem in error.problems:
            assert problem.file == file and 1 <= problem.line <= lines + 1
            assert problem.message and SECRET not in problem.message
        return
    assert isinstance(config, Config) and SECRET not in repr(config)
    assert config.queries and all(isinstance(query.query, Query) for query in config.queries.values())
    assert all(os.path.isabs(path) for path in (config.state, config.quarantine.folder))  # noqa: PTH117
    assert all(rule.query is None or rule.query in config.queries for rule in config.rules)
