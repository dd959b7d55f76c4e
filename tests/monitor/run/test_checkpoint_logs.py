"""A file of the checkpoint's logs that was replaced by another one is refused: its events would be counted twice."""

import json
import re
import shutil
from pathlib import Path

import pytest
from samples import quick_disk, spark_plans
from state_folders import contents, run, source_file, started

from aomg.errors import StateError
from aomg.monitor.run.checksums import checksums_of
from aomg.monitor.run.fsck import check_folder

quick = pytest.fixture(quick_disk, scope="module", autouse=True)


def checkpoint_of(folder: Path) -> Path:
    return folder / "state/checkpoint"


def with_checksums(folder: Path) -> None:
    """Write beside each file of the checkpoint what Hadoop writes."""
    for file in [file for file in checkpoint_of(folder).rglob("*") if file.is_file()]:
        file.with_name(f".{file.name}.crc").write_bytes(checksums_of(file.read_bytes()))


def copy_over(older: Path, newer: Path) -> None:
    """Copy a file and its checksums over another one."""
    for name in ("{}", ".{}.crc"):
        shutil.copy(older.with_name(name.format(older.name)), newer.with_name(name.format(newer.name)))


def refused(folder: Path, file: str, problem: str) -> None:
    """A start refuses the file and changes nothing; fsck names it."""
    before = contents(folder)
    named = checkpoint_of(folder) / file
    with pytest.raises(StateError, match=rf"{named} of Spark's checkpoint {problem}.*; restore the state folder"):
        started(folder)
    assert contents(folder) == before
    found = {finding.file: finding.problem for finding in check_folder(folder / "state").findings}
    assert problem in found[named]


@pytest.mark.parametrize(("older", "newer"), [(3, 4), (0, 4), (1, 2)])
def test_an_older_plan_in_the_place_of_a_newer_one_is_refused(tmp_path, older, newer):
    run(tmp_path, 5)
    with_checksums(tmp_path)
    offsets = checkpoint_of(tmp_path) / "offsets"
    copy_over(offsets / str(older), offsets / str(newer))
    problem = f"lets batch {newer} read nothing" if older == newer - 1 else "is older than that of the batch before"
    refused(tmp_path, f"offsets/{newer}", problem)


def test_an_older_list_of_files_in_the_place_of_a_newer_one_is_refused(tmp_path):
    run(tmp_path, 5)
    with_checksums(tmp_path)
    copy_over(checkpoint_of(tmp_path) / "sources/0/3", checkpoint_of(tmp_path) / "sources/0/4")
    refused(tmp_path, "sources/0/4", "has the files of number 3: it is a copy of another file")


def test_a_list_that_names_another_file_is_refused(tmp_path):
    run(tmp_path, 5)
    listed = checkpoint_of(tmp_path) / "sources/0/4"
    listed.write_text(listed.read_text().replace("/4.jsonl", "/3.jsonl"))
    refused(tmp_path, "offsets/4", f"lets batch 4 read {tmp_path}/in/3.jsonl, but {tmp_path}/state/journal/0000000004")


def refused_text(folder: Path) -> str:
    with pytest.raises(StateError) as error:
        started(folder)
    return str(error.value)


def test_a_plan_of_a_batch_that_has_only_begun_must_not_go_back(tmp_path):
    run(tmp_path, 5)
    source_file(tmp_path, 5)
    spark_plans(tmp_path / "state", 5, '{"logOffset":2}')
    assert "offsets/5 of Spark's checkpoint is older than that of the batch before" in refused_text(tmp_path)


def test_an_offset_that_was_lowered_is_refused_and_missing_checksums_are_noted(tmp_path, caplog):
    run(tmp_path, 5)
    with_checksums(tmp_path)
    file = checkpoint_of(tmp_path) / "offsets/4"
    file.with_name(".4.crc").unlink()
    started(tmp_path).notifier.close(0)
    assert f"{file} has no checksums, but files beside it have" in caplog.text
    assert [note.file for note in check_folder(tmp_path / "state").notes] == [file]
    file.write_text(file.read_text().replace('"logOffset":4', '"logOffset":3'))
    refused(tmp_path, "offsets/4", "lets batch 4 read nothing")


def test_files_that_were_listed_together_are_found_and_a_file_of_many_must_be_its_own(tmp_path):
    """Spark joins its lists: `9.compact` has all before."""
    run(tmp_path, 12)
    log = checkpoint_of(tmp_path) / "sources/0"
    for last in (4, 9):
        lines = [(log / str(number)).read_text().splitlines()[1] for number in range(last + 1)]
        (log / f"{last}.compact").write_text("\n".join(["v1", *lines]))
    for number in range(10):
        (log / str(number)).unlink()
    started(tmp_path).notifier.close(0)
    shutil.copy(log / "4.compact", log / "9.compact")
    refused(tmp_path, "sources/0/9.compact", "has the files of number 4")


def test_source_files_that_were_rotated_away_do_not_matter(tmp_path):
    run(tmp_path, 5)
    for file in (tmp_path / "in").iterdir():
        file.unlink()
    started(tmp_path).notifier.close(0)
    assert check_folder(tmp_path / "state").sound


@pytest.mark.parametrize("end", [0, 1, 4, -1])
@pytest.mark.parametrize("name", ["offsets/4", "commits/4", "sources/0/4"])
def test_a_file_of_a_log_that_was_cut_short_is_named(tmp_path, name, end):
    """Without its checksums, Spark fails with an assertion that names no file."""
    run(tmp_path, 5)
    file = checkpoint_of(tmp_path) / name
    file.write_text(file.read_text()[:end])
    assert re.match(rf"{file} of Spark's checkpoint is (cut short or )?damaged; restore", refused_text(tmp_path))
    assert not check_folder(tmp_path / "state").sound


def test_changes_of_the_state_that_are_gone_with_their_checksums_are_named(tmp_path):
    run(tmp_path, 5)
    part = checkpoint_of(tmp_path) / "state/0/1"
    part.mkdir(parents=True)
    for name in ("2.zip", "3.changelog", "5.changelog"):
        (part / name).write_bytes(json.dumps(name).encode())
    (finding,) = check_folder(tmp_path / "state").findings
    assert (finding.file, finding.problem) == (part / "4.changelog", "it is missing")
