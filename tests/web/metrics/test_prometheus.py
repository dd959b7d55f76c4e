"""Prometheus itself: it reads the metrics, its rules agree with AOMG's own, and every panel has something to show."""

import json
import random
import re
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import yaml
from programs import PROMETHEUS, PROMTOOL, needs
from scraped import END, SECOND, example, histories, row

from aomg.monitor.alerts.judge import Judge
from aomg.monitor.alerts.state import State
from aomg.monitor.config.reader import load
from aomg.monitor.rules.builder import build
from aomg.monitor.rules.rows import WindowRows
from aomg.web.metrics.exposition import Metrics, exposition

ROOT = Path(__file__).parents[3]
RULES = ROOT / "dashboards" / "aomg.rules.yml"
EXAMPLE = ROOT / "src" / "aomg" / "monitor" / "example.yaml"
TOKEN = "abcdefghijklmnopqrstuvwx"
PERIOD = 15 * SECOND


def promtool(*arguments, text=""):
    command = [PROMTOOL.path, *map(str, arguments)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


# -- what promtool says ------------------------------------------------------------------------------------------------


@needs(PROMTOOL)
def test_promtool_finds_nothing_wrong_with_the_metrics_but_that_the_quantiles_are_no_summary():
    _, message = promtool("check", "metrics", text=exposition(example())[0].decode())
    complaints = {line for line in message.splitlines() if line.strip()}
    assert all(re.fullmatch(r'aomg_quantile\w* non-summary metrics should not have "quantile" label', line)
               for line in complaints), message  # fmt: skip


@needs(PROMTOOL)
def test_promtool_finds_nothing_wrong_with_the_rules():
    code, message = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert code == 0, message


# -- the rules and AOMG's own judge ------------------------------------------------------------------------------------


def one_podset(chance: random.Random, ends: int) -> list[dict | None]:
    """What a podset does, window after window: well, ill, or not there; with bounds and counts about the limits."""
    mood, count, matches = "well", 20_000, []
    for _ in range(ends):
        if chance.random() < 0.3:
            mood = chance.choice(["well", "slow", "slow", "tail", "tail", "near", "gone"])
            count = chance.choice([999, 1000, 1001, 9_999, 10_000, 20_000])
        p50 = chance.choice([100.0, 125.0])
        low, high = {"slow": (4001.0, 4600.0), "near": (4000.0, 4000.0)}.get(mood, (900.0, 950.0))
        if mood == "near":
            low, high = chance.choice([(3990.0, 4010.0), (4000.0, 4010.0), (4000.5, 4010.0), (3900.0, 4000.0)])
        tail = chance.choice([2500.0, 2501.0, 2000.0, 2001.0, 9000.0]) if mood in ("tail", "slow") else high
        bounds = {"p50": (p50 - 1, p50, p50), "p90": (800.0, 800.0, 800.0), "p99": (low, low, high)}
        bounds["p99_9"] = (max(tail, low), max(tail, high), 1e6)
        matches.append(None if mood == "gone" else {"count": count, **bounds})
    return matches


def rows_of(query: str, end: int, response: dict[str, dict | None]) -> WindowRows:
    """The rows of a window end, as the judge takes them."""
    labels = sorted(podset for podset, part in response.items() if part)
    parts = [response[podset] for podset in labels]
    zeros = np.zeros(len(parts))
    names = ("p50", "p90", "p99", "p99_9")
    return WindowRows(
        query,
        end - 8 * PERIOD,
        end,
        tuple((podset,) for podset in labels),
        np.array([part["count"] for part in parts], np.int64),
        zeros,
        zeros,
        zeros.astype(np.int64),
        zeros.astype(bool),
        {
            name: np.array([[part[name][1], part[name][0], part[name][2]] for part in parts]).reshape(-1, 3)
            for name in names
        },
    )


def judged(story: dict[str, dict[str, list]], ends: list[int]) -> list[set[tuple[str, str, str]]]:
    """What is pending and fires after each window end, as AOMG's judge has it: rule, podset, state."""
    config = load(EXAMPLE)
    judge = Judge([build(rule, config.queries) for rule in config.rules], config.queries)
    state, matches = State(), []
    for batch, end in enumerate(ends):
        response = {query: {podset: each[batch] for podset, each in by.items()} for query, by in story.items()}
        rows = {query: [rows_of(query, end, by)] if any(by.values()) else [] for query, by in response.items()}
        state, _ = judge.step(state, rows, batch)
        matches.append({(a.rule, a.labels["podset"], "firing" if a.firing else "pending") for a in judge.active(state)})
    return matches


def exported(story: dict[str, dict[str, list]], ends: list[int]) -> dict[str, list[str]]:
    """The series that Prometheus gets, one sample for each window end; stale where a series is not told any more."""
    series: dict[str, list[str]] = {}
    for batch, end in enumerate(ends):
        rows = []
        for query, by in story.items():
            response = {podset: dict(each[batch]) for podset, each in by.items() if each[batch]}
            rows += [
                row({"podset": podset}, query, end, part.pop("count"), **part) for podset, part in response.items()
            ]
        text = exposition(Metrics(histories(rows), {"inbound": "us", "outbound": "us"}))[0].decode()
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        for name in {*series, *values}:
            before = series.setdefault(name, ["_"] * batch)
            before.append(values.get(name, "stale" if before and before[-1] not in ("_", "stale") else "_"))
    return series


@needs(PROMTOOL)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_rules_for_prometheus_and_those_of_aomg_agree_at_every_window(tmp_path, seed):
    chance = random.Random(seed)
    count = 60
    story = {
        query: {podset: one_podset(chance, count) for podset in ("1", "2", "3", "4")}
        for query in ("inbound", "outbound")
    }
    story["outbound"]["1"] = story["inbound"]["1"]  # of one podset both directions are always alike
    ends = [END + batch * PERIOD for batch in range(count)]
    expected = judged(story, ends)
    observed = {(rule, state) for alerts in expected for rule, _, state in alerts}
    assert observed == {
        ("PodsetSwitchFault", "pending"),
        ("PodsetSwitchFault", "firing"),
        ("TailAgainstMedian", "firing"),
    }
    severity = {"PodsetSwitchFault": "page", "TailAgainstMedian": "ticket"}
    tests = {
        "interval": "15s",
        "input_series": [
            {"series": name, "values": " ".join(values)} for name, values in exported(story, ends).items()
        ],
        "promql_expr_test": [
            {
                "expr": 'ALERTS{alertgroup="network"}',
                "eval_time": f"{batch * 15}s",
                "exp_samples": [
                    {
                        "labels": f'ALERTS{{alertgroup="network", alertname="{rule}", alertstate="{state}", '
                        f'podset="{podset}", severity="{severity[rule]}"}}',
                        "value": 1,
                    }
                    for rule, podset, state in alerts
                ],
            }
            for batch, alerts in enumerate(expected)
        ],
    }
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "15s", "tests": [tests]}))
    code, message = promtool("test", "rules", file)
    assert code == 0, message[:3000]


