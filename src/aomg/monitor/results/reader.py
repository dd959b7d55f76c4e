"""Reads stored results, filtered by query, labels and time."""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from aomg.durations import duration_text, microseconds
from aomg.errors import AomgError, DamagedFileError
from aomg.monitor.sinks.result_folder import days, parquet_files
from aomg.monitor.sinks.result_rows import SCHEMA, codes, labels_key, with_current_methods
from aomg.suggestions import there_are
from aomg.tables.parquet_files import open_source, parquet_format, read_parquet
from aomg.times import day_text

_TRIES, _WAIT = 5, 0.02
_MOST_FILES, _MOST_BYTES = 500, 1 << 26


class ResultsError(AomgError, ValueError):
    """Results that do not exist, or cannot be read."""


def read(
    folder: Path,
    query: str | None = None,
    labels: Mapping[str, str] | None = None,
    last: timedelta | None = None,
    reading: Callable[[str, int, int], None] = lambda day, number, days: None,
) -> pa.Table:
    """Return the stored rows, sorted by query, labels and end.

    last
        How far back from the newest stored window end, which need not be now; None for all.
    labels
        Name and value of each label that a row must have.
    reading
        Called with each day before it is read, its number from 1, and the number of days.

    Of rows with the same query, labels and end, that of the newest batch counts. Reads only the days in question, even
    while others write and compact. Raises ResultsError if there are no rows, with what is stored.
    """
    if not folder.exists():
        raise ResultsError(f"there is no folder {folder}; name the one that the parquet sink writes to")
    if not folder.is_dir():
        raise ResultsError(f"{folder} is a file; name the folder that the parquet sink writes to")
    stored_days = days(folder)
    if not stored_days:
        raise ResultsError(f"{folder} has no results yet: it has no folder day=...")
    newest = _newest(folder, stored_days, query) if last is not None else None
    since = newest - microseconds(last) if newest is not None else None
    chosen, parts = _days_after(stored_days, since), []
    for number, day in enumerate(chosen, 1):
        reading(day, number, len(chosen))
        parts.append(newest_batch(_rows(folder, [day], _wanted(query, since))))
    rows = pa.concat_tables(parts) if parts else SCHEMA.empty_table()
    rows = newest_batch(rows) if len(parts) > 1 else rows
    for name, value in (labels or {}).items():
        rows = rows.filter(pc.equal(label(rows, name), value))
    if not len(rows):
        raise ResultsError(_no_rows(folder, stored_days, query, labels, last))
    return rows


def _days_after(stored_days: list[str], since: int | None) -> list[str]:
    return [day for day in stored_days if since is None or day_text(since) <= day]


def _wanted(query: str | None, since: int | None) -> ds.Expression | None:
    """The rows of a query (None for all) that end after `since`, in microseconds."""
    of_query = None if query is None else ds.field("query") == query
    if since is None:
        return of_query
    newer = ds.field("end") > pa.scalar(since, pa.int64()).cast(SCHEMA.field("end").type)
    return newer if of_query is None else of_query & newer


def _rows(folder: Path, chosen: list[str], wanted: ds.Expression | None, columns: list[str] | None = None) -> pa.Table:
    """Rows of some days. If a file vanishes because it was compacted, all are read again."""
    for left in reversed(range(_TRIES)):
        try:
            files = [file for day in chosen for file in parquet_files(folder / f"day={day}")]
            parts = [SCHEMA.empty_table().select(columns or SCHEMA.names)]
            parts += [part.to_table(columns=columns or SCHEMA.names, filter=wanted) for part in _verified(files)]
            rows = pa.concat_tables(parts)
            return with_current_methods(rows) if "estimates" in rows.column_names else rows
        except FileNotFoundError:
            if not left:
                raise ResultsError(f"files in {folder} kept disappearing while they were read; try again") from None
            time.sleep(_WAIT)
        except DamagedFileError as error:
            raise ResultsError(str(error)) from error
        except (OSError, pa.ArrowException) as error:
            raise ResultsError(_unreadable(folder, files, error)) from error
    raise AssertionError("unreachable")


