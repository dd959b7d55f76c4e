import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from aomg import generator
from aomg.cli import app
from aomg.generator import GenerateError, count
from aomg.streams import named, names

runner = CliRunner(env={"COLUMNS": "100"})
READ = {
    "parquet": pq.read_table,
    "csv": pa.csv.read_csv,
    "jsonl": lambda path: pa.json.read_json(path, read_options=pa.json.ReadOptions(block_size=1 << 27)),
}


def aomg(*arguments: object):
    return runner.invoke(app, ["generate", *map(str, arguments)])


def expected(name: str, events: int, start: int = 0, **parameters) -> pa.Table:
    part = named(name, **parameters).take(events, start)
    return part if isinstance(part, pa.Table) else pa.table({"value": part})


def same(written: pa.Table, wanted: pa.Table) -> bool:
    """Equal columns, whatever integers and times are called in the format."""
    assert written.column_names == wanted.column_names
    return all(
        np.array_equal(as_numbers(written[column]), as_numbers(wanted[column])) for column in wanted.column_names
    )


def as_numbers(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_string(column.type):  # JSON has no times
        column = column.cast(pa.timestamp("us", "UTC"))
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", "UTC" if column.type.tz else None))
    return column.cast(pa.int64()).to_numpy()


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# -- what is written ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", generator.FORMATS)
@pytest.mark.parametrize("name", names())
def test_a_file_reads_back_as_the_stream(tmp_path, name, format):
    file = tmp_path / f"it.{format}"
    result = aomg(name, "--events", "70k", "--out", file, "--seed", 3)
    assert result.exit_code == 0, result.output
    assert same(READ[format](file), expected(name, 70_000, seed=3))
    assert everything_in(tmp_path) == [file.name]


def test_several_files_join_to_the_stream(tmp_path, monkeypatch):
    monkeypatch.setattr(generator, "CHUNK", 4_096)
    assert aomg("taxi", "--events", "50,003", "--files", 12, "--out", tmp_path / "trips").exit_code == 0
    files = sorted((tmp_path / "trips").iterdir())
    assert [file.name for file in files] == [f"taxi-{number:05d}.parquet" for number in range(12)]
    sizes = [pq.read_metadata(file).num_rows for file in files]
    assert max(sizes) - min(sizes) == 1 and sum(sizes) == 50_003
    assert same(pa.concat_tables(map(pq.read_table, files)), expected("taxi", 50_003))
    assert same(pq.read_table(tmp_path / "trips"), expected("taxi", 50_003))


@pytest.mark.parametrize("format", generator.FORMATS)
def test_many_chunks_are_one_file(tmp_path, monkeypatch, format):
    monkeypatch.setattr(generator, "CHUNK", 1_000)
    file = tmp_path / f"it.{format}"
    assert aomg("podsets", "--events", 4_321, "--out", file).exit_code == 0
    assert same(READ[format](file), expected("podsets", 4_321))


def test_the_stream_is_never_held_whole(tmp_path, monkeypatch):
    positions = []

    class Counted:
        def take(self, n, start):
            positions.append((start, n))
            return named("uniform").take(n, start)

    monkeypatch.setattr(generator, "CHUNK", 1_000)
    monkeypatch.setattr(generator, "named", lambda name, seed: Counted())
    generator.run(Console(quiet=True), "uniform", 10_500, tmp_path / "u", files=3)
    assert max(n for _, n in positions) == 1_000
    ends = [start + n for start, n in positions]
    assert [start for start, _ in positions] == [0, *ends[:-1]] and ends[-1] == 10_500


def test_csv_and_json_lines_are_plain_text(tmp_path):
    for format in ("csv", "jsonl"):
        aomg("podsets", "--events", 2, "--out", tmp_path / f"it.{format}")
        aomg("uniform", "--events", 2, "--out", tmp_path / f"u.{format}")
    lines = {path.name: path.read_text().splitlines() for path in tmp_path.iterdir()}
    assert lines["it.csv"][:2] == ["ts,src_podset,dst_podset,rtt_us", "2024-05-01T00:00:01.000000Z,12,18,482"]
    first = '{"ts":"2024-05-01T00:00:01.000000Z","src_podset":12,"dst_podset":18,"rtt_us":482}'
    assert lines["it.jsonl"][0] == first
    assert lines["u.csv"] == ["value", "105", "96"]
    assert lines["u.jsonl"] == ['{"value":105}', '{"value":96}']


def test_settings_reach_the_stream(tmp_path):
    assert (
        aomg("ar1", "--events", "1k", "--set", "psi=-0.5", "--set", "mean=2M", "--out", tmp_path / "a").exit_code == 0
    )
    assert same(pq.read_table(tmp_path / "a"), expected("ar1", 1_000, psi=-0.5, mean=2_000_000))


def test_the_file_can_be_read_by_whom_the_user_lets_read(tmp_path):
    old = os.umask(0o022)
    try:
        aomg("uniform", "--events", 10, "--out", tmp_path / "u.csv")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "u.csv").stat().st_mode) == 0o644


