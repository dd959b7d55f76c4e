"""`aomg fsck` names what is damaged, and after --repair a monitor goes on wherever that is possible."""

import json

import pytest
from samples import quick_disk
from state_folders import Frame, contents, rows_of, run, source_file, started, stored
from typer.testing import CliRunner

from aomg.cli import app
from aomg.errors import StateError
from aomg.monitor.run.checksums import checksums_of
from aomg.monitor.run.fsck import check_folder

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
    assert "nothing is damaged" in output and "positions of 1 receivers" in output
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
        ("queries.json", "it is missing or damaged"),
        ("checkpoint/state/0/0/1.changelog", "it differs from its checksums"),
    ],
)
def test_what_cannot_be_repaired_is_named_with_what_to_do(tmp_path, name, problem):
    run(tmp_path, 4)
    (tmp_path / "state/queries.json").write_text("{}")
    if name == "journal/0000000003.json":
        (tmp_path / "state" / name).write_text("{}")
    elif name.endswith(".changelog"):
        file = tmp_path / "state" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(b"as it was")
        file.with_name(f".{file.name}.crc").write_bytes(checksums_of(b"as it was"))
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
    assert code == 1 and "is not the state folder of a monitor" in " ".join(output.split())
    (tmp_path / "state/alerts").mkdir(parents=True)
    with pytest.raises(StateError, match="a version without a journal; aomg run takes it over"):
        check_folder(tmp_path / "state")


def test_a_base_that_is_missing_is_named_as_at_the_start_and_repaired(tmp_path):
    run(tmp_path, 45)
    base = tmp_path / "state/journal/0000000020.json"
    base.unlink()
    with pytest.raises(StateError, match=f"{base} is missing .* run aomg fsck"):
        started(tmp_path)
    code, output = fsck(tmp_path)
    assert code == 1 and str(base) in output.replace("\n", "") and "no longer checked" in " ".join(output.split())
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
