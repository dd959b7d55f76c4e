"""Decides which events move a stream's watermark, which are too far in the future, and which are late.

A stream has one clock, the latest event time, which only moves forward. The watermark is the clock minus the query's
lateness: it closes sub-windows, and events of closed sub-windows are late.
"""

from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as f

from aomg.errors import InputError
from aomg.query import Query, duration_argument
from aomg.suggestions import nearest
from aomg.tables.rows import NEVER

TimeBy = Literal["values", "events"]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_FUTURE = (1 << 63) - 1  # the time of an event that is too far beyond the clock
_PROCESSING = "processing"
_LAST_SECOND = 253_402_300_800  # the year 10000
_CLOCKS = (str, Column, date, np.datetime64, int, float)


@dataclass(frozen=True)
class TimePolicy:
    """The time arguments of a query on Spark, validated. Durations are in microseconds.

    clock
        What event times are compared with: "processing", a Column or a fixed time; None trusts every time.
    max_clock_skew
        How far an event may be ahead of that clock.
    time_by
        Which events move the watermark: "values", those with a usable value; "events", all with a credible time.
    lateness, period
        The query's: a sub-window closes when the clock is `lateness` past its end.
    """

    clock: Any
    max_clock_skew: int
    time_by: TimeBy
    lateness: int
    period: int

    @classmethod
    def of(
        cls, query: Query, clock: Any, max_clock_skew: Any, time_by: TimeBy, lateness: int | None = None
    ) -> "TimePolicy":
        """Validate the public arguments. `lateness` replaces the query's, in microseconds."""
        lateness = query.lateness if lateness is None else lateness
        if not isinstance(time_by, str) or time_by not in get_args(TimeBy):
            raise InputError(f"time_by={time_by!r} must be {' or '.join(map(repr, get_args(TimeBy)))}")
        if query.counted or clock is None:
            return cls(None, 0, time_by, lateness, query.period)
        _check_clock(clock)
        skew = duration_argument(max_clock_skew, "max_clock_skew")
        return cls(clock, skew, time_by, lateness, query.period)

    def on_workers(self) -> "TimePolicy":
        """The same without the clock, which is a part of the plan: a Column cannot be sent to Python workers."""
        return replace(self, clock=None)

    # -- in the plan --------------------------------------------------------------------------------------------------

    def event_time(self, micros: Column) -> Column:
        """The times of events in microseconds, with those of future events replaced by a mark."""
        if self.clock is None:
            return micros
        limit = f.unix_micros(_now(self.clock)) + f.lit(self.max_clock_skew)
        return f.when(f.coalesce(micros > limit, f.lit(False)), f.lit(_FUTURE)).otherwise(micros)

    def now(self) -> Column:
        """The clock in microseconds, one for all events; null if every time is trusted."""
        return f.lit(None).cast("long") if self.clock is None else f.unix_micros(_now(self.clock))

    @property
    def clock_is_column(self) -> bool:
        """Whether each event has a clock of its own."""
        return isinstance(self.clock, Column)

    # -- on workers ---------------------------------------------------------------------------------------------------

    def is_future(self, micros: Integers) -> Mask | None:
        """Which events were marked as too far in the future; None: none."""
        if micros.size == 0 or micros.max() < _FUTURE:
            return None
        future: Mask = micros == _FUTURE
        return future

    def marked(self, micros: pa.ChunkedArray, now: int) -> pa.ChunkedArray:
        """The times of events in microseconds, with those of future events replaced by a mark, as in the plan."""
        future = pc.greater(micros, now + self.max_clock_skew)
        return pc.if_else(future, _FUTURE, micros) if pc.any(future).as_py() else micros

    def tells_time(self, usable: Mask | None, has_time: Mask | None, future: Mask | None) -> Mask | None:
        """Which events move the watermark. None is a mask that holds everywhere, or no event that is in the future."""
        if self.time_by == "values":
            return usable
        return all_of(has_time, None if future is None else ~future)

    def first_open(self, clock: int) -> int:
        """The number of the first sub-window that the watermark leaves open."""
        return NEVER if clock == NEVER else (clock - self.lateness) // self.period

    def is_late(self, numbers: pa.ChunkedArray, first_open: int) -> pa.ChunkedArray:
        """Which events are late, by the numbers of their sub-windows."""
        return pc.less(numbers, first_open)


def all_of(*masks: Mask | None) -> Mask | None:
    """Where all masks hold; None is a mask that holds everywhere."""
    known: Mask | None = None
    for mask in masks:
        if mask is not None:
            known = mask if known is None else known & mask
    return known


def _check_clock(clock: Any) -> None:
    """Refuse what cannot be a clock. Spark parses a text as a timestamp later, so only misspelling is found here."""
    misspelt = isinstance(clock, str) and clock != _PROCESSING and nearest(clock, [_PROCESSING]) is not None
    if misspelt or _is_no_time(clock) or isinstance(clock, bool) or not isinstance(clock, _CLOCKS):
        raise InputError(f"clock={clock!r} must be {_PROCESSING!r}, a Column of timestamps, a datetime or None")


def _is_no_time(clock: Any) -> bool:
    """Whether a number is too large for a time, or a time is NaT."""
    if isinstance(clock, int | float):
        return not abs(clock) < _LAST_SECOND
    return isinstance(clock, date | np.datetime64) and bool(clock != clock)


def _now(clock: Any) -> Column:
    """The clock as a column: Spark's own, a column of the events, or a fixed time."""
    if isinstance(clock, Column):
        return clock
    if isinstance(clock, str) and clock == _PROCESSING:
        return f.current_timestamp()
    return f.lit(clock).cast("timestamp")
