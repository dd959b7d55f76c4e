"""Reads the rows of a result file in tables of bounded size."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.sinks.result_rows import SCHEMA
from aomg.tables.parquet_files import open_parquet

_REPEATED = ["query", "estimates.list.element.name", "estimates.list.element.method"]
"""Columns of few, often repeated texts: dictionary-encoded, they are read in half the time."""
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
    """Yield the rows of a file in tables of at most `most_rows`, the last written first; at least one table.

    Skips row groups without a window that ends after `floor`. The file stays open until the last table is read, so that
    it can be read to its end even if it is removed meanwhile. Raises DamagedFileError, OSError, ArrowException or
    KeyError for files that are damaged or hold something else; invalid UTF-8 is detected too.
    """
    any_rows = False
    with open_parquet(file, read_dictionary=_REPEATED) as parquet:
        metadata = parquet.metadata
        for group in reversed(range(metadata.num_row_groups)):
            newest = _newest_end(metadata.row_group(group))
            oldest = floor()
            if newest is not None and oldest is not None and newest <= oldest:
                continue
            for batch in parquet.iter_batches(most_rows, [group], columns=SCHEMA.names, use_threads=False):
                table = pa.Table.from_batches([batch]).select(SCHEMA.names)
                table.validate(full=True)
                any_rows = True
                yield table if table.schema.equals(_SCHEMA) else table.cast(SCHEMA).cast(_SCHEMA)
    if not any_rows:
        yield _SCHEMA.empty_table()  # it may replace a file that had rows


def _newest_end(group: pq.RowGroupMetaData) -> int | None:
    """Return the newest window end of a row group, from its statistics."""
    for chunk in map(group.column, range(group.num_columns)):
        if chunk.path_in_schema == "end" and chunk.statistics is not None and chunk.statistics.has_min_max:
            return int(chunk.statistics.max_raw)
    return None
