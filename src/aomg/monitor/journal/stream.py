"""The id of a state folder: in a new state folder batches count from 0 again, and must not replace those of the old."""

import re
import uuid
from pathlib import Path

from aomg.errors import StateError
from aomg.monitor.atomic_files import put
from aomg.monitor.journal.remedies import fsck_command

FILE = "stream"


def stream_of(state: Path) -> str:
    """Return the id of a state folder: random at the first call, the same from then on.

    Raises StateError if it is damaged, or missing beside a journal.
    """
    file = state / FILE
    if not file.exists():
        if any((state / "journal").glob("[0-9]*.json")):
            raise StateError(f"{file} is missing; restore it from a backup, or run {fsck_command(state, '--repair')}")
        put(file, f"{uuid.uuid4().hex[:12]}\n".encode())
    name = stored_stream(state)
    if name is None:
        raise StateError(f"{file} is damaged; restore it from a backup, or run {fsck_command(state, '--repair')}")
    return name


def stored_stream(state: Path) -> str | None:
    """The id that a state folder has; None if it has none, or a damaged one."""
    try:
        name = (state / FILE).read_text("utf-8", "replace").strip()
    except OSError:
        return None
    return name if re.fullmatch(r"[0-9a-f]{12}", name) else None
