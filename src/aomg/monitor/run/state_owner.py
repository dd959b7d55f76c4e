"""Checks that a state folder belongs to the configured queries: Spark's checkpoint fits one plan only."""

import json
from itertools import zip_longest

from aomg.errors import StateError
from aomg.monitor.atomic_files import put
from aomg.monitor.config.model import Config
from aomg.monitor.errors import ConfigError
from aomg.monitor.journal.journal import newest_entry
from aomg.monitor.journal.queries import FILE, refuse_edited
from aomg.monitor.journal.remedies import NEW_FOLDERS
from aomg.monitor.run.assembly import checkpoint_of
from aomg.query import readable


def claim_state(config: Config) -> None:
    """Record the queries of a new state folder, or compare. Raises ConfigError with the differences.

    Raises StateError if the record is missing, or was edited: the journal has its digest.

    Until the first event was read, for example after a failed start, the queries may still change.
    """
    file = config.state / FILE
    current = _plan_texts(config)
    if not _begun(config):
        put(file, (json.dumps(current, indent=1) + "\n").encode())
        return
    refuse_edited(config.state, newest_entry(config.state))
    try:
        known = [(str(name), str(text)) for name, text in json.loads(file.read_text()).items()]
    except (OSError, ValueError, AttributeError) as error:
        raise StateError(f"{file} is damaged; restore it from a backup, or {NEW_FOLDERS}") from error
    # by position: the plan does not depend on the names of queries
    differing = [
        f"{now[0] or before[0]} was {readable(before[1])!r} and is {readable(now[1])!r}"
        for before, now in zip_longest(known, current.items(), fillvalue=("", "missing"))
        if before[1] != now[1]
    ]
    if differing:
        raise ConfigError(
            f"the state folder {config.state} was written by other queries: {'; '.join(differing)}. "
            f"Restore the queries, or {NEW_FOLDERS}",
            file=config.file,
        )


def _begun(config: Config) -> bool:
    """Whether Spark has recorded what to read: a micro-batch, or the files of the first one."""
    checkpoint = checkpoint_of(config)
    return any(checkpoint.glob("offsets/[0-9]*")) or any(checkpoint.glob("sources/*/[0-9]*"))


def _plan_texts(config: Config) -> dict[str, str]:
    """What the plan depends on, as texts."""
    queries = {
        f"query {name}": f"{query.query.text()}; value {query.value}; by {', '.join(query.by.values()) or 'nothing'}"
        + (f"; weight {query.weight}" if query.weight else "")
        for name, query in config.queries.items()
    }
    summaries = "stored" if config.sinks.summaries else "not stored"
    return {"source": config.source.kind, "summaries": summaries, **queries}
