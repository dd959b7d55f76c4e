"""A start compares the checksums of what Spark is going to read, and of nothing else."""

import json
import zipfile

import pytest
from samples import quick_disk
from state_folders import run, started

from aomg.errors import StateError
from aomg.monitor.journal.checkpoint import Checkpoint
from aomg.monitor.run import state_check
from aomg.monitor.run.checkpoint_files import files_to_read
from aomg.monitor.run.checksums import checksums_of
from aomg.monitor.run.fsck import check_folder

quick = pytest.fixture(quick_disk, scope="module", autouse=True)
BATCHES = 4  # 0 to 3: version 4 of the state is read
READ = {
    "metadata",
    "commits/3",
    "offsets/3",
    "sources/0/1.compact",
    "sources/0/2",
    "sources/0/3",
    "state/0/_metadata/v2/0",
    "state/0/_stateSchema/default/0_a",
    "state/0/0/2.zip",
    "state/0/0/3.changelog",
    "state/0/0/4.changelog",
    "state/0/0/SSTs/b.sst",
    "state/0/1/4.changelog",
    "state/0/2/left/4.zip",
}
NOT_READ = {
    "commits/2",
    "offsets/2",
    "sources/0/0",
    "state/0/0/1.zip",
    "state/0/0/2.changelog",
    "state/0/0/5.changelog",
    "state/0/0/5.zip",
    "state/0/0/SSTs/a.sst",
    "state/0/2/left/4.changelog",
}


def summed(file, content):
    """Write a file with its checksums."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.with_name(f".{file.name}.crc").write_bytes(checksums_of(content))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A monitor whose checkpoint has state."""
    folder = tmp_path_factory.mktemp("monitor")
    run(folder, BATCHES)
    checkpoint = folder / "state/checkpoint"
    log = checkpoint / "sources/0"
    (log / "1.compact").write_text("\n".join([(log / "0").read_text(), (log / "1").read_text().splitlines()[1]]))
    (log / "1").unlink()
    (checkpoint / "metadata").write_text('{"id":"a"}')
    for name in READ | NOT_READ:
        file = checkpoint / name
        summed(file, file.read_bytes() if file.exists() else name.encode())
    with zipfile.ZipFile(checkpoint / "state/0/0/2.zip", "w") as archive:
        archive.writestr("metadata", "v1\n" + json.dumps({"sstFiles": [{"dfsSstName": "b.sst"}]}))
    summed(checkpoint / "state/0/0/2.zip", (checkpoint / "state/0/0/2.zip").read_bytes())
    return folder


def test_these_files_are_read(folder):
    checkpoint = folder / "state/checkpoint"
    assert {str(file.relative_to(checkpoint)) for file in files_to_read(Checkpoint(checkpoint))} == READ


@pytest.mark.parametrize("lose", [False, True])
def test_each_of_them_is_refused_by_name_if_a_bit_flips_or_it_is_lost_and_no_other(folder, lose):
    for name in sorted(READ | NOT_READ):
        file = folder / "state/checkpoint" / name
        content = file.read_bytes()
        file.unlink() if lose else file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        if name in READ:
            damage = f"{file} of Spark's checkpoint is missing or damaged(: it differs .*crc)?; restore"
            with pytest.raises(StateError, match=damage):
                started(folder)
            assert file in [one.file for one in check_folder(folder / "state").findings]
        else:
            started(folder).notifier.close(0)
        file.write_bytes(content)
    started(folder).notifier.close(0)


def test_a_snapshot_that_cannot_be_opened_counts_all_tables(tmp_path):
    summed(tmp_path / "state/0/0/2.zip", b"no archive")
    summed(tmp_path / "state/0/0/SSTs/a.sst", b"a")
    summed(tmp_path / "commits/1", b"")
    assert tmp_path / "state/0/0/SSTs/a.sst" in set(files_to_read(Checkpoint(tmp_path)))


def test_no_more_than_a_gigabyte_is_read(folder, monkeypatch):
    monkeypatch.setattr(state_check, "_MOST_BYTES", 10)
    file = folder / "state/checkpoint/state/0/0/4.changelog"
    content = file.read_bytes()
    file.write_bytes(b"x" * len(content))
    started(folder).notifier.close(0)
    file.write_bytes(content)