@needs(PROMTOOL)
def test_the_rules_tell_when_the_monitor_itself_is_not_well(tmp_path):
    series = {
        'up{job="aomg", instance="a"}': "0x60",
        'aomg_monitor_live{instance="a"}': "0x60",
        'aomg_monitor_live{instance="b"}': "1x60",
        'aomg_results_stale{instance="a"}': "1x60",
        'aomg_follower_failing{instance="a", follower="results"}': "1x60",
        'aomg_follower_failing{instance="b", follower="results"}': "0x60",
        'aomg_lag_seconds{instance="a"}': "301x60",
        'aomg_lag_seconds{instance="b"}': "300x60",
        'aomg_events_total{instance="a"}': "0+1000x60",
        'aomg_refused_rows_total{instance="a", reason="x"}': "0+6x60",
        'aomg_refused_rows_total{instance="a", reason="y"}': "0+5x60",
        'aomg_late_events_total{instance="a"}': "0+11x60",
        'aomg_events_total{instance="b"}': "0+1000x60",
        'aomg_refused_rows_total{instance="b", reason="x"}': "0+10x60",
        'aomg_late_events_total{instance="b"}': "0+10x60",
        'aomg_undelivered_alerts{instance="a", receiver="webhook 1"}': "2x60",
        'aomg_series_left_out{instance="a", query="inbound"}': "0x60",
        'aomg_series_left_out{instance="a", target="x"}': "7x60",
        'aomg_series_left_out{instance="b", query="inbound"}': "0x60",
    }
    names = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    fired = [name for name in names if name.startswith("Aomg")]
    assert len(fired) == 9
    tests = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname, instance) (ALERTS{alertstate="firing"})',
                "eval_time": "50m",
                "exp_samples": [{"labels": f'{{alertname="{name}", instance="a"}}', "value": 1} for name in fired],
            }
        ],
    }
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [tests]}))
    code, message = promtool("test", "rules", file)
    assert code == 0, message[:3000]


# -- Prometheus scrapes ------------------------------------------------------------------------------------------------


