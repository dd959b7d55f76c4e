"""Checks that a state folder belongs to the configured source and queries, and records what may change.

Spark knows the files that it has read by their paths. So the folder of the source is part of the state: with another
path, Spark would read files again that were moved or copied there, and count their events twice. The same folder under
another spelling, such as a link, is read under the one that Spark knows.
"""

import json
import logging
import os
import shlex
from collections.abc import Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.atomic_files import put
from aomg.monitor.config.model import Config, QueryConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.journal.checkpoint import has_begun
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.journal import all_entries, newest_entry
from aomg.monitor.journal.queries import FILE, Record, refuse_edited
from aomg.monitor.journal.remedies import NEW_FOLDERS
from aomg.monitor.run.assembly import checkpoint_of
from aomg.monitor.run.moved_folders import refuse_moved_source
from aomg.monitor.source.events import folder_of
from aomg.query import readable

_LOG = logging.getLogger(__name__)


def claim_state(config: Config) -> Config:
    """Record source and queries of a new state folder, or compare. Raises ConfigError with the differences.

    Returns the configuration with the source folder as Spark knows it.

    Queries may be added and removed, as long as one stays: the state of the others goes on. A query that changes needs
    another name. Until the first event was read, for example after a failed start, everything may still change.

    Raises StateError if the record is missing, or was edited: the journal has its digest.
    """
    file = config.state / FILE
    folder = folder_of(config)
    current = Record(
        config.source.kind,
        {name: _text(query) for name, query in config.queries.items()},
        columns=config.source.header,
        folder="" if folder is None else str(folder),
        events=_events(config, set(config.queries)),
        units={name: query.unit or "" for name, query in config.queries.items()},
    )
    if not has_begun(checkpoint_of(config)):
        put(file, current.to_bytes())
        return config
    last = newest_entry(config.state)
    refuse_edited(config.state, last)
    content = file.read_bytes()
    stored = Record.of(_parsed(content))
    if stored is None:
        raise ConfigError(
            f"the state folder {config.state} was written by an earlier version, which kept a state for each query. "
            f"This version keeps one for all of them and cannot go on with it: use that version, or {NEW_FOLDERS}",
            file=config.file,
        )
    _refuse_differences(config, stored, current)
    if stored.folder and current.folder:
        current = replace(current, folder=_known_folder(config, stored.folder, current.folder))
    elif current.folder:
        refuse_moved_source(config, (entry for _, entry in all_entries(config.state) if isinstance(entry, Entry)))
    if stored.queries != current.queries:
        added, removed = (set(a.queries) - set(b.queries) for a, b in ((current, stored), (stored, current)))
        _LOG.warning(
            "the queries of the state have changed: added %s, removed %s",
            ", ".join(sorted(added)) or "none",
            ", ".join(sorted(removed)) or "none",
        )
    for name in sorted(stored.units.keys() & current.units.keys()):
        if stored.units[name] != current.units[name]:
            _LOG.warning(
                "the unit of query %s was %r and is %r: rules take the values in the windows as such from now on, also "
                "of events that were counted before",
                name,
                stored.units[name],
                current.units[name],
            )
    if replace(stored, before="") != current:
        put(file, current.after(content, last).to_bytes())
    if not current.folder or current.folder == str(folder):
        return config
    return replace(config, source=replace(config.source, path=Path(current.folder)))


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise StateError(f"{FILE} is damaged; restore it from a backup, or {NEW_FOLDERS}") from error


def _refuse_differences(config: Config, stored: Record, current: Record) -> None:
    common = stored.queries.keys() & current.queries.keys()
    differing = [
        f"query {name} was {readable(stored.queries[name])!r} and is {readable(current.queries[name])!r}"
        for name in current.queries
        if name in common and stored.queries[name] != current.queries[name]
    ]
    of_source = (
        [f"the source was {stored.source!r} and is {current.source!r}"] if stored.source != current.source else []
    )
    now = _events(config, common)
    of_source += [
        f"the {what} of the events was {stored.events[what]!r} and is {now[what]!r}"
        for what in now
        if stored.events.get(what, now[what]) != now[what]
    ]
    differing[:0] = of_source
    remedy = "Restore them"
    if not differing and not common:
        names = (", ".join(record.queries) for record in (stored, current))
        differing = ["there was {} and there is {}".format(*names)]
        remedy = "Keep one of the queries at least"
    elif not of_source:
        remedy = "Restore them, give a query that has changed another name"
    if differing:
        raise ConfigError(
            f"the state folder {config.state} was written by other queries: {'; '.join(differing)}. {remedy}, or "
            f"{NEW_FOLDERS}",
            file=config.file,
        )


def _known_folder(config: Config, known: str, configured: str) -> str:
    """The folder of the source as Spark knows it. Raises ConfigError if the configured one is another folder."""
    if configured != known and os.path.realpath(configured) != os.path.realpath(known):
        link = shlex.join(["ln", "-s", configured, known])
        raise ConfigError(
            f"the source folder was {known} and is {configured}: Spark knows the files that it has read by their "
            "paths, and would count their events again. If the folder was moved, make the old path a link to it "
            f"({link}): then both names are valid. Else let the configuration name the old path, or {NEW_FOLDERS}",
            config.source.line,
            config.file,
        )
    return known


def _events(config: Config, queries: Set[str]) -> dict[str, str]:
    """How the events of some queries are read."""
    source = config.source
    names = {"time column": source.time, "time format": source.time_format, "time zone": source.time_zone}
    used = [config.queries[name] for name in sorted(queries)]
    columns = sorted({column for query in used for column in (query.value, query.weight, *query.by.values()) if column})
    types = {f"type of {column}": source.columns[column] for column in columns if column in source.columns}
    return {**names, **types}


def _text(query: QueryConfig) -> str:
    """What the state of a query depends on, as a text."""
    text = f"{query.query.text()}; value {query.value}; by {', '.join(query.by.values()) or 'nothing'}"
    return text + (f"; weight {query.weight}" if query.weight else "")
