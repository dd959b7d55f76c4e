"""Checks that a configuration can run on this machine: its source, its columns, and the folders it writes to.

Without Spark, in a second or so, before anything is started or written.
"""

import os
import shutil
from pathlib import Path

from aomg.monitor.config.model import Config, SourceConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.rules.builder import check_rules
from aomg.monitor.source.columns import check_heads, is_wide, parquet_columns
from aomg.monitor.source.files import SourceFiles, source_files
from aomg.value_types import MOST_DIGITS

LEAST_FREE = 200_000_000  # bytes


def inspect(config: Config) -> None:
    """Raise a ConfigError with all problems, ten at most."""
    problems: list[ConfigError] = []
    for check in (check_rules, _check_source, _check_folders, _check_receivers):
        try:
            check(config)
        except ConfigError as problem:
            problems.append(problem.placed(file=config.file))
    if problems:
        raise ConfigError.together(problems)


def _check_source(config: Config) -> None:
    source = config.source
    if source.path is None:
        return
    if not source.path.exists():
        raise ConfigError(f"the source folder {source.path} does not exist; create it, or fix the path", source.line)
    if not os.access(source.path, os.R_OK | os.X_OK if source.path.is_dir() else os.R_OK):
        raise ConfigError(f"the source {source.path} cannot be read; change its permissions", source.line)
    try:
        files = source_files(source.path, source.options)
    except ConfigError as problem:
        raise problem.placed(source.line) from None
    if source.kind == "csv":
        check_heads(source, files.files, files.folder_columns)
    parquet = source.kind == "parquet"
    _check_columns(config, _parquet_columns(config, files) if parquet else dict.fromkeys(source.columns, ""))


def _parquet_columns(config: Config, files: SourceFiles) -> dict[str, str]:
    """The columns of the files, with a word on their types; without files, those of the configuration."""
    source = config.source
    if files.files:
        columns = parquet_columns(source, files.files)
        return {**columns, **{name: columns.get(name, "") for name in files.folder_columns}}
    if source.columns:
        return dict.fromkeys(source.columns, "")
    raise ConfigError(
        f"there is no Parquet file in {source.path} yet, so its columns are unknown; "
        "list them under columns, or start once there is a file",
        source.line,
    )


def _check_columns(config: Config, columns: dict[str, str]) -> None:
    known = f"its columns are {', '.join(columns)}"
    problems = []
    if config.source.time not in columns:
        problems.append(ConfigError(f"the source has no column {config.source.time!r}; {known}", config.source.line))
    elif config.source.kind == "parquet" and (fault := _time_fault(config.source, columns[config.source.time])):
        problems.append(ConfigError(fault, config.source.line))
    for query in config.queries.values():
        for name in query.columns:
            if name not in columns:
                problems.append(ConfigError(f"the source has no column {name!r}; {known}", query.line))
        faults = [_value_fault(query.value, columns.get(query.value, "number"))]
        if query.weight is not None:
            faults.append(_weight_fault(query.weight, columns.get(query.weight, "number")))
        problems += [ConfigError(fault, query.line) for fault in faults if fault]
    if problems:
        raise ConfigError.together(problems)


def _value_fault(column: str, type_: str) -> str | None:
    """Why a column cannot be the value of a query; None if it can."""
    if type_ in ("number", ""):
        return None
    if is_wide(type_):
        return (
            f"column {column!r} has the type {type_}, which a double would round; write integers of 64 bits with a "
            f"sign, decimals of up to {MOST_DIGITS} digits, or doubles to the files"
        )
    return f"column {column!r} has the type {type_}, not numbers; choose another column"


def _weight_fault(column: str, type_: str) -> str | None:
    """Why a column cannot be the weight of a query; None if it can. Any type of number can: rows are checked later."""
    if type_ in ("number", "") or is_wide(type_):
        return None
    return f"column {column!r} has the type {type_}; weights must be whole numbers: choose another column"


def _time_fault(source: SourceConfig, type_: str) -> str | None:
    """Why a column of Parquet files cannot be the event time; None if it can."""
    numbers = type_ == "number" or is_wide(type_)
    if numbers and not source.time_format.startswith("epoch"):
        return f"column {source.time!r} has numbers; set time_format: epoch_s, epoch_ms, epoch_us or epoch_ns"
    if not numbers and type_ not in ("time", "string", ""):
        return f"column {source.time!r} has the type {type_}, which is not a time; choose another column"
    return None


def _check_receivers(config: Config) -> None:
    for receiver in config.receivers:
        try:
            receiver.check()
        except ConfigError as problem:
            raise problem.placed(receiver.line) from None


def _check_folders(config: Config) -> None:
    """Every folder that is written to exists or can be created, and has some free space."""
    folders = {config.state: config.lines.get("state")}
    if not config.quarantine.folder.is_relative_to(config.state):
        folders[config.quarantine.folder] = config.lines.get("quarantine")
    outputs: list[tuple[Path | None, bool, int]] = [
        (sink.path, sink.writes_folder, sink.line)
        for sink in (*config.sinks.results, *config.sinks.summaries, *config.sinks.alerts)
    ]
    outputs += [(receiver.path, False, receiver.line) for receiver in config.receivers]
    for path, is_folder, line in outputs:
        if path is not None:
            folders.setdefault(path if is_folder else path.parent, line)
            if not is_folder and path.is_dir():
                raise ConfigError(f"{path} is a folder, but must be a file; choose another path", line)
    problems = [ConfigError(fault, line) for folder, line in folders.items() if (fault := _write_fault(folder))]
    if problems:
        raise ConfigError.together(problems)


def _write_fault(folder: Path) -> str | None:
    """Why nothing can be written to a folder, which may not exist yet; None if it can."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        return f"{existing} is a file, but {folder} must be a folder; choose another path"
    if not os.access(existing, os.W_OK | os.X_OK):
        return f"{existing} cannot be written; change its permissions, or choose another path"
    disk = shutil.disk_usage(existing)
    if not disk.total:
        return f"{existing} cannot hold files; choose another path"
    if disk.free < LEAST_FREE:
        return f"the disk of {existing} has only {disk.free / 1e6:,.0f} MB left; free some, or choose another path"
    return None
