"""Reads and prints moments: ISO 8601 in UTC outside, microseconds since 1970 inside."""

from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np

DAY = 86_400_000_000

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")


@lru_cache(maxsize=4096)  # the alerts and rows of a window end share their times
def time_text(microseconds: int) -> str:
    """Return ISO 8601 in UTC; microseconds only where there are any.

    >>> time_text(0), time_text(1_500_000)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500000Z')
    """
    text = str(np.datetime64(microseconds, "us"))
    return text.removesuffix(".000000") + "Z"


def day_text(microseconds: int) -> str:
    """Return the day in UTC.

    >>> day_text(0), day_text(-1)
    ('1970-01-01', '1969-12-31')
    """
    return str(np.datetime64(microseconds // DAY, "D"))


def time_of(text: str) -> int:
    """Return the microseconds of what `time_text` or `day_text` wrote.

    >>> time_of("1970-01-01T00:00:01.500000Z"), time_of("1970-01-02")
    (1500000, 86400000000)
    """
    return int(np.datetime64(text.removesuffix("Z"), "us").astype(np.int64))


def microseconds_of(moment: datetime | np.datetime64) -> int:
    """Return the microseconds of a datetime that has a zone, or of a datetime64, which is in UTC.

    Raises ValueError for a datetime without a zone.

    >>> microseconds_of(datetime.fromisoformat("1970-01-01T01:00:00+01:00")), microseconds_of(np.datetime64(7, "us"))
    (0, 7)
    """
    if isinstance(moment, np.datetime64):
        return int(moment.astype("datetime64[us]").astype(np.int64))
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone; add one, such as Z")
    return (moment - _EPOCH) // timedelta(microseconds=1)
