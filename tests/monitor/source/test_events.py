"""What a source makes of good and of bad rows: typed events, and reasons. On Spark."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import load
from aomg.monitor.errors import ConfigError
from aomg.monitor.source.events import Events, events_of
from aomg.monitor.source.header import with_header
from aomg.monitor.source.long_lines import LongLines
from aomg.spark.intake import quoted
from aomg.spark.refused import MOST_SAMPLES, SCHEMA, RefusedSamples
from aomg.tables.rows import unpack

pytestmark = pytest.mark.xdist_group("monitor on spark")

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COLUMNS = "{ts: string, host: string, rtt_us: long, load: double}"


def config(tmp_path: Path, source: str, queries: str = "") -> Config:
    file = tmp_path / "aomg.yaml"
    file.write_text(
        f"source: {{{source}, time: ts}}\n"
        "state: state/\n"
        "queries:\n"
        "  rtt: {value: rtt_us, unit: us, by: [host], size: 1 minute, period: 10 seconds, quantiles: [0.5]}\n" + queries
    )
    return load(file)


def rows(spark: SparkSession, frame: Any, tmp_path: Path) -> list[dict[str, Any]]:
    """All rows that a stream gives for what is there."""
    collected: list[dict[str, Any]] = []
    query = frame.writeStream.foreachBatch(lambda batch, _: collected.extend(batch.toArrow().to_pylist()))
    query = query.option("checkpointLocation", str(tmp_path / f"checkpoint-{len(list(tmp_path.iterdir()))}"))
    query.trigger(availableNow=True).start().awaitTermination()
    return collected


def typed_rows(spark: SparkSession, events: Events, tmp_path: Path) -> list[dict[str, Any]]:
    """The typed columns of all rows."""
    return rows(spark, events.all.select(*map(quoted, source_columns(events))), tmp_path)


def source_columns(events: Events) -> list[str]:
    return [name for name in events.all.columns if not name.startswith("__")]


def refused_rows(spark: SparkSession, events: Events, tmp_path: Path) -> list[dict[str, Any]]:
    """The refused rows, as a scan collects them."""
    marks = events.marks([])
    collected = [row["row"] for row in rows(spark, events.all.select(marks.refused.alias("row")), tmp_path)]
    samples = RefusedSamples(marks.reasons)
    column = pa.chunked_array([pa.array(collected, pa.binary())])
    parcels = [*samples.parcels(column, 0), *samples.rest(0)] if collected else []
    tables = [unpack(parcel["content"][0].as_buffer()) for parcel in parcels]
    table = pa.concat_tables([SCHEMA.empty_table(), *tables])
    events_read = [row["count"] for row in table.to_pylist() if row["reason"] is None]
    assert events_read == ([len(collected)] if collected else [])
    return [row for row in table.to_pylist() if row["reason"] is not None]


def written(tmp_path: Path, name: str, text: str) -> str:
    folder = tmp_path / "in"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return "in/"


def test_rows_of_csv_become_typed_events_and_each_bad_one_says_why(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        "a.csv",
        "ts,host,rtt_us,load\n"
        "2026-03-01T12:00:00Z,a,500,0.5\n"
        "2026-03-01T14:00:00+02:00,b,700,\n"
        "2026-03-01T12:00:00Z,c,many,1\n"
        "yesterday,d,1,1\n"
        ",e,1,1\n"
        "2026-03-01T12:00:00Z,f\n"
        "2026-03-01T12:00:00Z,g,,0.1\n",
    )
    configuration = config(tmp_path, f"csv: {folder}, columns: {COLUMNS}, options: {{header: true}}")
    events = events_of(spark, configuration)
    good = {row["host"]: row for row in typed_rows(spark, events, tmp_path) if row["rtt_us"] and row["ts"]}
    assert set(good) == {"a", "b"}
    assert good["a"] == {"host": "a", "rtt_us": 500, "load": 0.5, "ts": NOON}
    assert good["b"]["ts"] == NOON
    refused = {row["reason"]: row for row in refused_rows(spark, events, tmp_path)}
    assert set(refused) == {
        "rtt_us is not a whole number",
        "the time cannot be read",
        "the time is missing",
        "the line cannot be read",
        "no finite value in rtt_us",
    }
    assert "many" in refused["rtt_us is not a whole number"]["text"]
    assert refused["the line cannot be read"]["text"] == "2026-03-01T12:00:00Z,f"
    assert all(row["file"].endswith("a.csv") and row["count"] == 1 for row in refused.values())


def test_no_row_is_dropped_on_the_way(spark: SparkSession, tmp_path: Path) -> None:
    lines = [json.dumps({"ts": "2026-03-01T12:00:00Z", "host": str(i), "rtt_us": i}) for i in range(50)]
    folder = written(tmp_path, "a.jsonl", "\n".join([*lines, "{broken", "[]", '{"ts": 5}']) + "\n")
    configuration = config(tmp_path, f"jsonl: {folder}, columns: {COLUMNS}")
    assert len(typed_rows(spark, events_of(spark, configuration), tmp_path)) == 53


def test_of_many_refused_rows_a_few_are_kept_and_all_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(tmp_path, "a.jsonl", "not json\n" * (MOST_SAMPLES + 150))
    configuration = config(tmp_path, f"jsonl: {folder}, columns: {COLUMNS}")
    refused = refused_rows(spark, events_of(spark, configuration), tmp_path)
    assert sum(row["count"] for row in refused) == MOST_SAMPLES + 150
    assert sum(row["text"] is not None for row in refused) == MOST_SAMPLES


def test_times_without_a_zone_are_those_of_the_source(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        "a.jsonl",
        '{"ts": "2026-03-01T12:00:00Z", "host": "zone", "rtt_us": 1}\n'
        '{"ts": "2026-03-01 13:00:00", "host": "none", "rtt_us": 1}\n',
    )
    configuration = config(tmp_path, f"jsonl: {folder}, columns: {COLUMNS}, time_zone: Europe/Berlin")
    read = typed_rows(spark, events_of(spark, configuration), tmp_path)
    assert {row["ts"] for row in read} == {NOON}


@pytest.mark.parametrize(
    ("format", "text"),
    [("epoch_s", "1772366400"), ("epoch_ms", "1772366400000"), ("epoch_us", "1772366400000000")],
)
def test_times_may_be_numbers(spark: SparkSession, tmp_path: Path, format: str, text: str) -> None:
    folder = written(tmp_path, "a.csv", f"{text},a,1,1\nsoon,b,1,1\n")
    configuration = config(tmp_path, f"csv: {folder}, columns: {COLUMNS}, time_format: {format}")
    events = events_of(spark, configuration)
    assert [row["ts"] for row in typed_rows(spark, events, tmp_path)] == [NOON, None]
    assert [row["reason"] for row in refused_rows(spark, events, tmp_path)] == ["the time cannot be read"]


def test_a_row_without_one_kpi_is_not_refused_if_it_has_another(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(tmp_path, "a.csv", "2026-03-01T12:00:00Z,a,,0.5\n2026-03-01T12:00:00Z,b,7,\n")
    more = "  load: {value: load, by: [host], size: 1 minute, period: 10 seconds, quantiles: [0.5]}\n"
    configuration = config(tmp_path, f"csv: {folder}, columns: {COLUMNS}", more)
    assert refused_rows(spark, events_of(spark, configuration), tmp_path) == []


def test_parquet_files_tell_their_own_columns(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = pa.table({"ts": pa.array([NOON, None]), "host": ["a", "b"], "rtt_us": pa.array([1.5, float("nan")])})
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    events = events_of(spark, config(tmp_path, "parquet: in/"))
    assert typed_rows(spark, events, tmp_path)[0] == {"ts": NOON, "host": "a", "rtt_us": 1.5}
    assert [row["reason"] for row in refused_rows(spark, events, tmp_path)] == ["the time is missing"]


def test_numbers_need_to_be_told_as_times(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": [1], "host": ["a"], "rtt_us": [1]}), tmp_path / "in" / "a.parquet")
    with pytest.raises(ConfigError, match="time_format: epoch_s"):
        events_of(spark, config(tmp_path, "parquet: in/"))


def test_a_header_in_another_order_is_an_error_and_not_read_by_place(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(tmp_path, "a.csv", "ts,host,load,rtt_us\n2026-03-01T12:00:00Z,a,1,500\n")
    configuration = config(tmp_path, f"csv: {folder}, columns: {COLUMNS}, options: {{header: true}}")
    with pytest.raises(PySparkException, match="CSV header does not conform"):
        typed_rows(spark, events_of(spark, configuration), tmp_path)


def test_a_row_whose_label_cannot_be_read_is_refused_once_by_the_queries_that_go_by_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = written(
        tmp_path,
        "a.csv",
        "2026-03-01T12:00:00Z,a,1,7\n2026-03-01T12:00:00Z,b,one,7\n2026-03-01T12:00:00Z,c,,7\n",
    )
    by_rack = "  by_rack: {value: rtt_us, by: [rack], size: 1 minute, period: 10 seconds, quantiles: [0.5]}\n"
    configuration = config(
        tmp_path, f"csv: {folder}, columns: {{ts: string, host: string, rack: int, rtt_us: long}}", by_rack
    )
    events = events_of(spark, configuration)
    marks = events.marks(configuration.queries.values())
    flags = [out.alias(name) for name, out in marks.excluded.items()]
    read = {row["host"]: row for row in rows(spark, events.all.select("host", "rack", *flags), tmp_path)}
    assert {host: (row["rack"], row["rtt"], row["by_rack"]) for host, row in read.items()} == {
        "a": (1, False, False),
        "b": (None, False, True),  # hosts are readable
        "c": (None, False, False),  # a missing rack is a key: null
    }
    assert source_columns(events) == ["host", "rack", "rtt_us", "ts"]
    (refused,) = refused_rows(spark, events, tmp_path)
    assert (refused["reason"], refused["count"]) == ("rack is not a whole number", 1)


def test_texts_of_parquet_files_that_are_not_utf_8_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    hosts = pa.array([b"a", b"caf\xe9", None, b"k" * 2000], pa.binary())
    table = pa.table({"ts": pa.array([NOON] * 4), "host": hosts, "rtt_us": [1, 2, 3, 4]})
    pq.write_table(table.set_column(1, "host", hosts.view(pa.string())), tmp_path / "in" / "a.parquet")
    configuration = config(tmp_path, "parquet: in/")
    events = events_of(spark, configuration)
    excluded = events.marks(configuration.queries.values()).excluded["rtt"]
    read = rows(spark, events.all.select("rtt_us", excluded.alias("excluded")), tmp_path)
    assert sorted(row["rtt_us"] for row in read if not row["excluded"]) == [1, 3]
    refused = {row["reason"]: row["text"] for row in refused_rows(spark, events, tmp_path)}
    assert set(refused) == {
        "host is not UTF-8",
        "the key of rtt is longer than 1,024 characters (longest_key)",
    }
    assert "caf\ufffd" in refused["host is not UTF-8"]


def test_csv_in_another_encoding_is_read_in_it(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_bytes("2026-03-01T12:00:00Z,café,1,1\n".encode("latin-1"))
    options = "options: {encoding: ISO-8859-1}"
    events = events_of(spark, config(tmp_path, f"csv: in/, columns: {COLUMNS}, {options}"))
    assert [row["host"] for row in typed_rows(spark, events, tmp_path)] == ["café"]
    assert refused_rows(spark, events, tmp_path) == []


def test_the_text_of_a_refused_row_is_cut_between_characters(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(tmp_path, "a.jsonl", "ab" + "ä" * 5000 + "\n")
    events = events_of(spark, config(tmp_path, f"jsonl: {folder}, columns: {COLUMNS}"))
    (row,) = refused_rows(spark, events, tmp_path)
    assert row["text"] == "ab" + "ä" * 2047


def test_with_quoted_line_breaks_the_limit_holds_for_each_column(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(tmp_path, "a.csv", f'2026-03-01T12:00:00Z,"a\n{"k" * 500}",1,1\n')
    source = f"csv: {folder}, columns: {COLUMNS}, longest_line: 400, options: {{multiLine: true}}"
    with pytest.raises(PySparkException, match=r"a\.csv|exceeds the maximum number of characters"):
        typed_rows(spark, events_of(spark, config(tmp_path, source)), tmp_path)


def test_csv_is_read_as_in_rfc_4180_from_a_header_alone(spark: SparkSession, tmp_path: Path) -> None:
    """A byte order mark, CR LF, doubled quotes, blank lines, and a first column without a name, as of pandas."""
    whole = "9007199254740993"
    lines = [
        ",ts,host,rtt_us",
        '0,2026-03-01T12:00:00Z,"say ""hi"", all",1.5',
        '1,2026-03-01T12:00:00Z,"""",2',
        '2,2026-03-01T12:00:00Z,back\\slash,"3"',
        f"3,2026-03-01T12:00:00Z,007,{whole}",
        "",
        "",
    ]
    folder = written(tmp_path, "a.csv", "")
    (tmp_path / "in" / "a.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    configuration = with_header(config(tmp_path, f"csv: {folder}a.csv, options: {{header: true}}"))  # a file, no folder
    (tmp_path / "in" / "other.csv").write_text("not,read\n")
    events = events_of(spark, configuration)
    read = [(row["host"], row["rtt_us"]) for row in typed_rows(spark, events, tmp_path)]
    assert read == [('say "hi", all', 1.5), ('"', 2.0), ("back\\slash", 3.0), ("007", None)]
    (refused,) = refused_rows(spark, events, tmp_path)
    assert refused["reason"] == "a double would round rtt_us; list the columns, with long" and whole in refused["text"]


def test_csv_with_its_own_quoting_is_read_as_before(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(tmp_path, "a.csv", "2026-03-01T12:00:00Z,'it\\'s',1,1\n")
    configuration = config(tmp_path, f'csv: {folder}, columns: {COLUMNS}, options: {{quote: "\'"}}')
    assert [row["host"] for row in typed_rows(spark, events_of(spark, configuration), tmp_path)] == ["it's"]


@pytest.mark.parametrize("codec", ["deflate", "snappy", "lz4"])
def test_long_lines_are_found_in_files_that_only_hadoop_can_read(
    spark: SparkSession, tmp_path: Path, codec: str
) -> None:
    lines = spark.createDataFrame([("short",), ("l" * 2_000_000,), ("short",)], "value string").coalesce(1)
    lines.write.option("compression", codec).text(str(tmp_path / "in"))
    (file,) = (tmp_path / "in").glob("part-*")
    configuration = config(tmp_path, f"jsonl: in/, columns: {COLUMNS}")
    (row,) = LongLines(configuration.source).of([file])
    assert row.text is not None and row.text.endswith("(2,000,001 bytes)")
