"""AOMG: quantiles of sliding windows, each with an interval that is guaranteed to contain the exact value.

`Query` describes a window and its quantiles; `Operator` computes them for one stream, `aomg.spark` for many keys.

>>> import aomg
>>> operator = aomg.Operator(aomg.Query(size=4000, period=1000))
>>> results = operator.push(range(4000))
>>> results[-1][0.99].low <= 3959 <= results[-1][0.99].high
True
"""

import aomg.caches  # noqa: F401  first: it finds a directory for compiled kernels
from aomg.core.operator import Operator
from aomg.errors import AomgError, FinishedError, InputError, QueryError, StateError, UnknownQuantileError
from aomg.query import FewK, Query
from aomg.result import Estimate, Result, Results, Share

__version__ = "0.1.0"

__all__ = [
    "AomgError",
    "Estimate",
    "FewK",
    "FinishedError",
    "InputError",
    "Operator",
    "Query",
    "QueryError",
    "Result",
    "Results",
    "Share",
    "StateError",
    "UnknownQuantileError",
    "__version__",
]
