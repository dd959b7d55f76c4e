"""Finds files of sinks and sources whose paths were changed in the configuration.

Spark knows the files that it has read by their paths: in a folder that was moved, it would read them again, and count
their events twice. So that is refused, also for states of versions that did not record the folder.

The journal knows every file of a sink by its folder. If the folder was moved, and the configuration follows it, its
files are checked in the new place. If the sink now writes to an empty folder, or is no longer configured, its old files
stay where they are and nobody looks at them at a start; this is logged, with what to do if it was not meant.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from aomg.errors import StateError
from aomg.monitor.config.model import Config, SinkConfig
from aomg.monitor.journal.entry import Entry, SourceFile
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


def refuse_moved_source(config: Config, entries: Iterable[Entry]) -> None:
    """Raise StateError if the newest files that were read are not in the source folder.

    For states of versions that did not record the folder (state_owner.py): the journal tells what was read.
    """
    folder = folder_of(config)
    reads = [entry for entry in entries if any(map(_is_local, entry.read.files))]
    read = max(reads, key=lambda entry: entry.batch, default=None)
    if folder is None or read is None:
        return
    paths = [Path(file.path) for file in read.read.files if _is_local(file)]
    if not any(path.is_relative_to(folder) for path in paths):
        raise StateError(
            f"batch {read.batch} has read {paths[0]}, which is not in the source folder {folder}: the folder was "
            "moved, or is another one, and Spark would count the events of moved or copied files again. Let the "
            "configuration name the old path; if the folder was moved, make the old path a link to it; or "
            f"{NEW_FOLDERS}"
        )


def _is_local(file: SourceFile) -> bool:
    return file.size >= 0


def _folders(sinks: Sequence[SinkConfig]) -> list[Path]:
    return [sink.path for sink in sinks if sink.writes_folder and sink.path is not None]


def _files_no_longer_configured(config: Config, journal: Journal) -> Iterator[Path]:
    """The files of JSON lines that entries name and the configuration does not."""
    configured = {sink.path for sink in (*config.sinks.results, *config.sinks.alerts)}
    for entry in journal.entries.values():
        yield from (part.file for part in entry.appended if part.file not in configured)
