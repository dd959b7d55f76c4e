"""Reads `source`: where events come from, and how to read their columns and times."""

import re
import zoneinfo
from pathlib import Path
from typing import Any

from aomg.monitor.config.model import GenerateConfig, KafkaConfig, Options, SourceConfig
from aomg.monitor.config.options import options
from aomg.monitor.config.schema import Field, Parser, Section
from aomg.monitor.config.secret import revealed
from aomg.monitor.config.values import boolean, number, one_of, path, secret_text, table, text, whole
from aomg.monitor.errors import ConfigError
from aomg.suggestions import suggestion

KINDS = ("parquet", "csv", "jsonl", "kafka", "generate")
TYPES = ("string", "int", "long", "double", "boolean", "timestamp")
NUMERIC = ("int", "long", "double")
_ELSEWHERE = {
    "bigint": "long",
    "integer": "int",
    "float": "double",
    "text": "string",
    "str": "string",
    "bool": "boolean",
}
_FORMATS = ("iso", "epoch_s", "epoch_ms", "epoch_us", "epoch_ns")
PODSETS = {"ts": "timestamp", "src_podset": "int", "dst_podset": "int", "rtt_us": "long"}
"""The columns of the generated stream. Repeats `aomg.streams.podsets`: reading a configuration loads no streams."""

LONGEST_KEY = 4_096
"""The largest `longest_key`: the page can open keys of this length (`aomg.web.parameters`)."""

_FASTEST = 1_000_000
_NOT_REAL_ZONES = ("localtime", "posixrules", "Factory")


def source(field: Field) -> SourceConfig:
    """A source of events of any kind."""
    section = Section(field)
    kind: Any = section.choose(KINDS)
    line = section.line_of(kind)
    if kind == "generate":
        return _generated(section, line)
    settings: dict[str, Any] = {"time": section.take("time", text)}
    settings["time_zone"] = section.take("time_zone", time_zone, "UTC")
    settings["options"] = section.take("options", options(kind), {})
    in_files = kind == "parquet" or (kind == "csv" and has_header(settings["options"] or {}))
    if kind == "csv" and not in_files and "columns" not in section:
        section.report(
            ConfigError(
                f"{section.field.name} lacks the key 'columns'; list all columns of the file, in order, or set "
                "options: {header: true} if the first line of each file names them"
            )
        )
    columns = table(_type)
    needed = kind in ("jsonl", "kafka")
    settings["columns"] = section.take("columns", columns) if needed else section.take("columns", columns, {})
    settings["longest_key"] = section.take("longest_key", whole(1, LONGEST_KEY), 1_024)
    if kind != "parquet":
        settings["longest_line"] = section.take("longest_line", whole(100, 1 << 30), 1_000_000)
    settings["time_format"] = section.take("time_format", _time_format, "iso")
    if kind == "kafka":
        settings["kafka"] = section.take("kafka", kafka(None))
    else:
        settings["path"] = section.take(kind, _folder)
        settings["files_per_batch"] = section.take("files_per_batch", whole(1, 100_000), 100)
        settings["skip_missing_files"] = section.take("skip_missing_files", boolean, False)
    elsewhere = {
        "files_per_batch": "is for files; use options: {maxOffsetsPerTrigger: ...}",
        "skip_missing_files": "is for files",
    }
    section.close(why={**elsewhere, "longest_line": "is for lines of text, which Parquet has not"})
    if kind == "kafka":
        settings["kafka"] = KafkaConfig(settings["kafka"].servers, settings["kafka"].topic, options=settings["options"])
    settings["from_header"] = kind == "csv" and not settings["columns"]
    _add_time(section, kind, settings)
    return SourceConfig(kind, line, **settings)


def has_header(options: Options) -> bool:
    """Whether the first line of each CSV file names its columns."""
    return any(name.lower() == "header" and text.lower() == "true" for name, text in revealed(options).items())


def _folder(field: Field) -> Path:
    folder = path(field)
    if re.search(r"[*?\[\]{}\\]", str(folder)):
        field.refuse(
            "has a character that Spark treats as a pattern (* ? [ ] { } \\); rename it, or name a folder, and choose "
            "files in it with options: {pathGlobFilter: '*.csv'}"
        )
    return folder


def _type(field: Field) -> str:
    meant = _ELSEWHERE.get(field.node.text.lower())
    if meant:
        field.refuse(f"is {field.excerpt()}; write {meant}")
    return one_of(*TYPES)(field)


