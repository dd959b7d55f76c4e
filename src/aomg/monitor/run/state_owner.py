"""Checks that a state folder belongs to the configured queries, and records queries that are added or removed."""

import json
import logging
from typing import Any

from aomg.errors import StateError
from aomg.monitor.atomic_files import put
from aomg.monitor.config.model import Config, QueryConfig
from aomg.monitor.errors import ConfigError
from aomg.monitor.journal.checkpoint import has_begun
from aomg.monitor.journal.journal import newest_entry
from aomg.monitor.journal.queries import FILE, Record, refuse_edited
from aomg.monitor.journal.remedies import NEW_FOLDERS
from aomg.monitor.run.assembly import checkpoint_of
from aomg.query import readable

_LOG = logging.getLogger(__name__)


def claim_state(config: Config) -> None:
    """Record the queries of a new state folder, or compare. Raises ConfigError with the differences.

    Queries may be added and removed, as long as one stays: the state of the others goes on. A query that changes needs
    another name. Until the first event was read, for example after a failed start, everything may still change.

    Raises StateError if the record is missing, or was edited: the journal has its digest.
    """
    file = config.state / FILE
    current = Record(
        config.source.kind,
        {name: _text(query) for name, query in config.queries.items()},
        columns=config.source.header,
    )
    if not has_begun(checkpoint_of(config)):
        put(file, current.to_bytes())
        return
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
    if (stored.queries, stored.columns) != (current.queries, current.columns):
        added, removed = (set(a.queries) - set(b.queries) for a, b in ((current, stored), (stored, current)))
        if added or removed:
            _LOG.warning(
                "the queries of the state have changed: added %s, removed %s",
                ", ".join(sorted(added)) or "none",
                ", ".join(sorted(removed)) or "none",
            )
        put(file, current.after(content, last).to_bytes())


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
    if stored.source != current.source:
        differing.insert(0, f"the source was {stored.source!r} and is {current.source!r}")
    remedy = "Restore them"
    if not differing and not common:
        names = (", ".join(record.queries) for record in (stored, current))
        differing = ["there was {} and there is {}".format(*names)]
        remedy = "Keep one of the queries at least"
    elif stored.source == current.source:
        remedy = "Restore them, give a query that has changed another name"
    if differing:
        raise ConfigError(
            f"the state folder {config.state} was written by other queries: {'; '.join(differing)}. {remedy}, or "
            f"{NEW_FOLDERS}",
            file=config.file,
        )


def _text(query: QueryConfig) -> str:
    """What the state of a query depends on, as a text."""
    text = f"{query.query.text()}; value {query.value}; by {', '.join(query.by.values()) or 'nothing'}"
    return text + (f"; weight {query.weight}" if query.weight else "")
