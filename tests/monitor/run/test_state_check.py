"""A state folder that lost something, or is older than the rest, is refused by name, and nothing is written."""

import json
import os
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest
from samples import MINUTE, NOON, quick_disk, spark_commits
from state_folders import Frame, contents, rows_of, run, source_file, started, stored

from aomg.errors import StateError
from aomg.monitor.run.fsck import check_folder
from aomg.monitor.sinks import small_files
from aomg.monitor.sinks.compaction import compact

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
DAY = 24 * 60 * MINUTE


def refused(folder: Path, match: str) -> None:
    """A start is refused, and changes nothing but what it says."""
    before = contents(folder)
    with pytest.raises(StateError, match=match):
        started(folder)
    assert contents(folder) == before


# -- the checkpoint and the journal ------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_ended(tmp_path):
    run(tmp_path, 3)
    run(tmp_path, 5)
    assert len((tmp_path / "alerts.log").read_text().splitlines()) == 1
    assert len(list((tmp_path / "results").glob("*/batch*"))) == 5


def test_a_checkpoint_that_is_gone_is_refused(tmp_path):
    run(tmp_path, 3)
    shutil.rmtree(tmp_path / "state/checkpoint")
    refused(tmp_path, r"Spark's checkpoint .*state/checkpoint is gone, but .*journal ends with batch 2: restore")


@pytest.mark.parametrize("lost", [("commits", 1), ("offsets", 2), ("offsets", 1)])
def test_a_checkpoint_that_lost_its_last_batches_is_refused(tmp_path, lost):
    run(tmp_path, 3)
    log, first = lost
    for batch in range(first, 3):
        (tmp_path / f"state/checkpoint/{log}/{batch}").unlink()
    refused(tmp_path, r"Spark's checkpoint .* has lost batches: it goes on with batch \d, but .*ends with batch 2")


def test_a_journal_that_lost_its_last_entries_is_refused(tmp_path):
    """Its alert states would be older than the results: alerts that fire would fire again, under new ids."""
    run(tmp_path, 3)
    (tmp_path / "state/journal/0000000002.json").unlink()
    refused(tmp_path, r"state/journal ends with batch 1, but Spark has completed batch 2: restore")


def test_a_journal_that_is_gone_is_refused(tmp_path):
    run(tmp_path, 3)
    shutil.rmtree(tmp_path / "state/journal")
    refused(tmp_path, r"state/journal has no entries, but Spark has completed batch 2: restore")


def test_a_state_folder_from_an_old_backup_is_refused(tmp_path):
    run(tmp_path, 2)
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    run(tmp_path, 6)
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "backup").rename(tmp_path / "state")
    refused(tmp_path, r"results has results of batch 5, but .*journal ends with batch 1: the state folder is older")


# -- the source --------------------------------------------------------------------------------------------------------


def test_a_batch_whose_source_file_is_gone_stops_and_says_so(tmp_path):
    run(tmp_path, 1)
    monitor = started(tmp_path)
    source_file(tmp_path, 1).unlink()
    before = contents(tmp_path / "results")
    with pytest.raises(StateError, match=r"the source file .*in/1\.jsonl, which batch 1 reads, is gone\. Put it back"):
        monitor(Frame(rows_of(1)), 1)
    assert contents(tmp_path / "results") == before and monitor.journal.next == 1
    monitor.notifier.close(0)


def test_a_source_file_that_vanishes_or_grows_while_it_is_read_stops_the_batch(tmp_path):
    monitor = started(tmp_path)
    file = source_file(tmp_path, 0)
    with pytest.raises(StateError, match=r"0\.jsonl, which batch 0 reads, is gone"):
        monitor(Frame(rows_of(0), during=file.unlink), 0)
    file.write_text("0\n")
    with pytest.raises(StateError, match=r"batch 0 reads a changed .*0\.jsonl: it changed while it was read"):
        monitor(Frame(rows_of(0), during=lambda: file.write_text("longer\n")), 0)
    monitor(Frame(rows_of(0)), 0)
    assert monitor.journal.next == 1
    monitor.notifier.close(0)


def test_a_source_file_that_is_gone_may_be_skipped_and_the_journal_has_it(tmp_path, caplog):
    monitor = started(tmp_path, skip=True)
    file = source_file(tmp_path, 0)
    file.unlink()
    monitor(Frame(rows_of(0)), 0)
    assert monitor.journal.entries[0].read.missing == (str(file),)
    assert f"the source file {file}, which batch 0 reads, is gone; its events are left out" in caplog.text
    monitor.notifier.close(0)


