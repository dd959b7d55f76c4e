"""Reads `source`: where the events come from, and how their columns and times are to be understood."""

import re
import zoneinfo
from pathlib import Path
from typing import Any

from aomg.monitor.config.kinds import Folder, boolean, number, one_of, secret_text, table, text, whole
from aomg.monitor.config.model import GenerateConfig, KafkaConfig, Options, SourceConfig
from aomg.monitor.config.options import options
from aomg.monitor.config.schema import Field, Kind, Section
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
_FORMATS = ("iso", "epoch_s", "epoch_ms", "epoch_us")
PODSETS = {"ts": "timestamp", "src_podset": "int", "dst_podset": "int", "rtt_us": "long"}
"""The columns of the generated stream (`aomg.streams.podsets`): who only reads a configuration generates nothing."""

_FASTEST = 1_000_000
_NOT_REAL_ZONES = ("localtime", "posixrules", "Factory")


def source(folder: Folder) -> Kind[SourceConfig]:
    """A source of events of any kind."""

    def read(given: Field) -> SourceConfig:
        section = Section(given)
        kind: Any = section.choose(KINDS)
        line = section.line_of(kind)
        if kind == "generate":
            return _generated(section, line)
        found: dict[str, Any] = {"time": section.take("time", text)}
        found["time_zone"] = section.take("time_zone", time_zone, "UTC")
        found["options"] = section.take("options", options(kind), {})
        columns = table(_type)
        found["columns"] = (
            section.take("columns", columns, {}) if kind == "parquet" else section.take("columns", columns)
        )
        found["time_format"] = section.take("time_format", _time_format, "iso")
        if kind == "kafka":
            found["kafka"] = section.take("kafka", kafka(None))
        else:
            found["path"] = section.take(kind, _folder(folder))
            found["files_per_batch"] = section.take("files_per_batch", whole(1, 100_000), 100)
        section.close(why={"files_per_batch": "is for files; use options: {maxOffsetsPerTrigger: ...}"})
        if kind == "kafka":
            found["kafka"] = KafkaConfig(found["kafka"].servers, found["kafka"].topic, options=found["options"])
        _add_time(section, kind, found)
        return SourceConfig(kind, line, **found)

    return read


def _folder(folder: Folder) -> Kind[Path]:
    def read(given: Field) -> Path:
        path = folder.path(given)
        if re.search(r"[*?\[\]{}\\]", str(path)):
            given.refuse(
                "has a character that Spark takes for a pattern (* ? [ ] { } \\); give a folder, and choose files "
                "in it with options: {pathGlobFilter: '*.csv'}"
            )
        return path

    return read


def _type(given: Field) -> str:
    meant = _ELSEWHERE.get(given.node.text.lower())
    if meant:
        given.refuse(f"is {given.shown()}; it is called {meant} here")
    return one_of(*TYPES)(given)


def _add_time(section: Section, kind: str, found: dict[str, Any]) -> None:
    """The time is a column too, whether or not it was listed. In CSV a column is known by its place alone."""
    time, columns = found["time"], found["columns"]
    if time in columns or (not columns and kind == "parquet"):
        return
    if kind == "csv":
        raise ConfigError(
            f"source.columns lacks the time column {time!r}; give all columns of the file, in their order",
            section.line_of("columns"),
        )
    in_files = "long" if found["time_format"].startswith("epoch") else "timestamp"
    columns[time] = in_files if kind == "parquet" else "string"


def _generated(section: Section, line: int) -> SourceConfig:
    time = section.take("time", text, "ts")
    generated = section.take("generate", _generate)
    own = ("time_format", "time_zone", "columns", "files_per_batch", "options", "parquet", "csv", "jsonl", "kafka")
    section.close(why=dict.fromkeys(own, "is not for generate, which knows its columns"))
    if PODSETS.get(time) != "timestamp":
        raise ConfigError("source.time must be ts: that is the time column of podsets", section.line_of("time"))
    return SourceConfig("generate", line, time, columns=dict(PODSETS), generate=generated)


