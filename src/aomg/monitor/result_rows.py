"""What a stored row of results holds, whichever sink it goes to: one row a query, key and window.

===========  =========================================================================================================
query        string: the query's name in the configuration
labels       list<string>: the key, a value for each label, in the order of `label_names`
label_names  list<string>: what the labels are called
start, end   timestamp, microseconds, UTC: the window; `end` is exclusive
count        long
min, max     double
sub_windows  int
burst        boolean
estimates    list<struct<name, value, low, high, method>>: "p99" and so on, and "below_500"
batch        long: the micro-batch that wrote the row
===========  =========================================================================================================
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aomg.errors import InputError
from aomg.monitor.alerts import time_text
from aomg.monitor.rows import NO_QUERY

LabelNames = Mapping[str, Sequence[str]]
"""What the labels of each query are called."""

_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.field("element", pa.string()))
_ESTIMATE = pa.struct(
    [("name", pa.string()), *((name, pa.float64()) for name in ("value", "low", "high")), ("method", pa.string())]
)
SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("labels", _TEXTS),
        ("label_names", _TEXTS),
        ("start", _TIME),
        ("end", _TIME),
        ("count", pa.int64()),
        ("min", pa.float64()),
        ("max", pa.float64()),
        ("sub_windows", pa.int32()),
        ("burst", pa.bool_()),
        ("estimates", pa.list_(pa.field("element", _ESTIMATE))),
        ("batch", pa.int64()),
    ]
)


def stored(batch: int, table: pa.Table, label_names: LabelNames | None = None) -> pa.Table:
    """The rows of a micro-batch as they are stored: fixed columns and types, in an order that depends on them alone.

    Times may be timestamps, or whole microseconds. The same rows in another order, as Spark may hand them over when
    it repeats a batch, give the same table. Rows that belong to no query, which tell of refused events, are left out.
    """
    if "query" in table.column_names:
        table = table.filter(pc.not_equal(table["query"], NO_QUERY))
    given = {"batch": pa.repeat(pa.scalar(batch, pa.int64()), len(table))}
    if "label_names" not in table.column_names:
        given["label_names"] = _names(table, label_names or {})
    missing = [name for name in SCHEMA.names if name not in given and name not in table.column_names]
    if missing:
        raise InputError(f"the results lack the column {missing[0]!r}; there are {', '.join(table.column_names)}")
    columns = []
    for field in SCHEMA:
        column = given[field.name] if field.name in given else table[field.name]
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException as error:
            raise InputError(
                f"column {field.name!r} of the results is {column.type}, which is no {field.type}"
            ) from error
    whole = pa.table(columns, schema=SCHEMA)
    order = np.lexsort((codes(whole["end"]), codes(labels_key(whole["labels"])), codes(whole["query"])))
    return whole.take(pa.array(order)).combine_chunks()


def _names(table: pa.Table, label_names: LabelNames) -> pa.Array:
    queries = table["query"].to_pylist() if "query" in table.column_names else []
    return pa.array([label_names.get(query) for query in queries], type=_TEXTS)


def labels_key(labels: pa.ChunkedArray) -> pa.Array:
    """A text for each list of labels, different for different lists; a missing label differs from an empty one."""
    whole = labels.combine_chunks() if isinstance(labels, pa.ChunkedArray) else labels
    values = whole.flatten()
    for mark, instead in (("\x01", "\x01a"), ("\x02", "\x01b"), ("\x03", "\x01c")):
        values = pc.replace_substring(values, mark, instead)
    values = pc.fill_null(values, "\x03")
    lengths = pc.fill_null(pc.list_value_length(whole), 0)
    offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False))]).astype(np.int32)
    # every value ends in a mark, so that a list of one empty text differs from an empty list
    ended = pc.binary_join_element_wise(values, "\x02", "")
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), ended), "")


def codes(column: Any) -> Any:
    """Integers in the order of a column's values, equal for equal ones; for sorting and grouping in NumPy."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_timestamp(whole.type) or pa.types.is_int64(whole.type):
        return pc.fill_null(whole.cast(pa.int64()), np.iinfo(np.int64).min).to_numpy(zero_copy_only=False)
    return pc.rank(whole, sort_keys="ascending", tiebreaker="dense").to_numpy(zero_copy_only=False)


def records(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Each stored row as JSON has it: labels and estimates by name, times as text, null for what is not finite."""
    for name in ("start", "end"):
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.int64()))
    for row in table.to_pylist():
        names, values = row.pop("label_names", None), row["labels"]
        if names and values is not None and len(names) == len(values):
            row["labels"] = dict(zip(names, values, strict=True))
        for name in ("start", "end"):
            row[name] = None if row[name] is None else time_text(row[name])
        row["estimates"] = {
            part["name"]: {key: part[key] for key in ("value", "low", "high", "method") if part[key] is not None}
            for part in row["estimates"] or ()
        }
        batch = row.pop("batch")
        yield plain({"batch": batch, **row})


def plain(part: Any) -> Any:
    """The same without what JSON has not: NumPy's numbers become Python's, what is not finite becomes null."""
    if isinstance(part, Mapping):
        return {str(key): plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [plain(value) for value in part]
    value = part.item() if isinstance(part, np.generic) else part
    return None if isinstance(value, float) and not math.isfinite(value) else value