def test_a_repeat_that_reads_something_else_is_refused_before_anything_is_written(tmp_path):
    """Killed between the journal and Spark's commit; then log rotation takes the file away."""
    run(tmp_path, 2)
    (tmp_path / "state/checkpoint/commits/1").unlink()
    (tmp_path / "in/1.jsonl").write_text("rotated\n")
    monitor = started(tmp_path, skip=True)
    before = contents(tmp_path)
    with pytest.raises(StateError, match=r"batch 1 is repeated and reads a changed .*1\.jsonl, so its results would"):
        monitor(Frame(rows_of(1)), 1)
    (tmp_path / "in/1.jsonl").unlink()
    with pytest.raises(StateError, match=r"batch 1 is repeated and no longer reads .*1\.jsonl"):
        monitor(Frame(rows_of(1)), 1)
    del before["in/1.jsonl"]
    assert contents(tmp_path) == before
    monitor.notifier.close(0)


def test_a_repeat_with_other_results_is_refused_before_anything_is_written(tmp_path):
    run(tmp_path, 2)
    (tmp_path / "state/checkpoint/commits/1").unlink()
    monitor = started(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(
        StateError, match=r"batch 1 is repeated, and its results differ from those that are stored; noth"
    ):
        monitor(Frame(rows_of(1, p99=5001.0)), 1)
    assert contents(tmp_path) == before
    monitor(Frame(rows_of(1)), 1)
    assert contents(tmp_path) == before, "the same results again change nothing"
    monitor.notifier.close(0)


# -- the files of sinks ------------------------------------------------------------------------------------------------


def test_a_removed_results_file_is_named(tmp_path):
    run(tmp_path, 4)
    file = stored(tmp_path)[1]
    file.unlink()
    refused(tmp_path, rf"{file.name} is missing: the journal has it\. Restore it .*, or run aomg fsck .*--repair")


def test_a_truncated_results_file_is_named(tmp_path):
    run(tmp_path, 4)
    file = stored(tmp_path)[2]
    file.write_bytes(file.read_bytes()[:-1])
    refused(tmp_path, rf"{file.name} is damaged: the journal has it")


def test_old_days_may_be_removed_and_are_logged(tmp_path, caplog):
    ends = [NOON + number * DAY for number in range(4)]
    run(tmp_path, 4, ends)
    days = sorted({file.parent for file in stored(tmp_path)})
    assert len(days) == 4
    newest_removed = next(days[1].iterdir())
    for day in days[:2]:
        shutil.rmtree(day)
    started(tmp_path).notifier.close(0)
    text = f"{newest_removed} is gone (with 1 older file); if nobody has removed old files, restore it"
    assert [message for message in caplog.messages if "is gone" in message] == [text]
    notes = [note.to_json() for note in check_folder(tmp_path / "state").notes]
    assert notes == [{"file": str(newest_removed), "note": "it" + text.removeprefix(str(newest_removed))}]
    shutil.rmtree(days[3])
    refused(tmp_path, rf"{days[3].name}/.* is missing")


def test_joined_files_take_the_place_of_their_parts(tmp_path):
    """Whoever joins them: a monitor between two entries, or `aomg compact`, which does not know the journal."""
    run(tmp_path, 6)
    (day,) = {file.parent for file in stored(tmp_path)}
    assert compact(tmp_path / "results", day.name.removeprefix("day=")).files == 5
    monitor = started(tmp_path)
    names = set(monitor.journal.files[str(tmp_path / "results")])
    assert names == {str(file.relative_to(tmp_path / "results")) for file in stored(tmp_path)} and len(names) == 2
    monitor.notifier.close(0)
    joined = next(file for file in stored(tmp_path) if file.name.startswith("compacted"))
    assert check_folder(tmp_path / "state").sound
    content = bytearray(joined.read_bytes())
    content[100] ^= 4
    joined.write_bytes(content)
    refused(tmp_path, r"batch-0000000000\..*is missing \(5 files in all\)")


def test_a_monitor_joins_its_small_files_and_the_journal_follows(tmp_path, monkeypatch):
    monkeypatch.setattr(small_files, "MOST_FILES", 4)
    monkeypatch.setattr(small_files, "APART", 2)
    run(tmp_path, 23)
    files = stored(tmp_path)
    assert len(files) < 15 and any(file.name.startswith("compacted") for file in files)
    monitor = started(tmp_path)
    names = set(monitor.journal.files[str(tmp_path / "results")])
    assert names == {str(file.relative_to(tmp_path / "results")) for file in files}
    monitor.notifier.close(0)
    assert check_folder(tmp_path / "state").sound


def test_results_that_are_all_gone_are_refused(tmp_path):
    run(tmp_path, 3)
    for file in stored(tmp_path):
        file.unlink()
    refused(tmp_path, r"is missing \(3 files in all\)")


def test_changed_counts_of_refused_rows_are_written_anew(tmp_path, caplog):
    run(tmp_path, 2)
    counts = tmp_path / "state/quarantine/counts.json"
    counts.parent.mkdir(exist_ok=True)
    counts.write_text('{"total": {"no time": 8}}')
    started(tmp_path).notifier.close(0)
    assert json.loads(counts.read_text()) == {"total": {}}
    assert "counts.json differed from the journal; it is written anew" in caplog.text


# -- summaries ---------------------------------------------------------------------------------------------------------

SUMMARIES = """
source: {jsonl: in/, time: ts, columns: {podset: string, rtt: double}}
state: state/
queries: {inbound: {value: rtt, unit: us, by: [podset], size: 60m, period: 1m, quantiles: [0.5, 0.99]}}
sinks: {results: [{jsonl: results.jsonl}], summaries: [{parquet: summaries/}], alerts: [{jsonl: alerts.jsonl}]}
groups: [{name: network, rules: [{alert: Slow, expr: p99 > 4ms}]}]
"""


def summaries_of(folder: Path, batches: int) -> list[Path]:
    """The files of summaries of some batches, in the order of their batches: joined ones first."""
    monitor = started(folder, SUMMARIES)
    for batch in range(monitor.journal.next, batches):
        source_file(folder, batch)
        rows = rows_of(batch)
        both = pa.concat_tables([rows, rows.set_column(rows.num_columns - 1, "summary", pa.array([b"one"]))])
        both = both.append_column("written_by", pa.array(["Query(...)"] * 2))
        monitor(Frame(both), batch)
        spark_commits(folder / "state", batch)
    monitor.notifier.close(0)
    return sorted((folder / "summaries").glob("*/*.parquet"), key=lambda path: (path.name.startswith("batch"), path))


def test_of_joined_and_single_summaries_only_the_oldest_may_be_removed(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(small_files, "MOST_FILES", 3)
    monkeypatch.setattr(small_files, "APART", 2)
    oldest, *others = summaries_of(tmp_path, 8)
    assert oldest.name.startswith("compacted-") and others[-1].name.startswith("batch-")
    for file in others:
        content = file.read_bytes()
        file.unlink()
        with pytest.raises(StateError, match=f"{file} is missing"):
            started(tmp_path, SUMMARIES)
        file.write_bytes(content)
    oldest.unlink()
    caplog.clear()
    started(tmp_path, SUMMARIES).notifier.close(0)
    gone = [message for message in caplog.messages if "is gone" in message]
    assert gone == [f"{oldest} is gone; if nobody has removed old files, restore it"]


@pytest.mark.parametrize("kept", ["summaries", "results.jsonl", "alerts.jsonl"])
def test_a_state_folder_that_is_older_than_any_sink_is_refused(tmp_path, kept):
    summaries_of(tmp_path, 2)
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    summaries_of(tmp_path, 6)
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "backup").rename(tmp_path / "state")
    for name in {"summaries", "results.jsonl", "alerts.jsonl"} - {kept}:
        file = tmp_path / name
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    if kept == "alerts.jsonl":  # it fired before; now it is resolved
        first = (tmp_path / kept).read_text().splitlines()[0]
        (tmp_path / kept).write_text(f"{first}\n" + first.replace('"batch":0', '"batch":5') + "\n")
    what = "results" if kept == "results.jsonl" else kept.removesuffix(".jsonl")
    with pytest.raises(
        StateError, match=f"{tmp_path / kept} has {what} of batch 5, but .* ends with batch 1: the state"
    ):
        started(tmp_path, SUMMARIES)


def test_a_journal_without_the_id_of_its_stream_is_refused_and_nothing_is_written(tmp_path):
    run(tmp_path, 3)
    (tmp_path / "state/stream").unlink()
    refused(tmp_path, r"state/stream is missing; restore it from a backup, or run aomg fsck .* --repair")


# -- files of JSON lines -----------------------------------------------------------------------------------------------

LINES = """
source: {jsonl: in/, time: ts, columns: {podset: string, rtt: double}}
state: state/
queries: {inbound: {value: rtt, unit: us, by: [podset], size: 60m, period: 1m, quantiles: [0.5, 0.99]}}
sinks: {results: [{jsonl: results.jsonl}]}
"""


def lines_of(folder: Path, batches: int) -> Path:
    """The results of some batches as JSON lines."""
    monitor = started(folder, LINES)
    for batch in range(monitor.journal.next, batches):
        source_file(folder, batch)
        monitor(Frame(rows_of(batch)), batch)
        spark_commits(folder / "state", batch)
    monitor.notifier.close(0)
    return folder / "results.jsonl"


def without_batch(text: str, batch: int) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if f'"batch":{batch},' not in line)


