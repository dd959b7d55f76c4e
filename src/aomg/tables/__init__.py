"""Many keys without Spark: quantiles of sliding windows from any table, as an Arrow table. Spark uses the same parts.

::

    any table -> source -> events ----> keys, groups ------> level 2 -> blocks -> table of results
                 open it   check and    number the keys,     slide      columns
                           refuse       bring events of a    (threads)
                                        key and sub-window
                                        together

``source``      opens pandas, Polars, PyArrow, DuckDB or any other table through Arrow's PyCapsule interface
``events``      the columns of values, times and keys: checks them, refuses what cannot be used
``keys``        an id for each key
``level1``      tallies, for sub-windows that do not close at once
``level2``      one step of all keys: tallies and live summaries in, windows or summaries out
``keyed_state`` both levels in memory, in several threads
``quantiles``   a batch: `quantiles`, `summaries`, and `windows` from stored summaries
``keyed``       push by push: `KeyedOperator`
``columns``     the columns of results and of summaries
``summary_answers`` quantiles, shares and sums of single stored summaries
``rows``        content tables: tallies and summaries with their keys
"""

from aomg.tables.accounts import Accounts
from aomg.tables.keyed import KeyedOperator
from aomg.tables.quantiles import quantiles, summaries, windows

__all__ = ["Accounts", "KeyedOperator", "quantiles", "summaries", "windows"]
