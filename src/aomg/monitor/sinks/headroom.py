"""The file with the newest headroom of every target and key, for autoscalers and for the live page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aomg.monitor.atomic import put
from aomg.monitor.rules.target import Headroom, Target


class HeadroomFile:
    """Replaced as a whole whenever a target has a new window. It tells of the targets of the configuration, no others.

    What a target told is kept until it tells more; of one that was taken out, nothing is kept from the start on.
    """

    def __init__(self, file: Path, targets: Sequence[Target]) -> None:
        self._file = file
        self._known = {(target.group, target.name) for target in targets}
        there = self._read()
        kept = [record for record in there if _key(record) in self._known]
        if kept != there:
            self._write(kept)

    def put(self, rooms: Sequence[Headroom]) -> None:
        """Tell the headroom of some targets anew, of all their keys. Costs as much as the file is long."""
        if not rooms:
            return
        told = {(room.group, room.target) for room in rooms}
        kept = [record for record in self._read() if _key(record) in self._known - told]
        self._write(kept + [record for room in rooms for record in room.records()])

    def _read(self) -> list[Any]:
        """What is in it; a file that is damaged counts as one with nothing known in it, and is written anew."""
        try:
            found = json.loads(self._file.read_bytes())["targets"]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError):
            return [None]
        return found if isinstance(found, list) else [None]

    def _write(self, records: Sequence[Any]) -> None:
        put(self._file, (json.dumps({"targets": records}, indent=1) + "\n").encode())


def _key(record: Any) -> tuple[Any, Any] | None:
    return (record.get("group"), record.get("target")) if isinstance(record, dict) else None
