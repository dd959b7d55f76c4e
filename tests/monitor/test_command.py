"""What `aomg run` and `aomg demo` sum up, and what a start that fails leaves behind."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from samples import MINUTE, NOON, alert

from aomg.monitor import command
from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import EXAMPLE, load
from aomg.monitor.errors import ConfigError
from aomg.monitor.run.progress import Progress
from aomg.monitor.run.state_owner import claim_state


def brought(*alerts):
    return Progress(0, 0.1, {"no time": 2}, {}, 20, alerts, [])


def test_a_run_counts_all_alerts_and_keeps_no_more_than_it_was_told():
    for most in (0, 3, 100):
        changes = command.Changes(most)
        for number in range(10):
            changes(brought(alert(end=NOON + number * MINUTE), alert("resolved", end=NOON + number * MINUTE)))
        assert (changes.fired, changes.resolved, changes.rows, changes.refused) == (10, 10, 200, 20)
        assert len(changes.alerts) == min(most, 20)
        assert changes.left_out == 20 - len(changes.alerts)
    assert changes.alerts[-1].end == NOON + 9 * MINUTE


def demonstrated(monkeypatch, **summary):
    """What the demo says of a run that brought this, and whether it is content."""
    monkeypatch.setattr(command, "run", lambda *_, **__: {"stopped": False, "alerts": [], **summary})
    output = io.StringIO()
    return command.demo(Console(file=output, width=200), EXAMPLE), output.getvalue()


def test_a_demo_that_was_stopped_has_missed_nothing(monkeypatch):
    content, output = demonstrated(monkeypatch, stopped=True)
    assert content
    assert "was stopped" in output and output.count("not detected yet") == 2
    content, output = demonstrated(monkeypatch)
    assert not content
    assert "stopped" not in output and output.count("not detected") == 2 and "yet" not in output


def test_a_false_alarm_of_a_demo_that_was_stopped_is_told(monkeypatch):
    content, output = demonstrated(monkeypatch, stopped=True, alerts=[alert().to_json()])
    assert not content
    assert "false alarm: SwitchFault" in output


# -- a first start that fails ------------------------------------------------------------------------------------------


def config_with(folder: Path, quantiles: str) -> Config:
    (folder / "in").mkdir(exist_ok=True)
    file = folder / "aomg.yaml"
    file.write_text(
        "source: {csv: in/, time: ts, columns: {ts: string, rtt: long}}\nstate: state/\n"
        f"queries: {{rtt: {{value: rtt, size: 1m, period: 10s, quantiles: [{quantiles}]}}}}\n"
    )
    return load(file)


@pytest.mark.parametrize("noted", ["offsets/0", "sources/0/0"])
def test_queries_may_change_until_the_first_events_are_read(tmp_path, noted):
    before, after = config_with(tmp_path, "0.5"), config_with(tmp_path, "0.5, 0.99")
    claim_state(before)
    (tmp_path / "state" / "checkpoint" / "offsets").mkdir(parents=True)
    (tmp_path / "state" / "checkpoint" / "offsets" / ".0.crc").touch()
    claim_state(after)
    file = tmp_path / "state" / "checkpoint" / noted
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    claim_state(after)
    with pytest.raises(ConfigError, match=r"was written by other queries: .* size 1m, period 10s; .* lateness 10s;"):
        claim_state(before)


BROKEN_JAVA = """#!/bin/sh
case "$1" in -version) echo 'openjdk version "21.0.1"' >&2; exit 0;; esac
echo "the heap does not fit" >&2
exit 1
"""


def test_where_spark_does_not_start_the_message_names_the_log_and_queries_may_still_change(tmp_path):
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(BROKEN_JAVA)
    java.chmod(0o755)
    config = config_with(tmp_path, "0.5")
    program = [str(Path(sys.executable).with_name("aomg")), "run", str(config.file), "--once", "--json"]
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "java")}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    log = config.state / "spark.log"
    assert error.startswith("cannot run: Spark did not start on Java 21") and str(log) in error
    assert "the heap does not fit" in log.read_text()
    claim_state(config_with(tmp_path, "0.5, 0.99"))
