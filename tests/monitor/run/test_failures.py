"""Whatever fails, the user reads the cause, the file and what to do.

`recorded_failures/` has what Spark wrote when each of them was provoked, without most of the frames.
"""

import errno
import logging
import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from rich.console import Console
from samples import spark_commits, spark_plans

from aomg.errors import SettingsError, StateError
from aomg.monitor import command
from aomg.monitor.config.reader import load
from aomg.monitor.errors import RunError
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.journal import Journal
from aomg.monitor.journal.stream import stream_of
from aomg.monitor.run import failures, monitor, spark_log
from aomg.monitor.run.checksums import checksums_of, damaged_file
from aomg.monitor.run.failures import causes_of, explained, failure_of
from aomg.monitor.run.monitor import Monitor
from aomg.monitor.run.state_owner import claim_state
from aomg.monitor.run.view import View

RECORDED = Path(__file__).with_name("recorded_failures")
CONFIGURATION = """
source: {parquet: telemetry/, time: ts}
state: state/
clock: none
queries: {q: {value: v, by: k, size: 20s, period: 10s, lateness: 1s}}
sinks: {results: [{parquet: results/}], alerts: [{jsonl: alerts.jsonl}]}
"""
AGAIN = "start again: the micro-batch is repeated"
EMPTY = f"repair it, or put an empty file in its place to skip it, and {AGAIN}"
RESTORE = (
    "of Spark's checkpoint is missing or damaged; restore the state folder from a backup, or use a new state folder "
    "and new folders for the sinks"
)
MEMORY = (
    "start with more, such as PYSPARK_SUBMIT_ARGS='--driver-memory 4g pyspark-shell': the micro-batch is repeated. "
    "Later ones need less with a smaller files_per_batch"
)
NO_SPACE = "free some. The next start repeats the micro-batch"


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    (tmp_path / "telemetry").mkdir()
    (tmp_path / "aomg.yaml").write_text(CONFIGURATION)
    return load(tmp_path / "aomg.yaml")


def recorded(name: str, folder: Path) -> str:
    return (RECORDED / f"{name}.txt").read_text().replace("{folder}", str(folder))


def more(config) -> str:
    return f" (more in {config.state / 'spark.log'})"