def _verified(files: list[Path]) -> Iterator[ds.FileSystemDataset]:
    """Datasets of files whose digests were verified, some megabytes at a time. Raises DamagedFileError."""
    kind, fragments, size = parquet_format(), [], 0
    for file in files:
        source = open_source(file)
        size += source.size()
        fragments.append(kind.make_fragment(source))
        if len(fragments) == _MOST_FILES or size > _MOST_BYTES or file == files[-1]:
            yield ds.FileSystemDataset(fragments, SCHEMA, kind)
            fragments, size = [], 0


def _unreadable(folder: Path, files: list[Path], error: Exception) -> str:
    """Return why files cannot be read; names the first one that is damaged."""
    for file in files:
        try:
            read_parquet(file)
        except DamagedFileError as damage:
            return str(damage)
        except OSError:
            continue
    return f"results in {folder} cannot be read ({error}); move the damaged file away"


def _newest(folder: Path, stored_days: list[str], query: str | None) -> int | None:
    """The newest stored end, in microseconds."""
    for day in reversed(stored_days):
        ends = _rows(folder, [day], _wanted(query, None), ["end"])["end"]
        if len(ends):
            newest: int = pc.max(ends.cast(pa.int64())).as_py()
            return newest
    return None


def newest_batch(rows: pa.Table) -> pa.Table:
    """Each query, labels and end once, from the newest batch; sorted by them."""
    if not len(rows):
        return rows
    keys = [codes(rows["query"]), codes(labels_key(rows["labels"])), codes(rows["end"])]
    order = np.lexsort((codes(rows["batch"]), *reversed(keys)))
    is_last = np.ones(len(order), bool)
    is_last[:-1] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return rows.take(pa.array(order[is_last]))


def label(rows: pa.Table, name: str) -> pa.StringArray:
    """The value of a label in every row; null where a row lacks it. Raises ResultsError if no row has such a label.

    Takes a few operations on columns, and a step for each distinct list of label names.
    """
    names = rows["label_names"].combine_chunks()
    lists = pc.fill_null(labels_key(names), "").dictionary_encode()
    _, first = np.unique(lists.indices.to_numpy(zero_copy_only=False), return_index=True)
    distinct = [names[int(row)].as_py() or [] for row in first]
    if len(rows) and not any(name in label_names for label_names in distinct):
        known = list(dict.fromkeys(label_name for label_names in distinct for label_name in label_names))
        raise ResultsError(f"no result has a label {name!r}; {there_are(name, known)}")
    places = np.array([label_names.index(name) if name in label_names else -1 for label_names in distinct], np.int64)
    place = places[lists.indices.to_numpy(zero_copy_only=False)] if len(rows) else places
    labels = rows["labels"].combine_chunks()
    present = (place >= 0) & (place < pc.fill_null(labels.value_lengths(), 0).to_numpy(zero_copy_only=False))
    index = labels.offsets.to_numpy()[:-1] + place
    return labels.values.take(pa.array(index, pa.int64(), mask=~present))


def _no_rows(
    folder: Path, stored_days: list[str], query: str | None, labels: Mapping[str, str] | None, last: timedelta | None
) -> str:
    """Return why there are no rows."""
    stored = sorted(set(_rows(folder, stored_days[-7:], None, ["query"])["query"].to_pylist()))
    if query is not None and query not in stored:
        return f"{folder} has no results of the query {query!r}; {there_are(query, stored)}"
    if labels:
        pairs = ", ".join(f"{name}={value}" for name, value in labels.items())
        if last is None:
            return f"{folder} has no results with {pairs}"
        span = f"the {duration_text(microseconds(last))} up to the newest window"
        return f"{folder} has no results with {pairs} in {span}; drop a label, or read further back"
    return f"{folder} has no results in {stored_days[0]} to {stored_days[-1]}"
