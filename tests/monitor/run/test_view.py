"""What the terminal shows of a running monitor: how far it is behind, what was late, and nothing before the start."""

import io
import time
from types import SimpleNamespace

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from judging import rows
from rich.console import Console

from aomg.monitor.config.reader import load
from aomg.monitor.run import view as view_module
from aomg.monitor.run.progress import Progress
from aomg.monitor.run.view import View
from aomg.monitor.source.generator import Generator
from aomg.streams import podsets
from aomg.times import time_of

END = time_of("2024-05-01T00:02:15Z")
SECOND = 1_000_000


def shown(folder, source, monitor=None, estimates=None, **console):
    """The line on the stream after one micro-batch; on a terminal the tables too."""
    file = folder / "aomg.yaml"
    file.write_text(
        f"source: {source}\nstate: state/\n"
        "queries: {inbound: {value: rtt_us, by: {podset: dst_podset}, size: 2m, period: 15s}}\n"
    )
    output = io.StringIO()
    view = View(Console(**{"file": output, "width": 200, **console}), load(file))
    view.monitor = monitor
    newest = {"inbound": rows(END, {"6": estimates or {"p99": (1.0, 2.0, 3.0)}})}
    with view:
        view(Progress(0, 0.1, {"no time": 2}, newest, 20, [], []))
    return output.getvalue()


def monitor(**more):
    return SimpleNamespace(**{"query": None, "late": None, "newest_generated": None, **more})


def test_a_generated_stream_is_behind_its_own_events_and_not_the_clock(tmp_path):
    line = shown(tmp_path, "{generate: {}}", monitor(newest_generated=END + 35 * SECOND))
    assert "windows up to 2024-05-01T00:02:15Z, 35s behind the generated events, batch 0" in line
    assert "clock" not in line


def test_no_value_is_shown_outside_of_its_interval(tmp_path):
    """Four digits are 194 over 193.9..194."""
    text = shown(tmp_path, "{generate: {}}", estimates={"p99": (193.9, 193.96, 193.98)}, force_terminal=True)
    assert "193.96" in text and "193.9..193.98" in text


def test_another_stream_is_behind_the_clock(tmp_path):
    source = "{jsonl: in/, time: ts, columns: {dst_podset: string, rtt_us: long}}"
    assert "days behind the clock" in shown(tmp_path, source, monitor())


@pytest.mark.parametrize(("late", "text"), [(None, "late ?,"), (0, "late 0,"), (1234, "late 1,234,")])
def test_late_events_are_shown_beside_the_refused_ones_once_they_are_counted(tmp_path, late, text):
    assert f"refused 2, {text}" in shown(tmp_path, "{generate: {}}", monitor(late=late))


def test_a_monitor_that_ends_before_its_first_batch_leaves_no_picture(tmp_path):
    (tmp_path / "aomg.yaml").write_text(
        "source: {generate: {}}\nstate: state/\nqueries: {inbound: {value: rtt_us, size: 2m, period: 15s}}\n"
    )
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100)
    with View(console, load(tmp_path / "aomg.yaml")) as view:
        view._live.stop()
        output.truncate(0)
    assert "starting" not in output.getvalue()


@pytest.mark.parametrize("events", [1000, 1250])
def test_the_clock_of_a_generated_stream_is_the_time_of_the_newest_event_that_was_written(tmp_path, events):
    stream = podsets(rate=100)
    first = Generator(stream, tmp_path, events, speed=5)
    assert first.newest is None
    first.write_all()
    written = max(pc.max(pq.read_table(file)["ts"]).cast("int64").as_py() for file in tmp_path.glob("*.parquet"))
    assert written <= first.newest <= written + stream.disorder
    again = Generator(stream, tmp_path, events, speed=5)
    again.start()
    again.stop()
    assert again.newest == first.newest


def test_before_the_first_window_it_says_what_it_does_and_when_the_window_is_due(tmp_path, monkeypatch):
    monkeypatch.setattr(view_module, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(view_module, "_TICK_SECONDS", 0.02)
    (tmp_path / "aomg.yaml").write_text(
        "source: {generate: {speed: 10}}\nstate: state/\n"
        "queries: {inbound: {value: rtt_us, size: 2m, period: 15s, lateness: 5s}}\n"
    )
    output = io.StringIO()
    with View(Console(file=output, width=200), load(tmp_path / "aomg.yaml")) as view:
        view.monitor = monitor()
        wait_for(lambda: "starting Spark" in output.getvalue())
        view.monitor = monitor(query=SimpleNamespace(lastProgress=None))
        wait_for(lambda: "Spark has started; computing the first batch" in output.getvalue())
    first, *lines = output.getvalue().splitlines()
    assert first == f"Spark's log: {tmp_path / 'state' / 'spark.log'}"
    assert lines and all(
        "the first window is due up to 20s of event time (2 s) after the first event" in x for x in lines
    )


def wait_for(is_so):
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_at_eighty_columns_it_leaves_out_columns_and_never_an_interval(tmp_path):
    names = ("p50", "p90", "p99", "p99_9")
    estimates = {name: (123456.0 + place, 123466.5 + place, 123477.0 + place) for place, name in enumerate(names)}
    text = shown(tmp_path, "{generate: {}}", estimates=estimates, force_terminal=True, width=80)
    assert "…" not in text
    assert "123,458..123,479" in text and "123,459..123,480" in text  # p99, and the higher of the others that fit
