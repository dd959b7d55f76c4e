"""AOMG: quantiles of sliding windows, each with an interval that is guaranteed to contain the exact value.

`Query` describes a window and its quantiles; `Operator` computes them for one stream, `quantiles` and `KeyedOperator`
for the keys of a table, `aomg.spark` for those of a cluster.

>>> import aomg
>>> operator = aomg.Operator(aomg.Query(size=4000, period=1000))
>>> results = operator.push(range(4000))
>>> results[-1][0.99].low <= 3959 <= results[-1][0.99].high
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aomg.errors import AomgError, FinishedError, InputError, QueryError, StateError, UnknownQuantileError
from aomg.query import FewK, Query

if TYPE_CHECKING:
    from aomg.core.operator import Operator
    from aomg.result import Estimate, Result, Results, Share
    from aomg.tables.keyed import KeyedOperator
    from aomg.tables.plot import plot
    from aomg.tables.quantiles import quantiles, summaries, windows
    from aomg.tables.results import flat_table

__version__ = "0.1.0"

__all__ = [
    "AomgError",
    "Estimate",
    "FewK",
    "FinishedError",
    "InputError",
    "KeyedOperator",
    "Operator",
    "Query",
    "QueryError",
    "Result",
    "Results",
    "Share",
    "StateError",
    "UnknownQuantileError",
    "__version__",
    "flat_table",
    "plot",
    "quantiles",
    "summaries",
    "windows",
]

_ON_FIRST_USE = {  # these modules load Numba or Arrow, which takes longer than all the rest
    "Estimate": "aomg.result",
    "KeyedOperator": "aomg.tables",
    "Operator": "aomg.core.operator",
    "Result": "aomg.result",
    "Results": "aomg.result",
    "Share": "aomg.result",
    "flat_table": "aomg.tables.results",
    "plot": "aomg.tables.plot",
    "quantiles": "aomg.tables",
    "summaries": "aomg.tables",
    "windows": "aomg.tables",
}


def __getattr__(name: str) -> Any:
    """Load what is used for the first time."""
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ON_FIRST_USE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
