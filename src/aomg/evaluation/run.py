"""Runs experiments piece by piece. Each piece is stored in a file, so that an interrupted run can resume."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aomg
from aomg.errors import AomgError
from aomg.evaluation.experiment import Experiment, Piece
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.outcome import Outcome

Watch = Callable[[str, Piece, float], None]
"""Called for every completed piece, measured now or earlier: the experiment's name, the piece, and its seconds."""


_METHOD_VERSION = 2
"""Increase it whenever pieces are measured differently or contain something else, to invalidate stored ones."""


class EvaluationError(AomgError, ValueError):
    """An evaluation that cannot be run."""


def put(file: Path, text: str) -> None:
    """Write a file atomically; raise EvaluationError if that fails."""
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8", newline="")
        partial.replace(file)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise EvaluationError(f"{file} cannot be written: {error.strerror}; give another --out") from error


@dataclass(frozen=True)
class Run:
    """One evaluation: its folder, its scale, and the user's data, if any."""

    folder: Path
    scale: Scale
    source: ValueSource | None = None

    @property
    def identity(self) -> str:
        """Version, method, scale and data. A stored piece counts only if its identity is the same."""
        own = f"{self.source.name} {self.source.identity}" if self.source is not None else "paper"
        return f"{aomg.__version__}, {_METHOD_VERSION}; {self.scale}; {own}"

    def pieces(self, experiment: Experiment) -> list[Piece]:
        """Return the pieces of an experiment."""
        pieces = list(experiment.pieces(self.scale, self.source))
        names = [piece.name for piece in pieces]
        if len(set(names)) < len(names):
            raise EvaluationError(f"{experiment.name} has two pieces with the same name")
        return pieces

    def outcome(self, experiment: Experiment, watch: Watch | None = None) -> Outcome:
        """Measure the pieces that are not stored yet; return the outcome."""
        measurements = {}
        for piece in self.pieces(experiment):
            stored = self._stored(experiment, piece)
            if stored is None:
                started = time.perf_counter()
                # through JSON, so that a resumed run gets the same
                stored = {
                    "run": self.identity,
                    "found": json.loads(json.dumps(piece.run())),
                    "seconds": time.perf_counter() - started,
                }
                self._store(experiment, piece, stored)
            measurements[piece.name] = stored["found"]
            if watch is not None:
                watch(experiment.name, piece, stored["seconds"])
        return experiment.outcome(measurements, self.scale, self.source)

    def missing(self, experiments: Iterable[Experiment]) -> list[tuple[Experiment, Piece]]:
        """Return the pieces that are not measured yet."""
        return [(e, piece) for e in experiments for piece in self.pieces(e) if self._stored(e, piece) is None]

    def _file(self, experiment: Experiment, piece: Piece) -> Path:
        mark = hashlib.blake2b(self.identity.encode(), digest_size=4).hexdigest()
        return self.folder / "pieces" / mark / experiment.name / f"{piece.name}.json"

    def _stored(self, experiment: Experiment, piece: Piece) -> dict[str, Any] | None:
        """Return the stored piece of an earlier run with the same identity, otherwise None."""
        try:
            stored = json.loads(self._file(experiment, piece).read_text())
        except (OSError, ValueError):
            return None
        return stored if isinstance(stored, dict) and stored.get("run") == self.identity else None

    def _store(self, experiment: Experiment, piece: Piece, content: dict[str, Any]) -> None:
        put(self._file(experiment, piece), json.dumps(content, indent=1) + "\n")
