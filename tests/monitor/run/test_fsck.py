"""`aomg fsck` names what is damaged, and after --repair a monitor goes on wherever that is possible."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from samples import NOON, quick_disk, row, spark_commits, table
from state_folders import CONFIG, Frame, contents, rows_of, run, source_file, started, stored
from typer.testing import CliRunner

from aomg.cli import app
from aomg.errors import StateError
from aomg.monitor.atomic_files import locked
from aomg.monitor.config.reader import load
from aomg.monitor.delivery.outbox import firing_key
from aomg.monitor.delivery.queue_files import sealed
from aomg.monitor.journal.journal import entry_file, read_entry
from aomg.monitor.run.checksums import checksums_of
from aomg.monitor.run.fsck import check_folder
from aomg.monitor.run.state_owner import claim_state

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


def fsck(folder, *options):
    done = CliRunner().invoke(app, ["fsck", str(folder / "state"), *options], catch_exceptions=False)
    return done.exit_code, done.output


def goes_on(folder, batch):
    monitor = started(folder)
    source_file(folder, batch)
    monitor(Frame(rows_of(batch)), batch)
    assert monitor.journal.last.batch == batch
    monitor.notifier.close(20)


def test_a_sound_folder_is_sound_and_stays_as_it_is(tmp_path):
    run(tmp_path, 4)
    before = contents(tmp_path)
    code, output = fsck(tmp_path)
    assert code == 0 and "4 entries of the journal" in output and "4 files in" in output
    assert "nothing is damaged" in output and "positions of 1 receiver\n" in output
    assert fsck(tmp_path, "--repair")[0] == 0
    assert contents(tmp_path) == before


def damage_a_digit_of_results(folder):
    file = stored(folder)[1]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    return file


def lose_results(folder):
    file = stored(folder)[1]
    file.unlink()
    return file


def damage_counts(folder):
    file = folder / "state/quarantine/counts.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text('{"total": {"no time": 1}}')
    return file


def damage_a_position(folder):
    (file,) = (folder / "state/outbox").glob("log-*.json")
    file.write_text("{}")
    return file


def damage_an_old_entry(folder):
    file = folder / "state/journal/0000000001.json"
    file.write_text(file.read_text().replace('"batch":1', '"batch":7'))
    return file


def lose_an_old_entry(folder):
    file = folder / "state/journal/0000000002.json"
    file.unlink()
    return file


def lose_the_stream(folder):
    file = folder / "state/stream"
    file.unlink()
    return file


def change_the_stream(folder):
    file = folder / "state/stream"
    file.write_text("0123456789ab\n")
    return file


def tear_the_newest_entry(folder):
    """Killed by a power failure before Spark committed its batch."""
    file = folder / "state/journal/0000000003.json"
    file.write_bytes(file.read_bytes()[:100])
    (folder / "state/checkpoint/commits/3").unlink()
    return file


REPAIRABLE = [
    damage_a_digit_of_results,
    lose_results,
    damage_counts,
    damage_a_position,
    damage_an_old_entry,
    lose_an_old_entry,
    lose_the_stream,
    change_the_stream,
    tear_the_newest_entry,
]


@pytest.mark.parametrize("damage", REPAIRABLE)
def test_what_can_be_repaired_is_named_and_repaired(tmp_path, damage):
    run(tmp_path, 4)
    file = damage(tmp_path)
    before = contents(tmp_path)
    code, output = fsck(tmp_path)
    assert code == 1 and str(file) in output.replace("\n", "") and "--repair" in output
    assert contents(tmp_path) == before, "a check changes nothing"
    code, output = fsck(tmp_path, "--json", "--repair")
    found = json.loads(output)
    assert code == 0 and found["ok"] and str(file) in {one["file"] for one in found["findings"]}
    code, output = fsck(tmp_path)
    assert code == 0 and "nothing is damaged" in output
    goes_on(tmp_path, 3 if damage is tear_the_newest_entry else 4)


def test_files_of_a_lost_entry_are_taken_back_and_damaged_ones_are_named(tmp_path):
    run(tmp_path, 6)
    results = stored(tmp_path)
    for batch in (2, 3):
        (tmp_path / f"state/journal/{batch:010d}.json").unlink()
    (tmp_path / "alerts.jsonl").unlink()
    text = " ".join(fsck(tmp_path)[1].split())
    assert "the lines of 1 batch in" in text and "alerts.jsonl: it no longer has the lines of batch 0" in text
    assert "the journal goes on without the entry of batches 2, 3: the journal takes back 2 files with 2 rows" in text
    assert "no alert of it waits for a receiver" in text
    content = bytearray(results[3].read_bytes())
    content[50] ^= 1
    results[3].write_bytes(content)
    checked = check_folder(tmp_path / "state", repair=True)
    assert [note.file for note in checked.notes] == [tmp_path / "alerts.jsonl"], "a repair says the same"
    damaged = [one for one in checked.findings if one.file == results[3]]
    assert [one.problem for one in damaged] == ["it is damaged: its digest is another one"]
    monitor = started(tmp_path)
    monitor.notifier.close(0)
    names = {str(file.relative_to(tmp_path / "results")) for file in results} - {
        f"{results[3].parent.name}/{results[3].name}"
    }
    assert set(monitor.journal.files[str(tmp_path / "results")]) == names
    assert monitor.journal.last.lost == (str(results[3]),)
    results[2].unlink()
    with pytest.raises(StateError, match=f"{results[2].name} is missing"):
        started(tmp_path)


def test_files_of_a_lost_entry_that_others_wrote_or_that_cannot_be_verified_stay_unknown(tmp_path):
    run(tmp_path, 4)
    (tmp_path / "state/journal/0000000002.json").unlink()
    mark = tmp_path / "results/_stream"
    owner = mark.read_text()
    mark.write_text("another\n")
    assert "no file of it is there" in fsck(tmp_path)[1]
    mark.write_text(owner)
    file = stored(tmp_path)[2]
    plain = file.with_name("batch-0000000002.parquet")
    file.rename(plain)
    shutil.copy(plain, file.with_name("other.parquet"))
    text = " ".join(fsck(tmp_path, "--repair")[1].split())
    assert "no file of it is there; whether it named any cannot be told; 1 file without a digest cannot be" in text
    assert len(started(tmp_path).journal.files[str(tmp_path / "results")]) == 3


def test_alerts_of_a_lost_entry_that_wait_for_a_receiver_are_named(tmp_path):
    (tmp_path / "alerts.log").mkdir()  # it cannot be written
    monitor = started(tmp_path)
    for batch in range(3):
        source_file(tmp_path, batch)
        monitor(Frame(rows_of(batch)), batch)
        spark_commits(tmp_path / "state", batch)
    monitor.notifier.close(0)
    (tmp_path / "state/journal/0000000001.json").unlink()
    assert "its alerts that wait for log-" in " ".join(fsck(tmp_path)[1].split())


def test_results_that_are_lost_stay_recorded_and_the_damaged_file_is_set_aside(tmp_path):
    run(tmp_path, 4)
    file = damage_a_digit_of_results(tmp_path)
    fsck(tmp_path, "--repair")
    assert not file.exists() and list((tmp_path / "state/damaged").rglob(file.name))
    assert started(tmp_path).journal.last.lost == (str(file),)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("journal/0000000003.json", "the newest entry is missing or damaged"),
        ("checkpoint/commits/3", "has lost batches"),
        ("queries.json", "it is missing"),
        ("checkpoint/state/0/0/1.changelog", "it differs from its checksums"),
    ],
)
def test_what_cannot_be_repaired_is_named_with_what_to_do(tmp_path, name, problem):
    run(tmp_path, 4)
    if name == "journal/0000000003.json":
        (tmp_path / "state" / name).write_text("{}")
    elif name.endswith(".changelog"):
        file = tmp_path / "state" / name
        file.parent.mkdir(parents=True)
        for version in range(1, 5):
            file.with_name(f"{version}.changelog").write_bytes(b"as it was")
            file.with_name(f".{version}.changelog.crc").write_bytes(checksums_of(b"as it was"))
        assert fsck(tmp_path)[0] == 0
        file.write_bytes(b"as it wax")
    elif name == "queries.json":
        (tmp_path / "state" / name).unlink()
    else:
        for batch in (2, 3):
            (tmp_path / f"state/checkpoint/commits/{batch}").unlink()
    code, output = fsck(tmp_path, "--repair")
    assert code == 1 and problem in output and "new state folder" in " ".join(output.split())


def test_other_folders_and_folders_in_use_are_refused(tmp_path):
    code, output = fsck(tmp_path)
    assert code == 2 and "is not the state folder of a monitor" in output
    (tmp_path / "state/alerts").mkdir(parents=True)
    with pytest.raises(StateError, match=r"a version without a journal.*: use that version, or use a new state folder"):
        check_folder(tmp_path / "state")
    (tmp_path / "monitor").mkdir()
    run(tmp_path / "monitor", 1)
    with locked(tmp_path / "monitor/state/lock"):
        code, output = fsck(tmp_path / "monitor")
    assert code == 2 and "a monitor uses the state folder" in output


def test_a_base_that_is_missing_is_named_as_at_the_start_and_repaired(tmp_path):
    run(tmp_path, 45)
    base = tmp_path / "state/journal/0000000020.json"
    base.unlink()
    with pytest.raises(StateError, match=f"{base} is missing .* run aomg fsck"):
        started(tmp_path)
    code, output = fsck(tmp_path)
    assert code == 1 and str(base) in output and "a later entry has everything that it recorded" in output
    assert fsck(tmp_path, "--repair")[0] == 0 and fsck(tmp_path)[0] == 0
    goes_on(tmp_path, 45)


def test_an_entry_of_a_later_version_is_left_alone(tmp_path):
    run(tmp_path, 4)
    entry = tmp_path / "state/journal/0000000003.json"
    entry.write_text(entry.read_text().replace('"version":1', '"version":2'))
    (tmp_path / "state/checkpoint/commits/3").unlink()
    before = contents(tmp_path)
    code, output = fsck(tmp_path, "--repair")
    assert code == 1 and "it is of a later version" in output and "use a newer program" in output
    assert contents(tmp_path) == before


# -- what it says ------------------------------------------------------------------------------------------------------


def test_it_advises_to_restore_first_and_its_command_can_be_copied_into_a_shell(tmp_path):
    folder = tmp_path / "it's mine"
    folder.mkdir()
    run(folder, 4)
    lose_results(folder)
    lines = fsck(folder)[1].splitlines()
    assert lines[2] == "  restore it from a backup; else --repair: accepts that its 1 row is lost"
    advice, command = lines[-1].split(": ", 1)
    assert advice == "restore what you have a backup of, then repair the rest"
    assert shlex.split(command) == ["aomg", "fsck", str(folder / "state"), "--repair"]
    with pytest.raises(StateError) as caught:
        started(folder)
    assert str(caught.value).endswith(f"run {command}, which accepts the loss")


def test_a_folder_of_a_sink_that_is_gone_is_one_finding(tmp_path):
    run(tmp_path, 4)
    (tmp_path / "results").rename(tmp_path / "elsewhere")
    (found,) = check_folder(tmp_path / "state").findings
    assert (found.file, found.problem) == (tmp_path / "results", "the folder is missing, with 4 files")
    assert "if it was moved, start the monitor with its new path in the configuration" in found.remedy
    assert check_folder(tmp_path / "state", repair=True).sound
    goes_on(tmp_path, 4)


@pytest.mark.parametrize("gone", [Path.unlink, lambda file: file.write_text("")])
def test_a_file_of_json_lines_that_is_gone_is_a_note(tmp_path, gone):
    run(tmp_path, 4)
    gone(tmp_path / "alerts.jsonl")
    code, output = fsck(tmp_path, "--json")
    text = "it no longer has the lines of batch 0 and before; if nobody has moved or emptied it, restore it"
    assert (code, json.loads(output)["notes"]) == (0, [{"file": str(tmp_path / "alerts.jsonl"), "note": text}])
    assert f"{tmp_path / 'alerts.jsonl'}: {text}" in fsck(tmp_path)[1]


def refusing(folder, quarantine="state/quarantine"):
    """A monitor with a refused row."""
    folder.mkdir()
    config = CONFIG.replace("SKIP", "false") + f"quarantine: {{folder: {quarantine}}}\n"
    monitor = started(folder, config)
    refused = table(row(("no value", "text", "in/0.jsonl"), NOON, query="", count=1))
    rows = pa.concat_tables([rows_of(0), refused.append_column("summary", pa.nulls(1, pa.binary()))])
    source_file(folder, 0)
    monitor(Frame(rows), 0)
    spark_commits(folder / "state", 0)
    monitor.notifier.close(20)
    return folder


def test_refused_rows_in_another_folder_and_of_another_monitor(tmp_path):
    one, other = refusing(tmp_path / "one", "refused"), refusing(tmp_path / "other")
    code, output = fsck(one)
    assert code == 0 and "if refused rows are elsewhere, name their folder with --quarantine" in " ".join(
        output.split()
    )
    assert fsck(one, "--repair")[0] == 0 and not (one / "state/quarantine").exists()
    assert "--quarantine" not in fsck(one, "--quarantine", str(one / "refused"))[1]
    (one / "refused/counts.json").write_text("{}")
    code, output = fsck(one, "--quarantine", str(one / "refused"))
    assert code == 1 and shlex.split(output.splitlines()[-1])[-3:] == ["--quarantine", str(one / "refused"), "--repair"]
    before = contents(tmp_path)
    for folder, problem in (
        (other / "state/quarantine", "has the refused rows of another"),
        (one / "in", "has no refused rows, but the journal counts some"),
        (tmp_path / "no", "there is no"),
    ):
        code, output = fsck(one, "--quarantine", str(folder), "--repair")
        assert code == 2 and problem in " ".join(output.split())
    assert contents(tmp_path) == before


# -- the record of the queries -----------------------------------------------------------------------------------------


def test_an_edited_record_of_the_queries_is_refused_and_found(tmp_path):
    run(tmp_path, 2)
    config = load(tmp_path / "aomg.yaml")
    file = tmp_path / "state/queries.json"
    content = file.read_bytes()
    file.write_text('{"source": "parquet"}\n')
    with pytest.raises(StateError, match=f"{file} was edited or damaged: the journal has another digest"):
        claim_state(config)
    (found,) = check_folder(tmp_path / "state").findings
    assert (found.file, found.can_repair) == (file, False) and "was edited" in found.problem
    file.write_bytes(content)
    assert check_folder(tmp_path / "state").sound


def test_the_record_of_a_state_without_its_digest_is_only_parsed(tmp_path):
    run(tmp_path, 2)
    entries = [read_entry(tmp_path / "state/journal", batch) for batch in range(2)]
    first = replace(entries[0], queries="").sealed()
    second = replace(entries[1], queries="", previous=first.digest).sealed()
    for entry in (first, second):
        entry_file(tmp_path / "state/journal", entry.batch).write_bytes(entry.to_bytes())
    file = tmp_path / "state/queries.json"
    content = file.read_bytes()
    file.write_text('{"source": "parquet"}')
    assert check_folder(tmp_path / "state").sound
    file.write_bytes(content)
    run(tmp_path, 3)
    assert read_entry(tmp_path / "state/journal", 2).queries, "the next entry has it"
    file.write_text("{")
    assert [found.file for found in check_folder(tmp_path / "state").findings] == [file]


def test_firing_alerts_of_a_receiver_that_do_not_fire_are_found(tmp_path):
    """An older file that was copied back; the alert state has what fires now."""
    run(tmp_path, 2)
    (position,) = (tmp_path / "state/outbox").glob("log-*.json")
    name = position.stem
    file = position.with_name(f"{name}.firing.json")
    (line,) = (tmp_path / "alerts.jsonl").read_text().splitlines()
    fires = json.loads(line)
    file.write_bytes(sealed(name, {firing_key(fires): fires}))
    assert check_folder(tmp_path / "state").sound
    older = {**fires, "id": "0" * 32}
    for content in (sealed(name, {firing_key(fires): older}), sealed("another", {firing_key(fires): fires})):
        file.write_bytes(content)
        (finding,) = check_folder(tmp_path / "state").findings
        assert finding.file == file and finding.can_repair
        assert check_folder(tmp_path / "state", repair=True).sound
        assert check_folder(tmp_path / "state").findings == []


@pytest.mark.parametrize("count", [1, 2])
def test_all_else_is_checked_although_the_newest_entries_are_damaged(tmp_path, count):
    run(tmp_path, 5)
    entries = [tmp_path / f"state/journal/000000000{5 - number}.json" for number in range(1, count + 1)]
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-9])
    lost = stored(tmp_path)[1]
    lost.unlink()
    listed = tmp_path / "state/checkpoint/sources/0/4"
    listed.write_text("v1\n{")
    (tmp_path / "alerts.jsonl").write_text((tmp_path / "alerts.jsonl").read_text().replace("5000.0", "5001.0"))
    outcome = check_folder(tmp_path / "state", repair=True)
    found = [finding.file for finding in outcome.findings]
    assert found[:count] == entries and {lost, listed, tmp_path / "alerts.jsonl"} <= set(found)
    assert not any(finding.repaired for finding in outcome.findings)


def test_a_journal_without_a_sound_entry_names_its_newest_one(tmp_path):
    run(tmp_path, 3)
    for entry in (tmp_path / "state/journal").iterdir():
        entry.write_text("{}")
    assert tmp_path / "state/journal/0000000002.json" in [one.file for one in check_folder(tmp_path / "state").findings]
