"""`aomg init` writes a configuration that `aomg check` accepts, for any table with times and numbers."""

import csv
import gzip
import io
import json
import sys
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from aomg.cli import app
from aomg.monitor import command
from aomg.monitor.config.reader import load
from aomg.monitor.draft import text_pieces
from aomg.monitor.draft.draft import Settings, draft_of
from aomg.monitor.draft.topic import Topic, newest_messages, topic_of
from aomg.monitor.errors import ConfigError
from aomg.monitor.run.check import inspect
from aomg.monitor.source.header import with_header
from aomg.terminal import Terminal

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NAMES = st.one_of(
    st.sampled_from(["ts", "Host", "latency_ms", "a b", "and", "p99", "count", "x.y", "no", "1st", "naïve", 'q"q']),
    st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=12),
).filter(lambda name: not name.startswith("__") and "${" not in name and name.isprintable())
TIMES = {
    "iso": lambda time: time.isoformat(),
    "epoch_ms": lambda time: str(int(time.timestamp()) * 1000),
    "yyyy-MM-dd HH:mm:ss,SSS": lambda time: f"{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}",
}


def drafted(data: Path, settings: Settings | None = None) -> tuple[Path, str]:
    """Write a configuration beside the data; return it, and what was printed."""
    output = io.StringIO()
    file = data.parent / "aomg.yaml"
    command.init(Terminal(file=output, width=80), str(data), file, settings or Settings(), force=True)
    return file, output.getvalue()


@st.composite
def data_sets(draw):
    """A table: times in some style, numbers, labels and others, by columns with any names."""
    names = draw(st.lists(NAMES, min_size=4, max_size=7, unique_by=lambda name: name.strip().lower()))
    rows = draw(st.integers(2, 60))
    step = draw(st.sampled_from([0.001, 0.5, 60.0, 86_400.0]))
    random = draw(st.randoms(use_true_random=False))
    times = [NOON + timedelta(seconds=step * row) for row in range(rows)]
    columns = {
        names[0]: times,
        names[1]: [random.choice([0.25, 7.5, 12.0, 1e9, -3.0, 0.001]) for _ in range(rows)],
        names[2]: [random.choice(["a", "b, c", 'd "e"', "é"]) for _ in range(rows)],
        names[3]: [random.choice([True, False, None]) for _ in range(rows)],
    }
    columns |= {name: [random.choice([None, 1, 2, 200]) for _ in range(rows)] for name in names[4:]}
    return {name: columns[name] for name in draw(st.permutations(names))}, names


def as_csv(columns, file: Path, style, separator: str, header: bool) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, delimiter=separator)
        if header:
            rows.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            rows.writerow([style(value) if isinstance(value, datetime) else value for value in row])


def as_json(columns, file: Path, style) -> None:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    texts = [{k: style(v) if isinstance(v, datetime) else v for k, v in row.items() if v is not None} for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in texts))


