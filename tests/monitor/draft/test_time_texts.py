"""Times in texts and numbers are recognised, and Spark reads them with the format that was found."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as f

from aomg.monitor.config.model import SourceConfig
from aomg.monitor.draft.time_texts import times_of
from aomg.monitor.source.times import time_of_event

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def colon(time: datetime) -> str:
    offset = f"{time:%z}"
    return f"{offset[:3]}:{offset[3:]}"


STYLES = {
    "iso": [
        lambda t: t.isoformat(),
        lambda t: f"{t:%Y-%m-%d %H:%M:%S}",
        lambda t: f"{t:%Y-%m-%dT%H:%M:%S.%fZ}",
        lambda t: f"{t:%Y-%m-%d %H:%M:%S.%f} {t:%z}",
        lambda t: f"{t:%Y-%m-%d %H:%M:%S}{colon(t)}",
        lambda t: f"{t:%Y-%m-%dT%H:%M:%S} UTC",
        lambda t: f"{t:%Y-%m-%d %H:%M}",
    ],
    "yyyy-MM-dd HH:mm:ss,SSS": [lambda t: f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03}"],
    "yyyy-MM-dd'T'HH:mmX": [lambda t: f"{t:%Y-%m-%dT%H:%MZ}"],
    "yyyy-MM-dd'T'HH:mmXXX": [lambda t: f"{t:%Y-%m-%dT%H:%M}{colon(t)}"],
    "dd/MMM/yyyy:HH:mm:ss XX": [lambda t: f"{t:%d}/{MONTHS[t.month - 1]}/{t:%Y:%H:%M:%S} {t:%z}"],
    "dd-MMM-yyyy HH:mm:ss": [lambda t: f"{t:%d}-{MONTHS[t.month - 1]}-{t:%Y %H:%M:%S}"],
    "dd MMM yyyy HH:mm:ss z": [lambda t: f"{t:%d} {MONTHS[t.month - 1]} {t:%Y %H:%M:%S} GMT"],
    "MMM dd, yyyy HH:mm:ss": [lambda t: f"{MONTHS[t.month - 1]} {t:%d, %Y %H:%M:%S}"],
    "yyyy/MM/dd HH:mm:ss.SSSSSS": [lambda t: f"{t:%Y/%m/%d %H:%M:%S.%f}"],
    "dd.MM.yyyy HH:mm:ss": [lambda t: f"{t:%d.%m.%Y %H:%M:%S}"],
    "d.M.yyyy H:mm:ss": [lambda t: f"{t.day}.{t.month}.{t.year} {t.hour}:{t:%M:%S}"],
    "MM/dd/yyyy hh:mm:ss a": [lambda t: f"{t:%m/%d/%Y %I:%M:%S %p}"],
    "yyyyMMdd'T'HHmmssX": [lambda t: f"{t:%Y%m%dT%H%M%SZ}"],
    "yyyyMMddHHmmss": [lambda t: f"{t:%Y%m%d%H%M%S}"],
    "yyyy-MM-dd_HH:mm:ss": [lambda t: f"{t:%Y-%m-%d_%H:%M:%S}"],
    "epoch_s": [lambda t: f"{t.timestamp():.3f}", lambda t: str(int(t.timestamp()))],
    "epoch_ms": [lambda t: str(int(t.timestamp()) * 1000)],
    "epoch_us": [lambda t: str(int(t.timestamp()) * 10**6)],
    "epoch_ns": [lambda t: str(int(t.timestamp()) * 10**9)],
}
CASES = [(form, style) for form, styles in STYLES.items() for style in styles]
instants = st.lists(
    # whole minutes, which every style can write
    st.datetimes(datetime(2001, 1, 1), datetime(2037, 12, 31)).map(
        lambda time: time.replace(second=0, microsecond=0, tzinfo=UTC)
    ),
    min_size=1,
    max_size=20,
)
HOUR = [datetime(2024, 1, 5, 9, tzinfo=UTC) + timedelta(hours=9.7, seconds=61.001 * k) * k for k in range(30)]


@pytest.mark.parametrize(("form", "style"), CASES)
@given(times=instants)
def test_times_are_recognised_whatever_their_style(form, style, times):
    guess = times_of([style(time) for time in times])
    assert guess is not None
    assert guess.micros == [(time - EPOCH) // timedelta(microseconds=1) for time in times] or guess.doubt


def test_the_zone_of_a_time_is_heeded():
    guess = times_of(["2024-05-01T17:30:00+05:30"])
    assert guess is not None and guess.has_zone and guess.micros == [1714564800_000000]


@pytest.mark.parametrize(
    "values",
    [
        ["hello"],
        [],
        [None],
        ["12.5", "17"],
        [True, False],
        ["2024-13-45 00:00:00"],
        ["2024-05-01"] + ["x"] * 9,
        [float("nan")],
        ["١٢٣"],
    ],
)
def test_what_is_no_time_is_not_taken_for_one(values):
    assert times_of(values) is None


def test_of_day_and_month_the_one_is_taken_that_leaves_less_time_between():
    days = [f"{day:02}/05/2024 12:00:00" for day in range(1, 12)]
    months = [f"05/{day:02}/2024 12:00:00" for day in range(1, 12)]
    assert times_of(days).format == "dd/MM/yyyy HH:mm:ss" and times_of(days).doubt
    assert times_of(months).format == "MM/dd/yyyy HH:mm:ss" and times_of(months).doubt
    assert not times_of([*days, "31/05/2024 12:00:00"]).doubt


@pytest.mark.xdist_group("monitor on spark")
def test_spark_reads_every_style_with_the_format_that_was_found(spark):
    texts = [[style(time) for time in HOUR] for _, style in CASES]
    guesses = [times_of(column) for column in texts]
    assert [guess and guess.format for guess in guesses] == [form for form, _ in CASES]
    frame = spark.createDataFrame(
        [tuple(row) for row in zip(*texts, strict=True)], ", ".join(f"c{number} string" for number in range(len(CASES)))
    )
    sources = [SourceConfig("csv", 1, f"c{number}", time_format=guess.format) for number, guess in enumerate(guesses)]
    read = frame.select(*(f.unix_micros(time_of_event(frame, source)) for source in sources)).collect()
    for number, (form, _) in enumerate(CASES):
        assert [row[number] for row in read] == pytest.approx(guesses[number].micros, abs=1), form
