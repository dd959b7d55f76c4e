"""What an experiment is: a question, pieces of work that can be done one by one, and how they make an answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.outcome import Outcome

Found = Mapping[str, Any]
"""What the pieces found, by their names: numbers, texts, lists and dictionaries, as JSON has them."""


@dataclass(frozen=True)
class Piece:
    """One measurement: the smallest part of an experiment that is done again after an interruption.

    `work` says how long it takes compared with the others, roughly in millions of events; the time left is told by it.
    """

    name: str
    run: Callable[[], Any]
    work: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    pieces
        What is to be measured at a scale. With a source of one's own the experiment is about that stream.
    outcome
        Makes tables and plots of what was found. Runs in no time, and gives the same for the same findings.
    own_data
        Whether it means anything on a stream of one's own.
    """

    name: str
    title: str
    question: str
    paper: str
    """The section, table or figure; empty if the question is ours."""
    pieces: Callable[[Scale, ValueSource | None], Sequence[Piece]]
    outcome: Callable[[Found, Scale, ValueSource | None], Outcome]
    own_data: bool = True