@given(
    data_sets(),
    st.sampled_from(["csv", "csv.gz", "no header", "jsonl", "parquet", "nanoseconds"]),
    st.sampled_from(sorted(TIMES)),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_a_configuration_of_any_table_passes_the_check(tmp_path_factory, data, form, style, separator):
    columns, names = data
    folder = tmp_path_factory.mktemp("data")
    file = folder / f"x.{form.replace('no header', 'csv').replace('nanoseconds', 'parquet')}"
    if form in ("parquet", "nanoseconds"):
        unit = "us" if form == "parquet" else "ns"
        table = pa.table(columns)
        place = list(columns).index(names[0])
        pq.write_table(table.set_column(place, names[0], table[names[0]].cast(pa.timestamp(unit, "UTC"))), file)
    elif form == "jsonl":
        as_json(columns, file, TIMES[style])
    else:
        as_csv(columns, file, TIMES[style], separator, form != "no header")
        if form == "csv.gz":
            file.write_bytes(gzip.compress(file.read_bytes()))
    settings = Settings(
        time=names[0] if form != "no header" else f"column_{list(columns).index(names[0]) + 1}",
        value=names[1] if form != "no header" else f"column_{list(columns).index(names[1]) + 1}",
        header=form != "no header",
        separator=separator,
    )
    written, printed = drafted(file, settings)
    config = with_header(load(written))
    inspect(config)
    assert (config.source.time, next(iter(config.queries.values())).value) == (settings.time, settings.value)
    assert len(config.rules) == 2 and max(len(line.rstrip()) for line in printed.splitlines()) <= 80


def requests(folder: Path, rows: int = 3000, name: str = "requests.csv") -> Path:
    lines = ["ts,service,status,latency_ms"]
    for row in range(rows):
        time = NOON + timedelta(seconds=row / 5)
        lines.append(f"{time.isoformat()},{('checkout', 'login', 'search')[row % 3]},{200 + row % 2},{20 + row % 97}.5")
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def test_time_value_unit_key_and_windows_are_guessed(tmp_path):
    file, printed = drafted(requests(tmp_path))
    config = with_header(load(file))
    query = config.queries["latency"]
    assert (config.source.time, config.source.time_format, config.source.columns["service"]) == ("ts", "iso", "string")
    assert (query.value, query.unit, query.by) == ("latency_ms", "ms", {"service": "service"})
    # 1.67 events a second of a key: 500 in the longest window of which ten minutes have several
    assert (query.query.size, query.query.period) == (60_000_000, 10_000_000)
    assert "status (2) may be keys, too" in " ".join(printed.split())
    assert "uncertain (?): key, window" in printed


def test_every_option_replaces_a_guess(tmp_path):
    data = requests(tmp_path)
    given = Settings(
        "ts",
        "iso",
        "Europe/Berlin",
        "status",
        "none",
        ("service", "latency_ms"),
        False,
        "2m",
        "20s",
        "5s",
        "csv",
        True,
        ",",
    )
    config = with_header(load(drafted(data, given)[0]))
    query = config.queries["status"]
    assert (config.source.time_zone, query.value, query.unit) == ("Europe/Berlin", "status", None)
    assert list(query.by) == ["service", "latency_ms"]
    assert (query.query.size, query.query.period, query.query.lateness) == (120_000_000, 20_000_000, 5_000_000)
    assert with_header(load(drafted(data, Settings(one_key=True))[0])).queries["latency"].by == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(time="tss"), "--time tss: there is no such column; did you mean ts"),
        (Settings(value="service"), "--value service: quantiles need a column of numbers; the columns are ts, service"),
        (Settings(by=("hots",)), "--by hots: there is no such column"),
        (Settings(time="service"), "'service' are in no format that is known, such as 'checkout'; add --time-format"),
        (Settings(size="7s", period="5s"), "size='7s' is not a multiple of period='5s'"),
        (Settings(unit="ns"), "must be us, ms, s or none"),
        (Settings(time_zone="Mars"), "an unknown time zone"),
        (Settings(kind="parquet"), "cannot be read as Parquet"),
        (Settings(kind="xml"), "--format xml: write csv, jsonl or parquet"),
        (Settings(separator="::"), "--separator '::' must be one character"),
    ],
)
def test_options_that_do_not_fit_the_data_are_refused_and_nothing_is_written(tmp_path, settings, message):
    data = requests(tmp_path)
    with pytest.raises(ConfigError) as caught:
        drafted(data, settings)
    assert message in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["requests.csv"]


