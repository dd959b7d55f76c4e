"""Reads stored results back: those of a query, of some labels, of some time."""

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
    """Results that are not there, or cannot be read as asked."""


def read(
    folder: Path,
    query: str | None = None,
    labels: Mapping[str, str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    last: timedelta | None = None,
    reading: Callable[[str, int, int], None] = lambda day, number, days: None,
) -> pa.Table:
    """The stored rows of windows that end after `since` and up to `until`, sorted by query, labels and end.

    last
        Instead of `since`: so long before the newest end that is stored (up to `until`), which need not be now.
    labels
        Name and value of each label that a row must have.
    reading
        Is told of each day before it is read: which, its number from 1 on, and of how many.

    Of rows with the same query, labels and end, that of the newest batch counts. Reads only the days that are asked
    for, while others write and compact. Raises ResultsError where there is nothing, saying what there is.
    """
    if not folder.exists():
        raise ResultsError(f"there is no folder {folder}; give the one that the parquet sink writes to")
    if not folder.is_dir():
        raise ResultsError(f"{folder} is a file; give the folder that the parquet sink writes to")
    there = days(folder)
    if not there:
        raise ResultsError(f"{folder} holds no results yet: it has no folder day=...")
    if last is not None:
        newest = _newest(folder, there, query, until)
        since = newest - last if newest is not None and (since is None or newest - last > since) else since
    chosen, parts = _between(there, since, until), []
    for number, day in enumerate(chosen, 1):
        reading(day, number, len(chosen))
        parts.append(newest_batch(_rows(folder, [day], _wanted(query, since, until))))
    rows = pa.concat_tables(parts) if parts else SCHEMA.empty_table()
    rows = newest_batch(rows) if len(parts) > 1 else rows
    for name, value in (labels or {}).items():
        rows = rows.filter(pc.equal(label(rows, name), value))
    if not len(rows):
        raise ResultsError(_nothing(folder, there, query, labels, last))
    return rows


def _between(there: list[str], since: datetime | None, until: datetime | None) -> list[str]:
    first = day_text(_microseconds(since)) if since else ""
    final = day_text(_microseconds(until)) if until else "9999-12-31"
    return [day for day in there if first <= day <= final]


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
    """Rows of some days. A file that goes while it is read was compacted: then all is read again."""
    for left in reversed(range(_TRIES)):
        try:
            files = [str(f) for day in chosen for f in sorted((folder / f"day={day}").glob("[!._]*.parquet"))]
            if not files:
                return SCHEMA.empty_table().select(columns or SCHEMA.names)
            found = ds.dataset(files, schema=SCHEMA, format="parquet")
            return found.to_table(columns=columns or SCHEMA.names, filter=wanted)
        except FileNotFoundError:
            if not left:
                raise ResultsError(f"files in {folder} went away again and again while they were read") from None
        except (OSError, pa.ArrowException) as error:
            raise ResultsError(f"results in {folder} cannot be read ({error}); move the damaged file away") from error
    raise AssertionError("unreachable")


def _newest(folder: Path, there: list[str], query: str | None, until: datetime | None) -> datetime | None:
    """The newest end that is stored, in the newest day that has any."""
    for day in reversed(_between(there, None, until)):
        ends = _rows(folder, [day], _wanted(query, None, until), ["end"])["end"]
        if len(ends):
            newest: datetime = pc.max(ends).as_py()
            return newest
    return None


def newest_batch(rows: pa.Table) -> pa.Table:
    """Each query, labels and end once, from the batch that wrote it last; sorted by them."""
    if not len(rows):
        return rows
    keys = [codes(rows["query"]), codes(labels_key(rows["labels"])), codes(rows["end"])]
    order = np.lexsort((codes(rows["batch"]), *reversed(keys)))
    is_last = np.ones(len(order), bool)
    is_last[:-1] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return rows.take(pa.array(order[is_last]))


def label(rows: pa.Table, name: str) -> pa.StringArray:
    """The value of a label in every row; null where a row lacks it. Raises ResultsError if no row has such a label.

    Costs a few operations on columns, and a step for each of the few lists of names that there are.
    """
    names = rows["label_names"].combine_chunks()
    kinds = pc.fill_null(labels_key(names), "").dictionary_encode()
    _, first = np.unique(kinds.indices.to_numpy(zero_copy_only=False), return_index=True)
    called = [names[int(at)].as_py() or [] for at in first]
    if len(rows) and not any(name in one for one in called):
        known = list(dict.fromkeys(each for one in called for each in one))
        raise ResultsError(f"no result has a label {name!r}; {there_are(name, known)}")
    places = np.array([one.index(name) if name in one else -1 for one in called], np.int64)
    place = places[kinds.indices.to_numpy(zero_copy_only=False)] if len(rows) else places
    labels = rows["labels"].combine_chunks()
    there = (place >= 0) & (place < pc.fill_null(labels.value_lengths(), 0).to_numpy(zero_copy_only=False))
    at = labels.offsets.to_numpy()[:-1] + place
    return labels.values.take(pa.array(at, pa.int64(), mask=~there))


def _nothing(
    folder: Path, there: list[str], query: str | None, labels: Mapping[str, str] | None, last: timedelta | None
) -> str:
    """Say why nothing was found."""
    stored = sorted(set(_rows(folder, there[-7:], None, ["query"])["query"].to_pylist()))
    if query is not None and query not in stored:
        return f"{folder} has no results of a query {query!r}; {there_are(query, stored)}"
    if labels:
        asked = ", ".join(f"{name}={value}" for name, value in labels.items())
        time = f"the {duration_text(microseconds(last))} up to the newest" if last is not None else "that time"
        return f"{folder} has no results with {asked} in {time}; leave some of it out, or ask for more time"
    return f"{folder} has no results in that time; those that are there are of {there[0]} to {there[-1]}"
