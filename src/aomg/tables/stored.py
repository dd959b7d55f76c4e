"""Reads a table of stored summaries: any table with the columns that `summaries` writes, here or on Spark."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.keyed import SUMMARY as SUMMARY_KIND
from aomg.errors import InputError
from aomg.query import Query
from aomg.tables.checksums import COLUMNS, verified
from aomg.tables.columns import SUMMARY
from aomg.tables.events import names_in
from aomg.tables.keys import key_ids, plain_type
from aomg.tables.parquet_files import listing, read_parquet
from aomg.tables.rows import content_table
from aomg.tables.source import open_source

_TRIES = 5


@dataclass(frozen=True)
class StoredTable:
    """Stored summaries as a content table, with the columns that a recast needs (aomg.tables.summary_store)."""

    table: pa.Table
    by: tuple[str, ...]
    key_types: tuple[pa.DataType, ...]
    time_type: pa.DataType

    @classmethod
    def of(cls, summaries: Any, query: Query, by: Sequence[str] | str | None) -> "StoredTable":
        """Check that these are summaries and have the key columns."""
        if isinstance(summaries, str | os.PathLike):
            summaries = _read(Path(summaries))
        source = open_source(summaries, None)
        schema = source.schema
        refuse_no_summaries(schema.names, "aomg.summaries(...)")
        keys = [name for name in schema.names if name not in SUMMARY]
        names = chosen_keys(keys, by)
        span = schema.field("sub_window").type
        is_span = pa.types.is_struct(span) and min(map(span.get_field_index, ("start", "end"))) >= 0
        kind = span.field("start").type if is_span else span
        if not (is_span and (pa.types.is_integer(kind) or pa.types.is_timestamp(kind))):
            raise InputError(
                f"column 'sub_window' is {span}, but summaries have a struct of start and end there; store the table "
                "as it is, for example as Parquet"
            )
        refuse_other_windows(pa.types.is_integer(kind), query)
        types = tuple(plain_type(name, schema.field(name).type) for name in names)
        time_type = pa.int64() if query.counted else pa.timestamp("us", kind.tz)
        table = pa.concat_tables([schema.empty_table(), *source.tables])
        dropped = {name: table[name] for name in keys if name not in names}
        columns = {name: table[name].cast(kind) for name, kind in zip(names, types, strict=True)}
        return cls(_content(table, columns, dropped, time_type), tuple(names), types, time_type)


def _read(place: Path) -> pa.Table:
    """The rows of a Parquet file of summaries, or of all files in a folder; each is verified."""
    for _ in range(_TRIES):
        try:
            files = [place / name for name in sorted(listing(place)) if _is_table(name)] if place.is_dir() else [place]
            if not files:
                raise InputError(f"{place} has no Parquet files; name a file, or the folder of one query's summaries")
            return pa.concat_tables([read_parquet(file) for file in files], promote_options="default")
        except FileNotFoundError as error:
            if not place.exists():
                raise InputError(f"there is no file and no folder {place}") from error
        except pa.ArrowException as error:
            raise InputError(f"the files in {place} have different columns: {error}; read them one by one") from error
    raise InputError(f"files in {place} kept disappearing while they were read; try again")


def _is_table(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith((".", "_"))


def refuse_no_summaries(names: Sequence[str], writer: str) -> None:
    """Raise InputError if a table with these columns does not contain summaries."""
    missing = [name for name in SUMMARY if name not in names]
    if missing:
        raise InputError(
            f"this table has no column {missing[0]!r}, so it does not contain summaries; write them with {writer}"
        )


def refuse_other_windows(counted: bool, query: Query) -> None:
    """Raise InputError if summaries are of windows in time and the query's are counted in events, or the reverse."""
    if counted and not query.counted:
        raise InputError(
            "the summaries are of windows counted in events, the query has windows in time; use a query that counts "
            "events, with their period, such as Query(10_000, 1_000)"
        )
    if query.counted and not counted:
        raise InputError(
            "the summaries are of windows in time, the query counts events; use a query with durations, with their "
            "period, such as Query('1 hour', '1 minute')"
        )


def chosen_keys(keys: Sequence[str], by: Sequence[str] | str | None) -> list[str]:
    """The key columns of a result: all of the summaries' (None), or fewer."""
    names = list(keys) if by is None else names_in(by)
    unknown = [name for name in names if name not in keys]
    if unknown:
        raise InputError(
            f"the summaries have no key column {unknown[0]!r}; their key columns are {', '.join(keys) or 'none'}"
        )
    return names


def _content(
    table: pa.Table, columns: dict[str, pa.ChunkedArray], dropped: dict[str, pa.ChunkedArray], time: pa.DataType
) -> pa.Table:
    """The summaries, verified and without their checksums."""
    spans = {name: pc.struct_field(table["sub_window"], name).cast(time).cast(pa.int64()) for name in ("start", "end")}
    rows = pa.table({name: spans[name] if name in spans else table[name] for name in COLUMNS})
    numbers, offsets, data = verified(rows, {**columns, **dropped})
    ids, keys = key_ids(list(columns.values()), table.num_rows)
    content = content_table(keys, ids, numbers, SUMMARY_KIND, offsets, data)
    for i, column in enumerate(dropped.values()):
        content = content.append_column(f"dropped{i}", column)
    return content.append_column("written_by", table["query"].cast(pa.string()))
