"""Reads stored results: of a query, of some labels, of some time."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from aomg.durations import duration_text, microseconds
from aomg.errors import AomgError
from aomg.monitor.sinks.result_folder import days
from aomg.monitor.sinks.result_rows import SCHEMA, codes, labels_key
from aomg.suggestions import there_are
from aomg.times import day_text, microseconds_of

_TRIES = 5


class ResultsError(AomgError, ValueError):
    """Results that do not exist, or cannot be read."""


def read(
    folder: Path,
    query: str | None = None,
    labels: Mapping[str, str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    last: timedelta | None = None,
    reading: Callable[[str, int, int], None] = lambda day, number, days: None,
) -> pa.Table:
    """Return the stored rows of windows that end after `since` and up to `until`, sorted by query, labels and end.

    last
        Instead of `since`: how far back from the newest stored end (up to `until`), which need not be now.
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
    if last is not None:
        newest = _newest(folder, stored_days, query, until)
        since = newest - last if newest is not None and (since is None or newest - last > since) else since
    chosen, parts = _between(stored_days, since, until), []
    for number, day in enumerate(chosen, 1):
        reading(day, number, len(chosen))
        parts.append(newest_batch(_rows(folder, [day], _wanted(query, since, until))))
    rows = pa.concat_tables(parts) if parts else SCHEMA.empty_table()
    rows = newest_batch(rows) if len(parts) > 1 else rows
    for name, value in (labels or {}).items():
        rows = rows.filter(pc.equal(label(rows, name), value))
    if not len(rows):
        raise ResultsError(_no_rows(folder, stored_days, query, labels, last))
    return rows


def _between(stored_days: list[str], since: datetime | None, until: datetime | None) -> list[str]:
    first = day_text(_microseconds(since)) if since else ""
    final = day_text(_microseconds(until)) if until else "9999-12-31"
    return [day for day in stored_days if first <= day <= final]


def _microseconds(time: datetime) -> int:
    try:
        return microseconds_of(time)
    except ValueError as error:
        raise ResultsError(str(error)) from None


def _wanted(query: str | None, since: datetime | None, until: datetime | None) -> ds.Expression | None:
    wanted = None
    parts = [ds.field("query") == query] if query is not None else []
    kind = SCHEMA.field("end").type
    parts += [ds.field("end") > pa.scalar(_microseconds(since), pa.int64()).cast(kind)] if since else []
    parts += [ds.field("end") <= pa.scalar(_microseconds(until), pa.int64()).cast(kind)] if until else []
    for part in parts:
        wanted = part if wanted is None else wanted & part
    return wanted


def _rows(folder: Path, chosen: list[str], wanted: ds.Expression | None, columns: list[str] | None = None) -> pa.Table:
    """Rows of some days. If a file vanishes because it was compacted, all are read again."""
    for left in reversed(range(_TRIES)):
        try:
            files = [str(f) for day in chosen for f in sorted((folder / f"day={day}").glob("[!._]*.parquet"))]
            if not files:
                return SCHEMA.empty_table().select(columns or SCHEMA.names)
            dataset = ds.dataset(files, schema=SCHEMA, format="parquet")
            return dataset.to_table(columns=columns or SCHEMA.names, filter=wanted)
        except FileNotFoundError:
            if not left:
                raise ResultsError(f"files in {folder} were removed again and again while they were read") from None
        except (OSError, pa.ArrowException) as error:
            raise ResultsError(f"results in {folder} cannot be read ({error}); move the damaged file away") from error
    raise AssertionError("unreachable")


def _newest(folder: Path, stored_days: list[str], query: str | None, until: datetime | None) -> datetime | None:
    """The newest stored end."""
    for day in reversed(_between(stored_days, None, until)):
        ends = _rows(folder, [day], _wanted(query, None, until), ["end"])["end"]
        if len(ends):
            newest: datetime = pc.max(ends).as_py()
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
        return f"{folder} has no results of a query {query!r}; {there_are(query, stored)}"
    if labels:
        pairs = ", ".join(f"{name}={value}" for name, value in labels.items())
        time = f"the {duration_text(microseconds(last))} up to the newest window" if last is not None else "that time"
        return f"{folder} has no results with {pairs} in {time}; drop a label, or read further back"
    return f"{folder} has no results in that time; it has those of {stored_days[0]} to {stored_days[-1]}"
