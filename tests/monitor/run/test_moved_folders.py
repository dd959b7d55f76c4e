"""A sink whose path is another one now: its files are found in the new place, or it is said that they stay behind.

A source folder that was moved is refused: Spark would read its files again.
"""

import shutil

import pytest
from samples import quick_disk, spark_commits
from state_folders import CONFIG, Frame, rows_of, run, source_file, started

from aomg.errors import StateError
from aomg.monitor.run.fsck import check_folder

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
    with pytest.raises(
        StateError, match=f"{tmp_path}/incoming/0.jsonl seems to be {tmp_path}/in/0.jsonl, which batch 0"
    ):
        started(tmp_path, config)
    for file in (tmp_path / "incoming").iterdir():
        file.unlink()
    (tmp_path / "incoming/0.jsonl").write_text("another\n")  # a new file of the same name is not the same
    started(tmp_path, config).notifier.close(0)