def _add_time(section: Section, kind: str, settings: dict[str, Any]) -> None:
    """Add the time to the columns if it is not listed. In CSV, where columns go by position, it must be."""
    time, columns = settings["time"], settings["columns"]
    if time in columns or (not columns and kind in ("parquet", "csv")):
        return
    if kind == "csv":
        raise ConfigError(
            f"source.columns lacks the time column {time!r}; list all columns of the file, in order",
            section.line_of("columns"),
        )
    in_files = "long" if settings["time_format"].startswith("epoch") else "timestamp"
    columns[time] = in_files if kind == "parquet" else "string"


def _generated(section: Section, line: int) -> SourceConfig:
    time = section.take("time", text, "ts")
    generated = section.take("generate", _generate)
    own = (
        "time_format",
        "time_zone",
        "columns",
        "files_per_batch",
        "skip_missing_files",
        "longest_line",
        "longest_key",
        "options",
        *KINDS[:-1],
    )
    section.close(why=dict.fromkeys(own, "is not for generate, whose columns are fixed"))
    if PODSETS.get(time) != "timestamp":
        raise ConfigError("source.time must be ts, the time column of podsets", section.line_of("time"))
    return SourceConfig("generate", line, time, columns=dict(PODSETS), generate=generated)


def _generate(field: Field) -> GenerateConfig:
    section = Section(field)
    stream: Any = section.take("stream", one_of("podsets"), "podsets")
    rate = section.take("rate", whole(1, _FASTEST), 10_000)
    speed = section.take("speed", number(0, _FASTEST), 1.0)
    events = section.take("events", whole(1), 10_000_000)
    seed = section.take("seed", whole(0), 1)
    incidents = section.take("incidents", boolean, True)
    section.close()
    return GenerateConfig(stream, rate, speed, events, seed, incidents)


def kafka(own: str | None) -> Parser[KafkaConfig]:
    """Servers, topic and format; and the options of the kind `own`, if it has them here."""

    def parse(field: Field) -> KafkaConfig:
        section = Section(field)
        servers = section.take("servers", secret_text)
        topic = section.take("topic", _topic)
        form: Any = section.take("format", one_of("json"), "json")
        own_options: Options = section.take("options", options(own), {}) if own else {}
        section.close(why={"options": "belongs one level up, beside kafka"})
        return KafkaConfig(servers, topic, form, own_options)

    return parse


def _topic(field: Field) -> str:
    name = text(field)
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name):
        field.refuse(f"must be the name of one topic (letters, digits, . _ -), but is {field.excerpt()}")
    return name


def time_zone(field: Field) -> str:
    """The IANA name of a time zone."""
    name = text(field)
    try:
        zoneinfo.ZoneInfo(name)
        known = name not in _NOT_REAL_ZONES and not name.startswith(("posix/", "right/"))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = False
    if not known:
        zones = sorted(zoneinfo.available_timezones() - {*_NOT_REAL_ZONES})
        hint = suggestion(name, zones, "write a name such as UTC, Europe/Berlin or America/New_York")
        field.refuse(f"is {field.excerpt()}, an unknown time zone; {hint}")
    return name


def _time_format(field: Field) -> str:
    form = text(field)
    bare = re.sub(r"'[^']*'", "", form)
    if form not in _FORMATS and (
        "y" not in bare or len(form) > 100 or not re.fullmatch(r"[GyMLdQqEFahKkHmsSVzOXxZD\W\d_]*", bare) or "'" in bare
    ):
        hint = suggestion(form, _FORMATS, "put letters that are not part of a pattern, such as T, in quotes")
        if "%" in form:
            hint = "write %Y-%m-%d as yyyy-MM-dd, and %H:%M:%S as HH:mm:ss"
        elif "Y" in bare:
            hint = "write the year as yyyy, and the day as dd"
        field.refuse(
            f"must be {', '.join(_FORMATS)} or a pattern such as yyyy-MM-dd HH:mm:ss, but is {field.excerpt()}; {hint}"
        )
    if form not in _FORMATS and (mistake := _mistake(bare)):
        field.refuse(f"is {field.excerpt()}, which does not read times as intended: {mistake}")
    return form


def _mistake(pattern: str) -> str | None:
    """The probable mistake in a pattern with which Spark would read another time, or none."""
    uses = {letter: letter in pattern for letter in "MLdDmHhKkas"}
    if uses["d"] and not (uses["M"] or uses["L"]):
        return "it has no month, which is MM (mm is minutes)"
    if uses["D"] and (uses["M"] or uses["L"]):
        return "D is the day of the year; the day of the month is dd"
    if uses["m"] and not (uses["H"] or uses["h"] or uses["K"] or uses["k"]):
        return "it has no hour, which is HH"
    if (uses["H"] or uses["k"]) and uses["s"] and not uses["m"]:
        return "it has no minute, which is mm (MM is the month)"
    if (uses["h"] or uses["K"]) and not uses["a"]:
        return "hh is 1 to 12 and needs a for AM or PM; the hour of the day is HH"
    return None
