"""Killed in the middle of its micro-batches, a stream goes on at its next start and loses, repeats and changes nothing.

Run as a program, this file is the stream that gets killed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from local import Replay, assert_same, closed, events_of, expected_rows, slices, start_session, watermark

from aomg import Query

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("5 minutes", "1 minute", quantiles=(0.5, 0.99), lateness="20 seconds")


def events():
    return events_of(1, 4000, 12, 40 * 60, disorder=15)


def numbers(directory: Path) -> set[int]:
    return {int(file.name) for file in directory.glob("[0-9]*")}


def begun(checkpoint: Path) -> int:
    """How many micro-batches have begun."""
    return max(numbers(checkpoint / "offsets"), default=-1) + 1


def start(directory: Path) -> subprocess.Popen:
    """The stream in a process of its own: Python, the JVM and its workers, which are killed together."""
    log = (directory / "log").open("a")
    return subprocess.Popen([sys.executable, __file__, str(directory)], start_new_session=True, stdout=log, stderr=log)


def kill(process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.soak  # tests/faults/test_trials.py kills monitors, which use the same stream, in every run
@pytest.mark.parametrize(("files", "kills"), [(8, 1), (24, 6)])
def test_no_window_is_lost_repeated_or_changed_by_kills_in_mid_batch(spark, tmp_path, files, kills):
    chance = random.Random(kills)
    stream = Replay(spark, tmp_path, QUERY).add(*slices(events(), files))
    torn = 0
    for _ in range(kills):
        process = start(tmp_path)
        try:
            target = begun(stream.checkpoint) + chance.randint(1, 3)
            deadline = time.monotonic() + 200
            while begun(stream.checkpoint) < target and time.monotonic() < deadline:
                assert process.poll() is None, (tmp_path / "log").read_text()[-3000:]
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.2))
        finally:
            kill(process)
        torn += begun(stream.checkpoint) > len(stream.commits())
    assert torn > 0, "no kill fell into a micro-batch"
    process = start(tmp_path)
    try:
        assert process.wait(300) == 0, (tmp_path / "log").read_text()[-3000:]
    finally:
        if process.poll() is None:
            kill(process)
    assert_same(stream.rows_in_files, closed(expected_rows(QUERY, events(), ["k"]), watermark(QUERY, events())))
    counts = stream.accounts
    assert (counts["came"], counts["late"]) == (4000, 0)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    Replay(start_session(directory), directory, QUERY).run_into_files()
