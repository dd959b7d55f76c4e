"""Monitors that are killed on Spark, and monitors whose files are damaged: the same outcome, or a refusal by name."""

import json
import random

import pytest
from killed_writes import KilledWrites
from trials import DAMAGES, EXCHANGES, SAME, KilledMonitor, WrongOutcomeError, compare, half_on_spark, undisturbed

from aomg.monitor.run import assembly

pytestmark = pytest.mark.xdist_group("faults on spark")


@pytest.fixture(scope="module")
def expected(spark, tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), spark)


def test_a_dozen_kills_of_driver_java_and_workers_while_files_arrive_change_nothing(spark, expected, tmp_path):
    monitor = KilledMonitor(tmp_path, random.Random(1))
    victims = [*["worker"] * 4, "java", *["worker"] * 3, "all", "worker", "stop"]
    assert [end for end in monitor.kill(victims) if end is not None] == [1, -9, 0]
    assert monitor.in_batch >= 6
    assert monitor.kill(["stop at the start"]) == [0]
    assert (tmp_path / "printed").read_text().splitlines()[-1] == "0 rows; alerts: 0 fired, 0 resolved"
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


def test_a_file_in_the_place_of_a_newer_one_of_its_kind(half):
    kinds = half.kinds()
    assert len(kinds) > 5
    for names in kinds.values():
        half.exchanged(*names[-2:], EXCHANGES[0], restores=False)


@pytest.fixture(scope="module")
def half_spark(spark, expected, tmp_path_factory):
    return half_on_spark(tmp_path_factory.mktemp("half on spark"), spark, expected)


def test_every_kind_of_file_that_spark_reads_from_a_checkpoint(half_spark):
    """Almost all are refused before Spark starts, and then the restored file is enough."""
    kinds = {kind: name for kind, name in half_spark.newest().items() if is_of_a_checkpoint(name)}
    assert len(kinds) > 6
    outcomes = {
        (name, how): half_spark.damaged(name, how, random.Random(name), restores=False)
        for name in kinds.values()
        for how in DAMAGES
    }
    refusals = {trial: outcome for trial, outcome in outcomes.items() if outcome != SAME}
    assert len(refusals) > 20
    for (name, _), refusal in refusals.items():
        assert name in refusal and "restore" in refusal


@pytest.mark.soak
@pytest.mark.parametrize("how", DAMAGES)
def test_every_kind_of_file_of_a_checkpoint(half_spark, how):
    for name in half_spark.newest().values():
        half_spark.damaged(name, how, random.Random(f"{name} {how}"))


@pytest.mark.soak
@pytest.mark.parametrize("how", EXCHANGES)
def test_two_files_of_every_kind(half_spark, how):
    for names in half_spark.kinds().values():
        half_spark.exchanged(*names[-2:], how)


def is_of_a_checkpoint(name: str) -> bool:
    return name.startswith("state/checkpoint/") and not name.endswith(".crc")


def test_a_monitor_that_does_not_look_at_its_files_would_be_noticed(half, monkeypatch):
    """The check itself."""
    monkeypatch.setattr(assembly, "check_state", lambda *arguments: None)
    with pytest.raises(WrongOutcomeError, match=r"alerts\.jsonl differ"):
        half.damaged("alerts.jsonl", "flipped", random.Random(1))