@pytest.mark.parametrize(
    "damage", [lambda text: text.replace("5000.0", "5001.0", 1), lambda text: without_batch(text, 3)]
)
def test_lines_that_are_damaged_or_missing_are_refused_and_a_repair_accepts_the_loss(tmp_path, damage):
    file = lines_of(tmp_path, 5)
    assert len(file.read_text().splitlines()) == 5
    file.write_text(damage(file.read_text()))
    with pytest.raises(StateError, match=r"results\.jsonl has not the lines that batch [03] wrote: .* --repair"):
        started(tmp_path, LINES)
    findings = check_folder(tmp_path / "state").findings
    assert [(found.file, found.repaired) for found in findings] == [(file, False)]
    assert check_folder(tmp_path / "state", repair=True).sound
    assert not check_folder(tmp_path / "state").findings
    lines_of(tmp_path, 7)
    assert '"batch":6,' in file.read_text()


def test_lines_of_other_programs_do_not_matter(tmp_path):
    file = lines_of(tmp_path, 3)
    file.write_text(f"{{}}\n{file.read_text()}not ours\n")
    assert lines_of(tmp_path, 5).read_text().count('"batch":') == 5


@pytest.mark.parametrize("gone", [Path.unlink, lambda file: file.write_text("")])
def test_a_file_of_lines_that_was_moved_or_emptied_is_logged_and_begins_anew(tmp_path, caplog, gone):
    file = lines_of(tmp_path, 3)
    gone(file)
    lines_of(tmp_path, 5)
    assert f"{file} no longer has the lines of batch 2 and before; if nobody has moved" in caplog.text
    assert '"batch":3,' in file.read_text() and '"batch":2,' not in file.read_text()
    caplog.clear()
    file.write_text(without_batch(file.read_text(), 3))  # only the end of the file must be whole
    lines_of(tmp_path, 6)
    assert f"{file} no longer has the lines of batch 3 and before" in caplog.text


