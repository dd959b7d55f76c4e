"""A stream answers like a batch of the same events, each window once, however it is cut, stopped and started again."""

import datetime as dt
import itertools

import numpy as np
import pyarrow as pa
import pytest
from local import (
    MINUTE,
    NOON,
    SECOND,
    Replay,
    assert_same,
    closed,
    end_of,
    events_of,
    expected_rows,
    in_order,
    instants,
    local_rows,
    rows_of,
    setting,
    slices,
    tick,
    watermark,
)
from pyspark.errors import PySparkException
from pyspark.sql import functions as f

from aomg import FewK, Operator, Query
from aomg.errors import InputError
from aomg.spark import open_end, quantiles
from aomg.spark.stream.processor import difference, layout_of

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("5 minutes", "1 minute", quantiles=(0.5, 0.99), thresholds=(1000.0,), lateness="20 seconds")
PATIENT = QUERY.replace(lateness="1 hour")
USED_UP = tick(3 * 3600)  # an event so late that everything before it is closed


@pytest.fixture
def replay(spark, tmp_path):
    """Make replays, each in a directory of its own."""
    numbers = itertools.count()

    def make(query=QUERY, by=("k",), **options):
        return Replay(spark, tmp_path / str(next(numbers)), query, by, {"clock": None, **options})

    return make


@pytest.fixture(scope="module")
def events():
    """Twenty minutes of events, out of order by less than the lateness."""
    return events_of(1, 3000, 12, 20 * 60, disorder=15)


@pytest.fixture(scope="module")
def finished(spark, tmp_path_factory, events):
    """A stream that has read five files to their end."""
    return Replay(spark, tmp_path_factory.mktemp("finished"), QUERY).add(*slices(events, 5)).run()


def test_a_stream_answers_what_a_batch_answers_for_every_window_that_closed(spark, finished, events):
    batch = rows_of(
        finished.spark.createDataFrame(events).transform(quantiles, QUERY, value="v", time="ts", by="k"), ["k"]
    )
    expected = closed(batch, watermark(QUERY, events))
    assert 0 < len(batch) - len(expected) < len(expected) / 5
    assert_same(finished.rows, expected)
    assert_same(batch, expected_rows(QUERY, events, ["k"]))


def test_all_keys_answer_for_a_window_in_one_micro_batch(finished):
    """Eight shards, and keys that are idle at times: whoever has seen one row of a window end has seen them all."""
    ends = [{end_of(row) for row in rows} for rows in finished.batches.values()]
    assert len(ends) >= 4
    assert sum(map(len, ends)) == len(set().union(*ends))
    assert all(max(before) < min(after) for before, after in itertools.pairwise(ends))


def test_a_checkpoint_gives_the_windows_that_were_open_when_its_stream_stopped(finished, events):
    rest = rows_of(open_end(finished.results(), QUERY, str(finished.checkpoint)), ["k"])
    expected = expected_rows(QUERY, events, ["k"])
    assert_same(in_order(finished.rows + rest), expected)


def test_every_event_is_accounted_for(finished, events):
    counts = finished.accounts
    open_ = np.asarray(events["ts"].cast(pa.int64())) >= watermark(QUERY, events) // MINUTE * MINUTE
    nothing = {"late": 0, "refused": 0, "future": 0}
    assert counts == {"came": 3000, "used": 3000 - open_.sum(), "open": open_.sum(), **nothing}


def test_other_files_in_another_order_give_the_same_rows(replay, events):
    expected = closed(expected_rows(PATIENT, pa.concat_tables([events, USED_UP]), ["k"]), NOON + 2 * 3600 * SECOND)
    shuffled = events.take(pa.array(np.random.default_rng(3).permutation(3000)))
    cuts = [shuffled.slice(0, 1900), shuffled.slice(1900, 1), shuffled.slice(1901)]
    assert_same(replay(PATIENT, shards=3).add(*cuts, USED_UP).run().rows, expected)
    backwards = slices(events, 4)[::-1]
    assert_same(replay(PATIENT, shards=1).add(*backwards, USED_UP).run(files=2).rows, expected)


def some_of(names, *always):
    """All of them are tried in the soak; these always. A stream takes seconds to start."""
    return [name if name in always else pytest.param(name, marks=pytest.mark.soak) for name in names]


KINDS = {
    "full windows only": QUERY.replace(partial=False),
    "five digits": QUERY.replace(digits=5),
    "no guarantee": QUERY.replace(guarantee=False, few_k=FewK(fraction=0.2)),
    "paper": Query.paper("5 minutes", "1 minute", few_k=FewK(fraction=0.2)),
    "many sub-windows": QUERY.replace(period="15 seconds"),
}


