"""Killed before any operation on the file system, a monitor ends with the files of one that was never disturbed."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from samples import MINUTE, NOON, Killed, dying, quick_disk, row, spark_commits, table
from state_folders import Frame, source_file, started

from aomg.errors import StateError
from aomg.monitor.journal.checkpoint import Checkpoint
from aomg.monitor.journal.journal import Journal, newest_entry
from aomg.monitor.sinks import jsonl, small_files
from aomg.tables.parquet_files import read_parquet

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
BATCHES = 9
STREAM = "3f9a00112233"
CONFIG = """
source: {jsonl: in/, time: ts, columns: {podset: string, rtt: double}}
state: state/
queries:
  inbound: {value: rtt, unit: us, by: [podset], size: 60m, period: 1m, quantiles: [0.5, 0.99]}
  outbound: {value: rtt, unit: us, by: [podset], size: 60m, period: 1m, quantiles: [0.5, 0.99]}
sinks:
  results: [{parquet: results/}, {jsonl: results.jsonl}]
  summaries: [{parquet: summaries/}]
  alerts: [{jsonl: alerts.jsonl}]
groups:
  - name: network
    rules:
      - {alert: Slow, query: inbound, expr: p99 > 4ms}
      - {target: fast, query: inbound, quantile: p99, at_most: 5ms}
"""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Files are joined within a few batches."""
    monkeypatch.setattr(small_files, "MOST_FILES", 3)
    monkeypatch.setattr(small_files, "APART", 2)


def rows_of(batch: int) -> pa.Table:
    """Windows of two queries, a summary of each, and a refused row."""
    end = NOON + batch * MINUTE
    slow = 9000.0 if batch % 3 else 100.0
    windows = [row(("x",), end, p99=slow), row(("y",), end), row(("x",), end, "outbound")]
    summaries = [row((key,), end, query) for query in ("inbound", "outbound") for key in "xy"]
    refused = row(("no value", f"row {batch}", "in/1.jsonl"), end, query="", count=1 + batch)
    rows = table(*windows, *summaries, refused)
    content = [None] * len(windows) + [b"summary %d" % batch] * len(summaries) + [None]
    written = ["Query(...)"] * len(rows)
    return rows.append_column("summary", pa.array(content, pa.binary())).append_column("written_by", pa.array(written))


def play(folder: Path) -> None:
    """Run from where Spark goes on to the end."""
    monitor = started(folder, CONFIG)
    for batch in range(Checkpoint(folder / "state/checkpoint").committed + 1, BATCHES):
        if Checkpoint(folder / "state/checkpoint").planned < batch:
            source_file(folder, batch)
        monitor(Frame(rows_of(batch)), batch)
        spark_commits(folder / "state", batch)
    monitor.notifier.close(0)


def prepared(folder: Path) -> Path:
    (folder / "state").mkdir(parents=True)
    (folder / "state/stream").write_text(f"{STREAM}\n")
    return folder


def rows_in(folder: Path) -> list[str]:
    """All stored rows, each as often as it is stored; how files are joined may differ."""
    files = (file for file in folder.rglob("*.parquet") if not file.name.startswith("."))
    return sorted(str(one) for file in files for one in read_parquet(file).to_pylist())


def outcome(folder: Path) -> tuple[object, ...]:
    """What people see, and what the next batch starts from."""
    names = ("alerts.jsonl", "results.jsonl", "state/targets.json", "state/quarantine/counts.json")
    lines = {name: (folder / name).read_text() for name in (*names, "state/quarantine/refused.jsonl")}
    entry = newest_entry(folder / "state")
    stored = rows_in(folder / "results"), rows_in(folder / "summaries")
    return lines, *stored, entry.batch, entry.state, entry.content, entry.refused


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[object, int]:
    """The outcome without a kill, and how many operations there are."""
    folder = prepared(tmp_path_factory.mktemp("undisturbed"))
    with pytest.MonkeyPatch.context() as patch, dying(10**9) as operations:
        patch.setattr(small_files, "MOST_FILES", 3)
        patch.setattr(small_files, "APART", 2)
        play(folder)
    return outcome(folder), len(operations)


def check_kills(folder: Path, undisturbed: tuple[object, int], first: int, step: int) -> None:
    expected, operations = undisturbed
    assert operations > 100
    for operation in range(first, operations, step):
        killed = prepared(folder / str(operation))
        try:
            with dying(operation, torn=operation % 2 == 0):
                play(killed)
        except Killed:
            pass
        play(killed)
        assert outcome(killed) == expected, f"killed before operation {operation}"


@pytest.mark.parametrize("part", range(2))
def test_killed_at_many_points_the_outcome_is_that_of_an_undisturbed_run(tmp_path, undisturbed, part):
    check_kills(tmp_path, undisturbed, 7 * part, 37)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_killed_at_every_point_the_outcome_is_that_of_an_undisturbed_run(tmp_path, undisturbed, part):
    check_kills(tmp_path, undisturbed, part, 8)


def test_a_sink_that_doubles_a_repeated_batch_would_be_noticed(tmp_path, undisturbed, monkeypatch):
    """The check itself: a sink that only appends."""
    monkeypatch.setattr(jsonl, "_cut", lambda raw, batch, stream: [(0, raw.seek(0, os.SEEK_END))])
    with pytest.raises(AssertionError, match="killed before operation"):
        check_kills(tmp_path, undisturbed, 0, 5)


def test_a_journal_that_skips_a_batch_would_be_noticed(tmp_path, undisturbed, monkeypatch):
    write = Journal._write

    def forgetful(journal, entry):
        return entry.sealed() if entry.batch == 4 else write(journal, entry)

    monkeypatch.setattr(Journal, "_write", forgetful)
    with pytest.raises((AssertionError, StateError, KeyError)):
        check_kills(tmp_path, undisturbed, 0, 5)