@contextmanager
def serving(metrics: Metrics):
    """A server with these metrics for whoever has the token. Gives its port, and the content types it answered with."""
    kinds: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.headers.get("Authorization") != f"Bearer {TOKEN}" or self.path != "/metrics":
                self.send_error(401)
                return
            text, kind = exposition(metrics, self.headers.get("Accept", ""))
            kinds.append(kind)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1], kinds
        finally:
            server.shutdown()
            thread.join(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def prometheus(folder: Path, port_of_metrics: int):
    """A Prometheus that scrapes every second, as docs/metrics.md says. Gives a function that asks it."""
    (response,) = re.findall(r"```yaml\n(.*?rule_files.*?)```", (ROOT / "docs" / "metrics.md").read_text(), re.DOTALL)
    config = yaml.safe_load(response)
    (scrape,) = config["scrape_configs"]
    assert scrape["static_configs"] == [{"targets": ["127.0.0.1:8765"]}] and scrape["job_name"] == "aomg"
    scrape["static_configs"][0]["targets"] = [f"127.0.0.1:{port_of_metrics}"]
    assert scrape["authorization"]["credentials_file"]
    scrape["authorization"]["credentials_file"] = str(folder / "token")
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    scrape.pop("scrape_interval", None)
    assert config.pop("rule_files") == ["aomg.rules.yml"]
    # nobody wants to wait for 30 s here; that the times are those of AOMG is tested above
    rules = RULES.read_text().replace("interval: 15s", "interval: 1s").replace("for: 30s", "for: 1s")
    (folder / "aomg.rules.yml").write_text(rules)
    (folder / "token").write_text(TOKEN)
    (folder / "prometheus.yml").write_text(yaml.safe_dump({**config, "rule_files": ["aomg.rules.yml"]}))
    url = f"http://127.0.0.1:{free_port()}"
    command = [PROMETHEUS.path, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    command += [f"--web.listen-address={url.removeprefix('http://')}", "--log.level=warn"]

    def ask(path: str, **parameters: str):
        with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
            return json.loads(answer.read())["data"]

    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield ask
        except Exception as error:
            error.add_note((folder / "log").read_text()[-2000:])
            raise
        finally:
            process.terminate()
            process.wait(30)


def wait_for(ask, expression: str, count: int = 1) -> list[dict]:
    """The answer to an expression, as soon as it has so many series."""
    for _ in range(300):
        try:
            matches = ask("query", query=expression)["result"]
        except OSError:
            matches = []
        if len(matches) >= count:
            return matches
        time.sleep(0.1)
    raise AssertionError(f"{expression} has no {count} series: {matches}; targets: {ask('targets')}")


EVIL = [
    'a "quoted" \\ back\\\\slash',
    'line\nend\r\ttab"} 0\n# EOF',
    "größe \u2028 日本 \U0001f4c8",
    "half \ud800 nul \x00",
    "",
]


@needs(PROMETHEUS)
def test_prometheus_scrapes_with_a_token_and_answers_with_the_same_values_and_the_fault_fires(tmp_path):
    moment = example()
    keys = [text.replace("\ud800", "") for text in EVIL]  # Arrow takes no half characters; JSON does
    evil = [row({"host-name": key, "job": "x"}, "evil", p99=(1, number, 9)) for number, key in enumerate(keys)]
    halves = {"target": EVIL[3], "group": EVIL[1], "labels": {"größe": EVIL[3]}, "headroom": [0.1, 0.2, 0.3]}
    moment = Metrics(
        {**moment.histories, **histories(evil)}, moment.units, moment.alerts, [*moment.targets, halves], moment.health
    )
    with serving(moment) as (port, kinds), prometheus(tmp_path, port) as ask:
        (matches,) = wait_for(ask, 'aomg_quantile{query="inbound", quantile="0.99", podset="6"}')
        assert matches["value"][1] == "4310"
        assert matches["metric"] == {
            "__name__": "aomg_quantile",
            "instance": f"127.0.0.1:{port}",
            "job": "aomg",
            "podset": "6",
            "quantile": "0.99",
            "query": "inbound",
            "unit": "us",
        }
        (headroom,) = wait_for(ask, 'aomg_target_headroom_low{target="inbound_p99", podset="6"}')
        assert float(headroom["value"][1]) == 0.13
        assert kinds[0].startswith("application/openmetrics-text; version=1.0.0")
        response = {
            one["metric"].get("host_name", ""): float(one["value"][1])
            for one in wait_for(ask, 'aomg_quantile{query="evil", key_job="x"}', len(EVIL))
        }
        assert response == {key.replace("\x00", "\ufffd"): number for number, key in enumerate(keys)}
        (half,) = wait_for(ask, 'aomg_target_headroom{gr__e!=""}')
        assert half["metric"]["gr__e"] == "half \ufffd nul \ufffd" and half["metric"]["group"] == EVIL[1]

        wait_for(ask, 'ALERTS{alertname="PodsetSwitchFault", alertstate="firing", podset="6"}')
        (fired,) = (one for one in ask("alerts")["alerts"] if one["labels"]["alertname"] == "PodsetSwitchFault")
        assert fired["state"] == "firing" and fired["labels"]["severity"] == "page"
        assert fired["annotations"]["summary"] == "switch of podset 6 is faulty: inbound p99 is at least 4280 us"

        wait_for(ask, "rate(aomg_events_total[10s])")
        for name, title, expression in panels():
            assert ask("query", query=expression)["result"], f"{name}: {title} shows nothing for {expression}"


def panels():
    """Every expression of every panel, with its variables put in as Grafana does it."""
    values = {"instance": ".*", "query": "inbound", "quantile": "0.99", "label": "podset", "key": "6"}
    values |= {"label:csv": "podset", "__rate_interval": "10s"}
    for file in sorted((ROOT / "dashboards").glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel["targets"]:
                filled = re.sub(
                    r"\$\{([\w:]+)\}|\$(\w+)", lambda matches: values[matches[1] or matches[2]], target["expr"]
                )
                yield file.name, panel["title"], filled
