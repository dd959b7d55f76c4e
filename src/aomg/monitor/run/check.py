"""Whether a configuration can run here: its source is there and has the columns, and what it writes can be written.

All of it without Spark, in a second or so, before anything is started or written.
"""

import os
import shutil
from pathlib import Path

from aomg.monitor.config.model import Config, SourceConfig
from aomg.monitor.delivery.receivers import Command
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.builder import check_rules
from aomg.monitor.source.columns import look_at_heads, parquet_columns
from aomg.monitor.source.files import SourceFiles, source_files

LEAST_FREE = 200_000_000  # bytes


def inspect(config: Config) -> None:
    """Raise a ConfigError with all that was found wrong, up to ten problems."""
    problems: list[ConfigError] = []
    for look in (check_rules, _look_at_source, _look_at_folders, _look_at_receivers):
        try:
            look(config)
        except ConfigError as problem:
            problems.append(problem.placed(file=config.file))
    if problems:
        raise ConfigError.together(problems)


def _look_at_source(config: Config) -> None:
    source = config.source
    if source.path is None:
        return
    if not source.path.is_dir():
        what = (
            "is a file; give the folder that it is in"
            if source.path.exists()
            else "does not exist; make it, or mend the path"
        )
        raise ConfigError(f"the source folder {source.path} {what}", source.line)
    if not os.access(source.path, os.R_OK | os.X_OK):
        raise ConfigError(f"the source folder {source.path} cannot be read; give this user the right to", source.line)
    try:
        found = source_files(source.path, source.options)
    except ConfigError as problem:
        raise problem.placed(source.line) from None
    if source.kind == "csv":
        look_at_heads(source, found.files, found.folder_columns)
    parquet = source.kind == "parquet"
    _look_at_columns(config, _parquet_columns(config, found) if parquet else dict.fromkeys(source.columns, ""))


def _parquet_columns(config: Config, found: SourceFiles) -> dict[str, str]:
    """The columns of the files that are there, and a word on their types; without files, those of the configuration."""
    source = config.source
    if found.files:
        columns = parquet_columns(source, found.files)
        return {**columns, **{name: columns.get(name, "") for name in found.folder_columns}}
    if source.columns:
        return dict.fromkeys(source.columns, "")
    raise ConfigError(
        f"there is no Parquet file in {source.path} yet, so the columns are not known: "
        "say them under columns, or start when the first file is there",
        source.line,
    )


def _look_at_columns(config: Config, columns: dict[str, str]) -> None:
    there_are = f"there are {', '.join(columns)}"
    problems = []
    if config.source.time not in columns:
        problems.append(
            ConfigError(f"the source has no column {config.source.time!r}; {there_are}", config.source.line)
        )
    elif config.source.kind == "parquet" and (said := _no_time(config.source, columns[config.source.time])):
        problems.append(ConfigError(said, config.source.line))
    for query in config.queries.values():
        for name in (query.value, *query.by.values()):
            if name not in columns:
                problems.append(ConfigError(f"the source has no column {name!r}; {there_are}", query.line))
        if columns.get(query.value, "number") not in ("number", ""):
            problems.append(
                ConfigError(
                    f"column {query.value!r} holds {columns[query.value]}, not numbers; give another value", query.line
                )
            )
    if problems:
        raise ConfigError.together(problems)


def _no_time(source: SourceConfig, holds: str) -> str | None:
    """Why a column of Parquet files cannot tell the time as it is asked to; None if it can."""
    if holds == "number" and not source.time_format.startswith("epoch"):
        how = "time_format: epoch_s, epoch_ms or epoch_us"
        return f"column {source.time!r} holds numbers; say how they tell the time: {how}"
    if holds not in ("number", "time", "string", ""):
        return f"column {source.time!r} holds {holds}, which tells no time; give another column"
    return None


def _look_at_receivers(config: Config) -> None:
    """Commands are there, and their templates mean something."""
    for receiver in config.receivers:
        if receiver.kind == "command":
            try:
                Command(receiver.command)
            except ConfigError as problem:
                raise problem.placed(receiver.line) from None


def _look_at_folders(config: Config) -> None:
    """Every place that is written to exists or can be made, and has some room."""
    sinks = (*config.sinks.results, *config.sinks.summaries, *config.sinks.alerts)
    folders = {config.state: config.lines.get("state")}
    if not config.quarantine.folder.is_relative_to(config.state):
        folders[config.quarantine.folder] = config.lines.get("quarantine")
    for sink in sinks:
        if sink.path is not None:
            folders.setdefault(sink.path if sink.kind == "parquet" else sink.path.parent, sink.line)
            if sink.kind != "parquet" and sink.path.is_dir():
                raise ConfigError(f"{sink.path} is a folder, and was to be a file; give another path", sink.line)
    for receiver in config.receivers:
        if receiver.path is not None:
            folders.setdefault(receiver.path.parent, receiver.line)
            if receiver.path.is_dir():
                raise ConfigError(
                    f"{receiver.path} is a folder, and was to be a file; give another path", receiver.line
                )
    problems = [ConfigError(said, line) for folder, line in folders.items() if (said := _not_writable(folder))]
    if problems:
        raise ConfigError.together(problems)


def _not_writable(folder: Path) -> str | None:
    """Why nothing can be written to a folder, which need not be there yet; None if it can."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        return f"{there} is a file, and {folder} was to be a folder; give another path"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{there} cannot be written to; give another path, or this user the right to"
    room = shutil.disk_usage(there)
    if not room.total:
        return f"{there} is no place for files; give another path"
    if room.free < LEAST_FREE:
        return f"the disk of {there} has {room.free / 1e6:,.0f} MB left; free some, or give another path"
    return None
