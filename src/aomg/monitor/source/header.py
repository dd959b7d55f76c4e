"""Takes the columns of CSV files from their header: names from the first line, types from what the queries do.

A column that a query takes values or weights from is a double. Every other column is text, so nothing in it can be
refused, and a label is exactly what is in the file: 007 stays 007. No type depends on the rows that come first.
Whole numbers that a double would round are refused one by one (`source.events`).

The names are those that the state folder began with (`queries.json` has them), or those in the first file.
"""

import dataclasses
from collections.abc import Sequence

from aomg.monitor.config.model import Config
from aomg.monitor.errors import ConfigError
from aomg.monitor.journal.queries import columns_of_state
from aomg.monitor.source.columns import head_of
from aomg.monitor.source.files import SourceFiles, source_files

_REMEDY = "list the columns under columns, in the order of the file"


def with_header(config: Config) -> Config:
    """Return the configuration with the columns of its CSV files, if their header is to name them.

    Raises ConfigError if there is no file yet, or its header cannot be used.
    """
    source = config.source
    if not source.from_header or source.path is None or source.columns:
        return config
    try:
        files = source_files(source.path, source.options) if source.path.exists() else SourceFiles(())
        header = columns_of_state(config.state, config.state / "checkpoint") or _header(config, files)
    except ConfigError as problem:
        raise problem.placed(source.line, config.file) from None
    numbers = {name for query in config.queries.values() for name in (query.value, query.weight) if name is not None}
    columns = {name: "double" if name in numbers else "string" for name in (*header, *files.folder_columns)}
    if source.time in numbers:
        query = next(query for query in config.queries.values() if source.time in (query.value, query.weight))
        raise ConfigError(f"{source.time!r} is the time column, and cannot be a value", query.line, config.file)
    return dataclasses.replace(config, source=dataclasses.replace(source, columns=columns, header=tuple(header)))


def _header(config: Config, files: SourceFiles) -> Sequence[str]:
    source = config.source
    if not files.files:
        raise ConfigError(
            f"there is no CSV file in {source.path} yet, so its columns are unknown; list them under columns, or start "
            "once there is a file"
        )
    file = files.files[0]
    header = head_of(source, file)
    if header is None:
        raise ConfigError(f"the header of {file} cannot be read without Spark; {_REMEDY}")
    lower = [name.lower() for name in header]
    twice = next((name for name in header if lower.count(name.lower()) > 1), None)
    if twice is not None:
        what = f"the column {twice!r} twice" if twice else "two columns without a name"
        capitals = " (capitals do not matter)" if header.count(twice) == 1 else ""
        raise ConfigError(f"the header of {file} has {what}{capitals}; rename one of them")
    taken = next((name for name in header if name in files.folder_columns), None)
    if taken is not None:
        raise ConfigError(f"{file} has the column {taken!r}, and so has the name of its folder; rename one of them")
    return header
