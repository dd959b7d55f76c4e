"""The file of a state folder that says which queries it belongs to, and how an edited one is noticed.

Every entry of the journal has the digest of `queries.json`. Entries of earlier versions have none, and nothing is
compared with those. When queries are added or removed, the file changes before the next entry is written: until then it
has a copy of what it was, to which the digest belongs.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.journal.checkpoint import has_begun
from aomg.monitor.journal.digests import digest_of
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.remedies import NEW_FOLDERS

FILE = "queries.json"

_OPTIONAL = ("before", "columns", "folder", "events", "units")
_LAYOUT = 2  # of the state: one for all queries


@dataclass(frozen=True)
class Record:
    """The content of the file: the kind of the source, and a text of each query.

    columns
        The names in the header of the CSV files that the state began with; empty if the configuration lists them.
    before
        What the file was, if queries were added or removed since the newest entry.
    folder
        The folder of the source as Spark knows it; empty in files of earlier versions.
    events
        How events are read: the column, format and zone of the time, and the types of the columns that queries use.
    units
        The unit of each query's values.
    """

    source: str
    queries: dict[str, str]
    before: str = ""
    columns: tuple[str, ...] = ()
    folder: str = ""
    events: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Any) -> "Record | None":
        """The record of a parsed file; None if an earlier version wrote it."""
        if not isinstance(content, dict) or content.get("layout") != _LAYOUT:
            return None
        queries = {str(name): str(text) for name, text in dict(content["queries"]).items()}
        return cls(
            str(content["source"]),
            queries,
            str(content.get("before", "")),
            columns=tuple(map(str, content.get("columns", ()))),
            folder=str(content.get("folder", "")),
            events={str(name): str(text) for name, text in dict(content.get("events", {})).items()},
            units={str(name): str(text) for name, text in dict(content.get("units", {})).items()},
        )

    def to_bytes(self) -> bytes:
        """The content of the file."""
        parts = {name: part for name, part in asdict(self).items() if part or name not in _OPTIONAL}
        return (json.dumps({"layout": _LAYOUT, **parts}, indent=1) + "\n").encode()

    def after(self, content: bytes, last: Entry | None) -> "Record":
        """The same record, in place of a file with that content; `last` is the newest entry."""
        if last is not None and last.queries and digest_of(content) != last.queries:
            return replace(self, before=_before(content))  # it has changed since that entry already
        return replace(self, before=content.decode())


def _before(content: bytes) -> str:
    """What the file was, if it says that."""
    try:
        record = Record.of(json.loads(content))
    except (ValueError, KeyError, TypeError):
        return ""
    return "" if record is None else record.before


def columns_of_state(state: Path, checkpoint: Path) -> tuple[str, ...]:
    """The names in the header of the CSV files that a state folder began with; none if it has not begun with any."""
    if not has_begun(checkpoint):
        return ()
    try:
        stored = Record.of(json.loads((state / FILE).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return ()  # the start of the monitor reports it
    return () if stored is None else stored.columns


def queries_digest(state: Path) -> str:
    """The digest of the file; empty if there is none. Raises StateError if it cannot be read."""
    file = state / FILE
    try:
        return digest_of(file.read_bytes())
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StateError(f"{file} cannot be read ({error.strerror}); change its permissions and start again") from error


def queries_problem(state: Path, last: Entry | None) -> str | None:
    """Say that the file is missing or was changed after the newest entry was written; None if it was not."""
    digest = queries_digest(state)
    if not digest:
        return "is missing"
    if last is not None and last.queries:
        known = (digest, digest_of(_before((state / FILE).read_bytes()).encode()))
        return None if last.queries in known else "was edited or damaged: the journal has another digest of it"
    try:
        json.loads((state / FILE).read_bytes())
    except ValueError:
        return "is damaged"
    return None


def refuse_edited(state: Path, last: Entry | None) -> None:
    """Raise StateError if the file is missing or was changed."""
    problem = queries_problem(state, last)
    if problem is not None:
        raise StateError(f"{state / FILE} {problem}; restore it from a backup, or {NEW_FOLDERS}")