def _generate(given: Field) -> GenerateConfig:
    section = Section(given)
    stream: Any = section.take("stream", one_of("podsets"), "podsets")
    rate = section.take("rate", whole(1, _FASTEST), 10_000)
    speed = section.take("speed", number(0, _FASTEST), 1.0)
    events = section.take("events", whole(1), 10_000_000)
    seed = section.take("seed", whole(0), 1)
    incidents = section.take("incidents", boolean, True)
    section.close()
    return GenerateConfig(stream, rate, speed, events, seed, incidents)


def kafka(own: str | None) -> Kind[KafkaConfig]:
    """Servers, topic and format; with the options of `own` kind, unless they stand elsewhere."""

    def read(given: Field) -> KafkaConfig:
        section = Section(given)
        servers = section.take("servers", secret_text)
        topic = section.take("topic", _topic)
        form: Any = section.take("format", one_of("json"), "json")
        set_here: Options = section.take("options", options(own), {}) if own else {}
        section.close(why={"options": "stands one level higher, beside kafka"})
        return KafkaConfig(servers, topic, form, set_here)

    return read


def _topic(given: Field) -> str:
    name = text(given)
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name):
        given.refuse(f"must be the name of one topic (letters, digits, . _ -), and is {given.shown()}")
    return name


def time_zone(given: Field) -> str:
    """The name of a time zone of the IANA's."""
    name = text(given)
    try:
        zoneinfo.ZoneInfo(name)
        known = name not in _NOT_REAL_ZONES and not name.startswith(("posix/", "right/"))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = False
    if not known:
        zones = sorted(zoneinfo.available_timezones() - {*_NOT_REAL_ZONES})
        hint = suggestion(name, zones, "give a name such as UTC, Europe/Berlin or America/New_York")
        given.refuse(f"is no known time zone, {given.shown()}; {hint}")
    return name


def _time_format(given: Field) -> str:
    form = text(given)
    bare = re.sub(r"'[^']*'", "", form)
    if form not in _FORMATS and (
        "y" not in bare or len(form) > 100 or not re.fullmatch(r"[GyMLdQqEFahKkHmsSVzOXxZD\W\d_]*", bare) or "'" in bare
    ):
        hint = suggestion(form, _FORMATS, "a letter that is no field of a time, such as T, stands in quotes")
        if "%" in form:
            hint = "% is not read here: %Y-%m-%d is yyyy-MM-dd, %H:%M:%S is HH:mm:ss"
        elif "Y" in bare:
            hint = "a year is yyyy, a day dd"
        given.refuse(
            f"must be {', '.join(_FORMATS)} or a pattern such as yyyy-MM-dd HH:mm:ss, and is {given.shown()}; {hint}"
        )
    if form not in _FORMATS and (wrong := _mistaken(bare)):
        given.refuse(f"is {given.shown()}, which reads no time as it is meant: {wrong}")
    return form


def _mistaken(pattern: str) -> str | None:
    """What is probably meant otherwise in a pattern: Spark would read another time, or none."""
    has = {letter: letter in pattern for letter in "MLdDmHhKkas"}
    if has["d"] and not (has["M"] or has["L"]):
        return "it has no month, which is MM (mm is minutes)"
    if has["D"] and (has["M"] or has["L"]):
        return "D is the day of the year; the day of the month is dd"
    if has["m"] and not (has["H"] or has["h"] or has["K"] or has["k"]):
        return "it has no hour, which is HH"
    if (has["H"] or has["k"]) and has["s"] and not has["m"]:
        return "it has no minute, which is mm (MM is the month)"
    if (has["h"] or has["K"]) and not has["a"]:
        return "hh is 1 to 12 and needs a (AM or PM); the hour of the day is HH"
    return None
