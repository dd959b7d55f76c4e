"""Texts of errors about a damaged state folder: what to do, and numbers of things."""

import shlex
from pathlib import Path

NEW_FOLDERS = "use a new state folder and new folders for the sinks"
RESTORE_STATE = f"restore the state folder from a backup, or {NEW_FOLDERS}"


def fsck_command(state: Path, *options: str) -> str:
    """The command that checks a state folder, for a shell.

    >>> fsck_command(Path("my state"), "--repair")
    "aomg fsck 'my state' --repair"
    """
    return shlex.join(["aomg", "fsck", str(state), *options])


def numbered(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> numbered(1, "row"), numbered(2_000, "row"), numbered(2, "entry", "entries")
    ('1 row', '2,000 rows', '2 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
