"""Checks the logs of Spark's checkpoint: that they are whole, and that its batches read what the journal says.

Spark trusts these files. With an older one in the place of a newer one it would read source files again, and count
their events twice. Checksums do not tell: they are those of the older file. But every entry of the journal says what
its batch has read, and every file that a source has listed says under which number.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from aomg.monitor.journal.checkpoint import Checkpoint, DamagedCheckpointError
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.journal import FOLDER, Journal, entry_file
from aomg.monitor.run.checkpoint_files import files_to_read

_VERSION = "v1"
_LISTED = re.compile(r'"batchId":(\d+)\}\s*$')


def log_problems(checkpoint: Checkpoint) -> Iterator[tuple[Path, str]]:
    """The files of the logs that Spark is going to read and that are not whole, or are another batch's: what is wrong.

    Costs the reading of these files, of which the longest has a line for each source file.
    """
    for file in files_to_read(checkpoint):
        if _is_log(checkpoint, file) and file.exists():
            problem = _problem(file)
            if problem is not None:
                yield file, problem


def read_problems(state: Path, journal: Journal, checkpoint: Checkpoint) -> Iterator[tuple[Path, str]]:
    """The batches that read something else in the checkpoint than in the journal: a file, and what differs.

    Looks at all entries of the journal whose batches Spark still has.
    """
    entries = [entry for entry in journal.entries.values() if entry.content and _has(checkpoint, entry.batch)]
    try:
        plans = checkpoint.plans([*(entry.batch for entry in entries), *_begun(journal, checkpoint)])
    except DamagedCheckpointError as error:
        yield error.file, error.problem
        return
    for entry in entries:
        plan = plans[entry.batch]
        before = {*(file.path for file in entry.read.files), *entry.read.missing}
        if plan.paths == before and set(plan.offsets) == set(entry.read.offsets):
            continue
        place = entry_file(state / FOLDER, entry.batch)
        now = _named(sorted(plan.paths), plan.offsets)
        yield (
            checkpoint.folder / "offsets" / str(entry.batch),
            f"lets batch {entry.batch} read {now}, but {place} says that it has read {_of(entry)}: another file was "
            "put in its place, or in that of one in sources",
        )


def _is_log(checkpoint: Checkpoint, file: Path) -> bool:
    parent = file.relative_to(checkpoint.folder).parent.parts
    return (file.name == "metadata" and not parent) or parent[:1] in (("offsets",), ("commits",), ("sources",))


def _problem(file: Path) -> str | None:
    """What is wrong with a file of a log; None if nothing is known to be."""
    try:
        text = file.read_text("utf-8")
    except ValueError:
        return "is damaged"
    if file.name == "metadata":
        return None if _is_object(text) else "is damaged"
    version, *lines = text.splitlines() or [""]
    if version != _VERSION:  # Kafka's begins with a zero byte; a later Spark may write others
        return None if re.match(r"\0|v\d", version) else "is damaged"
    if file.parent.name == "commits":
        return None if len(lines) == 1 and _is_object(lines[0]) else "is cut short or damaged"
    if file.parent.name == "offsets":
        whole = len(lines) > 1 and _is_object(lines[0]) and all(line == "-" or _is_json(line) for line in lines[1:])
        before = file.with_name(str(int(file.name) - 1))
        if whole and before.exists():
            whole = len(before.read_text("utf-8", "replace").splitlines()) == len(lines) + 1
        return None if whole else "is cut short or damaged"
    matches = [_LISTED.search(line) for line in lines]
    numbers = {int(match[1]) for match in matches if match}
    own = int(file.name.partition(".")[0])
    if not all(matches) or not numbers:
        return "is cut short or damaged"
    is_own = max(numbers) == own if file.suffix == ".compact" else numbers == {own}
    return None if is_own else f"has the files of number {max(numbers)}: it is a copy of another file"


def _begun(journal: Journal, checkpoint: Checkpoint) -> Sequence[int]:
    """The batch that Spark has begun and that has no entry yet."""
    batch = checkpoint.planned
    return [batch] if batch == journal.next and _has(checkpoint, batch) else []


def _has(checkpoint: Checkpoint, batch: int) -> bool:
    """Whether Spark still has what it planned for a batch, and for the one before. It does not read older plans."""
    numbers = (batch - 1, batch) if batch else (batch,)
    plans = [checkpoint.folder / "offsets" / str(number) for number in numbers]
    return all(plan.exists() and _problem(plan) is None for plan in plans)


def _of(entry: Entry) -> str:
    return _named(sorted({*(file.path for file in entry.read.files), *entry.read.missing}), entry.read.offsets)


def _named(paths: Sequence[str], offsets: Sequence[str]) -> str:
    """What a batch reads, in words."""
    parts = [paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more files"] if paths else []
    return " and ".join([*parts, *offsets]) or "nothing"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _is_object(text: str) -> bool:
    return _is_json(text) and isinstance(json.loads(text), dict)
