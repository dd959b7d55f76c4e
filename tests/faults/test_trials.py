"""Monitors that are killed on Spark, and monitors whose files are damaged: the same outcome, or a refusal by name."""

import json
import random

import pytest
from killed_writes import KilledWrites
from trials import DAMAGES, SAME, KilledMonitor, WrongOutcomeError, compare, half_on_spark, undisturbed

from aomg.monitor.run import assembly

pytestmark = pytest.mark.xdist_group("monitor on spark")


@pytest.fixture(scope="module")
def expected(spark, tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), spark)


def test_a_dozen_kills_of_driver_java_and_workers_while_files_arrive_change_nothing(spark, expected, tmp_path):
    monitor = KilledMonitor(tmp_path, random.Random(1))
    victims = ["worker", "worker", "all", "worker", "worker", "java", "worker", "worker", "driver", "worker", "worker"]
    assert [end for end in monitor.kill([*victims, "stop"]) if end is not None] == [-9, 1, -9, 0]
    assert monitor.kill(["stop at the start"]) == [0]
    assert monitor.in_batch >= 6
    ends = [json.loads(line).get("because") for line in (tmp_path / "state/health.jsonl").read_text().splitlines()]
    assert [end for end in ends if end] == ["it failed", "it was stopped", "it was stopped"]
    assert "Spark's Java process was killed (signal 9)" in (tmp_path / "state/spark.log").read_text()
    assert compare(monitor.finish(spark), expected, "killed") == SAME


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    folder = tmp_path_factory.mktemp("half")
    return KilledWrites(folder / "undisturbed").half(folder)


@pytest.mark.parametrize("how", DAMAGES)
def test_every_kind_of_file_of_a_monitor(half, how):
    kinds = half.newest()
    assert len(kinds) > 10
    for name in kinds.values():
        half.damaged(name, how, random.Random(f"{name} {how}"))


def test_every_kind_of_file_of_a_checkpoint(spark, expected, tmp_path):
    half = half_on_spark(tmp_path, spark, expected)
    kinds = {kind: name for kind, name in half.newest().items() if kind.startswith("state/checkpoint/")}
    assert len(kinds) > 4
    for name in kinds.values():
        for how in DAMAGES:
            print(name, how, half.damaged(name, how, random.Random(f"{name} {how}"))[:150])


def test_a_monitor_that_does_not_look_at_its_files_would_be_noticed(half, monkeypatch):
    """The check itself."""
    monkeypatch.setattr(assembly, "check_state", lambda *arguments: None)
    with pytest.raises(WrongOutcomeError, match=r"alerts\.jsonl differ"):
        half.damaged("alerts.jsonl", "flipped", random.Random(1))
