"""Takes over the state folder of a version without a journal, once: alert states, alerts to deliver, positions.

That version had a file for each alert state (`alerts/12.json`), a numbered file for the alerts of a batch
(`outbox/0000000003.json`) and a file for each receiver with the number and the index of its next alert.
"""

import json
import logging
import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from aomg.errors import StateError
from aomg.monitor.atomic_files import SinkError, reason
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.journal import Journal
from aomg.monitor.journal.remedies import NEW_FOLDERS

_VERSION = 1
_STATE = re.compile(r"(\d+)\.json")
_ALERTS = re.compile(r"(\d{10,})\.json")
_QUEUE = re.compile(r"([a-zA-Z].*?)(?<!\.firing)\.json")
_LOG = logging.getLogger(__name__)


def state_before_journal(state: Path, newest: int | None = None) -> tuple[int, Any] | None:
    """The newest alert state of a version without a journal, up to a batch, and its batch; None if there is none."""
    folder = state / "alerts"
    matches = [_STATE.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    batches = [int(match[1]) for match in matches if match and (newest is None or int(match[1]) <= newest)]
    return (max(batches), _state(folder / f"{max(batches)}.json", max(batches))) if batches else None


def take_over(state: Path, journal: Journal, committed: int, refused: Mapping[str, int], program: str) -> None:
    """Write the first entry of the journal from the files of before, if there are any.

    It is that of the newest batch that Spark has `committed`: a later one is repeated. The files that sinks have
    written so far are not in the journal: nothing is known of them but their names.
    """
    before = state_before_journal(state, committed)
    if before is None:
        return
    batch, content = before
    queue, positions = _outbox(state / "outbox", batch)
    journal.queue = dict(queue)
    journal.put(Entry(batch, "", None, state=content, refused=refused, positions=positions, program=program))
    _LOG.warning("the state folder %s is of an earlier version; it has a journal now", state)


def remove_before_journal(state: Path, journal: Journal) -> None:
    """Remove the files that a journal replaces. Positions stay: the outbox writes them anew."""
    if not journal.entries:
        return
    try:
        for folder, pattern in ((state / "alerts", _STATE), (state / "outbox", _ALERTS)):
            for path in list(folder.iterdir()) if folder.is_dir() else ():
                if pattern.fullmatch(path.name):
                    path.unlink(missing_ok=True)
        if (state / "alerts").is_dir() and not any((state / "alerts").iterdir()):
            (state / "alerts").rmdir()
    except OSError as error:
        raise SinkError(reason(error, state)) from error


def _outbox(folder: Path, batch: int) -> tuple[dict[int, list[dict[str, Any]]], dict[str, tuple[int, int]]]:
    """The alerts to deliver up to a batch, by batch, and the receivers' positions among them."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    queue: dict[int, list[dict[str, Any]]] = {}
    places: list[tuple[tuple[int, int], tuple[int, int]]] = []  # (number, index) before, (batch, index) now
    for name in names:
        if not (match := _ALERTS.fullmatch(name)):
            continue
        for index, alert in enumerate(_read(folder / name, list)):
            if not isinstance(alert, dict) or not {"id", "transition"} <= alert.keys():
                raise _damaged(folder / name)
            if alert.get("batch", batch) > batch:
                continue  # its batch is repeated, and queues it again
            alerts = queue.setdefault(alert.get("batch", batch), [])
            places.append(((int(match[1]), index), (alert.get("batch", batch), len(alerts))))
            alerts.append(alert)
    positions = {}
    for name in names:
        if match := _QUEUE.fullmatch(name):
            stored = _read(folder / name, dict)
            if type(stored.get("number")) is not int or type(stored.get("index")) is not int:
                raise _damaged(folder / name)
            passed = (stored["number"], stored["index"])
            positions[match[1]] = next((now for place, now in places if place >= passed), (batch + 1, 0))
    return queue, positions


def _state(file: Path, batch: int) -> Any:
    record = _read(file, dict)
    if record.get("version", _VERSION) != _VERSION:
        raise StateError(f"{file} has version {record.get('version')}, but this program reads version {_VERSION}")
    text = json.dumps(record.get("state"), sort_keys=True, separators=(",", ":"))
    digest = blake2b(f"{batch}:{text}".encode(), digest_size=16).hexdigest()
    if record.get("batch") != batch or record.get("digest") != digest:
        raise _damaged(file)
    return record["state"]


def _read(file: Path, kind: type) -> Any:
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(file) from error
    if not isinstance(content, kind):
        raise _damaged(file)
    return content


def _damaged(file: Path) -> StateError:
    return StateError(f"{file} is damaged; restore it from a backup, or {NEW_FOLDERS}")
