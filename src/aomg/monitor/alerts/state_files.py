"""States of alerts on disk: one JSON file a batch, so that a repeated batch starts from the state before it."""

import hashlib
import json
import re
import uuid
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.atomic import SinkError, put, reason

_VERSION = 1
_NAME = re.compile(r"(\d+)\.json")


class StateFiles:
    """States by batch, in a folder such as `state/alerts`: the state of batch 12 is `12.json`.

    A state is anything that JSON has. It is written in one step, and the same state gives the same bytes. The last
    `keep` are kept.
    """

    def __init__(self, folder: Path, keep: int = 20) -> None:
        self._folder = folder
        self._keep = keep

    def save(self, batch: int, state: Any) -> None:
        """Write the state after a batch. Those of later batches go: they came from a batch that is now repeated."""
        text = _text(state)
        head = f'{{"version":{_VERSION},"batch":{batch},"digest":"{_digest(batch, text)}","state":'
        put(self._folder / f"{batch}.json", f"{head}{text}}}\n".encode())
        there = self._batches()
        kept = [number for number in there if number <= batch][-self._keep :]
        try:
            for number in set(there) - set(kept):
                (self._folder / f"{number}.json").unlink(missing_ok=True)
        except OSError as error:
            raise SinkError(reason(error, self._folder)) from error

    def load_below(self, batch: int) -> Any | None:
        """The state that a batch starts from: that of the latest batch below it, or None if there is none.

        Raises StateError for a damaged file, rather than to start from an older state and fire alerts anew.
        """
        below = [number for number in self._batches() if number < batch]
        return self._load(below[-1]) if below else None

    def newest(self) -> Any | None:
        """The state of the latest batch that has one, or None. Raises StateError as `load_below` does."""
        there = self._batches()
        return self._load(there[-1]) if there else None

    def _load(self, batch: int) -> Any:
        file = self._folder / f"{batch}.json"
        try:
            told = json.loads(file.read_text("utf-8"))
            version, state = told["version"], told["state"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _damaged(file) from error
        if version != _VERSION:
            raise StateError(f"{file} is of version {version}, and this program reads version {_VERSION}")
        if told.get("batch") != batch or told.get("digest") != _digest(batch, _text(state)):
            raise _damaged(file)
        return state

    def _batches(self) -> list[int]:
        if not self._folder.exists():
            return []
        found = (_NAME.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted(int(match[1]) for match in found if match)


def stream_of(state: Path) -> str:
    """A name for what a state folder belongs to: made up at the first call, the same from then on.

    Sinks take it as their `stream`: batches count from 0 again in a new state folder, and must not replace those of
    the old one.
    """
    file = state / "stream"
    if not file.exists():
        put(file, f"{uuid.uuid4().hex[:12]}\n".encode())
    name = file.read_text("utf-8", "replace").strip()
    if not re.fullmatch(r"[0-9a-f]{12}", name):
        raise StateError(f"{file} is damaged; remove it, and give new folders for the results")
    return name


def _text(state: Any) -> str:
    return json.dumps(state, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(batch: int, text: str) -> str:
    return hashlib.blake2b(f"{batch}:{text}".encode(), digest_size=16).hexdigest()


def _damaged(file: Path) -> StateError:
    return StateError(
        f"the alert state {file} is damaged; put it back from a copy, or remove it to go on from the state before it "
        f"(some alerts may then be told again)"
    )
