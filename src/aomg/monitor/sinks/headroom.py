"""Writes the newest headroom of every target and key to a file, for autoscalers and for the live page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aomg.monitor.atomic_files import put
from aomg.monitor.rules.target import Headroom, Target


class HeadroomFile:
    """The file of headroom, replaced whenever a target has a new window.

    It has the newest records of each configured target; those of removed targets are dropped at the start.
    """

    def __init__(self, file: Path, targets: Sequence[Target]) -> None:
        self._file = file
        self._known = {(target.group, target.name) for target in targets}
        stored = self._read()
        current = [record for record in stored if _key(record) in self._known]
        if current != stored:
            self._write(current)

    def put(self, headrooms: Sequence[Headroom]) -> None:
        """Replace the records of some targets. Takes time in proportion to the file."""
        if not headrooms:
            return
        updated = {(headroom.group, headroom.target) for headroom in headrooms}
        others = [record for record in self._read() if _key(record) in self._known - updated]
        self._write(others + [record for headroom in headrooms for record in headroom.records()])

    def _read(self) -> list[Any]:
        """Its records. A damaged file has an unknown one, so that it is written again."""
        try:
            records = json.loads(self._file.read_bytes())["targets"]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError):
            return [None]
        return records if isinstance(records, list) else [None]

    def _write(self, records: Sequence[Any]) -> None:
        put(self._file, (json.dumps({"targets": records}, indent=1) + "\n").encode())


def _key(record: Any) -> tuple[Any, Any] | None:
    return (record.get("group"), record.get("target")) if isinstance(record, dict) else None
