"""Runs experiments piece by piece. What a piece found is kept in a file, so that an interrupted run goes on there."""

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
"""Hears of every piece when it is done or was done before: the experiment's name, the piece, and its seconds."""


_WAY_OF_MEASURING = 2
"""One more whenever pieces are measured in another way, or tell something else: older ones do not count then."""


class EvaluationError(AomgError, ValueError):
    """An evaluation that cannot be run as asked."""


def put(file: Path, text: str) -> None:
    """Write a file under its name when all of it is there. Raises EvaluationError where that cannot be."""
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
    """One evaluation: its folder, its scale, and a source of one's own if there is one."""

    folder: Path
    scale: Scale
    source: ValueSource | None = None

    @property
    def identity(self) -> str:
        """What a kept piece must have been measured with to count: version, way of measuring, scale and data."""
        own = f"{self.source.name} {self.source.identity}" if self.source is not None else "paper"
        return f"{aomg.__version__}, {_WAY_OF_MEASURING}; {self.scale}; {own}"

    def pieces(self, experiment: Experiment) -> list[Piece]:
        """What is to be measured for an experiment."""
        pieces = list(experiment.pieces(self.scale, self.source))
        names = [piece.name for piece in pieces]
        if len(set(names)) < len(names):
            raise EvaluationError(f"{experiment.name} has two pieces of one name")
        return pieces

    def outcome(self, experiment: Experiment, watch: Watch | None = None) -> Outcome:
        """Measure what is not there yet, and answer."""
        found = {}
        for piece in self.pieces(experiment):
            kept = self._kept(experiment, piece)
            if kept is None:
                started = time.perf_counter()
                # through JSON, so that a resumed run sees what this one sees
                kept = {
                    "run": self.identity,
                    "found": json.loads(json.dumps(piece.run())),
                    "seconds": time.perf_counter() - started,
                }
                self._keep(experiment, piece, kept)
            found[piece.name] = kept["found"]
            if watch is not None:
                watch(experiment.name, piece, kept["seconds"])
        return experiment.outcome(found, self.scale, self.source)

    def missing(self, experiments: Iterable[Experiment]) -> list[tuple[Experiment, Piece]]:
        """The pieces that are still to be measured."""
        return [(e, piece) for e in experiments for piece in self.pieces(e) if self._kept(e, piece) is None]

    def _file(self, experiment: Experiment, piece: Piece) -> Path:
        mark = hashlib.blake2b(self.identity.encode(), digest_size=4).hexdigest()
        return self.folder / "pieces" / mark / experiment.name / f"{piece.name}.json"

    def _kept(self, experiment: Experiment, piece: Piece) -> dict[str, Any] | None:
        """What an earlier run found; None if nothing, or with something else."""
        try:
            kept = json.loads(self._file(experiment, piece).read_text())
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) and kept.get("run") == self.identity else None

    def _keep(self, experiment: Experiment, piece: Piece, found: dict[str, Any]) -> None:
        put(self._file(experiment, piece), json.dumps(found, indent=1) + "\n")
