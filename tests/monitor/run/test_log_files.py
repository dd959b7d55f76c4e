"""Spark's log keeps within its limit, while others write to it."""

import os
import re
import subprocess
import sys
import time

import pytest

from aomg.monitor.run import log_files
from aomg.monitor.run.log_files import BoundedLog
from aomg.monitor.run.spark_log import errors_to

LINE = "{:07} a line of Spark's log\n"
WRITER = (
    "import sys\nfor number in range(int(sys.argv[1])): print(f'{number:07} a line of Spark\\'s log', file=sys.stderr)"
)


def sizes(folder):
    """Of the log and its older part; a file that is about to get its name is left out."""
    return {file.name: file.stat().st_size for file in folder.glob("[!.]*")}


def test_two_files_share_the_limit_and_the_newest_lines_stay(tmp_path):
    log = BoundedLog(tmp_path / "spark.log", 20_000)
    for number in range(5_000):
        with (tmp_path / "spark.log").open("a") as file:
            file.write(LINE.format(number))
        log.check()
        assert sum(sizes(tmp_path).values()) <= 20_000 + len(LINE.format(number))
    assert set(sizes(tmp_path)) == {"spark.log", "spark.1.log"}
    lines = ((tmp_path / "spark.1.log").read_text() + (tmp_path / "spark.log").read_text()).splitlines(True)
    assert lines == [LINE.format(number) for number in range(5_000 - len(lines), 5_000)], "no hole, no line twice"


def test_a_file_that_has_grown_far_beyond_the_limit_keeps_its_end(tmp_path):
    (tmp_path / "spark.log").write_text("".join(LINE.format(number) for number in range(10_000)))
    BoundedLog(tmp_path / "spark.log", 2_000).check()
    assert sizes(tmp_path)["spark.log"] == 0 and sizes(tmp_path)["spark.1.log"] <= 1_000
    assert (tmp_path / "spark.1.log").read_text().splitlines(True)[-1] == LINE.format(9_999)


def test_a_program_that_keeps_its_standard_error_open_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(log_files, "_CHECK_SECONDS", 0.01)
    file = tmp_path / "spark.log"
    with BoundedLog(file, 200_000).watching():
        with errors_to(file):
            process = subprocess.Popen([sys.executable, "-c", WRITER, "100000"])
        largest = 0
        for _ in range(6_000):
            if process.poll() is not None:
                break
            largest = max(largest, sum(sizes(tmp_path).values()))
            time.sleep(0.005)
        assert process.wait(60) == 0
    BoundedLog(file, 200_000).check()
    assert file.stat().st_size <= 100_000 < 3_000_000, "it wrote 3 MB"
    assert largest < 3_000_000
    content = (tmp_path / "spark.1.log").read_text() + file.read_text()
    whole = re.compile(r"(\d{7}) a line of Spark's log")  # one that is written while the file is emptied may be torn
    numbers = [int(match[1]) for line in content.splitlines() if (match := whole.fullmatch(line))]
    assert numbers and numbers == sorted(set(numbers)), "in order; what is written in that moment may be lost"
    assert "\0" not in content, "no hole"


def test_on_a_full_disk_the_log_is_emptied_and_that_is_logged_once(tmp_path, monkeypatch, caplog):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log_files.shutil, "copyfileobj", fail)
    log = BoundedLog(tmp_path / "spark.log", 100)
    for _ in range(3):
        (tmp_path / "spark.log").write_text("x" * 200)
        log.check()
        assert sizes(tmp_path) == {"spark.log": 0}
    # threads of other tests may log meanwhile
    assert [record.getMessage() for record in caplog.records if record.name == log_files.__name__] == [
        f"{tmp_path / 'spark.log'} cannot be copied (No space left on device); it is emptied"
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "spark.log").write_text("x" * 200)
    tmp_path.chmod(0o500)
    try:
        BoundedLog(tmp_path / "spark.log", 100).check()
    finally:
        tmp_path.chmod(0o700)
