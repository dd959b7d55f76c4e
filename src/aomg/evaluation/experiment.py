"""Defines an experiment: a question, pieces that are measured one by one, and a function that builds the tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.outcome import Outcome

Measurements = Mapping[str, Any]
"""The results of the pieces by name, as JSON: numbers, texts, lists and dictionaries."""


@dataclass(frozen=True)
class Piece:
    """One measurement: the smallest part of an experiment that is repeated after an interruption.

    `work` is its relative duration, roughly in millions of events. The progress bar estimates the time left from it.
    """

    name: str
    run: Callable[[], Any]
    work: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    pieces
        Returns the measurements at a scale; with a source, those of the user's data.
    outcome
        Returns tables and plots of the measurements. Fast and deterministic.
    own_data
        Whether it applies to the user's data.
    """

    name: str
    title: str
    question: str
    paper: str
    """The section, table or figure of the paper; empty if the question is ours."""
    pieces: Callable[[Scale, ValueSource | None], Sequence[Piece]]
    outcome: Callable[[Measurements, Scale, ValueSource | None], Outcome]
    own_data: bool = True
