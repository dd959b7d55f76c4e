"""Reads a whole configuration: every section by its reader, then what only shows when they stand side by side."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aomg.monitor.config.kinds import Folder, boolean, duration, listed, one_of, secret_text, table, text, whole
from aomg.monitor.config.model import Config, QuarantineConfig, ReceiverConfig, SinkConfig, SinksConfig, SourceConfig
from aomg.monitor.config.query import queries
from aomg.monitor.config.rule import groups
from aomg.monitor.config.schema import Enough, Field, Kind, Problems, Refused, Section
from aomg.monitor.config.secret import Secret, address
from aomg.monitor.config.source import kafka, source
from aomg.monitor.config.yaml_lines import read
from aomg.monitor.errors import ConfigError

_SINKS = ("parquet", "jsonl", "console", "kafka")
_RECEIVERS = ("alertmanager", "webhook", "command", "log")
_HOUR = 3_600_000_000


EXAMPLE = Path(__file__).parents[1] / "example.yaml"
"""The configuration that the demo runs, written to be read."""


def load(path: str | Path, *, folder: str | Path | None = None, environment: Mapping[str, str] | None = None) -> Config:
    """Read a configuration and check all of it but the rules' expressions, for which see `rules.builder.check_rules`.

    Raises ConfigError, and nothing else, for whatever is wrong: up to ten problems at once, each with its line. Touches
    no other file. Relative paths are taken from `folder`, else from where the file is; ${NAME} from `environment`,
    else from the process's.
    """
    path = Path(path)
    problems = Problems()
    try:
        start = Folder(_absolute(path.parent if folder is None else folder))
        whole_file = Field(read(path), "", problems, os.environ if environment is None else environment)
        return _config(whole_file, _absolute(path), start)
    except ConfigError as problem:
        problems.found += problem.problems
    except (Refused, Enough):
        pass
    raise ConfigError.together(problems.found).placed(file=path) from None


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 (keeps links, and does not look at the disk)


def _config(given: Field, file: Path, folder: Folder) -> Config:
    section = Section(given)
    events = section.take("source", source(folder))
    asked = section.take("queries", queries(events.columns or None if events else None))
    state = section.take("state", folder.path)
    every = section.take("every", duration, 10_000_000)
    clock = section.take("clock", one_of("processing", "none"), "processing")
    skew = section.take("max_clock_skew", duration, _HOUR)
    quarantine = section.take("quarantine", _quarantine(folder), None)
    sinks = section.take("sinks", _sinks(folder), SinksConfig())
    receivers = section.take("receivers", listed(_receiver(folder)), ())
    rules = section.take("groups", groups(asked), ())
    section.close(why={"rules": "stands in groups: [{name: ..., rules: [...]}]"})
    written = [("state", state, section.line_of("state"))]
    if quarantine is not None and quarantine.folder != state / "quarantine":
        written.append(("quarantine.folder", quarantine.folder, section.line_of("quarantine")))
    for name in ("results", "summaries", "alerts"):
        written += [(f"sinks.{name}", sink.path, sink.line) for sink in getattr(sinks, name) if sink.path]
    written += [("receivers", receiver.path, receiver.line) for receiver in receivers if receiver.path]
    _refuse_overlaps(events, written)
    return Config(
        file=file,
        source=events,
        state=state,
        every=every,
        clock="processing" if clock == "processing" else None,
        max_clock_skew=skew,
        quarantine=quarantine or QuarantineConfig(state / "quarantine"),
        queries=asked,
        sinks=sinks,
        receivers=receivers,
        rules=rules,
        lines={name: section.line_of(name) for name in ("state", "quarantine")},
    )


def _refuse_overlaps(events: SourceConfig, written: Iterable[tuple[str, Path, int]]) -> None:
    """Refuse what would read its own output, or write two things into one place."""
    before: list[tuple[str, Path, int]] = []
    inputs = None
    if events.path is not None:
        plain = [re.search(r"[*?\[{]", part) is None for part in events.path.parts]
        inputs = Path(*events.path.parts[: plain.index(False) if False in plain else None])
    for name, path, line in written:
        if inputs is not None and path.is_relative_to(inputs):
            raise ConfigError(f"{name} lies in the folder that source reads; give it a folder of its own", line)
        for other, there, there_line in before:
            if path.is_relative_to(there) or there.is_relative_to(path):
                raise ConfigError(
                    f"{name} and {other} (line {there_line}) lie one in the other; give each a place of its own", line
                )
        before.append((name, path, line))


def _quarantine(folder: Folder) -> Kind[QuarantineConfig]:
    def read(given: Field) -> QuarantineConfig:
        section = Section(given)
        path = section.take("folder", folder.path)
        most = section.take("most_rows", whole(0, 10_000_000), 10_000)
        section.close()
        return QuarantineConfig(path, most)

    return read


def _sinks(folder: Folder) -> Kind[SinksConfig]:
    def read(given: Field) -> SinksConfig:
        section = Section(given)
        results = section.take("results", listed(_sink(folder, _SINKS)), ())
        summaries = section.take("summaries", listed(_sink(folder, ("parquet",))), ())
        alerts = section.take("alerts", listed(_sink(folder, tuple(kind for kind in _SINKS if kind != "parquet"))), ())
        section.close()
        return SinksConfig(results, summaries, alerts)

    return read


def _sink(folder: Folder, kinds: tuple[str, ...]) -> Kind[SinkConfig]:
    def read(given: Field) -> SinkConfig:
        section = Section(given)
        kind: Any = section.choose(kinds)
        line = section.line_of(kind)
        found: dict[str, Any] = {}
        if kind == "console":
            section.take(kind, _shown)
        elif kind == "kafka":
            found["kafka"] = section.take(kind, kafka("kafka sink"))
        else:
            found["path"] = section.take(kind, folder.path)
        section.close()
        return SinkConfig(kind, line, **found)

    return read


def _shown(given: Field) -> None:
    if not boolean(given):
        given.refuse("is false; leave the sink out instead")


def _receiver(folder: Folder) -> Kind[ReceiverConfig]:
    def read(given: Field) -> ReceiverConfig:
        section = Section(given)
        kind: Any = section.choose(_RECEIVERS)
        line = section.line_of(kind)
        found: dict[str, Any] = {}
        why = {"headers": f"is not for {kind}", "timeout": f"is not for {kind}"}
        if kind == "log":
            found["path"] = section.take(kind, folder.path)
        else:
            found["timeout"] = section.take("timeout", _timeout, 5_000_000)
            if kind == "command":
                found["command"] = section.take(kind, _command)
            else:
                found["url"] = section.take(kind, _url)
                found["headers"] = section.take("headers", table(_header), {})
        section.close(why=why)
        return ReceiverConfig(kind, line, **found)

    return read


def _timeout(given: Field) -> int:
    length = duration(given)
    if not 1_000 <= length <= _HOUR:
        given.refuse(f"must be 1ms to 1h, and is {given.shown()}")
    return length


def _command(given: Field) -> tuple[str, ...]:
    if isinstance(given.node.value, str):
        given.refuse("must be a list, [program, argument, ...]; there is no shell")
    words = listed(text)(given)
    if not words:
        given.refuse("is empty; give a program and its arguments")
    return words


def _url(given: Field) -> Secret:
    try:
        return address(secret_text(given))
    except ConfigError as problem:
        given.refuse(problem.message.removeprefix(f"{given.name} "))


def _header(given: Field) -> str | Secret:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", given.key):
        given.refuse("is no name of a header")
    value = secret_text(given)
    plain = value.reveal() if isinstance(value, Secret) else value
    if not plain.isascii() or not plain.isprintable():
        given.refuse("has a character that no header may have: a line's end, or one that is not ASCII")
    return value
