"""Reproduces the paper's tables and figures, and adds questions of our own: one file each.

>>> from aomg.evaluation import experiment, names
>>> experiment("table1").title
'Table 1: how a rank error changes the value'
"""

from importlib import import_module

from aomg.evaluation.experiment import Experiment
from aomg.evaluation.run import EvaluationError
from aomg.suggestions import did_you_mean

__all__ = ["Experiment", "experiment", "names"]

# In the order of the paper, then ours. To add an experiment, write its file in experiments/ and add its name here.
_NAMES = (
    "table1",
    "workload",
    "table2",
    "throughput",
    "scalability",
    "periods",
    "topk",
    "bursts",
    "fewk_cost",
    "ar1",
    "taxi",
    "host",
    "redundancy",
    "frontier",
    "guarantee",
    "spark",
)


def names() -> tuple[str, ...]:
    """Return the names of all experiments: those of the paper in its order, then ours."""
    return _NAMES


def experiment(name: str) -> Experiment:
    """Return the experiment with this name; raise EvaluationError with the nearest name if there is none."""
    if name not in _NAMES:
        question = did_you_mean(name, _NAMES) or "."
        raise EvaluationError(f"there is no experiment {name!r}{question} There are {', '.join(_NAMES)}")
    registered: Experiment = import_module(f"aomg.evaluation.experiments.{name}").EXPERIMENT
    return registered
