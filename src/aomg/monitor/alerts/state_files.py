"""Stores alert states: a JSON file for each batch, so that a repeated batch starts from the state before it."""

import hashlib
import json
import re
import uuid
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.atomic_files import SinkError, put, reason

_VERSION = 1
_NAME = re.compile(r"(\d+)\.json")


class StateFiles:
    """States by batch, in a folder such as `state/alerts`: the state of batch 12 is `12.json`.

    A state is any JSON value. It is written in one step, and the same state gives the same bytes. The last `keep` files
    are kept.
    """

    def __init__(self, folder: Path, keep: int = 20) -> None:
        self._folder = folder
        self._keep = keep

    def save(self, batch: int, state: Any) -> None:
        """Write the state after a batch. States of later batches are removed: this batch is repeated."""
        text = _text(state)
        head = f'{{"version":{_VERSION},"batch":{batch},"digest":"{_digest(batch, text)}","state":'
        put(self._folder / f"{batch}.json", f"{head}{text}}}\n".encode())
        stored = self._batches()
        current = [number for number in stored if number <= batch][-self._keep :]
        try:
            for number in set(stored) - set(current):
                (self._folder / f"{number}.json").unlink(missing_ok=True)
        except OSError as error:
            raise SinkError(reason(error, self._folder)) from error

    def load_below(self, batch: int) -> Any | None:
        """The state that a batch starts from: that of the latest batch before it, or None.

        Raises StateError for a damaged file: starting from an older state would fire alerts again.
        """
        below = [number for number in self._batches() if number < batch]
        return self._load(below[-1]) if below else None

    def newest(self) -> Any | None:
        """The state of the latest batch, or None. Raises StateError as `load_below` does."""
        stored = self._batches()
        return self._load(stored[-1]) if stored else None

    def _load(self, batch: int) -> Any:
        file = self._folder / f"{batch}.json"
        try:
            record = json.loads(file.read_text("utf-8"))
            version, state = record["version"], record["state"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _damaged(file) from error
        if version != _VERSION:
            raise StateError(f"{file} has version {version}, but this program reads version {_VERSION}")
        if record.get("batch") != batch or record.get("digest") != _digest(batch, _text(state)):
            raise _damaged(file)
        return state

    def _batches(self) -> list[int]:
        if not self._folder.exists():
            return []
        matches = (_NAME.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)


def stream_of(state: Path) -> str:
    """Return the id of a state folder: random at the first call, the same from then on.

    It is the `stream` of the sinks: in a new state folder batches count from 0 again, and must not replace those of the
    old one.
    """
    file = state / "stream"
    if not file.exists():
        put(file, f"{uuid.uuid4().hex[:12]}\n".encode())
    name = file.read_text("utf-8", "replace").strip()
    if not re.fullmatch(r"[0-9a-f]{12}", name):
        raise StateError(f"{file} is damaged; remove it, and configure new folders for the results")
    return name


def _text(state: Any) -> str:
    return json.dumps(state, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(batch: int, text: str) -> str:
    return hashlib.blake2b(f"{batch}:{text}".encode(), digest_size=16).hexdigest()


def _damaged(file: Path) -> StateError:
    return StateError(
        f"the alert state {file} is damaged; restore it from a backup, or remove it to resume from the state before it "
        f"(some alerts may then be delivered again)"
    )
