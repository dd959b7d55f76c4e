"""What is made of a configuration goes on from the state of the one before it: without Spark, batch by batch."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from http_listener import listening
from hypothesis import given
from hypothesis import strategies as st
from judging import query, rows
from rich.console import Console
from samples import MINUTE, NOON, quick_disk, row, spark_commits, spark_plans, table

from aomg.errors import StateError
from aomg.monitor.alert import alert_id
from aomg.monitor.config.reader import load
from aomg.monitor.rules.builder import build
from aomg.monitor.rules.target import TargetConfig
from aomg.monitor.run.assembly import assembled
from aomg.monitor.run.batches import Batches
from aomg.monitor.sinks.headroom import HeadroomFile

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
SLOW = """
    - alert: Slow
      expr: p99 > 4ms
      annotations: {summary: "podset {{ $labels.podset }}: p99 {{ p99 }}"}
"""
TARGETS = """
    - {target: one, quantile: p99, at_most: 5ms}
    - {target: two, quantile: p99, at_most: 8ms}
"""


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def batches_of(folder: Path, rules: str, receivers: list[str]) -> Batches:
    file = folder / "aomg.yaml"
    file.write_text(f"""
source: {{jsonl: in/, time: ts, columns: {{podset: string, rtt: double}}}}
state: state/
queries: {{inbound: {{value: rtt, unit: us, by: [podset], size: 60m, period: 1m, quantiles: [0.5, 0.99]}}}}
receivers: {json.dumps([{"alertmanager": url} for url in receivers])}
groups:
  - name: network
    rules: {rules}
""")
    return assembled(load(file), Console(file=io.StringIO()))


def take(batches: Batches, batch: int, **p99: float) -> None:
    """One window, as Spark hands it over."""
    rows = table(*(row((key,), NOON + batch * MINUTE, p99=value) for key, value in p99.items()))
    state = batches.quarantine.file.parents[1]
    spark_plans(state, batch)
    batches.take(rows.append_column("summary", pa.nulls(len(rows), pa.binary())), batch)
    spark_commits(state, batch)


def annotations_in(heard) -> list[dict[str, str]]:
    return [one["annotations"] for request in heard for one in request.json]


def test_both_alertmanagers_that_were_given_new_addresses_hear_of_the_alert_that_fires(tmp_path):
    with listening() as a, listening() as b, listening() as new_a, listening() as new_b:
        batches = batches_of(tmp_path, SLOW, [a.url, b.url])
        take(batches, 0, x=5000.0, y=100.0)
        assert batches.notifier.close(30) == {}
        batches = batches_of(tmp_path, SLOW, [new_a.url, new_b.url])
        new_a.wait_for(1)
        new_b.wait_for(1)
        assert batches.notifier.close(30) == {}
        before = a.heard[0].json[0]
        for receiver in (new_a, new_b):
            (alert,) = receiver.heard[0].json
            assert alert["labels"] == before["labels"]
            assert alert["annotations"] == before["annotations"], "its id and its summary as they were"


def test_an_alertmanager_that_is_the_first_of_all_hears_of_the_alert_that_fires(tmp_path):
    batches = batches_of(tmp_path, SLOW, [])
    take(batches, 0, x=5000.0)
    take(batches, 1, x=5000.0, y=100.0)
    batches.notifier.close(0)
    with listening() as new:
        batches = batches_of(tmp_path, SLOW, [new.url])
        new.wait_for(1)
        fires = alert_id("network", "Slow", {"podset": "x"}, "firing", NOON)
        assert annotations_in(new.heard) == [{"summary": "podset x: p99 no data", "aomg_id": fires}]
        take(batches, 2, x=100.0)
        assert batches.notifier.close(30) == {}
        over = alert_id("network", "Slow", {"podset": "x"}, "resolved", NOON + 2 * MINUTE)
        assert annotations_in(new.heard)[1:] == [{"summary": "podset x: p99 100 us (99..101)", "aomg_id": over}]


def test_a_damaged_state_is_told_at_the_start(tmp_path):
    batches = batches_of(tmp_path, SLOW, [])
    take(batches, 0, x=5000.0)
    batches.notifier.close(0)
    (tmp_path / "state/journal/0000000000.json").write_text("{}")
    with pytest.raises(StateError, match=r"journal/0000000000\.json is damaged"):
        batches_of(tmp_path, SLOW, [])


# -- headroom ----------------------------------------------------------------------------------------------------------


def targets(folder: Path) -> set[tuple[str, str]]:
    records = json.loads((folder / "state/targets.json").read_text())["targets"]
    return {(one["target"], one["labels"]["podset"]) for one in records}


def test_the_headroom_of_a_target_that_was_taken_out_is_gone_at_the_start(tmp_path):
    batches = batches_of(tmp_path, TARGETS, [])
    take(batches, 0, x=5000.0, y=100.0)
    batches.notifier.close(0)
    assert targets(tmp_path) == {(target, key) for target in ("one", "two") for key in "xy"}
    batches = batches_of(tmp_path, TARGETS.replace("target: two", "target: three"), [])
    assert targets(tmp_path) == {("one", "x"), ("one", "y")}, "before any window"
    take(batches, 1, x=5000.0)
    batches.notifier.close(0)
    assert targets(tmp_path) == {("one", "x"), ("three", "x")}
    batches_of(tmp_path, SLOW, []).notifier.close(0)
    assert targets(tmp_path) == set(), "no target is left, and the page shows none"


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"targets": 3}', '{"targets": [3]}'])
def test_a_file_of_headroom_that_is_damaged_is_written_anew(tmp_path, text):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/targets.json").write_text(text)
    batches = batches_of(tmp_path, TARGETS, [])
    assert targets(tmp_path) == set()
    take(batches, 0, x=5000.0)
    batches.notifier.close(0)
    assert targets(tmp_path) == {("one", "x"), ("two", "x")}


names = st.sets(st.sampled_from(["a", "b", "c"]))


@given(st.lists(st.tuples(names, names), min_size=1, max_size=5))
def test_the_file_has_the_newest_headroom_of_every_target_and_of_no_other(tmp_path_factory, starts):
    """Each start has its targets; some of them have a window then."""
    file = tmp_path_factory.mktemp("targets") / "targets.json"
    by_name = {"inbound": query()}
    wanted: dict[str, int] = {}
    for number, (known, with_window) in enumerate(starts, 1):
        built = {
            name: build(TargetConfig(name=name, group="g", line=1, quantile="p99", at_most="5ms"), by_name)
            for name in sorted(known)
        }
        headrooms = HeadroomFile(file, list(built.values()))
        window = rows(number * MINUTE, {"x": {"p99": 1000.0}})
        headrooms.put([built[name].headroom(window) for name in sorted(with_window & known)])
        wanted = {name: end for name, end in wanted.items() if name in known} | dict.fromkeys(
            with_window & known, number
        )
        records = json.loads(file.read_text())["targets"] if file.exists() else []
        assert {one["target"]: int(one["end"][14:16]) for one in records} == wanted
