"""Finds files of sinks and sources whose paths were changed in the configuration.

Spark knows the files that it has read by their paths: in a folder that was moved, it would read them again, and count
their events twice. So that is refused.

The journal knows every file of a sink by its folder. If the folder was moved, and the configuration follows it, its
files are checked in the new place. If the sink now writes to an empty folder, or is no longer configured, its old files
stay where they are and nobody looks at them at a start; this is logged, with what to do if it was not meant.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from aomg.errors import StateError
from aomg.monitor.config.model import Config, SinkConfig
from aomg.monitor.journal.journal import Journal
from aomg.monitor.journal.remedies import NEW_FOLDERS, numbered
from aomg.monitor.source.events import folder_of

_LOG = logging.getLogger(__name__)


def follow_moved(config: Config, journal: Journal) -> None:
    """Look for the folders that are in the journal and no longer in the configuration, and log what became of them."""
    folders = {"results": _folders(config.sinks.results), "summaries": _folders(config.sinks.summaries)}
    configured = {str(folder) for places in folders.values() for folder in places}
    for place in [place for place, files in journal.files.items() if files and place not in configured]:
        names = journal.files[place]
        kind = "results" if next(iter(names)).startswith("day=") else "summaries"
        count = numbered(len(names), "file")
        target = next((folder for folder in folders[kind] if any((folder / name).exists() for name in names)), None)
        if target is not None:
            journal.move(place, str(target))
            _LOG.warning("%s is now in %s: its %s of %s are checked there", place, target, count, kind)
            continue
        advice = f"; to keep them together, stop, move them to {folders[kind][0]} and start" if folders[kind] else ""
        _LOG.warning(
            "%s is no longer configured: its %s of %s stay there, and a start no longer checks them%s",
            place,
            count,
            kind,
            advice,
        )
    for file in dict.fromkeys(_files_no_longer_configured(config, journal)):
        _LOG.warning("%s is no longer configured: its lines stay there, and a start no longer checks them", file)


def refuse_moved_source(config: Config, journal: Journal) -> None:
    """Raise StateError if a file that the last batches have read is in the source folder under another path.

    It is the same file if its name and its size are the same.
    """
    folder = folder_of(config)
    for entry in journal.entries.values() if folder is not None else ():
        for file in entry.read.files:
            path = Path(file.path)
            if folder is None or file.size < 0 or path.is_relative_to(folder):
                continue
            with suppress(OSError):
                if (folder / path.name).stat().st_size == file.size:  # a copy may have another time
                    raise StateError(
                        f"{folder / path.name} seems to be {path}, which batch {entry.batch} has read: the source "
                        "folder was moved or copied, and Spark would read its files again. Let the configuration name "
                        f"the old path, and move the files back, or {NEW_FOLDERS}"
                    )


def _folders(sinks: Sequence[SinkConfig]) -> list[Path]:
    return [sink.path for sink in sinks if sink.writes_folder and sink.path is not None]


def _files_no_longer_configured(config: Config, journal: Journal) -> Iterator[Path]:
    """The files of JSON lines that entries name and the configuration does not."""
    configured = {sink.path for sink in (*config.sinks.results, *config.sinks.alerts)}
    for entry in journal.entries.values():
        yield from (part.file for part in entry.appended if part.file not in configured)
