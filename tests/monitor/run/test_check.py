"""What is found wrong before anything starts: the source, its columns, the folders, the receivers."""

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import load
from aomg.monitor.errors import ConfigError
from aomg.monitor.run.check import inspect

CONFIG = """source: {{{source}, time: ts}}
state: state/
queries:
  rtt: {{value: rtt_us, unit: us, by: [host], size: 1 minute, period: 10 seconds, quantiles: [0.5, 0.99]}}
sinks: {{results: [{{parquet: out/results}}]}}
receivers: {receivers}
groups:
  - name: g
    rules:
      - {{alert: Slow, expr: {expr}}}
"""


def configured(
    folder: Path, source: str = "parquet: in/", expr: str = "p99 > 4ms", receivers: str = "[]", **columns: object
) -> Config:
    """A configuration beside a folder with one file of these columns."""
    (folder / "in").mkdir(exist_ok=True)
    whole = {"ts": pa.array([0], pa.timestamp("us", "UTC")), "host": ["a"], "rtt_us": [1], **columns}
    pq.write_table(
        pa.table({name: column for name, column in whole.items() if column is not None}), folder / "in/a.parquet"
    )
    file = folder / "aomg.yaml"
    file.write_text(CONFIG.format(source=source, expr=expr, receivers=receivers))
    return load(file)


def weighted(folder: Path, **options: object) -> Config:
    """The same, with a column of weights."""
    configured(folder, **options)  # type: ignore[arg-type]
    file = folder / "aomg.yaml"
    file.write_text(file.read_text().replace("value: rtt_us,", "value: rtt_us, weight: requests,"))
    return load(file)


def test_a_configuration_that_can_run_is_fine_and_nothing_is_written(tmp_path: Path) -> None:
    config = configured(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    inspect(config)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_column_is_named_with_its_line_and_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"aomg.yaml, line 4: .*'rtt_us'; its columns are ts, host"):
        inspect(configured(tmp_path, rtt_us=None))


def test_a_column_of_text_is_no_value(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'rtt_us' has the type string, not numbers"):
        inspect(configured(tmp_path, rtt_us=["many"]))


@pytest.mark.parametrize("kind", [pa.decimal128(16, 2), pa.decimal128(38, 16), pa.uint64()], ids=str)
def test_numbers_that_a_double_would_round_are_no_value(tmp_path: Path, kind: pa.DataType) -> None:
    with pytest.raises(ConfigError, match=r"line 4: .*'rtt_us' has the type (decimal128|uint64).*would round; write"):
        inspect(configured(tmp_path, rtt_us=pa.array([1], pa.int32()).cast(kind)))


@pytest.mark.parametrize("kind", [pa.decimal128(15, 2), pa.uint32(), pa.float32()], ids=str)
def test_numbers_that_a_double_holds_are_values(tmp_path: Path, kind: pa.DataType) -> None:
    inspect(configured(tmp_path, rtt_us=pa.array([1], pa.int8()).cast(kind)))


@pytest.mark.parametrize("kind", [pa.decimal128(38, 0), pa.uint64(), pa.int32(), pa.float32()], ids=str)
def test_any_type_of_number_is_a_weight(tmp_path: Path, kind: pa.DataType) -> None:
    inspect(weighted(tmp_path, requests=pa.array([1], pa.int8()).cast(kind)))


def test_a_column_of_text_is_no_weight(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 4: .*'requests' has the type string; weights must be whole numbers"):
        inspect(weighted(tmp_path, requests=["many"]))
    source = "csv: in/, columns: {ts: timestamp, host: string, rtt_us: long, requests: string}"
    with pytest.raises(ConfigError, match=r"weight is .*, a column of type string; weights must be whole numbers"):
        weighted(tmp_path, source=source, requests=["many"])


def test_times_may_be_numbers_of_any_size(tmp_path: Path) -> None:
    wide = pa.array([1], pa.int8()).cast(pa.decimal128(38, 6))
    inspect(configured(tmp_path, source="parquet: in/, time_format: epoch_s", ts=wide))
    with pytest.raises(ConfigError, match="'ts' has numbers; set time_format"):
        inspect(configured(tmp_path, ts=wide))


def test_times_in_nanoseconds_are_fine_unless_spark_has_to_read_the_files(tmp_path: Path) -> None:
    times = pa.array([1], pa.timestamp("ns"))
    for columns in ("", ", columns: {ts: timestamp, host: string, rtt_us: long}"):
        inspect(configured(tmp_path, source=f"parquet: in/{columns}", ts=times))
    options = "options: {int96RebaseMode: LEGACY}"
    with pytest.raises(ConfigError, match="nanoseconds, which Spark cannot read; remove the option int96RebaseMode"):
        inspect(configured(tmp_path, source=f"parquet: in/, {options}", ts=times))


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    config = configured(tmp_path)
    (tmp_path / "in" / "b.parquet").write_bytes(b"PAR1 this is none")
    with pytest.raises(ConfigError, match=r"line 1: .*b\.parquet cannot be read as Parquet"):
        inspect(config)


def test_hidden_files_are_not_looked_at(tmp_path: Path) -> None:
    config = configured(tmp_path)
    (tmp_path / "in" / ".b.parquet.partial").write_bytes(b"half")
    inspect(config)


def test_a_source_without_files_needs_its_columns_said(tmp_path: Path) -> None:
    config = configured(tmp_path)
    (tmp_path / "in" / "a.parquet").unlink()
    with pytest.raises(ConfigError, match="list them under columns"):
        inspect(config)
    source = "parquet: in/, columns: {ts: timestamp, host: string, rtt_us: long}"
    config = configured(tmp_path, source)
    (tmp_path / "in" / "a.parquet").unlink()
    inspect(config)


def test_a_source_folder_that_is_missing_or_a_file_is_refused(tmp_path: Path) -> None:
    config = configured(tmp_path)
    shutil.rmtree(tmp_path / "in")
    with pytest.raises(ConfigError, match="does not exist"):
        inspect(config)
    (tmp_path / "in").write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        inspect(config)


@pytest.mark.parametrize(("folder", "message"), [("in", "cannot be read"), ("out", "cannot be written")])
def test_folders_without_the_right_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, message: str
) -> None:
    config = configured(tmp_path)
    (tmp_path / "out").mkdir()
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != folder and allowed(path, mode))
    with pytest.raises(ConfigError, match=message):
        inspect(config)


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    config = configured(tmp_path)
    (tmp_path / "out").write_text("")
    with pytest.raises(ConfigError, match="out is a file"):
        inspect(config)


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = configured(tmp_path)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**12, 10**12, 5_000_000))
    with pytest.raises(ConfigError, match="5 MB left"):
        inspect(config)


