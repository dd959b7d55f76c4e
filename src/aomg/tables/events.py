"""Reads the columns of events from a table: checks them, drops what cannot be used, and brings events together.

No event is lost without being counted: those without a time or without a finite value are refused, and those that are
too far ahead of a clock are future.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aomg.core.groups import EventPart, Groups, MapParts, group_events, times_between
from aomg.core.intake import values_of
from aomg.core.kernels.arrivals import are_finite
from aomg.core.weights import refuse_weights, weights_of
from aomg.errors import InputError
from aomg.query import Query
from aomg.suggestions import did_you_mean
from aomg.tables.keys import KeyIndex, encode_keys, plain_type, without_view
from aomg.tables.source import ARROW, TableSource
from aomg.value_types import Casts, check_decimal_type

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_FURTHEST = 1 << 61  # microseconds: 73,000 years either way
_LONGEST_PERIOD = 1 << 61  # in ticks
_PER_MICROSECOND = {"us": 1, "ns": 1_000}
_INDEX_COLUMN = "__index_level_"
_EXAMPLES = {"value": "value='rtt_us'", "time": "time='ts'", "by": "by='podset'", "weight": "weight='requests'"}
_LEAST_PART = 1 << 16  # events that are worth a thread


@dataclass(frozen=True)
class ReadEvents:
    """The events of a table: groups of the usable ones (None if there are none), and how many were not.

    groups
        Their keys are positions in `keys`, the by columns of each key.
    latest
        The latest time of a usable event: in microseconds, or the number of an event.
    weightless
        Usable events of weight 0: they move time and are in no group.
    """

    groups: Groups | None
    keys: list[pa.Array]
    came: int
    refused: int
    future: int
    latest: int | None
    weightless: int = 0


@dataclass(frozen=True)
class EventColumns:
    """The columns of events, checked.

    key_types, time_type
        The types of the by columns and of times in results: plain types, and microseconds. Null, which fits any type,
        if a column has only nulls.
    casts
        How the user casts a column, for errors.
    """

    query: Query
    value: str
    time: str
    by: tuple[str, ...]
    key_types: tuple[pa.DataType, ...]
    time_type: pa.DataType
    weight: str | None = None
    casts: Casts = ARROW

    @classmethod
    def of(
        cls,
        source: TableSource,
        query: Query,
        value: str,
        time: str,
        by: Sequence[str],
        weight: str | None = None,
    ) -> "EventColumns":
        """Check that the columns exist and that their types can be used."""
        schema = source.schema
        names = [name for name in schema.names if not name.startswith(_INDEX_COLUMN)]
        for name in column_names(value, time, by, weight):
            if name not in names:
                raise InputError(
                    f"there is no column {name!r}; the events have {', '.join(names)}{did_you_mean(name, names)}"
                )
            if names.count(name) > 1:
                raise InputError(f"the events have {names.count(name)} columns {name!r}; rename or drop the others")
        _refuse_no_number(value, schema.field(value).type, source.casts)
        if weight is not None:
            refuse_weights(query)
            _refuse_no_weight(weight, schema.field(weight).type)
        kind = schema.field(time).type
        _refuse_no_time(time, kind, query)
        keys = tuple(plain_type(name, schema.field(name).type) for name in by)
        time_type = pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind
        return cls(query, value, time, tuple(by), keys, time_type, weight, source.casts)

    @property
    def span_type(self) -> pa.DataType:
        """The type of times in results, also if no time is known yet."""
        return span_type(self.query, self.time_type)

    def like(self, earlier: "EventColumns") -> "EventColumns":
        """The same columns with the types of earlier events. Raises InputError if a by column cannot have its type.

        Whether a type holds all keys of another one is seen when they are read.
        """
        for name, now, before in zip(self.by, self.key_types, earlier.key_types, strict=True):
            if not _fits(now, before):
                raise InputError(f"by column {name!r} is {now} but was {before} before; cast it to {before} first")
        if not (self.query.counted or _fits(self.time_type, earlier.time_type)):
            raise InputError(
                f"column {self.time!r} is {self.time_type} but was {earlier.time_type} before; pass times always with "
                "a zone, or always without one, in UTC"
            )
        keys = tuple(_known(before, now) for now, before in zip(self.key_types, earlier.key_types, strict=True))
        return replace(self, key_types=keys, time_type=_known(earlier.time_type, self.time_type))

    def read(self, table: pa.Table, threads: int, map_parts: MapParts, limit: int | None = None) -> ReadEvents:
        """Bring the usable events of a table together.

        limit
            Events after this time, in microseconds, are future.
        """
        came = table.num_rows
        times, present, period = self._times(table[self.time])
        cast = self.casts.real.format(name=self.value)
        values, valid = values_of(table[self.value], f"column {self.value!r}", cast)
        weights = None
        if self.weight is not None:
            weights, sound, _ = weights_of(table[self.weight], came)
            present = _both(present, sound)
        values, usable = _usable(values, valid, present)
        if usable is not None:
            times, weights = times[usable], None if weights is None else weights[usable]
        per_microsecond = period // self.query.period
        refused, future = came - times.size, 0
        if limit is not None:
            on_time = times <= limit * per_microsecond
            future = int(np.count_nonzero(~on_time))
            if future:
                times, values = times[on_time], values[on_time]
                weights = None if weights is None else weights[on_time]
                usable = on_time if usable is None else _within(usable, on_time)
        latest, weightless = None, 0
        if times.size:
            first, last = times_between(times)
            latest = last // per_microsecond
            if max(latest, -first // per_microsecond) >= _FURTHEST:
                raise _too_far(self.time)
            if first - period < -(1 << 63):  # nanoseconds of 1677: their sub-window begins before all nanoseconds
                times, period = times // per_microsecond, self.query.period
        if weights is not None and not weights.all():
            heavy = weights > 0
            weightless = heavy.size - int(np.count_nonzero(heavy))
            times, values, weights = times[heavy], values[heavy], weights[heavy]
            usable = heavy if usable is None else _within(usable, heavy)
        if times.size == 0:
            none = [pa.array([], kind) for kind in self.key_types]
            return ReadEvents(None, none, came, refused, future, latest, weightless)
        columns = [_key(table[name]) for name in self.by]
        if usable is not None:
            chosen = pa.array(usable)
            columns = [without_view(column).filter(chosen) for column in columns]
        groups, keys = self._grouped(columns, times, values, weights, period, threads, map_parts)
        return ReadEvents(groups, keys, came, refused, future, latest, weightless)

    def _grouped(
        self,
        columns: list[pa.ChunkedArray],
        times: Integers,
        values: npt.NDArray[Any],
        weights: Integers | None,
        period: int,
        threads: int,
        map_parts: MapParts,
    ) -> tuple[Groups, list[pa.Array]]:
        """Number the keys and bring events together, in several parts at once."""
        bounds = list(part_bounds(times.size, threads))
        encoded = map_parts(
            lambda part: encode_keys([column.slice(part.start, len(part)) for column in columns], len(part)), bounds
        )
        index, parts = KeyIndex(self.key_types), []
        for part, codes in zip(bounds, encoded, strict=True):
            keys = [_cast_keys(*column) for column in zip(self.by, codes.values, self.key_types, strict=True)]
            ids, chosen = index.ids_of(keys)[codes.ids], slice(part.start, part.stop)
            own = None if weights is None else weights[chosen]
            parts.append(EventPart(codes.codes, codes.low, ids, times[chosen], values[chosen], own))
        return group_events(parts, index.size, period, map_parts), index.values

    def _times(self, column: pa.ChunkedArray) -> tuple[Integers, Mask | None, int]:
        """Times as integers, which events have one (None: all), and the period in the same unit."""
        period = self.query.period
        if pa.types.is_null(column.type):
            column = pa.chunked_array([pa.nulls(len(column), self.span_type)])
        if not self.query.counted:
            per_microsecond = _PER_MICROSECOND.get(column.type.unit, 0)
            if not 0 < period * per_microsecond < _LONGEST_PERIOD:
                column, per_microsecond = _microseconds(self.time, column), 1
            period *= per_microsecond
        array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        present = np.asarray(array.is_valid()) if array.null_count else None
        array = array.view(pa.int64()) if pa.types.is_timestamp(array.type) else _whole_numbers(self.time, array)
        return np.asarray(array.fill_null(0) if array.null_count else array), present, period


def span_type(query: Query, time: pa.DataType | None = None) -> pa.DataType:
    """The type of times in results; `time` is that of the events, None or null if it is not known."""
    if query.counted:
        return pa.int64()
    return pa.timestamp("us", "UTC") if time is None or pa.types.is_null(time) else time


def column_names(value: str, time: str, by: Sequence[str], weight: str | None) -> list[str]:
    """The names of all columns that are read."""
    return [value, time, *by, *([] if weight is None else [weight])]


def names_in(by: Any) -> list[str]:
    """The names of the by columns: several, one alone, or none."""
    several = isinstance(by, (Collection, Iterator)) and not isinstance(by, str)
    names: list[Any] = [] if by is None else list(by) if several else [by]
    for name in names:
        refuse_no_name("by", name)
    if len(set(names)) < len(names):
        raise InputError(f"by={names!r} names a column twice")
    return names


def refuse_no_name(argument: str, name: Any) -> None:
    """Raise InputError if this is not the name of a column."""
    if not isinstance(name, str):
        raise InputError(f"{argument} must be the name of a column, such as {_EXAMPLES[argument]}, not {name!r}")


def part_bounds(size: int, threads: int) -> Iterator[range]:
    """Divide so many events into parts for threads: one part if there are few."""
    parts = max(1, min(threads, size // _LEAST_PART))
    edges = [size * i // parts for i in range(parts + 1)]
    return (range(first, last) for first, last in pairwise(edges))


def _is_number(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return bool(pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type))
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(is_(kind) for is_ in numbers)


def _refuse_no_number(name: str, kind: pa.DataType, casts: Casts) -> None:
    if pa.types.is_decimal(kind):
        check_decimal_type(f"column {name!r} is {kind}", name, kind.precision, kind.scale, casts)
    if _is_number(kind):
        return
    how = "cast it first, for example to double"
    if pa.types.is_duration(kind):
        how = f"cast it to int64 first, which gives its {kind.unit}"
    raise InputError(f"column {name!r} is {kind}; values must be numbers: {how}")


def _refuse_no_weight(name: str, kind: pa.DataType) -> None:
    if not _is_number(kind):
        raise InputError(f"column {name!r} is {kind}; weights must be whole numbers: cast it first, such as to int64")


def _refuse_no_time(name: str, kind: pa.DataType, query: Query) -> None:
    if pa.types.is_null(kind):
        return
    if query.counted and not pa.types.is_integer(kind):
        raise InputError(
            f"the query's windows are counted in events, so time={name!r} must be a column of integers that numbers "
            f"the events of each key, not {kind}; for windows in time use durations: Query('1 hour', '1 minute')"
        )
    if not query.counted and not pa.types.is_timestamp(kind):
        raise InputError(
            f"column {name!r} is {kind}; the query's windows are in time, so it must be a timestamp. Convert integers "
            f"by their unit: column.cast(pa.timestamp('s')), pd.to_datetime(column, unit='s') or "
            f"pl.from_epoch({name!r}, 's'); cast dates; parse texts: pc.strptime, pd.to_datetime or str.to_datetime"
        )


def _fits(now: pa.DataType, before: pa.DataType) -> bool:
    """Whether values of one type can be values of another, so that keys stay what they are. Null fits any type."""
    if now == before or pa.types.is_null(now) or pa.types.is_null(before):
        return True
    if pa.types.is_timestamp(now) and pa.types.is_timestamp(before):
        return (now.tz is None) == (before.tz is None)
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    texts = (pa.string(), pa.large_string()), (pa.binary(), pa.large_binary())
    return any(now in both and before in both for both in texts) or any(is_(now) and is_(before) for is_ in kinds)


def _known(before: pa.DataType, now: pa.DataType) -> pa.DataType:
    """The first of two types that is not null."""
    return now if pa.types.is_null(before) else before


def _key(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A by column in a type that can be encoded, with one zero."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    if pa.types.is_run_end_encoded(column.type):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    kind = plain_type("", column.type)
    return pc.add(column.cast(kind), pa.scalar(0.0, kind)) if pa.types.is_floating(kind) else column  # -0.0 is 0.0


def _cast_keys(name: str, keys: pa.Array, kind: pa.DataType) -> pa.Array:
    """Distinct keys in the type of earlier ones. Raises InputError if that cannot hold one of them."""
    if keys.type == kind:
        return keys
    if pa.types.is_null(keys.type):
        return pa.nulls(len(keys), kind)
    try:
        cast = keys.cast(kind)
        again = cast.cast(keys.type)
        if pa.types.is_floating(kind):
            same = np.array_equal(np.asarray(again), np.asarray(keys), equal_nan=True)
        else:
            same = again.equals(keys)
    except pa.ArrowInvalid:
        same = False
    if not same:
        raise InputError(
            f"by column {name!r} is {keys.type} but was {kind} before, which does not hold all of these keys; cast it "
            f"to {keys.type} from the first push on, or to {kind} now, if keys may become equal"
        )
    return cast


def _usable(values: npt.NDArray[Any], valid: Mask | None, present: Mask | None) -> tuple[npt.NDArray[Any], Mask | None]:
    """The finite values of events that have a time, and which events these are (None: all).

    `values` are those of the events that are `valid`.
    """
    usable = valid
    if present is not None:
        values = values[present if usable is None else present[usable]]
        usable = present if usable is None else usable & present
    if values.dtype == np.float64 and not are_finite(values.view(np.int64)):
        finite = np.isfinite(values)
        values, usable = values[finite], finite if usable is None else _within(usable, finite)
    return values, usable


def _both(first: Mask | None, second: Mask | None) -> Mask | None:
    """Which entries two masks have in common; None: all."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _within(mask: Mask, part: Mask) -> Mask:
    """The mask of those entries of a mask that `part` selects among them."""
    mask = mask.copy()
    mask[mask] = part
    return mask


def _microseconds(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Timestamps in microseconds, rounded down."""
    if column.type.unit == "ns":
        numbers = [pa.array(np.asarray(chunk.view(pa.int64()).fill_null(0)) // 1_000) for chunk in column.chunks]
        masks = [chunk.is_null() for chunk in column.chunks]
        parts = [pc.if_else(mask, None, part) for mask, part in zip(masks, numbers, strict=True)]
        return pa.chunked_array(parts, pa.int64()).cast(pa.timestamp("us"))
    try:
        return column.cast(pa.timestamp("us", column.type.tz))
    except pa.ArrowInvalid:
        raise _too_far(name) from None


def _too_far(name: str) -> InputError:
    return InputError(
        f"column {name!r} has times more than 73,000 years from 1970, or numbers beyond 2^61; check their unit"
    )


def _whole_numbers(name: str, array: pa.Array) -> pa.Array:
    """Integers as int64."""
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        raise _too_far(name) from None
