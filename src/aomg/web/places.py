"""Where everything is that the page shows: from a folder of results, or from a configuration."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.errors import AomgError
from aomg.monitor.config.model import Config, SinkConfig
from aomg.monitor.sinks.result_folder import days
from aomg.monitor.sinks.result_rows import SCHEMA

_CONFIGURATIONS = (".yaml", ".yml")


class PlaceError(AomgError, ValueError):
    """A place that cannot be served: it says which one can."""


@dataclass(frozen=True)
class Places:
    """Folders and files, which need not be there yet.

    config, alerts, state, quarantine, summaries
        None where only results are known, or where the configuration writes none.
    """

    title: str
    results: Path
    config: Config | None = None
    alerts: Path | None = None
    state: Path | None = None
    quarantine: Path | None = None
    summaries: Path | None = None

    @property
    def alert_states(self) -> Path | None:
        """The folder of the states of alerts, a file a batch."""
        return self._in_state("alerts")

    @property
    def health(self) -> Path | None:
        """The file in which the monitor tells of itself, a line a batch."""
        return self._in_state("health.jsonl")

    @property
    def targets(self) -> Path | None:
        """The file with the newest headroom of every target."""
        return self._in_state("targets.json")

    @property
    def checkpoint(self) -> Path | None:
        """Where Spark keeps the state of the stream."""
        return self._in_state("checkpoint")

    @property
    def outbox(self) -> Path | None:
        """What receivers have not been told yet."""
        return self._in_state("outbox")

    def _in_state(self, name: str) -> Path | None:
        return None if self.state is None else self.state / name


def places(place: Path) -> Places:
    """What a place on the command line stands for. Reads little, and writes nothing.

    A folder must hold results, or be empty: then results are waited for. A configuration may name folders that are
    not there yet. Raises PlaceError or ConfigError, with what to do.
    """
    if place.suffix.lower() in _CONFIGURATIONS and not place.is_dir():
        try:
            from aomg.monitor.config.reader import load  # not above: a folder is served without PyYAML
        except ModuleNotFoundError as error:
            raise PlaceError(
                f"a configuration needs the package {error.name}; run: pip install 'aomg[monitor]'"
            ) from None
        return _configured(load(place, environment=_Forgiving()))
    if not place.exists():
        raise PlaceError(
            f"there is no {place}; give the folder that the parquet sink writes to, or a configuration (.yaml)"
        )
    if not place.is_dir():
        raise PlaceError(f"{place} is a file; give the folder that the parquet sink writes to, or a .yaml file")
    _check_folder(place)
    return Places(place.resolve().name or str(place), place)


def _configured(config: Config) -> Places:
    results = _first(config.sinks.results, "parquet")
    if results is None:
        raise PlaceError(
            f"{config.file} writes no results that the page can read; add to it\n"
            "sinks:\n  results: [{parquet: results/}]"
        )
    return Places(
        config.file.stem,
        results,
        config,
        _first(config.sinks.alerts, "jsonl"),
        config.state,
        config.quarantine.folder,
        _first(config.sinks.summaries, "parquet"),
    )


def _first(sinks: tuple[SinkConfig, ...], kind: str) -> Path | None:
    return next((sink.path for sink in sinks if sink.kind == kind and sink.path is not None), None)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds other things than results."""
    try:
        inside = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    except OSError as error:
        raise PlaceError(f"{folder} cannot be read: {error.strerror}; look at its permissions") from None
    there = days(folder)
    if not there and inside:
        raise PlaceError(f"{folder} is no folder of results: it has no folder day=...{_instead(inside)}")
    for file in (file for day in reversed(there) for file in (folder / f"day={day}").glob("[!._]*.parquet")):
        try:
            found = pq.read_schema(file).names
        except (OSError, pa.ArrowException):
            continue  # the page tells of it, and goes on with the others
        missing = [name for name in SCHEMA.names if name not in found]
        if missing:
            raise PlaceError(f"{folder} is no folder of results: {file.name} has no column {missing[0]!r}")
        return


def _instead(inside: list[Path]) -> str:
    for path in sorted(inside):
        if path.is_dir() and days(path):
            return f"; did you mean {path}?"
    for path in sorted(inside):
        if path.suffix.lower() in _CONFIGURATIONS and path.is_file():
            return f"; did you mean {path}?"
    return "; give the one that the parquet sink writes to"


class _Forgiving(Mapping[str, str]):
    """The environment, and something harmless for what is not set: who looks need not know the receivers' secrets."""

    def __getitem__(self, name: str) -> str:
        return os.environ.get(name, "http://not-set.invalid")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __iter__(self) -> Iterator[str]:
        return iter(os.environ)

    def __len__(self) -> int:
        return len(os.environ)
