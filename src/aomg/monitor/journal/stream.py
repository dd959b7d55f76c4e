"""The id of a state folder: in a new state folder batches count from 0 again, and must not replace those of the old."""

import re
import uuid
from pathlib import Path

from aomg.errors import StateError
from aomg.monitor.atomic_files import put

FILE = "stream"


def stream_of(state: Path) -> str:
    """Return the id of a state folder: random at the first call, the same from then on."""
    file = state / FILE
    if not file.exists():
        put(file, f"{uuid.uuid4().hex[:12]}\n".encode())
    name = stored_stream(state)
    if name is None:
        raise StateError(
            f"{file} is damaged; restore it from a backup (the entries in {state / 'journal'} and the file _stream of "
            "a results folder have the same 12 characters)"
        )
    return name


def stored_stream(state: Path) -> str | None:
    """The id that a state folder has; None if it has none, or a damaged one."""
    try:
        name = (state / FILE).read_text("utf-8", "replace").strip()
    except OSError:
        return None
    return name if re.fullmatch(r"[0-9a-f]{12}", name) else None