def test_a_rule_on_a_quantile_that_is_not_computed_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 10: .*p95"):
        inspect(configured(tmp_path, expr="p95 > 4ms"))


def test_a_command_that_is_not_there_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"line 6: .*'no-such-program' was not found"):
        inspect(configured(tmp_path, receivers="[{command: [no-such-program]}]"))


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        ("expr: p95 > 4ms\n        labels: {severity: page}", "expr"),
        ("expr: p99 > 4ms\n        labels: {host: page}", "labels"),
        ("expr: p99 > 4ms\n        for: 2m\n        annotations: {summary: '{{ p95 }}'}", "annotations"),
    ],
)
def test_what_is_wrong_in_a_rule_has_the_line_of_its_key(tmp_path: Path, rule: str, key: str) -> None:
    configured(tmp_path)
    file = tmp_path / "aomg.yaml"
    head = file.read_text().partition("      - {alert")[0]
    file.write_text(f"{head}      - alert: Slow\n        {rule}\n")
    with pytest.raises(ConfigError) as caught:
        inspect(load(file))
    assert file.read_text().splitlines()[caught.value.line - 1].strip().startswith(f"{key}:")


@pytest.mark.parametrize(("written", "line"), [("state: state/", 2), ("parquet: out/results", 5)])
def test_a_place_that_cannot_be_written_to_is_told_with_its_line(tmp_path: Path, written: str, line: int) -> None:
    configured(tmp_path)
    (tmp_path / "file").write_text("")
    file = tmp_path / "aomg.yaml"
    file.write_text(file.read_text().replace(written, written.partition(":")[0] + ": file/below"))
    with pytest.raises(ConfigError, match=r"file is a file, but .* must be a folder") as caught:
        inspect(load(file))
    assert {problem.line for problem in caught.value.problems} == {line}


def test_a_folder_in_the_place_of_a_file_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(ConfigError, match=r"line 6: .*logs is a folder, but must be a file"):
        inspect(configured(tmp_path, receivers="[{log: logs}]"))


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        inspect(configured(tmp_path, expr="p95 > 4ms", receivers="[{command: [no-such-program]}]", rtt_us=None))
    assert [problem.line for problem in caught.value.problems] == [4, 6, 10]