NOTHING = {
    "missing": (None, "there is no file or folder"),
    "empty.csv": (b"", "is empty"),
    "head.csv": (b"ts,ms\n", "has a header, but no rows"),
    "text.csv": (b"hello\nworld\n", "no column has times: the columns are column_1"),
    "words.csv": (b"ts,word\n2024-05-01T00:00:00Z,a\n", "no column has numbers besides the times"),
    "commas.csv": (b"ts;ms\n2024-05-01T00:00:00Z;1,5\n2024-05-01T00:00:01Z;2,5\n", "decimal commas are not numbers"),
    "twice.csv": (b"ts,ms,MS\n2024-05-01T00:00:00Z,1,2\n", "has the column 'ms' twice"),
    "zero.csv": (b"\0\1\2" * 50, "has zero bytes"),
    "wide.csv": ("ts,ms\n".encode("utf-16"), "is UTF-16; convert it to UTF-8"),
    "damaged.csv.gz": (b"\x1f\x8bxxxxxx", "cannot be read"),
    "damaged.parquet": (b"PAR1", "cannot be read as Parquet"),
    "array.json": (b'[{"ts": 1}]', "is one JSON array; write one object a line"),
    "lists.jsonl": (b"[]\n5\n", "is one JSON array"),
    "words.jsonl": (b"hello\n", "has no line that is a JSON object"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_cannot_be_read_says_why_and_what_to_do(tmp_path, name):
    content, message = NOTHING[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        drafted(tmp_path / name)
    assert not (tmp_path / "aomg.yaml").exists()


def test_folders_are_looked_at_as_spark_reads_them(tmp_path):
    requests(tmp_path / "days")
    (tmp_path / "days" / "notes.txt").write_text("not read")
    assert "pathGlobFilter" in drafted(tmp_path / "days")[0].read_text()
    (tmp_path / "deep").mkdir()
    requests(tmp_path / "deep" / "er")
    assert "recursiveFileLookup: true" in drafted(tmp_path / "deep")[0].read_text()
    for day in (1, 2):
        (tmp_path / "parts").mkdir(exist_ok=True)
        requests(tmp_path / "parts" / f"day={day}")
    config = with_header(load(drafted(tmp_path / "parts", Settings(by=("day",)))[0]))
    assert config.queries["latency"].by == {"day": "day"} and config.source.columns["day"] == "string"
    (tmp_path / "none").mkdir()
    with pytest.raises(ConfigError, match="has no files with data in it"):
        drafted(tmp_path / "none")


def test_line_breaks_quotes_and_other_encodings_get_their_options(tmp_path):
    data = tmp_path / "x.csv"
    row = '2024-05-01T12:00:0{}Z;"a\n""b""";1{}\n'
    data.write_bytes(("ts;host;ms\n" + "".join(row.format(n, n) for n in range(9))).replace("a", "é").encode("latin-1"))
    options = load(drafted(data)[0]).source.options
    assert options == {"header": "true", "sep": ";", "encoding": "ISO-8859-1", "multiLine": "true"}
    data.write_text('ts,host,ms\n2024-05-01T12:00:00Z,"a \\"b\\"",1\n2024-05-01T12:00:01Z,"c",2\n')
    assert load(drafted(data)[0]).source.options == {"header": "true", "escape": "\\"}


def test_times_in_the_future_and_times_without_a_zone_are_provided_for(tmp_path):
    data = tmp_path / "x.csv"
    data.write_text("ts,ms\n2098-05-01 12:00:00,1\n2098-05-01 12:00:05,2\n")
    file, printed = drafted(data)
    assert load(file).clock is None and "time_zone: UTC" in file.read_text() and "? UTC is assumed" in printed


def test_whole_numbers_that_a_double_would_round_are_longs(tmp_path):
    data = tmp_path / "x.csv"
    data.write_text("ts,size\n2024-05-01T12:00:00Z,9007199254740993\n2024-05-01T12:00:01Z,5\n")
    assert load(drafted(data)[0]).source.columns == {"ts": "string", "size": "long"}


def test_an_existing_file_is_replaced_only_with_force(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    requests(tmp_path / "telemetry")
    run = CliRunner().invoke
    assert run(app, ["init", "telemetry"]).exit_code == 0
    Path("aomg.yaml").write_text("mine")
    again = run(app, ["init", "telemetry"])
    assert again.exit_code == 2 and "aomg.yaml exists; name another file, or replace it with --force" in again.stderr
    assert Path("aomg.yaml").read_text() == "mine"
    assert run(app, ["init", "telemetry", "--force"]).exit_code == 0 and "queries" in Path("aomg.yaml").read_text()
    assert run(app, ["check", "aomg.yaml"]).exit_code == 0
    Path("state").mkdir()
    assert "is there from an earlier run" in run(app, ["init", "telemetry", "--force"]).stdout
    inside = run(app, ["init", "telemetry", "telemetry/aomg.yaml"])
    assert inside.exit_code == 2 and "the results would be inside telemetry" in inside.stderr
    assert run(app, ["init", "telemetry", "notes.txt"]).exit_code == 2
    assert run(app, ["init", "telemetry", "nowhere/aomg.yaml"]).exit_code == 2


def test_two_configurations_in_a_folder_write_to_different_places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    requests(tmp_path / "results")
    written = []
    for name in ("aomg.yaml", "other.yaml"):
        command.init(Terminal(file=io.StringIO()), "results", Path(name), Settings())
        config = load(name)
        written += [config.state, config.quarantine.folder, *(sink.path for sink in config.sinks.results)]
    assert len(set(written)) == 6 and tmp_path / "results" not in written


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(text_pieces, "MOST_BYTES", 1 << 17)
    small = requests(tmp_path, 4_000)
    large = tmp_path / "large.csv"
    head, _, rest = small.read_text().partition("\n")
    with large.open("w") as out:
        out.write(head + "\n")
        for _ in range(12):
            out.write(rest)
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(large.read_bytes(), 1))
    peaks = {}
    for file, rows in ((small, 4_000), (large, 48_000), (packed, None)):
        tracemalloc.start()
        draft = draft_of(str(file), Settings())
        peaks[file] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows is None or draft.sample.total == pytest.approx(rows, rel=0.05)
    assert max(peaks[large], peaks[packed]) < 2 * peaks[small]


# -- topics ------------------------------------------------------------------------------------------------------------


class Broker:
    """What a client of Kafka says of a topic with some partitions, whose oldest messages are gone."""

    def __init__(self, *partitions: list[bytes], first: int = 5) -> None:
        self._messages, self._first = partitions, first
        self._next: dict = {}

    def partitions_for_topic(self, name):
        return set(range(len(self._messages))) if name == "rtts" else None

    def assign(self, partitions):
        pass

    def beginning_offsets(self, partitions):
        return dict.fromkeys(partitions, self._first)

    def end_offsets(self, partitions):
        return {part: self._first + len(self._messages[part.partition]) for part in partitions}

    def seek(self, partition, offset):
        self._next[partition] = offset

    def position(self, partition):
        return self._next[partition]

    def poll(self, timeout_ms):
        records = {}
        for part, offset in self._next.items():
            here = self._messages[part.partition][offset - self._first :][:700]
            records[part] = [SimpleNamespace(value=value) for value in here]
            self._next[part] = offset + len(here)
        return records


def test_the_newest_messages_of_every_partition_are_read():
    many = [b"%d" % number for number in range(20_000)]
    runs = newest_messages(Broker(many, [b"a", b"b"], []), "rtts")
    assert list(runs[0]) == many[-3_333:] and list(runs[1]) == [b"a", b"b"] and not runs[2]
    with pytest.raises(ConfigError, match="there is no topic other"):
        newest_messages(Broker([]), "other")


def test_a_topic_gets_a_configuration(tmp_path, monkeypatch):
    lines = [{"when": 1714564800000 + 20 * n, "host": "ab"[n % 2], "rtt_us": 100 + n % 50} for n in range(5_000)]
    broker = Broker([json.dumps(line).encode() for line in lines])
    broker.close = lambda: None
    monkeypatch.setattr("kafka.KafkaConsumer", lambda **_: broker)
    file = tmp_path / "aomg.yaml"
    command.init(Terminal(file=io.StringIO()), "kafka://127.0.0.1:9092/rtts", file, Settings())
    config = load(file)
    assert (config.source.kafka.servers, config.source.kafka.topic) == ("127.0.0.1:9092", "rtts")
    assert (config.source.time, config.source.time_format) == ("when", "epoch_ms")
    assert config.queries["rtt"].by == {"host": "host"} and config.queries["rtt"].unit == "us"
    assert config.queries["rtt"].query.size == 60_000_000, "25 a second of a key"


def test_without_a_client_or_a_server_the_error_says_what_to_do(tmp_path, monkeypatch):
    file = tmp_path / "aomg.yaml"
    with pytest.raises(ConfigError, match=r"write kafka://HOST:PORT/TOPIC, a file or a folder") as caught:
        command.init(Terminal(), "kafka://user:hunter2@host:1/x", file, Settings())
    assert "hunter2" not in str(caught.value)
    assert topic_of("kafka://a,b:1/x.y") == Topic("a:9092,b:1", "x.y")
    monkeypatch.setitem(sys.modules, "kafka", None)
    with pytest.raises(ConfigError, match=r"run: pip install 'aomg\[kafka\]'"):
        command.init(Terminal(), "kafka://127.0.0.1:9092/rtts", file, Settings())
    assert not file.exists()