# -- what is said ------------------------------------------------------------------------------------------------------


def test_without_a_name_all_streams_are_listed_with_their_settings():
    result = aomg()
    assert result.exit_code == 0
    assert all(name in result.output and line in result.output for name, line in names().items())
    assert "psi=0.8" in result.output


def test_it_says_what_was_written_where(tmp_path):
    result = aomg("search", "--events", "20k", "--out", tmp_path / "s.csv")
    assert f"20,000 events of search in {tmp_path / 's.csv'}: " in result.output.replace("\n", "")
    assert "million events per second" in result.output


def test_it_tells_the_truth_about_incidents(tmp_path):
    result = aomg("podsets", "--events", "6k", "--set", "rate=20", "--out", tmp_path / "p.csv")
    fault, tail = [line for line in result.output.splitlines() if line.startswith("incident")]
    assert fault.startswith("incident: switch fault of podset 6, 2024-05-01T00:04:00 to 2024-05-01T00:07:00 UTC")
    assert tail.startswith("incident (after the last event): bursty tail of podset 13")


def test_on_a_terminal_a_bar_shows_how_far_it_is(tmp_path):
    console = Console(force_terminal=True, width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    with generator._progress(console, "search", 1_000) as advance:
        advance(250)
    shown = console.export_text()
    assert "25%" in shown and "250 of 1,000 events" in shown and "left" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serach"], "there is no stream 'serach'; did you mean search? There are pingmesh"),
        (["search", "--set", "psi=1"], "search has no parameter 'psi'"),
        (["ar1", "--set", "psi"], "'psi' has no value; write NAME=VALUE"),
        (["ar1", "--set", "psi=high"], "psi is 'high'; give a number"),
        (["ar1", "--set", "psi=2"], "psi is 2.0; give a number from"),
        (["podsets", "--set", "incidents=3"], "incidents can be set only in Python"),
        (["search", "--events", "ten"], "'ten' is not a whole number"),
        (["search", "--events", "3", "--files", "4"], "files is 4 for 3 events"),
        (["search", "--format", "xml"], "format is 'xml'; there are parquet, csv, jsonl"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_with_a_way_out(tmp_path, arguments, message):
    result = aomg(*arguments, "--out", tmp_path / "it")
    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1
    assert everything_in(tmp_path) == []


def test_a_place_is_asked_for():
    result = aomg("search")
    assert result.exit_code == 1 and "--out search.parquet" in result.output


# -- what is not touched -----------------------------------------------------------------------------------------------


def test_nothing_is_overwritten_unless_forced(tmp_path):
    file = tmp_path / "it.csv"
    file.write_text("mine")
    result = aomg("uniform", "--events", 10, "--out", file)
    assert result.exit_code == 1 and "--force" in result.output
    assert file.read_text() == "mine"
    assert aomg("uniform", "--events", 10, "--out", file, "--force").exit_code == 0
    assert same(pa.csv.read_csv(file), expected("uniform", 10))


def test_a_folder_with_something_in_it_is_left_alone_unless_forced(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert aomg("uniform", "--events", 10, "--out", tmp_path).exit_code == 1
    assert everything_in(tmp_path) == ["notes.txt"]


def test_forced_into_a_folder_it_replaces_its_own_files_and_no_others(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert aomg("uniform", "--events", 100, "--files", 5, "--out", tmp_path, "--force").exit_code == 0
    assert aomg("uniform", "--events", 60, "--files", 2, "--out", tmp_path, "--force").exit_code == 0
    assert everything_in(tmp_path) == ["notes.txt", "uniform-00000.parquet", "uniform-00001.parquet"]
    written = pa.concat_tables(pq.read_table(tmp_path / f"uniform-0000{number}.parquet") for number in (0, 1))
    assert same(written, expected("uniform", 60))


def test_a_name_that_contradicts_the_format_or_the_number_of_files_is_refused(tmp_path):
    assert "ends in .csv" in aomg("uniform", "--format", "jsonl", "--out", tmp_path / "it.csv").output
    assert "is one file" in aomg("uniform", "--files", 2, "--out", tmp_path / "it.csv").output
    (tmp_path / "file").write_text("")
    assert "is a file" in aomg("uniform", "--out", tmp_path / "file").output
    assert everything_in(tmp_path) == ["file"]


class Stops:
    """A stream that fails after some positions."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def take(self, n, start):
        if start >= 3_000:
            raise self.error
        return named("uniform").take(n, start)


@pytest.mark.parametrize("format", generator.FORMATS)
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device"), MemoryError()]
)
def test_an_interrupted_write_leaves_everything_as_it_was(tmp_path, monkeypatch, format, error):
    monkeypatch.setattr(generator, "CHUNK", 1_000)
    monkeypatch.setattr(generator, "named", lambda name, seed: Stops(error))
    earlier = tmp_path / f"uniform-00000.{format}"
    earlier.write_text("from an earlier run")
    for out, force in ((tmp_path, True), (tmp_path / "new" / "deep", False), (tmp_path / "a" / f"it.{format}", False)):
        with pytest.raises((KeyboardInterrupt, GenerateError, MemoryError)):
            files = 1 if out.suffix else 2
            generator.run(Console(quiet=True), "uniform", 5_000, out, format, files=files, force=force)
    assert everything_in(tmp_path) == [earlier.name]
    assert earlier.read_text() == "from an earlier run"


def test_while_it_writes_nothing_has_the_final_name(tmp_path, monkeypatch):
    seen = []

    class Watching:
        def take(self, n, start):
            seen.append([path.name for path in tmp_path.iterdir() if not path.name.startswith(".")])
            return named("uniform").take(n, start)

    monkeypatch.setattr(generator, "CHUNK", 1_000)
    monkeypatch.setattr(generator, "named", lambda name, seed: Watching())
    generator.run(Console(quiet=True), "uniform", 5_000, tmp_path, files=3)
    assert len(seen) >= 5 and not any(seen)
    assert len(everything_in(tmp_path)) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_control_c_stops_it_and_removes_what_was_begun(tmp_path, format):
    command = [sys.executable, "-c", "from aomg.cli import app; app()", "generate", "uniform", "--events", "100G"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / f"it.{format}")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    patience = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.iterdir()) and time.monotonic() < patience:
        time.sleep(0.02)
    assert [path.name.startswith(".it.") for path in tmp_path.iterdir()] == [True]
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output.strip() == "stopped; no files were written"
    assert everything_in(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "no space is left"),
        (errno.EACCES, "give another folder, or change its permissions"),
        (errno.EIO, "broken"),
    ],
)
def test_a_disk_that_refuses_is_named_with_what_to_do(tmp_path, monkeypatch, number, message):
    monkeypatch.setattr(generator, "_Text", lambda *_: (_ for _ in ()).throw(OSError(number, "broken")))
    result = aomg("uniform", "--events", 10, "--out", tmp_path / "it.csv")
    assert result.exit_code == 1
    assert message in result.output and str(tmp_path) in result.output
    assert everything_in(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="limits")
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_disk_that_is_full_in_mid_file_leaves_nothing(tmp_path, format):
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000));"
        "from aomg.cli import app; app(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "generate", "normal", "--events", "3M", "--out", f"it.{format}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "no file was written" in done.stderr and "Traceback" not in done.stderr
    assert everything_in(tmp_path) == []


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    result = aomg("uniform", "--out", tmp_path / "file" / "below" / "it.csv")
    assert result.exit_code == 1 and "cannot be written" in result.output
    assert everything_in(tmp_path) == ["file"]


# -- numbers as people write them --------------------------------------------------------------------------------------


@given(st.integers(0, 2**53))
def test_whole_numbers_are_read_with_and_without_separators(number):
    assert count(str(number)) == count(f"{number:,}") == count(f"{number:_}") == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("10M", 10**7), ("500k", 500_000), ("2.5m", 2_500_000), ("1e6", 10**6), ("3 G", 3 * 10**9), ("1B", 10**9)],
)
def test_counts_are_read_as_people_write_them(text, number):
    assert count(text) == number


@pytest.mark.parametrize("text", ["", "M", "-5", "1.5", "10MB", "1e99", "NaN", "0x10", "1.0001k"])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(GenerateError, match="is not a whole number"):
        count(text)