@pytest.mark.parametrize("name", some_of(KINDS, "paper", "many sub-windows"))
def test_every_kind_of_query_is_answered_on_a_stream(replay, events, name):
    query = KINDS[name]
    expected = closed(expected_rows(query, events, ["k"]), watermark(query, events))
    assert len(expected) > 20
    stream = replay(query, shards=2).add(*slices(events, 3)).run()
    assert_same(stream.rows, expected)
    if name == "many sub-windows":  # whose live summaries are kept in blocks
        rest = rows_of(open_end(stream.results(), query, str(stream.checkpoint)), ["k"])
        assert_same(in_order(stream.rows + rest), expected_rows(query, events, ["k"]))


def test_a_window_closes_when_the_watermark_reaches_its_end_and_not_a_millisecond_before(replay):
    stream = replay().add(tick(30, "a"), tick(79.999, "b")).run()
    assert stream.rows == []
    stream.add(tick(80, "c")).run()
    assert [(row[0], end_of(row)) for row in stream.rows] == [(("'a'",), NOON + MINUTE)]
    stream.add(tick(140, "b"), tick(199.9999, "a")).run()
    assert {end_of(row) for row in stream.rows} == {NOON + MINUTE, NOON + 2 * MINUTE}
    assert_same(
        stream.rows, closed(expected_rows(QUERY, _ticks(30, 79.999, 80, 140, 199.9999), ["k"]), NOON + 2 * MINUTE)
    )


def test_a_window_is_answered_in_the_micro_batch_that_brings_its_time_and_not_one_later(replay):
    stream = replay().add(tick(30, "a"), tick(80, "b"), tick(81, "b"), tick(140, "a")).run()
    assert {batch: {end_of(row) for row in rows} for batch, rows in stream.batches.items()} == {
        1: {NOON + MINUTE},
        3: {NOON + 2 * MINUTE},
    }


def test_time_before_1970_passes_as_any_other(replay):
    long_ago = -40 * 365 * 86_400 - NOON // SECOND  # seconds from noon to 1930
    stream = replay().add(tick(long_ago, "a"), tick(long_ago + 80, "b")).run()
    assert len(stream.rows) == 1
    assert end_of(stream.rows[0]) < 0


def test_all_events_move_the_watermark_on_request(replay):
    """Several queries over the same events then answer together, whichever of their values are missing."""
    without_value = pa.table({"k": ["a"], "ts": instants([NOON + 80 * SECOND]), "v": pa.array([None], pa.int64())})
    by_values = replay().add(tick(30, "a"), without_value).run()
    assert by_values.rows == []
    by_events = replay(time_by="events").add(tick(30, "a"), without_value).run()
    assert [end_of(row) for row in by_events.rows] == [NOON + MINUTE]
    assert by_events.accounts["refused"] == 1
    with pytest.raises(InputError, match="'values' or 'events'"):
        replay(time_by="value").add(tick(0)).results()


def _ticks(*seconds):
    return pa.concat_tables([tick(second, key) for second, key in zip(seconds, "abcba", strict=True)])


def test_a_late_event_is_counted_and_left_out(replay):
    """After the second file the watermark is at 12:05; what belongs before it is late, however far."""
    early, then = events_of(5, 400, 4, 240), tick(320)
    late = pa.concat_tables([events_of(6, 50, 8, 299.9), tick(-86_400, "new key")])
    still = pa.concat_tables([tick(300, "pod-001", 5), tick(310, "new key", 6)])
    stream = replay().add(early, then, pa.concat_tables([late, still]), USED_UP).run()
    taken = pa.concat_tables([early, then, still, USED_UP])
    assert_same(stream.rows, closed(expected_rows(QUERY, taken, ["k"]), watermark(QUERY, taken)))
    assert stream.accounts == {"came": 455, "used": 403, "late": 51, "refused": 0, "future": 0, "open": 1}


