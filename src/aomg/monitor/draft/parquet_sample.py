"""Samples Parquet files: their schema, and the first rows of some row groups."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aomg.monitor.draft.data_files import DataFiles
from aomg.monitor.draft.sample import MOST_COLUMNS, MOST_ROWS, Sample, Times, chosen, folder_values
from aomg.monitor.errors import ConfigError
from aomg.value_types import MOST_DIGITS

_GROUPS = 4
_FOOTERS = 200


def parquet_sample(source: DataFiles) -> Sample:
    """Sample Parquet files. Raises ConfigError if one is damaged."""
    columns: dict[str, list[Any]] = {}
    times: dict[str, Times] = {}
    unusable: dict[str, str] = {}
    runs: list[range] = []
    picked = chosen(source.files)
    for file in picked:
        try:
            _add(file, MOST_ROWS // len(picked), columns, times, unusable, runs, source)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"{file} cannot be read as Parquet ({reason}); repair it, or move it away") from None
    if not runs:
        raise ConfigError(f"{picked[0]} has no rows; start once there are events")
    return Sample(
        "parquet",
        columns,
        runs,
        _rows(source),
        len(source.files),
        dict(source.options),
        True,
        times,
        unusable,
        source.folder_columns,
    )


def _rows(source: DataFiles) -> float:
    """How many rows the files have: as many as some of their footers say, on average."""
    footers = source.files[:_FOOTERS]
    rows = 0
    for file in footers:
        try:
            rows += pq.read_metadata(file).num_rows
        except (pa.ArrowException, OSError):
            continue
    return rows * len(source.files) / len(footers)


def _add(
    file: Path,
    most: int,
    columns: dict[str, list[Any]],
    times: dict[str, Times],
    unusable: dict[str, str],
    runs: list[range],
    source: DataFiles,
) -> None:
    """Add the first rows of some row groups of a file."""
    with pq.ParquetFile(file, pre_buffer=False) as opened:
        schema = opened.schema_arrow
        names = [field.name for field in schema][:MOST_COLUMNS]
        readable = []
        for field in schema:
            if field.name not in names:
                continue
            fault = _fault(field.type, field.name, schema)
            if fault is not None:
                unusable[field.name] = fault
                continue
            readable.append(field.name)
            if pa.types.is_timestamp(field.type):
                times[field.name] = Times(field.type.tz is not None, field.type.unit == "ns")
        for number in sorted({round(part * (opened.num_row_groups - 1) / (_GROUPS - 1)) for part in range(_GROUPS)}):
            if number < 0:
                continue
            rows = max(most // min(_GROUPS, opened.num_row_groups), 1)
            batches = opened.iter_batches(batch_size=rows, row_groups=[number], columns=readable)
            batch = next(batches, None)
            if batch is None or not batch.num_rows:
                continue
            begin = runs[-1].stop if runs else 0
            runs.append(range(begin, begin + batch.num_rows))
            for name in (*readable, *(name for name in columns if name not in readable)):
                before = columns.setdefault(name, [None] * begin)
                present = name in readable
                before += _values(batch.column(name)) if present else [None] * batch.num_rows
            for name, value in folder_values(file, source.folder_columns).items():
                columns[name] = (columns.get(name) or [None] * begin)[:begin] + [value] * batch.num_rows


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return [None if value is None else value.decode("utf-8", "replace") for value in column.to_pylist()]
    return column.to_pylist()  # type: ignore[no-any-return]


def _fault(kind: pa.DataType, name: str, schema: pa.Schema) -> str | None:
    """Why the monitor cannot read a column; None if it can."""
    if [field.name.lower() for field in schema].count(name.lower()) > 1:
        return "another column has the same name (capitals do not matter)"
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if kind == pa.uint64() or (pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS):
        return f"a double would round its type, {kind}"
    plain = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )
    return None if plain else f"its type is {kind}"