def test_lines_that_are_lost_at_the_end_are_refused_and_not_taken_for_a_file_that_was_moved(tmp_path):
    """An older copy that was restored, although all its lines are of batches that the journal no longer has."""
    file = lines_of(tmp_path, 30)
    older = file.read_text()
    lines_of(tmp_path, 62)
    whole = file.read_text()
    oldest = min(int(path.stem) for path in (tmp_path / "state/journal").iterdir())
    assert oldest > 30
    first = whole.splitlines(keepends=True)[0]
    for damaged in (older, first, whole + first, "".join(whole.splitlines(keepends=True)[:-1])):
        file.write_text(damaged)
        with pytest.raises(StateError, match=r"results\.jsonl has not the lines that batch \d+ wrote"):
            started(tmp_path, LINES)
        assert file in [found.file for found in check_folder(tmp_path / "state").findings]
    file.write_text(whole)
    started(tmp_path, LINES).notifier.close(0)


@pytest.mark.parametrize("age", [-60, 60])
def test_a_copy_with_the_number_of_a_results_file_is_set_aside_and_never_the_one_of_the_journal(tmp_path, caplog, age):
    run(tmp_path, 5)
    before = stored(tmp_path)
    rival = before[3].with_name(f"{before[3].name[:16]}.{before[2].name.split('.')[1]}.parquet")
    shutil.copy(before[2], rival)
    os.utime(rival, (time.time() + age,) * 2)
    (finding,) = check_folder(tmp_path / "state").findings
    assert finding.file == rival and f"repeats {before[3].parent.name}/{before[3].name}" in finding.problem
    run(tmp_path, 6)
    assert stored(tmp_path)[:5] == before and check_folder(tmp_path / "state").sound
    target = tmp_path / "state/damaged" / rival.parent.name / rival.name
    assert f"{rival} repeats" in caplog.text and target.read_bytes() == before[2].read_bytes()


def test_windows_that_come_again_say_that_the_state_of_spark_is_older(tmp_path):
    run(tmp_path, 3)
    monitor = started(tmp_path)
    source_file(tmp_path, 3)
    text = (
        rf"batch 3 has results that were evaluated before .*state in {tmp_path}/state/checkpoint/state are older .*rest"
    )
    with pytest.raises(StateError, match=text):
        monitor(Frame(rows_of(1)), 3)
    monitor.notifier.close(0)


def test_files_that_were_restored_beside_what_they_were_joined_to_are_set_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(small_files, "MOST_FILES", 4)
    monkeypatch.setattr(small_files, "APART", 2)
    run(tmp_path, 3)
    parts = {file: file.read_bytes() for file in stored(tmp_path)}
    run(tmp_path, 12)
    joined = stored(tmp_path)
    restored = [file for file in parts if file not in joined]
    for file in restored:
        file.write_bytes(parts[file])
    found = check_folder(tmp_path / "state").findings
    assert [finding.file for finding in found] == restored and len(restored) == 3
    started(tmp_path).notifier.close(0)
    assert stored(tmp_path) == joined and check_folder(tmp_path / "state").sound
