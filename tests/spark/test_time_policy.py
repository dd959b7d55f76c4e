"""The time policy: which events tell the time, which are future, which are late."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Column

from aomg import Query, QueryError
from aomg.errors import InputError
from aomg.spark.time_policy import TimePolicy
from aomg.tables.rows import NEVER

QUERY = Query("5 minutes", "1 minute", lateness="20 seconds")
SECOND = 1_000_000


def policy(**arguments):
    return TimePolicy.of(QUERY, **{"clock": None, "max_clock_skew": "1 hour", "time_by": "values", **arguments})


def test_a_sub_window_closes_when_the_clock_is_the_lateness_past_its_end():
    assert policy().first_open(NEVER) == NEVER
    assert policy().first_open(80 * SECOND - 1) == 0
    assert policy().first_open(80 * SECOND) == 1
    assert policy().first_open(-1) == -1


def test_events_of_closed_sub_windows_are_late():
    assert policy().is_late(pa.chunked_array([[0, 1, 2]]), 2).to_pylist() == [True, True, False]


def test_usable_events_tell_the_time_and_on_request_all_that_are_not_in_the_future():
    usable, future = np.array([True, False, False, False]), np.array([False, False, False, True])
    has_time = np.array([True, False, True, True])
    assert policy().tells_time(usable, has_time, future).tolist() == [True, False, False, False]
    by_events = policy(time_by="events")
    assert by_events.tells_time(usable, has_time, future).tolist() == [True, False, True, False]
    assert by_events.tells_time(usable, has_time, None).tolist() == [True, False, True, True]
    assert by_events.tells_time(usable, None, None) is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"time_by": "value"}, InputError, "time_by='value' must be 'values' or 'events'"),
        ({"clock": "procesing"}, InputError, "clock='procesing' must be 'processing', a Column of timestamps"),
        ({"clock": True}, InputError, "clock=True must be 'processing'"),
        ({"clock": {}}, InputError, "clock={} must be 'processing'"),
        ({"clock": "processing", "max_clock_skew": 10}, QueryError, "max_clock_skew: 10 has no unit"),
        ({"clock": "processing", "max_clock_skew": "soon"}, QueryError, "max_clock_skew: 'soon' is not a duration"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        policy(**arguments)


def test_the_skew_does_not_matter_where_every_time_is_trusted():
    assert policy(max_clock_skew=None).max_clock_skew == 0


def test_workers_get_the_policy_without_the_clock():
    class Clock(Column):
        def __new__(cls):
            return object.__new__(cls)

        def __reduce__(self):
            raise TypeError("a column cannot be pickled")

    on_workers = policy(clock=Clock()).on_workers()
    assert pickle.loads(pickle.dumps(on_workers)) == on_workers
    assert on_workers.max_clock_skew == 3600 * SECOND
