"""A sink whose path is another one now: its files are found in the new place, or it is said that they stay behind.

A source folder that was moved is refused: Spark would read its files again.
"""

import json
import shutil
from dataclasses import replace

import pytest
from samples import quick_disk, spark_commits
from state_folders import CONFIG, Frame, rows_of, run, source_file, started

from aomg.errors import AomgError, StateError
from aomg.monitor.config.reader import load
from aomg.monitor.errors import ConfigError
from aomg.monitor.journal.journal import newest_entry
from aomg.monitor.run.fsck import check_folder
from aomg.monitor.run.state_owner import claim_state
from aomg.monitor.source.events import folder_of

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
MOVED = CONFIG.replace("results/", "elsewhere/")


def goes_on(folder, config, batch):
    """Process one more batch."""
    monitor = started(folder, config)
    source_file(folder, batch)
    monitor(Frame(rows_of(batch)), batch)
    spark_commits(folder / "state", batch)
    monitor.notifier.close(20)
    return monitor


def files_of(folder, place):
    return {str(file.relative_to(folder / place)) for file in (folder / place).glob("*/*.parquet")}


@pytest.mark.parametrize("way", [shutil.move, shutil.copytree])
def test_a_folder_that_was_moved_with_the_configuration_is_checked_in_its_new_place(tmp_path, caplog, way):
    run(tmp_path, 4)
    way(tmp_path / "results", tmp_path / "elsewhere")
    monitor = goes_on(tmp_path, MOVED, 4)
    assert (
        f"{tmp_path / 'results'} is now in {tmp_path / 'elsewhere'}: its 4 files of results are checked" in caplog.text
    )
    assert set(monitor.journal.files[str(tmp_path / "elsewhere")]) == files_of(tmp_path, "elsewhere")
    assert str(tmp_path / "results") not in monitor.journal.files
    assert check_folder(tmp_path / "state").sound, "the journal has the new place"
    caplog.clear()
    goes_on(tmp_path, MOVED, 5)
    assert "is now in" not in caplog.text, "and says so once"


def test_what_was_lost_on_the_way_is_refused(tmp_path):
    run(tmp_path, 4)
    shutil.move(tmp_path / "results", tmp_path / "elsewhere")
    lost = sorted((tmp_path / "elsewhere").glob("*/*.parquet"))[1]
    lost.unlink()
    for _ in range(2):
        with pytest.raises(StateError, match=f"{lost} is missing: the journal has it"):
            started(tmp_path, MOVED)


def test_a_new_empty_folder_begins_anew_and_the_old_one_is_named(tmp_path, caplog):
    run(tmp_path, 4)
    monitor = goes_on(tmp_path, MOVED, 4)
    text = (
        f"{tmp_path / 'results'} is no longer configured: its 4 files of results stay there, and a start no longer "
        f"checks them; to keep them together, stop, move them to {tmp_path / 'elsewhere'} and start"
    )
    assert text in caplog.text
    assert len(monitor.journal.files[str(tmp_path / "elsewhere")]) == 1
    for file in (tmp_path / "results").glob("*/*.parquet"):  # as the text advises
        shutil.move(file, tmp_path / "elsewhere" / file.parent.name / file.name)
    monitor = goes_on(tmp_path, MOVED, 5)
    assert set(monitor.journal.files[str(tmp_path / "elsewhere")]) == files_of(tmp_path, "elsewhere")
    assert len(files_of(tmp_path, "elsewhere")) == 6


def test_a_sink_that_is_removed_is_named_and_fsck_still_checks_its_files(tmp_path, caplog):
    run(tmp_path, 4)
    config = CONFIG.replace(
        "results: [{parquet: results/}], alerts: [{jsonl: alerts.jsonl}]", "results: [{jsonl: results.jsonl}]"
    )
    goes_on(tmp_path, config, 4)
    assert f"{tmp_path / 'results'} is no longer configured: its 4 files of results stay there" in caplog.text
    assert f"{tmp_path / 'alerts.jsonl'} is no longer configured: its lines stay there" in caplog.text
    assert "to keep them together" not in caplog.text
    sorted((tmp_path / "results").glob("*/*.parquet"))[0].unlink()
    assert not check_folder(tmp_path / "state").sound


def copied(source, target):
    """A copy with times of its own."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)


@pytest.mark.parametrize("way", [shutil.move, copied])
def test_a_source_folder_that_was_moved_is_refused_because_its_files_would_be_read_again(tmp_path, way):
    run(tmp_path, 2)
    way(tmp_path / "in", tmp_path / "incoming")
    config = CONFIG.replace("in/", "incoming/")
    text = f"the source folder was {tmp_path}/in and is {tmp_path}/incoming: .*ln -s {tmp_path}/incoming {tmp_path}/in"
    for _ in range(2):
        with pytest.raises(ConfigError, match=text):
            started(tmp_path, config)
        for file in (tmp_path / "incoming").iterdir():  # whatever is left there, and whatever it is called
            file.rename(file.with_name(f"{file.name}.gz"))
    with pytest.raises(ConfigError, match=f"the source folder was {tmp_path}/in and is {tmp_path}/in/archive"):
        started(tmp_path, CONFIG.replace("in/", "in/archive"))


@pytest.mark.parametrize("record", [True, False])
def test_folders_inside_the_source_folder_are_moved_with_it(tmp_path, record):
    """A state of a version that did not record the folder knows what it has read."""
    monitor = started(tmp_path)
    file = source_file(tmp_path, 0)
    day = file.parent / "day=2026-11-16"
    day.mkdir()
    file.rename(day / file.name)
    listed = tmp_path / "state/checkpoint/sources/0/0"
    listed.write_text(listed.read_text().replace(str(file), str(day / file.name)))
    monitor(Frame(rows_of(0)), 0)
    spark_commits(tmp_path / "state", 0)
    monitor.notifier.close(20)
    if not record:
        last = newest_entry(tmp_path / "state")
        (tmp_path / "state/journal/0000000000.json").write_bytes(replace(last, queries="").sealed().to_bytes())
        queries = tmp_path / "state/queries.json"
        content = json.loads(queries.read_text())
        del content["folder"]
        queries.write_text(json.dumps(content))
    (tmp_path / "in").rename(tmp_path / "incoming")
    with pytest.raises(AomgError, match="make the old path a link"):
        started(tmp_path, CONFIG.replace("in/", "incoming/"))
    (tmp_path / "in").symlink_to(tmp_path / "incoming")
    started(tmp_path).notifier.close(20)


def test_the_same_folder_under_another_name_is_read_under_the_one_that_spark_knows(tmp_path):
    run(tmp_path, 2)
    (tmp_path / "in").rename(tmp_path / "incoming")
    (tmp_path / "in").symlink_to(tmp_path / "incoming")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    for name in ("incoming/", "link", "./x/../in", str(tmp_path / "in")):
        (tmp_path / "aomg.yaml").write_text(CONFIG.replace("in/", name).replace("SKIP", "false"))
        assert folder_of(claim_state(load(tmp_path / "aomg.yaml"))) == tmp_path / "in"
    started(tmp_path, CONFIG.replace("in/", "incoming/")).notifier.close(20)
