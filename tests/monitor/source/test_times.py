"""Times of events are the instants that they tell, in whatever way. On Spark."""

import itertools
import random
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import functions as f

from aomg.monitor.config.model import SourceConfig
from aomg.monitor.source.times import time_of_event, without_zone

pytestmark = pytest.mark.xdist_group("monitor on spark")

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def read(spark, given, time_format="iso", kind="string", time_zone="Europe/Berlin"):
    """What each of these is taken for, in UTC."""
    source = SourceConfig("jsonl", 1, "ts", time_format=time_format, time_zone=time_zone)
    rows = spark.createDataFrame([(one,) for one in given], f"ts {kind}")
    micros = [row[0] for row in rows.select(f.unix_micros(time_of_event(rows, source))).collect()]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return [None if one is None else epoch + timedelta(microseconds=one) for one in micros]


def local(text):
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).astimezone(UTC)


def test_a_time_keeps_the_zone_that_it_says_and_gets_the_source_s_otherwise(spark):
    expected = {
        "2024-05-01T12:00:00Z": NOON,
        "2024-05-01 14:00:00 Europe/Berlin": NOON,
        "2024-05-01 14:00:00 CET": NOON,
        "2024-05-01T17:30:00+5:30": NOON,
        "2024-05-01T17:30:00.000 +05:30": NOON,
        "2024-05-01T10:00:00-02": NOON,
        "2024-05-01T14:00:00 UTC+2": NOON,
        "2024-05-01T12:00:00.250GMT": NOON + timedelta(seconds=0.25),
        "2024-05-01T14:00:00": NOON,
        "2024-05-01 14:00": NOON,
        "2024-05-01 14": NOON,
        "2024-05-01": local("2024-05-01"),  # -01 is a day, and no offset
        "2024-12-01": local("2024-12-01"),
        "2024-05": local("2024-05-01"),
        "noon": None,
    }
    assert dict(zip(expected, read(spark, list(expected)), strict=True)) == expected


def test_any_instant_in_any_zone_is_read_back(spark):
    chance = random.Random(6)
    styles = ("%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%d %H:%M:%S.%f %z", "%Y-%m-%dT%H:%M:%S.%f")
    instants = []
    for style in itertools.islice(itertools.cycle(styles), 300):
        instant = NOON + timedelta(seconds=chance.randrange(10**9), microseconds=chance.randrange(10**6))
        offset = timezone(timedelta(minutes=chance.randrange(-18 * 60, 18 * 60 + 1)))
        zone = offset if style.endswith("%z") else BERLIN
        if zone is BERLIN and instant.month in (3, 10):
            continue  # an hour of these months is there twice, or not at all
        instants.append((instant, instant.astimezone(zone).strftime(style)))
    assert read(spark, [text for _, text in instants]) == [instant for instant, _ in instants]


@pytest.mark.parametrize(
    ("pattern", "given"),
    [
        ("yyyy-MM-dd'T'HH:mm:ssXXX", ["2024-05-01T12:00:00Z", "2024-05-01T13:00:00+01:00"]),
        ("dd.MM.yyyy HH:mm:ss Z", ["01.05.2024 12:00:00 +0000", "01.05.2024 07:00:00 -0500"]),
        ("yyyy-MM-dd HH:mm VV", ["2024-05-01 14:00 Europe/Berlin", "2024-05-01 08:00 America/New_York"]),
        ("yyyy-MM-dd HH:mm[ XXX]", ["2024-05-01 13:00 +01:00", "2024-05-01 14:00"]),
        ("yyyy-MM-dd'Z'HH:mm", ["2024-05-01Z14:00"]),
    ],
)
def test_a_pattern_with_a_zone_shifts_only_what_does_not_say_its_own(spark, pattern, given):
    assert read(spark, given, pattern) == [NOON] * len(given)


def test_only_optional_sections_with_a_zone_are_left_out_of_a_pattern():
    assert without_zone("yyyy[-MM[-dd[ XXX]]]") == "yyyy[-MM[-dd]]"
    assert without_zone("HH:mm[[.SSS]XXX]") == "HH:mm"
    assert without_zone("HH 'o''clock in VV'") == "HH 'o''clock in VV'"
    assert without_zone("HH:mm z[XXX]") is None


@pytest.mark.parametrize(
    ("time_format", "kind", "given"),
    [
        ("epoch_s", "string", ["1714564800.25", "1.71456480025e9", "1714564800.2500004"]),
        ("epoch_ms", "string", ["1714564800250", "1714564800250.0004"]),
        ("epoch_us", "string", ["1714564800250000"]),
        ("epoch_s", "double", [1714564800.25]),
        ("epoch_ms", "double", [1714564800250.0]),
        ("epoch_s", "decimal(20, 6)", [Decimal("1714564800.25")]),
        ("epoch_us", "long", [1714564800250000]),
        ("epoch_ns", "long", [1714564800250000000, 1714564800250000999]),
        ("epoch_ns", "string", ["1714564800250000000", "1714564800250000999", "1714564800250000000.5"]),
        ("epoch_ns", "double", [1714564800250000000.0]),
        ("epoch_ns", "decimal(20, 0)", [Decimal("1714564800250000999")]),
    ],
)
def test_numbers_of_seconds_may_have_fractions(spark, time_format, kind, given):
    assert read(spark, given, time_format, kind) == [NOON + timedelta(seconds=0.25)] * len(given)


def test_a_number_that_tells_no_time_is_refused_and_stops_nothing(spark):
    assert read(spark, ["soon", "NaN", "9" * 18, "9" * 30, ""], "epoch_s") == [None] * 5
    assert read(spark, [float("nan"), float("inf"), 1e300], "epoch_s", "double") == [None] * 3
    assert read(spark, ["soon", "NaN", "9" * 40, ""], "epoch_ns") == [None] * 4
    assert read(spark, [float("nan"), float("inf")], "epoch_ns", "double") == [None] * 2
    before = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert read(spark, [-1, -1000], "epoch_ns", "long") == [before, before]
    assert read(spark, [10**18, -5], "epoch_s", "long") == [None, datetime(1969, 12, 31, 23, 59, 55, tzinfo=UTC)]
