"""Reads and writes the files of the outbox: each has the name of its receiver and a digest of both.

So the file of another receiver is a damaged one, as if a bit had flipped. Files of earlier versions have no name in
them; their digests cover the content alone.

`_moved.json` says what became of receivers that the newest entry of the journal has and the configuration has not. The
next entry no longer has them, and then the file says nothing.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from aomg.monitor.atomic_files import put
from aomg.monitor.journal.digests import digest_of

Position = tuple[int, int]
"""The batch of an alert, and its index among the batch's alerts."""

POSITION, FIRING = ".json", ".firing.json"
_MOVED = "_moved"


def sealed(receiver: str, content: Mapping[str, Any]) -> bytes:
    """JSON with the name of a receiver, and a digest of both."""
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return (
        f'{{"digest": "{_digest(receiver, text)}", "receiver": {json.dumps(receiver)}, "content": {text}}}\n'.encode()
    )


def read(file: Path, receivers: Collection[str]) -> Any | None:
    """The content of a file of one of these receivers; None if it is missing, damaged or of another one."""
    try:
        record = json.loads(file.read_bytes())
        content, receiver = record["content"], record.get("receiver")
        same = record["digest"] == _digest(receiver, json.dumps(content, sort_keys=True))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return content if same and (receiver is None or receiver in receivers) else None


def _digest(receiver: str | None, text: str) -> str:
    return digest_of(text if receiver is None else f"{receiver}\n{text}")


def sealed_position(receiver: str, position: Position) -> bytes:
    """The content of a receiver's file of its position."""
    return sealed(receiver, {"batch": position[0], "index": position[1]})


def stored_position(file: Path) -> Position | None:
    """The position in a receiver's file; None if it is missing or damaged."""
    content = read(file, [file.name.removesuffix(POSITION)])
    try:
        return None if content is None else (int(content["batch"]), int(content["index"]))
    except (KeyError, TypeError, ValueError):
        return None


def stored_firing(folder: Path, receiver: str) -> dict[str, dict[str, Any]] | None:
    """The firing alerts that a receiver has got, by rule and labels; None if the file is missing or damaged."""
    content = read(folder / f"{receiver}{FIRING}", [receiver])
    if isinstance(content, dict) and all(isinstance(one, dict) and "id" in one for one in content.values()):
        return dict(content)
    return None


def rename(folder: Path, old: str, new: str) -> None:
    """Give the files of a receiver to another one. Until the position is renamed, a crash repeats this."""
    for ending in (FIRING, POSITION):
        file = folder / f"{old}{ending}"
        if file.exists():
            content = read(file, (old, new))
            if content is not None:
                put(file, sealed(new, content))
            file.replace(folder / f"{new}{ending}")


def moved_receivers(folder: Path, following: int) -> dict[str, str | None]:
    """Receivers that the newest entry of the journal has: who took over their alerts; None if these were given up.

    following
        The number of the batch after that entry.
    """
    content = read(folder / f"{_MOVED}.json", [_MOVED])
    if not isinstance(content, dict) or content.get("following") != following:
        return {}
    return dict(content["receivers"])


def put_moved(folder: Path, following: int, receivers: Mapping[str, str | None]) -> None:
    """Record what became of receivers, until the journal has another entry."""
    put(folder / f"{_MOVED}.json", sealed(_MOVED, {"following": following, "receivers": dict(receivers)}))


def known_positions(folder: Path, journaled: Mapping[str, Position], following: int) -> dict[str, Position]:
    """The positions in the newest entry of the journal, under the names that the receivers have now."""
    moved = moved_receivers(folder, following)
    names = {old: moved.get(old, old) for old in journaled}
    return {name: journaled[old] for old, name in names.items() if name is not None}
