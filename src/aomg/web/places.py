"""Finds the files that the page reads, from a folder of results or a configuration."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from aomg.errors import AomgError, DamagedFileError
from aomg.monitor.config.model import Config, SinkConfig
from aomg.monitor.sinks.result_folder import days
from aomg.monitor.sinks.result_rows import SCHEMA
from aomg.tables.parquet_files import open_parquet

_CONFIGURATIONS = (".yaml", ".yml")


class PlaceError(AomgError, ValueError):
    """A path that cannot be served; the message says what to give instead."""


@dataclass(frozen=True)
class Places:
    """Folders and files that the page reads; they need not exist yet.

    config, alerts, state, summaries
        None where only a folder of results is served, or where the configuration writes none.
    """

    title: str
    results: Path
    config: Config | None = None
    alerts: Path | None = None
    state: Path | None = None
    summaries: Path | None = None

    @property
    def targets(self) -> Path | None:
        """The file with the newest headroom of every target."""
        return None if self.state is None else self.state / "targets.json"


def places(place: Path) -> Places:
    """Find the files of a folder of results or a configuration. Reads little and writes nothing.

    A folder must hold results, or be empty: the page then waits for results. A configuration may name folders that do
    not exist yet. Raises PlaceError or ConfigError, which say what to do.
    """
    if place.suffix.lower() in _CONFIGURATIONS and not place.is_dir():
        try:
            from aomg.monitor.config.reader import load  # here, so that a folder is served without PyYAML
        except ModuleNotFoundError as error:
            raise PlaceError(
                f"reading a configuration needs the package {error.name}; run: pip install 'aomg[monitor]'"
            ) from None
        return _configured(load(place, environment=_Environment()))
    if not place.exists():
        raise PlaceError(
            f"{place} does not exist; give the folder that the parquet sink writes to, or a configuration (.yaml)"
        )
    if not place.is_dir():
        raise PlaceError(f"{place} is a file; give the folder that the parquet sink writes to, or a .yaml file")
    _check_folder(place)
    return Places(place.resolve().name or str(place), place)


def _configured(config: Config) -> Places:
    results = _first(config.sinks.results, "parquet")
    if results is None:
        raise PlaceError(
            f"{config.file} has no parquet sink for results, which the page reads; add\n"
            "sinks:\n  results: [{parquet: results/}]"
        )
    return Places(
        config.file.stem,
        results,
        config,
        _first(config.sinks.alerts, "jsonl"),
        config.state,
        _first(config.sinks.summaries, "parquet"),
    )


def _first(sinks: tuple[SinkConfig, ...], kind: str) -> Path | None:
    return next((sink.path for sink in sinks if sink.kind == kind and sink.path is not None), None)


def _check_folder(folder: Path) -> None:
    """Raise PlaceError for a folder that holds files other than results."""
    try:
        inside = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    except OSError as error:
        raise PlaceError(f"{folder} cannot be read: {error.strerror}; check its permissions") from None
    day_folders = days(folder)
    if not day_folders and inside:
        raise PlaceError(f"{folder} is not a folder of results: it has no day=... folders{_suggestion(inside)}")
    for file in (file for day in reversed(day_folders) for file in (folder / f"day={day}").glob("[!._]*.parquet")):
        try:
            columns = open_parquet(file).schema_arrow.names
        except (OSError, DamagedFileError):
            continue  # the page reports the file, and reads the others
        missing = [name for name in SCHEMA.names if name not in columns]
        if missing:
            raise PlaceError(f"{folder} is not a folder of results: {file.name} has no column {missing[0]!r}")
        return


def _suggestion(inside: list[Path]) -> str:
    for path in sorted(inside):
        if path.is_dir() and days(path):
            return f"; did you mean {path}?"
    for path in sorted(inside):
        if path.suffix.lower() in _CONFIGURATIONS and path.is_file():
            return f"; did you mean {path}?"
    return "; give the folder that the parquet sink writes to"


class _Environment(Mapping[str, str]):
    """The environment, with a placeholder for variables that are not set: the page does not need receivers' secrets."""

    def __getitem__(self, name: str) -> str:
        return os.environ.get(name, "http://not-set.invalid")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __iter__(self) -> Iterator[str]:
        return iter(os.environ)

    def __len__(self) -> int:
        return len(os.environ)