def put_damaged(file: Path) -> Path:
    """A file that differs from its checksums, as Hadoop stores them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_name(f".{file.name}.crc").write_bytes(checksums_of(b"as it was" * 100))
    file.write_bytes(b"as it was" * 99 + b"as it wos")
    return file


# -- the table ---------------------------------------------------------------------------------------------------------

EXPLAINED = {
    "state_disk_full": f"no space is left on the disk of {{folder}}/state or {{folder}}/local; {NO_SPACE}",
    "spark_folder_full": (
        "no space is left on the disk of {folder}/local, where Spark's temporary files are; free some, or set "
        f"SPARK_LOCAL_DIRS to another folder, and {AGAIN}"
    ),
    "checkpoint_read_only": (
        "{folder}/state/checkpoint/offsets/.3.fa55b4e0-5e8b-4b2b-83e8-56679252bae6.tmp cannot be written; change its "
        "permissions, or configure another path"
    ),
    "java_heap": f"Spark's Java process ran out of memory (Java heap space); {MEMORY}",
    "parquet_footer": (
        "the source file {folder}/telemetry/events-001.parquet cannot be read (not a Parquet file. Expected magic "
        f"number at tail, but found [13, 8, 4, 0]); {EMPTY}"
    ),
    "parquet_page": (
        f"the source file {{folder}}/telemetry/events-001.parquet cannot be read (don't know what type: 15); {EMPTY}"
    ),
    "parquet_type": (
        "the source file {folder}/telemetry/events-001.parquet cannot be read (column ts has the type BINARY, not "
        f"timestamp); {EMPTY}"
    ),
    "gzip_damaged": (
        f"the source file {{folder}}/telemetry/events-001.csv.gz cannot be read (invalid bit length repeat); {EMPTY}"
    ),
    "gzip_cut": (
        "the source file {folder}/telemetry/events-001.csv.gz cannot be read (Unexpected end of input stream); " + EMPTY
    ),
    "csv_header": (
        "the source file {folder}/telemetry/b.csv cannot be read (CSV header does not conform to the schema); " + EMPTY
    ),
    "file_vanished": (
        "the source file {folder}/telemetry/events-001.parquet was removed before it was read; put it back and " + AGAIN
    ),
    "worker_killed": (
        "a Python worker of Spark was killed or crashed, perhaps because the machine ran out of memory; stop other "
        f"programs and {AGAIN}"
    ),
    "state_file_missing": f"{{folder}}/state/checkpoint/state/0/0/2.changelog {RESTORE}",
    "state_store": f"{{folder}}/state/checkpoint {RESTORE}",
    "state_folder_missing": f"{{folder}}/state/checkpoint/state {RESTORE}",
    "offsets_empty": f"{{folder}}/state/checkpoint/offsets/2 {RESTORE}",
    "kafka_missing": (
        "Spark's Kafka connector is missing; start with PYSPARK_SUBMIT_ARGS='--packages "
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__} pyspark-shell'"
    ),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_a_failure_is_told_as_cause_file_and_remedy(config, tmp_path, name):
    expected = EXPLAINED[name].replace("{folder}", str(tmp_path)) + more(config)
    assert explained(recorded(name, tmp_path), config) == expected


def test_an_error_of_ours_keeps_its_text(config, tmp_path):
    file = tmp_path / "results/day=2023-11-14/.batch-0000000001.parquet.partial"
    expected = f"no space is left on the disk of {file}; {NO_SPACE}"
    assert explained(recorded("results_disk_full", tmp_path), config) == expected


def test_of_several_errors_of_ours_the_last_is_told(config):
    text = (
        "py4j.Py4JException: Return Message: Traceback (most recent call last):\n"
        '  File "src/aomg/x.py", line 1, in f\naomg.errors.InputError: what was read\n\n'
        "The above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
        '  File "src/aomg/y.py", line 1, in g\naomg.errors.StateError: what it means\n\n\tat py4j.Protocol\n'
    )
    assert explained(text, config) == "what it means"


@pytest.mark.parametrize("name", ["state_store", "sst", "offsets_damaged", "commits_damaged", "state_schema"])
def test_a_damaged_file_that_spark_does_not_name_is_found_by_its_checksums(config, tmp_path, name):
    file = put_damaged(tmp_path / "state/checkpoint/state/0/1/2.changelog")
    assert explained(recorded(name, tmp_path), config) == f"{file} {RESTORE}{more(config)}"


@pytest.mark.parametrize("log", ["offsets", "sources/0"])
def test_a_batch_that_is_missing_in_a_log_of_spark_is_named(config, tmp_path, log):
    for name in ("offsets", "sources/0"):
        (tmp_path / "state/checkpoint" / name).mkdir(parents=True)
        (tmp_path / "state/checkpoint" / name / "1").touch()
    (tmp_path / "state/checkpoint" / log / "1").unlink()
    text = "java.lang.IllegalStateException: batch 1 doesn't exist"
    assert explained(text, config) == f"{tmp_path}/state/checkpoint/{log}/1 {RESTORE}{more(config)}"


@pytest.mark.parametrize("name", sorted(file.stem for file in RECORDED.iterdir()))
def test_no_text_is_long_or_has_a_stack_trace(config, tmp_path, name):
    text = explained(recorded(name, tmp_path), config)
    assert "\n" not in text and "An error occurred while calling" not in text and "\tat " not in text
    assert len(text.replace(str(tmp_path), "")) < 450


# -- what is not in the table ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[STREAM_FAILED] Query [id = 1-2, runId = 3-4] terminated with exception: it broke SQLSTATE: XXKST",
            "it broke",
        ),
        (
            "a.b.SomeException: outer\n\tat a.b.c(D.scala:1)\nCaused by: a.b.Other: inner\n\t... 3 more",
            "a.b.Other: inner",
        ),
        ("Caused by: java.lang.NullPointerException", "java.lang.NullPointerException"),
        (
            "py4j.protocol.Py4JJavaError: An error occurred while calling o123.getResult.\n: x.YError: why",
            "x.YError: why",
        ),
        ("py4j.protocol.Py4JError: An error occurred while calling o123.getResult", "Spark failed without a reason"),
        ("", "Spark failed without a reason"),
        (
            "a.b.C: Job aborted due to stage failure: Task 0 in stage 8.0 failed 1 times, most recent failure: Lost "
            "task 0.0 in stage 8.0 (TID 12) (localhost executor driver): x.NewException: why\n\tat x.y(Z.java:1)\n",
            "x.NewException: why",
        ),
        (
            "PythonException: Traceback (most recent call last):\n  File 'x.py', line 3, in f\n    raise OSError("
            "'No space left on device')\nOSError: the power went\n\n\tat org.apache.spark.api.python.X\n",
            "OSError: the power went",
        ),
    ],
)
def test_the_innermost_cause_of_an_unknown_failure_is_told(config, text, expected):
    assert explained(text, config) == expected + more(config)


def test_a_long_cause_is_cut(config):
    assert explained("Caused by: a.b.C: " + "long " * 200, config).startswith("a.b.C: long long")
    assert len(explained("Caused by: a.b.C: " + "long " * 200, config)) < 310 + len(more(config))


def test_the_plan_of_a_query_is_no_cause(config, tmp_path):
    text = (
        "a.StreamingQueryException: broken\n=== Streaming Query ===\n"
        f"Current Committed Offsets: {{FileStreamSource[file:{tmp_path}/telemetry/a.parquet]: 1}}\n\tat x\n"
    )
    assert [str(cause) for cause in causes_of(text)] == ["a.StreamingQueryException: broken"]


def test_a_file_with_spaces_is_named_whole(config, tmp_path):
    file = tmp_path / "telemetry" / "a file (1), new.parquet"
    file.write_bytes(b"x")
    quoted = str(file).replace(" ", "%20")
    for text in (f"Caused by: x.YException: file:{quoted} is bad", f"Caused by: x.YException: cannot read {file}: bad"):
        assert f"the source file {file} cannot be read" in explained(text, config)


def test_the_full_disk_is_found_if_spark_does_not_name_it(config, monkeypatch):
    monkeypatch.setattr(failures, "_is_full", lambda place: place.name == "results")
    assert explained("Caused by: java.io.IOException: No space left on device", config) == (
        f"no space is left on the disk of {config.file.parent / 'results'}; {NO_SPACE}{more(config)}"
    )


def test_a_source_file_that_cannot_be_opened_is_told_as_such(config, tmp_path):
    text = f"java.io.FileNotFoundException: {tmp_path}/telemetry/a.parquet (Permission denied)"
    expected = f"{tmp_path}/telemetry/a.parquet cannot be read; change its permissions and {AGAIN}"
    assert explained(text, config) == expected + more(config)


def test_workers_that_do_not_start_are_told(config):
    text = "org.apache.spark.SparkException: Python worker failed to connect back.\n\tat x"
    assert explained(text, config).startswith(
        "Spark's Python workers did not start in time because the machine is busy"
    )


# -- exceptions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o12.isActive"),
        ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        EOFError(),
    ],
)
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (-9, f"was killed (signal 9), perhaps because the machine ran out of memory; {AGAIN}"),
        (137, f"was killed (signal 9), perhaps because the machine ran out of memory; {AGAIN}"),
        (143, f"was ended by signal 15; {AGAIN}"),
        (-6, f"was ended by signal 6; {AGAIN}"),
        (1, f"ended with exit code 1; {AGAIN}"),
        (52, f"ran out of memory; {MEMORY}"),
        (None, f"ended; {AGAIN}"),
    ],
)
def test_a_java_process_that_ended_is_told_with_how_it_ended(config, monkeypatch, error, code, expected):
    monkeypatch.setattr(failures, "java_exit_code", lambda: code)
    assert str(failure_of(error, config)) == f"Spark's Java process {expected}{more(config)}"


def test_the_exit_code_is_that_of_the_process_that_was_started(monkeypatch):
    class Gateway:
        proc = subprocess.Popen(["sh", "-c", "exit 7"])

    monkeypatch.setattr(pyspark.SparkContext, "_gateway", Gateway)
    assert failures.java_exit_code() == 7
    Gateway.proc = None
    assert failures.java_exit_code() is None


def test_an_error_whose_text_died_with_the_java_process_is_told(config):
    class Raised:
        _target_id = "o1"

        class _gateway_client:  # noqa: N801
            @staticmethod
            def send_command(command):
                raise ConnectionRefusedError

    assert str(failure_of(Py4JJavaError("An error occurred while calling o1.x.\n", Raised()), config)).startswith(
        "py4j."
    )


def test_errors_of_ours_and_of_files_keep_what_they_say(config, tmp_path):
    own = RunError("as it was told")
    assert failure_of(own, config) is own
    late = ValueError("later")
    late.__context__ = own
    assert failure_of(late, config) is own, "the first cause"
    assert str(failure_of(StateError("damaged; remove it"), config)) == "damaged; remove it"
    full = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "x"))
    assert (
        str(failure_of(full, config)) == f"no space is left on the disk of {tmp_path / 'x'}; {NO_SPACE}{more(config)}"
    )


# -- the monitor, without Spark ----------------------------------------------------------------------------------------


class Gone:
    """A session or a query whose Java process has ended."""

    def stop(self):
        raise ConnectionRefusedError

    @property
    def lastProgress(self):  # noqa: N802
        raise ConnectionRefusedError


def failing(config, monkeypatch, error, stops=False, patience=0.01):
    """A monitor whose stream fails, perhaps before it notices that it is to stop."""
    one = Monitor(config, Console(quiet=True))
    monkeypatch.setattr(monitor, "_SIGNAL_SECONDS", patience)
    monkeypatch.setattr(monitor, "inspect", lambda config: None)
    monkeypatch.setattr(failures, "java_exit_code", lambda: 143)

    def stream(self, batches, health):
        if stops:
            threading.Timer(0.05, one.stop).start()
        raise error

    monkeypatch.setattr(Monitor, "_stream", stream)
    return one


def last_line(config) -> str:
    return (config.state / "health.jsonl").read_text().splitlines()[-1]


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        SettingsError("Spark did not start"),
        RuntimeError("java.lang.NullPointerException: in a shutdown"),
    ],
)
def test_a_failure_that_comes_with_a_stop_is_the_stop(config, monkeypatch, error):
    one = failing(config, monkeypatch, error, stops=True, patience=60.0)
    one.query = Gone()  # type: ignore[assignment]
    one.run()
    assert one.stopped and '"because":"it was stopped"' in last_line(config)


def test_a_failure_without_a_stop_is_a_failure_and_in_the_log(config, monkeypatch):
    one = failing(config, monkeypatch, Py4JNetworkError("Answer from Java side is empty"))
    with pytest.raises(RunError, match=r"Spark's Java process was ended by signal 15; start again"):
        one.run()
    assert '"because":"it failed"' in last_line(config)
    assert "Answer from Java side is empty" in (config.state / "spark.log").read_text()


def test_what_fails_while_the_monitor_ends_does_not_hide_the_first_cause(config, monkeypatch, caplog):
    from aomg.monitor.delivery.notifier import Notifier

    def close(self, timeout):
        raise OSError(errno.EIO, "Input/output error", "outbox")

    one = failing(config, monkeypatch, RuntimeError("the first cause"))
    one.query = Gone()  # type: ignore[assignment]
    monkeypatch.setattr(Notifier, "close", close)
    with pytest.raises(RunError, match="the first cause"):
        one.run()
    assert "Input/output error" in caplog.text


def test_a_session_whose_java_process_is_gone_can_be_closed(config):
    one = Monitor(config, Console(quiet=True), spark=Gone())  # type: ignore[arg-type]
    one._owns_spark = True
    one.close()


def test_after_a_stop_the_closing_lines_do_without_the_counts_of_a_dead_spark(config, monkeypatch, capsys):
    one = failing(config, monkeypatch, ConnectionResetError(), stops=True, patience=60.0)
    config.state.mkdir(exist_ok=True)
    claim_state(config)
    spark_plans(config.state, 0)
    spark_commits(config.state, 0)
    Journal(config.state, stream_of(config.state)).put(Entry(0, "", None))
    monkeypatch.setattr(monitor, "Monitor", lambda *arguments, **named: one)
    sessions: list[str] = []
    monkeypatch.setattr(monitor, "session", sessions.append)
    summary = command.run(Console(), config.file)
    assert (summary["stopped"], summary["accounts"], sessions) == (True, {}, [])
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "the events were not counted, because Spark ended first; the next start continues",
        "0 rows; alerts: 0 fired, 0 resolved",
    ]


def test_counts_that_cannot_be_read_without_a_stop_are_a_failure(config, monkeypatch):
    one = Monitor(config, Console(quiet=True), spark=object())  # type: ignore[arg-type]
    (config.state / "checkpoint/commits").mkdir(parents=True)
    (config.state / "checkpoint/commits/0").touch()
    monkeypatch.setattr(failures, "java_exit_code", lambda: -9)

    def gone(*arguments):
        raise ConnectionRefusedError

    monkeypatch.setattr(monitor, "named_accounts", gone)
    with pytest.raises(RunError, match="was killed"):
        command._accounts(one)


def test_the_view_does_without_a_spark_that_is_gone(config):
    view = View(Console(quiet=True), config)
    view.monitor = Monitor(config, Console(quiet=True))
    view.monitor.query = Gone()  # type: ignore[assignment]
    assert view._speed() is None


def test_a_log_that_cannot_be_written_stops_the_monitor_before_spark_starts(config, monkeypatch):
    (config.state / "spark.log").mkdir(parents=True)
    monkeypatch.setattr(monitor, "inspect", lambda config: None)
    monkeypatch.setattr(monitor, "_SIGNAL_SECONDS", 0.01)
    with pytest.raises(RunError, match=r"Spark's log .*/state/spark.log cannot be written: it is a file where"):
        Monitor(config, Console(quiet=True)).run()


# -- the log -----------------------------------------------------------------------------------------------------------


def _failed_query():
    """A failure of Spark with a place in a query; it logs JSON with a stack trace to standard error."""
    context = SimpleNamespace(contextType=lambda: SimpleNamespace(name="SQL"))
    return PySparkException("a query failed", contexts=[context])


def test_messages_of_libraries_go_to_the_log_and_ours_to_the_terminal(tmp_path, monkeypatch, capsys):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    with spark_log.messages_to(tmp_path / "spark.log"):
        try:
            raise ConnectionRefusedError("no answer")
        except ConnectionRefusedError:
            logging.exception("Exception while sending command.")  # as Py4J does
        logging.getLogger("py4j.clientserver").error("of a library")
        logging.getLogger("aomg.monitor").warning("of ours")
        _failed_query()._log_exception()  # as PySpark does
    assert capsys.readouterr().err == "of ours\n"
    text = (tmp_path / "spark.log").read_text()
    assert "ConnectionRefusedError: no answer" in text and "of a library" in text and "of ours" not in text
    assert "a query failed" in text and "SQLQueryContextLogger" in text
    assert [type(handler) for handler in logging.getLogger("SQLQueryContextLogger").handlers] != [spark_log._Handler]
    assert root.handlers == []


def test_a_program_that_configured_logging_is_left_alone(tmp_path, monkeypatch):
    handler = logging.NullHandler()
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    with spark_log.messages_to(tmp_path / "spark.log"):
        logging.getLogger("py4j").error("to the program")
        assert logging.getLogger().handlers == [handler]
    assert not (tmp_path / "spark.log").exists()


# -- checksums ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 5000])
def test_every_changed_byte_of_a_file_with_checksums_is_found(tmp_path, size):
    file = tmp_path / "state" / "1.zip"
    file.parent.mkdir()
    content = os.urandom(size)
    file.write_bytes(content)
    file.with_name(".1.zip.crc").write_bytes(checksums_of(content))
    assert damaged_file(tmp_path) is None
    for place in range(0, size, max(size // 10, 1)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert damaged_file(tmp_path) == file
    file.write_bytes(content + b"x")
    assert damaged_file(tmp_path) == file
    if size:
        file.write_bytes(content[:-1])
        assert damaged_file(tmp_path) == file


def test_files_without_checksums_half_written_ones_and_too_many_bytes_are_left_out(tmp_path):
    (tmp_path / "0").write_bytes(b"x")
    put_damaged(tmp_path / ".1.tmp")
    assert damaged_file(tmp_path) is None
    assert damaged_file(tmp_path / "missing") is None
    file = put_damaged(tmp_path / "2")
    assert damaged_file(tmp_path, most_bytes=100) is None
    assert damaged_file(tmp_path) == file
    file.with_name(".2.crc").write_bytes(b"crc")
    assert damaged_file(tmp_path) is None