def test_a_time_in_the_far_future_is_counted_and_does_not_move_the_watermark(replay):
    """Without a guard one clock that is wrong by years would make every later event late."""
    parts = slices(events_of(8, 600, 3, 600), 2)
    wrong = pa.concat_tables([tick(86_400 * 365 * 60.0, "pod-000"), tick(86_400 * 365 * 7000.0)])
    taken = pa.concat_tables(parts)
    expected = closed(expected_rows(QUERY, taken, ["k"]), watermark(QUERY, taken))
    for clock in (
        "processing",
        dt.datetime(2023, 11, 15, 12, 9, tzinfo=dt.UTC),
        f.timestamp_seconds(f.lit(NOON // SECOND)),
    ):
        stream = replay(clock=clock, shards=2).add(pa.concat_tables([parts[0], wrong]), parts[1]).run()
        assert_same(stream.rows, expected)
        counts = stream.accounts
        assert (counts["future"], counts["late"], counts["came"]) == (2, 0, 602)


def test_events_up_to_the_allowed_skew_are_used(replay):
    clock = dt.datetime(2023, 11, 15, 12, 0, tzinfo=dt.UTC)
    at_the_limit, beyond = tick(90), tick(90.000001)
    stream = (
        replay(clock=clock, max_clock_skew="90 seconds").add(pa.concat_tables([tick(0), at_the_limit, beyond])).run()
    )
    assert [end_of(row) for row in stream.rows] == [NOON + MINUTE]
    assert (stream.accounts["future"], stream.accounts["open"]) == (1, 1)


def test_refused_events_are_counted_and_do_not_move_the_watermark(replay):
    good = events_of(9, 200, 2, 200)
    good = good.set_column(2, "v", good["v"].cast(pa.float64()))
    times = [None, NOON + 9000 * SECOND, NOON + 9000 * SECOND, NOON + 9000 * SECOND, NOON, None]
    values = pa.array([1.0, float("nan"), float("inf"), float("-inf"), None, None], pa.float64(), from_pandas=False)
    bad = pa.table({"k": ["pod-000", "x", "y", "z", None, None], "ts": instants(times), "v": values})
    stream = replay().add(pa.concat_tables([good.slice(0, 100), bad]), good.slice(100)).run()
    assert_same(stream.rows, closed(expected_rows(QUERY, good, ["k"]), watermark(QUERY, good)))
    counts = stream.accounts
    assert (counts["came"], counts["refused"], counts["late"], counts["future"]) == (206, 6, 0, 0)


def test_a_file_that_arrives_twice_counts_twice_as_in_a_batch(replay):
    once = events_of(10, 300, 3, 100)
    twice = pa.concat_tables([once, once, USED_UP])
    stream = replay(PATIENT).add(once, once, USED_UP).run()
    assert_same(stream.rows, closed(expected_rows(PATIENT, twice, ["k"]), watermark(PATIENT, twice)))
    assert stream.accounts["used"] == 600


def test_empty_files_and_idle_keys_and_shards_change_nothing(replay):
    """Two keys on sixteen shards; one is idle for longer than a window, then both are; time goes on in jumps."""
    busy, idle = events_of(11, 200, 1, 600), tick(5, "idle")
    nothing = busy.slice(0, 0)
    parts = [
        nothing,
        pa.concat_tables([busy.slice(0, 100), idle]),
        nothing,
        busy.slice(100),
        tick(3600, "idle"),
        tick(3661),
    ]
    everything = pa.concat_tables(parts)
    stream = replay(shards=16).add(*parts).run()
    assert_same(stream.rows, closed(expected_rows(QUERY, everything, ["k"]), watermark(QUERY, everything)))
    ends = [{end_of(row) for row in rows} for rows in stream.batches.values()]
    assert sum(map(len, ends)) == len(set().union(*ends))


def test_a_stream_without_by_columns_and_one_with_many(replay):
    random = np.random.default_rng(13)
    size = 300
    events = events_of(12, size, 3, 400)
    extra = {
        "rack": pa.array([{"row": 1, "at": None}, {"row": None, "at": 0.5}]),
        "zero": pa.array([0.0, -0.0, float("nan"), None], pa.float64(), from_pandas=False),
        "since": pa.array([dt.datetime(1969, 7, 20, tzinfo=dt.UTC), None], pa.timestamp("us", tz="UTC")),
    }
    for name, values in extra.items():
        events = events.append_column(name, values.take(pa.array(random.integers(0, len(values), size))))
    for by in ((), ("zero", "k", "rack", "since")):
        expected = closed(expected_rows(QUERY, events, by), watermark(QUERY, events))
        assert_same(replay(by=by, shards=3).add(*slices(events, 2)).run().rows, expected)


def test_times_without_a_zone_are_read_as_utc_on_a_stream_too(replay, spark):
    """New York's clocks go from 2:00 to 3:00 on 10 March 2024, four or five hours behind; nobody should notice."""
    query = Query("1 hour", "30 minutes", quantiles=(0.5,), lateness="1 minute")
    start = int(dt.datetime(2024, 3, 10, 0, 10, tzinfo=dt.UTC).timestamp()) * SECOND
    events = events_of(14, 400, 2, 5 * 3600, start=start)
    plain = events.set_column(1, "ts", events["ts"].cast(pa.timestamp("us")))
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        stream = replay(query, shards=2).add(*slices(plain, 2)).run()
    assert_same(stream.rows, closed(expected_rows(query, events, ["k"]), watermark(query, events)))


def test_windows_counted_in_events_close_when_their_events_have_arrived(replay):
    query = Query(60, 20, quantiles=(0.5, 1))
    random = np.random.default_rng(15)
    numbers = np.concatenate([np.arange(130), np.arange(55), np.arange(7)])
    keys = np.repeat(["a", "b", "c"], [130, 55, 7])
    events = pa.table({"k": keys, "ts": numbers, "v": random.integers(1, 1000, 192)})
    order = np.argsort(numbers + random.uniform(0, 15, 192), kind="stable")
    stream = replay(query, shards=2).add(*slices(events.take(pa.array(order)), 4)).run()
    full = {key: Operator(query).push(events["v"].filter(pa.array(keys == key))) for key in "abc"}
    assert_same(stream.rows, in_order(row for key in full for row in local_rows(full[key], (repr(key),))))
    assert stream.accounts == {"came": 192, "used": 160, "open": 32, "late": 0, "refused": 0, "future": 0}


def test_a_restarted_stream_continues_as_if_it_had_never_stopped(replay, finished, events):
    stream = replay()
    for came, part in enumerate(slices(events, 5), 1):
        stream.add(part).run()
        counts = stream.accounts
        assert (counts["came"], counts["late"]) == (came * 600, 0)
    assert_same(stream.rows, finished.rows)
    assert stream.accounts == finished.accounts


def test_a_repeated_micro_batch_leaves_no_row_twice_in_a_file_sink(replay, finished, events):
    """A crash between the sink's commit and the stream's looks like a commit file that is not there."""
    stream = replay().add(*slices(events, 5)[:3]).run_into_files()
    counts, rows = stream.accounts, stream.rows_in_files
    for commits in (1, 2):
        for file in stream.commits()[-commits:]:
            file.unlink()
            (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        stream.run_into_files()
        assert stream.accounts == counts
        assert_same(stream.rows_in_files, rows)
    stream.add(*slices(events, 5)[3:]).run_into_files()
    assert_same(stream.rows_in_files, finished.rows)


CHANGES = {
    "a longer period": (
        {"size": "10 minutes", "period": "2 minutes"},
        {},
        "'size 5m, period 1m' there, 'size 10m, period 2m' here",
    ),
    "another quantile": ({"quantiles": (0.5, 0.9)}, {}, "quantiles 0.5,0.99' there, 'quantiles 0.5,0.9' here"),
    "more digits": ({"digits": 4}, {}, "digits 3' there, 'digits 4' here"),
    "more shards": ({}, {"shards": 9}, "shards 8' there, 'shards 9' here"),
    "another key": ({}, {"by": ("k", "v")}, "by k' there, 'by k,v' here"),
}


@pytest.fixture(scope="module")
def stopped(spark, tmp_path_factory, events):
    """A stream that has stopped, with another event in its source."""
    return Replay(spark, tmp_path_factory.mktemp("stopped"), QUERY).add(events).run().add(tick(1300))


@pytest.mark.parametrize("name", some_of(CHANGES, "another quantile", "another key"))
def test_a_checkpoint_of_another_query_is_refused_and_the_difference_is_named(spark, stopped, name):
    changes, options, message = CHANGES[name]
    options = {"by": ("k",), **options}
    other = Replay(spark, stopped.directory, QUERY.replace(**changes), options.pop("by"), {"clock": None, **options})
    with pytest.raises(PySparkException, match=f"written by another query: .*{message}"):
        other.run()
    assert other.rows == []


def test_the_difference_to_the_query_of_a_checkpoint_has_durations_in_the_usual_notation():
    other = QUERY.replace(size="1h30m", period="90s", lateness="500ms")
    stored, requested = (layout_of(query, True, ["k"], 8) for query in (QUERY, other))
    message = difference(stored, requested)
    assert "'size 5m, period 1m' there, 'size 1h30m, period 1m30s' here" in message
    assert "there, 'lateness 500ms' here" in message and "000000" not in message


def test_a_refused_query_has_changed_nothing(spark, stopped, events):
    again = Replay(spark, stopped.directory, QUERY).run()
    everything = pa.concat_tables([events, tick(1300)])
    expected = closed(expected_rows(QUERY, everything, ["k"]), watermark(QUERY, everything))
    assert_same(in_order(stopped.rows + again.rows), expected)


def test_a_stream_is_refused_as_a_batch_is(replay):
    with pytest.raises(InputError, match="has the name of a column of the result"):
        quantiles(replay().add(tick(0)).events().withColumnRenamed("k", "p50"), QUERY, value="v", time="ts", by="p50")
