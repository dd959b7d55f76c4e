"""Parquet files of ours have checksums in their pages and a digest in their names; readers verify both."""

import os
import shutil
import subprocess
from hashlib import blake2b

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aomg
from aomg import Query
from aomg.errors import DamagedFileError, InputError
from aomg.tables import parquet_files
from aomg.tables.parquet_files import (
    digest_in,
    digest_of,
    listing,
    name_with,
    name_without,
    parquet_bytes,
    read_parquet,
)

TABLE = pa.table({"key": [str(number % 7) for number in range(500)], "value": list(range(500))})
CONTENT = parquet_bytes(TABLE)


def test_names_have_the_digest_that_b2sum_prints(tmp_path):
    file = tmp_path / name_with("a.b", digest_of(CONTENT))
    file.write_bytes(CONTENT)
    assert digest_in(file.name) == blake2b(CONTENT, digest_size=8).hexdigest()
    assert name_without(file.name) == name_without("a.b.parquet") == "a.b.parquet"
    assert digest_in("a.b.parquet") is digest_in("a.0123456789ABCDEF.parquet") is None
    if shutil.which("b2sum"):
        printed = subprocess.run(["b2sum", "-l", "64", file], capture_output=True, text=True, check=True).stdout
        assert printed.split()[0] == digest_in(file.name)


@pytest.mark.parametrize("in_memory", [1 << 26, 0])
def test_a_file_is_verified_before_it_is_parsed_also_if_it_is_large(tmp_path, monkeypatch, in_memory):
    monkeypatch.setattr(parquet_files, "_IN_MEMORY", in_memory)
    file = tmp_path / name_with("a", digest_of(CONTENT))
    file.write_bytes(CONTENT)
    assert read_parquet(file).equals(TABLE)
    assert read_parquet(file, ["value"]).equals(TABLE.select(["value"]))
    for content in (CONTENT + b"!", CONTENT[:-1], b"", b"\0" + CONTENT[1:]):
        file.write_bytes(content)
        with pytest.raises(
            DamagedFileError, match=r"a\.\w{16}\.parquet is damaged .* restore it from a backup, or move"
        ):
            read_parquet(file)
    with pytest.raises(FileNotFoundError):
        read_parquet(tmp_path / "b.0123456789abcdef.parquet")


def test_without_a_digest_the_checksums_of_pages_are_verified(tmp_path):
    file = tmp_path / "a.parquet"
    file.write_bytes(CONTENT)
    assert read_parquet(file).equals(TABLE)
    column = pq.ParquetFile(file).metadata.row_group(0).column(1)
    place = column.data_page_offset - 5  # in the last values of the dictionary before it
    file.write_bytes(CONTENT[:place] + bytes([CONTENT[place] ^ 1]) + CONTENT[place + 1 :])
    with pytest.raises(DamagedFileError, match="CRC checksum verification failed"):
        read_parquet(file)
    pq.write_table(TABLE, file)  # of another program, without checksums
    assert read_parquet(file).equals(TABLE)


def test_a_folder_that_is_exchanged_while_it_is_listed_is_listed_again(tmp_path, monkeypatch):
    """Its old files are being removed: the list would be incomplete."""
    folder, new = tmp_path / "day", tmp_path / "new"
    for path in (folder, new):
        path.mkdir()
    (folder / "a").touch()
    (new / "joined").touch()
    real = os.listdir

    def listdir(handle):
        if new.exists():
            folder.rename(tmp_path / "old")
            new.rename(folder)
            (tmp_path / "old" / "a").unlink()
        return real(handle)

    monkeypatch.setattr(os, "listdir", listdir)
    assert listing(folder) == ["joined"]
    with pytest.raises(FileNotFoundError):
        listing(tmp_path / "nowhere")
    monkeypatch.setattr(os.path, "samestat", lambda one, other: False)
    with pytest.raises(FileNotFoundError, match="kept changing"):
        listing(folder)


def test_other_programs_read_the_file_as_before(tmp_path):
    (tmp_path / name_with("a", digest_of(CONTENT))).write_bytes(CONTENT)
    assert pq.read_table(tmp_path).equals(TABLE)
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql(f"select sum(value) from '{tmp_path}/*.parquet'").fetchall() == [(sum(range(500)),)]


QUERY = Query("2 minutes", "1 minute")


def test_windows_takes_the_path_of_a_file_or_of_a_folder(tmp_path):
    times = pa.array(range(0, 300_000_000, 1_000_000)).cast(pa.timestamp("us", "UTC"))
    events = pa.table({"v": list(range(300)), "ts": times})
    stored = aomg.summaries(events, QUERY, value="v", time="ts")
    expected = aomg.windows(stored, QUERY)
    for part in (stored.slice(0, 2), stored.slice(2)):
        content = parquet_bytes(part)
        (tmp_path / name_with(f"part-{len(content)}", digest_of(content))).write_bytes(content)
    pq.write_table(stored.slice(0, 1), tmp_path / "old.parquet")  # of an earlier version: a replay
    for hidden in (".x.parquet.partial", "_SUCCESS", ".hidden.parquet", "notes.txt"):
        (tmp_path / hidden).write_bytes(b"mine")
    for place in (tmp_path, str(tmp_path)):
        assert aomg.windows(place, QUERY).equals(expected)
    file = next(tmp_path.glob("part-*"))
    assert aomg.windows(file, QUERY).num_rows in (2, 3)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DamagedFileError, match=file.name):
        aomg.windows(tmp_path, QUERY)
    with pytest.raises(InputError, match="there is no file and no folder"):
        aomg.windows(tmp_path / "nowhere", QUERY)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no Parquet files; name a file, or the folder of one query's summaries"):
        aomg.windows(tmp_path / "empty", QUERY)
