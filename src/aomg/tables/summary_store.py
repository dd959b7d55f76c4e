"""Recasts stored summaries for another query.

A stored summary names the query that wrote it. Its key columns and its sub-window identify it: a second copy with the
same bytes is a replay and counts once, one with other bytes is an error. A roll-up drops key columns; the summaries
that then share a key and a sub-window are added up (aomg.core.recast).

Until they are recast, the rows of a content table have further columns: dropped0... are the key columns that a roll-up
drops, written_by is the text of the query.
"""

from functools import lru_cache

import numpy as np
import pyarrow as pa

from aomg.core.keyed import SUMMARY as SUMMARY_KIND
from aomg.core.recast import Recast
from aomg.errors import StateError
from aomg.query import Query
from aomg.tables.keys import key_ids
from aomg.tables.rows import by_columns, content_table


@lru_cache(maxsize=16)
def _recast(written_by: str, query: Query) -> Recast:
    return Recast(Query.parse(written_by), query)


def recast_summaries(table: pa.Table, query: Query) -> pa.Table:
    """Stored summaries as those of this query, one row for each key and sub-window; other rows unchanged."""
    if "written_by" not in table.column_names or table.num_rows == 0:
        return table
    dropped = [table[name] for name in table.column_names if name.startswith("dropped")]
    owners, _ = key_ids([*by_columns(table), *dropped], table.num_rows)
    ids, keys = key_ids(by_columns(table), table.num_rows)
    numbers = np.asarray(table["number"])
    summaries, writers = table["bytes"].to_pylist(), table["written_by"].to_pylist()
    order = np.lexsort((owners, numbers, ids))
    sums: list[tuple[int, int, bytes]] = []
    group: list[bytes] = []
    for position, row in enumerate(order):
        previous = order[position - 1] if position else None
        recast = _recast(writers[row], query)
        if previous is not None and owners[row] == owners[previous] and numbers[row] == numbers[previous]:
            if summaries[row] != summaries[previous]:
                raise StateError(
                    f"sub-window {numbers[row]} of one key has two different summaries, written from different events; "
                    "delete one of them"
                )
        else:
            recast.check(summaries[row])
            if group and writers[row] != writers[previous]:
                raise StateError(
                    f"the summaries of sub-window {numbers[row]} were written by different queries, "
                    f"{Query.parse(writers[previous])!r} and {Query.parse(writers[row])!r}; roll up each on its own"
                )
            group.append(summaries[row])
        following = order[position + 1] if position + 1 < order.size else None
        if following is None or ids[following] != ids[row] or numbers[following] != numbers[row]:
            sums.append((int(ids[row]), int(numbers[row]), recast(group)))
            group = []
    return content_table(
        keys,
        np.array([key for key, _, _ in sums], np.int64),
        np.array([number for _, number, _ in sums], np.int64),
        SUMMARY_KIND,
        np.cumsum([0, *(len(summary) for _, _, summary in sums)], dtype=np.int64),
        np.frombuffer(b"".join(summary for _, _, summary in sums), np.uint8),
    )
