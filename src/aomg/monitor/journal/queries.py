"""The file of a state folder that says which queries it belongs to, and how an edited one is noticed.

Every entry of the journal has the digest of `queries.json`. Entries of earlier versions have none, and nothing is
compared with those.
"""

import json
from pathlib import Path

from aomg.errors import StateError
from aomg.monitor.journal.digests import digest_of
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.remedies import NEW_FOLDERS

FILE = "queries.json"


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
        return None if digest == last.queries else "was edited or damaged: the journal has another digest of it"
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
