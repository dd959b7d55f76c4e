"""CSV with a header needs no list of columns: names from the header, types from the queries, fixed with the state."""

import gzip
import json
from pathlib import Path

import pytest

from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import load
from aomg.monitor.errors import ConfigError
from aomg.monitor.journal.queries import FILE
from aomg.monitor.run.check import inspect
from aomg.monitor.run.state_owner import claim_state
from aomg.monitor.source.header import with_header

ROW = "2026-03-01T12:00:00Z,a,1,2,007\n"


def written(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / "in" / name


def config(folder: Path, query: str = "value: ms, by: [host]", more: str = "", options: str = "header: true") -> Config:
    (folder / "in").mkdir(exist_ok=True)
    file = folder / "aomg.yaml"
    file.write_text(
        f"source: {{csv: in/, time: ts, options: {{{options}}}{more}}}\nstate: state/\n"
        f"queries: {{latency: {{{query}, size: 1m, period: 10s}}}}\n"
    )
    return load(file)


def begin(config: Config) -> None:
    """What a start leaves behind once Spark has planned the first batch."""
    claim_state(config)
    planned = config.state / "checkpoint" / "offsets" / "0"
    planned.parent.mkdir(parents=True, exist_ok=True)
    planned.touch()


def test_values_and_weights_are_numbers_and_everything_else_is_text(tmp_path):
    written(tmp_path, "ts,host,ms,requests,code\n" + ROW)
    read = with_header(config(tmp_path, "value: ms, weight: requests, by: [code]"))
    types = {"ts": "string", "host": "string", "ms": "double", "requests": "double", "code": "string"}
    assert read.source.columns == types and read.source.header == tuple(types)
    inspect(read)


def test_columns_that_are_listed_stay_as_they_are(tmp_path):
    written(tmp_path, "ts,host,ms\n")
    listed = config(tmp_path, more=", columns: {ts: string, host: string, ms: long}")
    assert with_header(listed) is listed and not listed.source.from_header


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfts,host,ms\r\n2026-03-01T12:00:00Z,a,1\r\n\r\n",
        b'"ts","host","ms"\n',
        b"ts,host,ms\r2026-03-01T12:00:00Z,a,1\r",
        b"\nts,host,ms\n",
    ],
)
def test_headers_are_read_as_the_world_writes_them(tmp_path, content):
    written(tmp_path, content)
    assert with_header(config(tmp_path)).source.header == ("ts", "host", "ms")


def test_a_compressed_header_and_folders_with_columns_are_read(tmp_path):
    (tmp_path / "in" / "day=1").mkdir(parents=True)
    written(tmp_path, gzip.compress(b"ts,host,ms\n"), "day=1/a.csv.gz")
    read = with_header(config(tmp_path, "value: ms, by: [day]"))
    assert read.source.header == ("ts", "host", "ms") and read.source.columns["day"] == "string"
    inspect(read)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no CSV file in .* yet, so its columns are unknown; list them under columns, or start once"),
        ("", "there is no CSV file"),
        ("ts,host,HOST,ms\n", "has the column 'host' twice .capitals do not matter.; rename one"),
        (",host,,ms\n", "two columns without a name"),
        ("ts\n", "has no column 'ms'|has no column 'host'"),
        ("ms,host\n", "the source has no column 'ts'; its columns are ms, host"),
    ],
)
def test_a_header_that_cannot_be_used_says_what_to_do(tmp_path, content, message):
    if content is not None:
        written(tmp_path, content)
    with pytest.raises(ConfigError, match=message):
        inspect(with_header(config(tmp_path)))


def test_the_time_is_no_value(tmp_path):
    written(tmp_path, "ts,host,ms\n")
    with pytest.raises(ConfigError, match=r"aomg\.yaml, line 3: 'ts' is the time column, and cannot be a value"):
        with_header(config(tmp_path, "value: ts"))


def test_without_a_header_columns_are_listed_or_the_error_says_both_ways(tmp_path):
    with pytest.raises(ConfigError, match=r"lacks the key 'columns'; list all .* or set options: {header: true}"):
        config(tmp_path, options="sep: ';'")


def test_a_state_keeps_the_columns_that_it_began_with(tmp_path):
    file = written(tmp_path, "ts,host,ms\n")
    begin(with_header(config(tmp_path)))
    assert json.loads((tmp_path / "state" / FILE).read_text())["columns"] == ["ts", "host", "ms"]
    file.unlink()
    assert with_header(config(tmp_path)).source.header == ("ts", "host", "ms")  # even without a file
    written(tmp_path, "ts,ms,host\n", "b.csv")
    with pytest.raises(ConfigError, match=r"b\.csv has the columns ts, ms, host, but the first file had ts, host, ms"):
        inspect(with_header(config(tmp_path)))
    # a query that is added must not change the type of a column that another one uses
    more = with_header(config(tmp_path, "value: ms, by: [host], size: 1m, period: 10s}, other: {value: host"))
    with pytest.raises(ConfigError, match="the type of host of the events was 'string' and is 'double'"):
        claim_state(more)
    claim_state(with_header(config(tmp_path, "value: ms, by: [host], size: 1m, period: 10s}, other: {value: ms")))
    assert json.loads((tmp_path / "state" / FILE).read_text())["columns"] == ["ts", "host", "ms"]


def test_before_the_first_batch_another_file_may_name_the_columns(tmp_path):
    file = written(tmp_path, "ts,host,ms\n")
    claim_state(with_header(config(tmp_path)))
    file.write_text("host,ts,ms\n")
    assert with_header(config(tmp_path)).source.header == ("host", "ts", "ms")


def test_line_breaks_inside_quotes_are_reported_until_it_is_said_what_to_do(tmp_path):
    written(tmp_path, 'ts,host,ms\n2026-03-01T12:00:00Z,"a\nb",1\n')
    with pytest.raises(ConfigError, match=r"a\.csv has line breaks inside quotes; set options: {multiLine: true} .*"):
        inspect(with_header(config(tmp_path)))
    for text in ("true", "false"):
        inspect(with_header(config(tmp_path, options=f"header: true, multiLine: {text}")))
    written(tmp_path, 'ts,host,ms\n2026-03-01T12:00:00Z,"a,1\n2026-03-01T12:00:00Z,b,1\n')  # a quote that is not closed
    inspect(with_header(config(tmp_path)))
