"""Reads a whole configuration: each section by its own reader, then checks across sections."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from aomg.monitor.config import values
from aomg.monitor.config.model import Config, QuarantineConfig, SinksConfig, SourceConfig
from aomg.monitor.config.query import queries
from aomg.monitor.config.rule import groups
from aomg.monitor.config.schema import Field, InvalidSection, Problems, Section, TooManyProblems, one_kind
from aomg.monitor.config.source import source
from aomg.monitor.config.values import duration, listed, one_of, whole
from aomg.monitor.config.yaml_lines import read
from aomg.monitor.errors import ConfigError
from aomg.monitor.registry import RECEIVERS, RULES, SINKS

_HOUR = 3_600_000_000

EXAMPLE = Path(__file__).parents[1] / "example.yaml"
"""The configuration that the demo runs, with comments."""


def load(path: str | Path, *, folder: str | Path | None = None, environment: Mapping[str, str] | None = None) -> Config:
    """Read a configuration and check all of it except the rules' conditions, which `rules.builder.check_rules` checks.

    Raises ConfigError, and nothing else: up to ten problems at once, each with its line. Reads no other file. Relative
    paths start at `folder` (default: the folder of the file); ${NAME} is looked up in `environment` (default: that of
    the process).
    """
    path = Path(path)
    problems = Problems()
    try:
        start = _absolute(path.parent if folder is None else folder)
        root = Field(read(path), "", problems, os.environ if environment is None else environment, start)
        return _config(root, _absolute(path))
    except ConfigError as problem:
        problems.errors += problem.problems
    except (InvalidSection, TooManyProblems):
        pass
    raise ConfigError.together(problems.errors).placed(file=path) from None


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 (keeps links, and does not read the disk)


def _config(root: Field, file: Path) -> Config:
    section = Section(root)
    events = section.take("source", source)
    by_name = section.take("queries", queries(events.columns or None if events else None))
    state = section.take("state", values.path)
    every = section.take("every", duration, 10_000_000)
    clock = section.take("clock", one_of("processing", "none"), "processing")
    skew = section.take("max_clock_skew", duration, _HOUR)
    log_size = section.take("log_size", whole(100_000, 10**12), 100_000_000)
    quarantine = section.take("quarantine", _quarantine, None)
    sinks = section.take("sinks", _sinks, SinksConfig())
    receivers = section.take("receivers", listed(one_kind(RECEIVERS)), ())
    rules = section.take("groups", groups(RULES, by_name), ())
    section.close(why={"rules": "belongs into groups: [{name: ..., rules: [...]}]"})
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
        queries=by_name,
        sinks=sinks,
        receivers=receivers,
        rules=rules,
        log_size=log_size,
        lines={name: section.line_of(name) for name in ("state", "quarantine")},
    )


def _refuse_overlaps(events: SourceConfig, written: Iterable[tuple[str, Path, int]]) -> None:
    """Refuse a source that would read the monitor's output, and two outputs in one place."""
    before: list[tuple[str, Path, int]] = []
    inputs = None
    if events.path is not None:
        plain = [re.search(r"[*?\[{]", part) is None for part in events.path.parts]
        inputs = Path(*events.path.parts[: plain.index(False) if False in plain else None])
    for name, path, line in written:
        if inputs is not None and path.is_relative_to(inputs):
            raise ConfigError(f"{name} is inside the folder that source reads; choose another folder", line)
        for earlier, earlier_path, earlier_line in before:
            if path.is_relative_to(earlier_path) or earlier_path.is_relative_to(path):
                raise ConfigError(
                    f"{name} and {earlier} (line {earlier_line}) overlap; choose separate files or folders", line
                )
        before.append((name, path, line))


def _quarantine(field: Field) -> QuarantineConfig:
    section = Section(field)
    folder = section.take("folder", values.path)
    most = section.take("most_rows", whole(0, 10_000_000), 10_000)
    section.close()
    return QuarantineConfig(folder, most)


def _sinks(field: Field) -> SinksConfig:
    section = Section(field)
    results, summaries, alerts = (
        section.take(name, listed(one_kind([kind for kind in SINKS if name in kind.stores])), ())
        for name in ("results", "summaries", "alerts")
    )
    section.close()
    return SinksConfig(results, summaries, alerts)
