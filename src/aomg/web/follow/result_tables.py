"""The rows of a file of results, as tables that are small enough to hold."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.sinks.result_rows import SCHEMA

_REPEATED = ["query", "estimates.list.element.name", "estimates.list.element.method"]
"""Few texts, often repeated: read as numbers, which takes half the time."""
_TEXT = pa.dictionary(pa.int32(), pa.string())
_ESTIMATE = pa.struct(
    [
        (part.name, _TEXT if part.type == pa.string() else part.type)
        for part in SCHEMA.field("estimates").type.value_type
    ]
)
_KINDS = {"query": _TEXT, "estimates": pa.list_(pa.field("element", _ESTIMATE))}
_SCHEMA = pa.schema([(field.name, _KINDS.get(field.name, field.type)) for field in SCHEMA])


def tables(file: Path, most_rows: int, floor: Callable[[], int | None]) -> Iterator[pa.Table]:
    """The rows of a file in parts of at most `most_rows`, those that were written last first; at least one part.

    Row groups without a window that ends after `floor` are left out. The file is open until the last part was taken,
    so that it can be read to its end when it has gone meanwhile. Raises OSError, ArrowException or KeyError for files
    that are damaged, or hold something else; texts that are no texts are found too.
    """
    found = False
    with pq.ParquetFile(file, read_dictionary=_REPEATED) as parquet:
        metadata = parquet.metadata
        for group in reversed(range(metadata.num_row_groups)):
            newest = _newest_end(metadata.row_group(group))
            oldest = floor()
            if newest is not None and oldest is not None and newest <= oldest:
                continue
            for batch in parquet.iter_batches(most_rows, [group], columns=SCHEMA.names, use_threads=False):
                table = pa.Table.from_batches([batch]).select(SCHEMA.names)
                table.validate(full=True)
                found = True
                yield table if table.schema.equals(_SCHEMA) else table.cast(SCHEMA).cast(_SCHEMA)
    if not found:
        yield _SCHEMA.empty_table()  # it may take the place of a file that had rows


def _newest_end(group: pq.RowGroupMetaData) -> int | None:
    """The newest window end in a row group, by its statistics."""
    for chunk in map(group.column, range(group.num_columns)):
        if chunk.path_in_schema == "end" and chunk.statistics is not None and chunk.statistics.has_min_max:
            return int(chunk.statistics.max_raw)
    return None
