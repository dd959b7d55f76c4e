"""Defines the stored rows of results, the same for all sinks: one row for each query, key and window.

===========  =========================================================================================================
query        string: the query's name in the configuration
labels       list<string>: the key, a value for each label, in the order of `label_names`
label_names  list<string>: the names of the labels
start, end   timestamp, microseconds, UTC: the window; `end` is exclusive
count        long
min, max     double
sub_windows  int
burst        boolean
estimates    list<struct<name, value, low, high, method>>: "p99" and so on, and "below_500", which has no method
batch        long: the micro-batch that wrote the row
===========  =========================================================================================================

Earlier versions stored the method `exact` for certified estimates too. Readers take methods from `methods_of`, or whole
tables from `with_current_methods`: there, `exact` is only where low == high.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aomg.errors import InputError
from aomg.monitor.rules.rows import NO_QUERY
from aomg.times import time_text

LabelNames = Mapping[str, Sequence[str]]
"""The names of the labels of each query."""

_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.field("element", pa.string()))
_ESTIMATE = pa.struct(
    [("name", pa.string()), *((name, pa.float64()) for name in ("value", "low", "high")), ("method", pa.string())]
)
_PROVED = ("exact", "certified", "band", "envelope")
"""Methods of estimates with a guarantee: such an estimate is exact if low == high."""
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
    """The rows of a micro-batch as stored: fixed columns and types, in an order that depends on their content alone.

    Times may be timestamps, or whole microseconds. The same rows in another order, as in a repeated batch, give the
    same table. Rows that belong to no query, those of refused events, are left out.
    """
    if "query" in table.column_names:
        table = table.filter(pc.not_equal(table["query"], NO_QUERY))
    added = {"batch": pa.repeat(pa.scalar(batch, pa.int64()), len(table))}
    if "label_names" not in table.column_names:
        added["label_names"] = _names(table, label_names or {})
    missing = [name for name in SCHEMA.names if name not in added and name not in table.column_names]
    if missing:
        raise InputError(
            f"the results lack the column {missing[0]!r}; their columns are {', '.join(table.column_names)}"
        )
    columns = []
    for field in SCHEMA:
        column = added[field.name] if field.name in added else table[field.name]
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException as error:
            raise InputError(
                f"column {field.name!r} of the results has the type {column.type}, not {field.type}"
            ) from error
    whole = pa.table(columns, schema=SCHEMA)
    order = np.lexsort((codes(whole["end"]), codes(labels_key(whole["labels"])), codes(whole["query"])))
    return whole.take(pa.array(order)).combine_chunks()


def _names(table: pa.Table, label_names: LabelNames) -> pa.Array:
    queries = table["query"].to_pylist() if "query" in table.column_names else []
    return pa.array([label_names.get(query) for query in queries], type=_TEXTS)


def labels_key(labels: pa.ChunkedArray) -> pa.Array:
    """A text for each list of labels, unique to it; a missing label differs from an empty one."""
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
    """Integers in the order of a column's values, equal for equal values; for sorting and grouping in NumPy."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_timestamp(whole.type) or pa.types.is_int64(whole.type):
        return pc.fill_null(whole.cast(pa.int64()), np.iinfo(np.int64).min).to_numpy(zero_copy_only=False)
    return pc.rank(whole, sort_keys="ascending", tiebreaker="dense").to_numpy(zero_copy_only=False)


def methods_of(estimates: pa.StructArray) -> pa.DictionaryArray:
    """The method of each stored estimate, in today's words; null where it has none.

    `exact` where low == high, also if a band or an envelope proved it; `certified` where `exact` was stored and
    low < high. All others stay as stored.
    """
    methods = estimates.field("method")
    methods = methods if pa.types.is_dictionary(methods.type) else methods.dictionary_encode()
    low, high = (estimates.field(end).to_numpy(zero_copy_only=False) for end in ("low", "high"))
    index = pc.fill_null(methods.indices, -1).to_numpy(zero_copy_only=False)
    words = methods.dictionary.to_pylist()
    is_proved, was_exact = (np.array([*(word in some for word in words), False]) for some in (_PROVED, ("exact",)))
    index = np.where(is_proved[index] & (low == high), len(words), index)
    index = np.where(was_exact[index] & (low < high), len(words) + 1, index)
    return pa.DictionaryArray.from_arrays(pa.array(index, mask=index < 0), pa.array([*words, "exact", "certified"]))


def with_current_methods(table: pa.Table) -> pa.Table:
    """Stored rows with the methods of `methods_of`."""
    column = table["estimates"].combine_chunks()
    flat = column.flatten()
    kinds = list(column.type.value_type)
    parts = [methods_of(flat).cast(kind.type) if kind.name == "method" else flat.field(kind.name) for kind in kinds]
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    estimates = pa.ListArray.from_arrays(
        offsets, pa.StructArray.from_arrays(parts, fields=kinds), column.type, mask=column.is_null()
    )
    return table.set_column(table.schema.get_field_index("estimates"), table.schema.field("estimates"), estimates)


def records(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Each stored row as a JSON object: labels and estimates by name, times as text, null for non-finite numbers."""
    columns: dict[str, list[Any]] = {"batch": table["batch"].to_pylist()}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if name in ("start", "end"):
            ends = column.cast(pa.int64()).to_pylist()
            columns[name] = [None if end is None else time_text(end) for end in ends]
        elif name == "estimates":
            columns[name] = _estimates(column)
        elif pa.types.is_floating(column.type):
            columns[name] = _finite(column)
        elif name not in ("batch", "label_names"):
            columns[name] = column.to_pylist()
    if "label_names" in table.column_names:
        columns["labels"] = [
            dict(zip(names, texts, strict=True)) if names and texts and len(names) == len(texts) else texts
            for names, texts in zip(table["label_names"].to_pylist(), columns["labels"], strict=True)
        ]
    column_names = tuple(columns)
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(column_names, row, strict=True))


def _estimates(column: pa.ListArray) -> list[dict[str, dict[str, Any]]]:
    """The estimates of every row by name, without null parts."""
    flat = column.flatten()
    parts = {name: pc.struct_field(flat, name) for name in ("value", "low", "high", "method")}
    valid = [pc.is_valid(part).to_pylist() for part in parts.values()]
    values = [_finite(part) if pa.types.is_floating(part.type) else part.to_pylist() for part in parts.values()]
    if all(all(column) for column in valid):
        records = [dict(zip(parts, row, strict=True)) for row in zip(*values, strict=True)]
    else:
        records = [
            {name: value for name, value, is_valid in zip(parts, row, flags, strict=True) if is_valid}
            for row, flags in zip(zip(*values, strict=True), zip(*valid, strict=True), strict=True)
        ]
    names = pc.struct_field(flat, "name").to_pylist()
    estimates, start = [], 0
    for length in pc.fill_null(pc.list_value_length(column), 0).to_pylist():
        end = start + length
        estimates.append(dict(zip(names[start:end], records[start:end], strict=True)))
        start = end
    return estimates


def _finite(column: pa.Array) -> list[float | None]:
    return [value if value is not None and math.isfinite(value) else None for value in column.to_pylist()]


def plain(part: Any) -> Any:
    """The same in JSON's types: NumPy numbers become Python numbers, non-finite ones become null."""
    if isinstance(part, Mapping):
        return {str(key): plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [plain(value) for value in part]
    value = part.item() if isinstance(part, np.generic) else part
    return None if isinstance(value, float) and not math.isfinite(value) else value
