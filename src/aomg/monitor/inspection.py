"""Whether a configuration can run here: its source is there and has the columns, and what it writes can be written.

All of it without Spark, in a second or so, before anything is started or written.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.config import Config, check_rules
from aomg.monitor.errors import ConfigError
from aomg.monitor.receivers import Command

LEAST_FREE = 200_000_000  # bytes
MOST_FOOTERS = 200


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
    if source.kind == "parquet":
        _look_at_columns(config, _parquet_columns(config, source.path))
    else:
        _look_at_columns(config, dict.fromkeys(source.columns, ""))


def _parquet_columns(config: Config, folder: Path) -> dict[str, str]:
    """The columns of the files that are there, and a word on their types; without files, those of the configuration."""
    schema: pa.Schema | None = None
    for file in _files(folder):
        try:
            schema = pq.read_schema(file)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                f"{file} cannot be read as Parquet ({reason}); mend it, or move it out of the folder",
                config.source.line,
            ) from error
    if schema is None:
        if config.source.columns:
            return dict.fromkeys(config.source.columns, "")
        raise ConfigError(
            f"there is no Parquet file in {folder} yet, so the columns are not known: "
            "say them under columns, or start when the first file is there",
            config.source.line,
        )
    return {field.name: _kind(field.type) for field in schema}


def _files(folder: Path) -> Iterator[Path]:
    visible = (p for p in sorted(folder.iterdir()) if p.is_file() and not p.name.startswith((".", "_")))
    for _, file in zip(range(MOST_FOOTERS), visible, strict=False):
        yield file


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "time" if pa.types.is_timestamp(kind) else str(kind)


def _look_at_columns(config: Config, columns: dict[str, str]) -> None:
    there_are = f"there are {', '.join(columns)}"
    problems = []
    if config.source.time not in columns:
        problems.append(
            ConfigError(f"the source has no column {config.source.time!r}; {there_are}", config.source.line)
        )
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
    folders = {config.state, config.quarantine.folder}
    folders |= {sink.path if sink.kind == "parquet" else sink.path.parent for sink in sinks if sink.path is not None}
    folders |= {receiver.path.parent for receiver in config.receivers if receiver.path is not None}
    problems = []
    for folder in sorted(folders):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not there.is_dir():
            problems.append(ConfigError(f"{there} is a file, and {folder} was to be a folder; give another path"))
        elif not os.access(there, os.W_OK | os.X_OK):
            problems.append(ConfigError(f"{there} cannot be written to; give another path, or this user the right to"))
        elif shutil.disk_usage(there).free < LEAST_FREE:
            free = shutil.disk_usage(there).free / 1e6
            problems.append(
                ConfigError(f"the disk of {there} has {free:,.0f} MB left; free some, or give another path")
            )
    if problems:
        raise ConfigError.together(problems)
