"""The paper's tables and figures again, and the questions that we add: one file each.

>>> from aomg.evaluation import experiment, names
>>> experiment("table1").title
'Table 1: what a rank error does to the value'
"""

from importlib import import_module

from aomg.evaluation.experiment import Experiment
from aomg.evaluation.run import EvaluationError
from aomg.suggestions import did_you_mean

__all__ = ["Experiment", "experiment", "names"]

# in the order of the paper, then ours
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
    """The names of all experiments, in the order of the paper and then ours."""
    return _NAMES


def experiment(name: str) -> Experiment:
    """Return the experiment of a name. Raises EvaluationError with the nearest if there is none."""
    if name not in _NAMES:
        meant = did_you_mean(name, _NAMES) or "."
        raise EvaluationError(f"there is no experiment {name!r}{meant} There are {', '.join(_NAMES)}")
    found: Experiment = import_module(f"aomg.evaluation.experiments.{name}").EXPERIMENT
    return found
