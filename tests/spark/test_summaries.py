"""Summaries are stored, and asked later: for the same windows, longer ones, other quantiles, fewer keys."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from local import NOON, SECOND, assert_same, events_of, frame, in_order, rows_of, slices, write_files
from pyspark.sql import functions as f
from reference import exact_quantile

from aomg import FewK, Query
from aomg.errors import InputError, StateError
from aomg.spark import accounts, open_end, quantiles, summaries, windows
from aomg.tables.parquet_files import parquet_bytes

pytestmark = pytest.mark.xdist_group("spark")

QUERY = Query("5 minutes", "1 minute", thresholds=(500.0,), lateness="20 minutes")
COLUMNS = {"value": "v", "time": "ts", "by": ["site", "k"]}


def with_site(events: pa.Table) -> pa.Table:
    sites = ["north" if key < "pod-002" else "south" for key in events["k"].to_pylist()]
    return events.append_column("site", pa.array(sites))


@pytest.fixture(scope="module")
def events():
    return with_site(events_of(seed=7, size=6_000, keys=5, seconds=900))


@pytest.fixture(scope="module")
def stored(spark, events, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("stored") / "summaries")
    half = f.lit((NOON + 400 * SECOND) // 60_000_000 * 60).cast("timestamp")
    first, second = (frame(spark, events).where(side) for side in (f.col("ts") < half, f.col("ts") >= half))
    for part in (first, second):  # appended to, as the stream of days goes by
        summaries(part, QUERY, **COLUMNS).write.mode("append").parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(scope="module")
def answered(spark, events):
    return quantiles(frame(spark, events), QUERY, **COLUMNS).toArrow()


def test_windows_from_summaries_are_those_from_the_events(stored, answered):
    assert_same(rows_of(windows(stored, QUERY), COLUMNS["by"]), rows_of(answered, COLUMNS["by"]))


def test_a_summary_that_was_stored_twice_counts_once(stored, answered):
    doubled = stored.union(stored).repartition(3)
    assert_same(rows_of(windows(doubled, QUERY, shards=2), COLUMNS["by"]), rows_of(answered, COLUMNS["by"]))


def test_two_different_summaries_of_one_sub_window_are_an_error(spark, events, stored):
    other = summaries(frame(spark, events.slice(0, 50)), QUERY, **COLUMNS)
    with pytest.raises(Exception, match="two different summaries"):
        windows(stored.union(other), QUERY).collect()


def test_a_damaged_summary_is_refused_and_those_of_earlier_versions_are_not(spark, stored, answered):
    table = stored.toArrow()
    bytes_, place = table["summary"].to_pylist(), table.schema.get_field_index("summary")
    old = table.set_column(place, "summary", pa.array([summary[:-4] for summary in bytes_], pa.binary()))
    both = frame(spark, pa.concat_tables([old, table.slice(0, 30)]))  # the same summary with a checksum and without
    assert_same(rows_of(windows(both, QUERY), COLUMNS["by"]), rows_of(answered, COLUMNS["by"]))
    bytes_[7] = bytes_[7][:20] + bytes([bytes_[7][20] ^ 1]) + bytes_[7][21:]
    damaged = frame(spark, table.set_column(place, "summary", pa.array(bytes_, pa.binary())))
    row = table.slice(7, 1).to_pylist()[0]
    message = f"of site='{row['site']}', k='{row['k']}' is damaged: its checksum is wrong; remove that row or file"
    with pytest.raises(Exception, match=message):
        windows(damaged, QUERY).collect()


def test_spark_can_verify_the_pages_of_our_files(spark, stored, tmp_path):
    table = stored.limit(50).toArrow()
    file = tmp_path / "summaries.parquet"
    file.write_bytes(parquet_bytes(table))
    column = pq.ParquetFile(file).metadata.row_group(0).column(0)
    content = bytearray(file.read_bytes())
    content[column.data_page_offset + column.total_compressed_size // 2] ^= 1
    file.write_bytes(content)
    reader = spark.read.option("parquet.page.verify-checksum.enabled", True)
    with pytest.raises(Exception, match=r"(?i)CRC checksum verification failed"):
        reader.parquet(str(file)).collect()


def test_a_roll_up_with_other_quantiles_covers_the_answers_from_the_events(spark, events, stored):
    query = QUERY.replace(size="10 minutes", quantiles=(0.5, 0.95, 0.99))
    rolled_up = {(r.site, r.window.end): r for r in windows(stored, query, by="site").collect()}
    exact = quantiles(frame(spark, events), query, **{**COLUMNS, "by": ["site"]}).collect()
    assert len(rolled_up) == len(exact) > 20
    for row in exact:
        same = rolled_up[row.site, row.window.end]
        assert (same["count"], same["min"], same["max"]) == (row["count"], row["min"], row["max"])
        assert same.below_500 == row.below_500
        for name in ("p50", "p95", "p99"):
            assert same[name].low <= row[name].high
            assert same[name].high >= row[name].low
            assert abs(same[name].value - row[name].value) <= 0.04 * row[name].value


def test_all_keys_roll_up_into_one(spark, events, stored):
    rolled_up = windows(stored, QUERY, by=[]).collect()
    exact = quantiles(frame(spark, events), QUERY, value="v", time="ts").collect()
    assert sorted((r.window.end, r["count"]) for r in rolled_up) == sorted((r.window.end, r["count"]) for r in exact)


FINE = {
    "five digits": QUERY.replace(digits=5),
    "raw values": QUERY.replace(digits=None, guarantee=0.01),
    "few-k lists": QUERY.replace(few_k=FewK(always=True)),
    "no guarantee": QUERY.replace(guarantee=False),
}


@pytest.fixture(scope="module")
def fine(spark, events, tmp_path_factory):
    """Stored summaries with fine parts, by the name of their query."""
    folder = tmp_path_factory.mktemp("fine")
    for name, query in FINE.items():
        summaries(frame(spark, events), query, **COLUMNS).write.parquet(str(folder / name))
    return {name: spark.read.parquet(str(folder / name)) for name in FINE}


@pytest.mark.parametrize("name", ["five digits", "raw values", "few-k lists"])
@pytest.mark.parametrize("by", [["site", "k"], []], ids=["other quantiles", "rolled up"])
def test_fine_summaries_answer_other_queries_of_three_digits_with_their_guarantee(fine, events, name, by):
    query = FINE[name].replace(size="10 minutes", quantiles=(0.25, 0.5, 0.95, 0.999), digits=3, few_k=None)
    rows = windows(fine[name], query, by=by, shards=1).toArrow()
    assert_same(rows_of(windows(fine[name].repartition(3), query, by=by, shards=5), by), rows_of(rows, by))
    times, values = events["ts"].cast(pa.int64()).to_numpy(), events["v"].to_numpy()
    keys = list(zip(*(events[column].to_pylist() for column in by), strict=True)) or [()] * times.size
    assert rows.num_rows >= 15
    for row in rows.to_pylist():
        end = int(row["window"]["end"].timestamp()) * SECOND
        inside = (times < end) & (times >= end - query.size)
        key = tuple(row[column] for column in by)
        window = [value for value, own, used in zip(values.tolist(), keys, inside, strict=True) if used and own == key]
        assert (row["count"], row["min"], row["max"]) == (len(window), min(window), max(window))
        for quantile, column in ((0.25, "p25"), (0.5, "p50"), (0.95, "p95"), (0.999, "p99_9")):
            exact, estimate = exact_quantile(window, quantile), row[column]
            assert estimate["low"] <= exact <= estimate["high"]
            assert abs(estimate["value"] - exact) <= query.guarantee * exact
        share = sum(value <= 500 for value in window) / len(window)
        assert row["below_500"]["low"] <= share <= row["below_500"]["high"]


@pytest.mark.parametrize("name", FINE)
def test_fine_summaries_answer_the_query_that_wrote_them(spark, events, fine, name):
    rows = quantiles(frame(spark, events), FINE[name], **COLUMNS)
    assert_same(rows_of(windows(fine[name], FINE[name]), COLUMNS["by"]), rows_of(rows, COLUMNS["by"]))


@pytest.mark.parametrize("name", FINE)
def test_what_fine_summaries_cannot_answer_is_refused_before_anything_runs(spark, events, fine, name):
    query = FINE[name]
    advice = "compute the windows from the events" if query.guarantee is None else r"query\.replace\((digits|few_k)="
    with pytest.raises(StateError, match=advice):
        windows(fine[name], query, by=["site"])
    with pytest.raises(StateError, match=advice):
        windows(fine[name], query.replace(quantiles=(0.95,)))
    with pytest.raises(StateError, match="the summaries have period '1m', the query asks for '5m'"):
        windows(fine[name], query.replace(period="5 minutes"))
    stream = spark.readStream.format("rate").load().selectExpr("timestamp ts", "value v", "'a' site", "'b' k")
    with pytest.raises(StateError, match=advice):
        quantiles(stream, query.replace(quantiles=(0.95,)), warm=fine[name], **COLUMNS)


def test_a_frame_without_summaries_is_refused(spark, events, stored):
    with pytest.raises(InputError, match="no column 'sub_window', so it does not contain summaries"):
        windows(frame(spark, events), QUERY)
    with pytest.raises(InputError, match="no key column 'rack'"):
        windows(stored, QUERY, by=["rack"])
    with pytest.raises(Exception, match="the summaries have period '1m', the query asks for '2m'"):
        windows(stored, Query("10 minutes", "2 minutes")).collect()


def test_summaries_of_different_queries_are_not_added_up_and_both_are_named(spark, events, stored):
    other = summaries(frame(spark, events), QUERY.replace(lateness="90 seconds"), **COLUMNS)
    with pytest.raises(Exception, match=r"different queries, Query\('[0-9a-z]+', .* lateness='1m30s'"):
        windows(stored.union(other.withColumn("site", f.lit("elsewhere"))), QUERY, by=[]).collect()


def replay(spark, frame_of, directory, name, parts):
    """Run a stream over files to their end; its rows, its DataFrame and its checkpoint."""
    source, target, checkpoint = (directory / f"{name}-{part}" for part in ("in", "out", "checkpoint"))
    write_files(source, parts)
    stream = spark.readStream.schema(frame(spark, parts[0]).schema).option("maxFilesPerTrigger", 1)
    answers = frame_of(stream.parquet(str(source)))
    writer = answers.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start(str(target)).awaitTermination()
    return spark.read.schema(answers.schema).parquet(str(target)), answers, str(checkpoint)


def test_a_stream_of_summaries_gives_those_of_a_batch_and_accounts_for_every_event(spark, events, stored, tmp_path):
    query = QUERY.replace(lateness="2 minutes")
    rows, _, checkpoint = replay(
        spark, lambda stream: summaries(stream, query, clock=None, **COLUMNS), tmp_path, "summaries", slices(events, 4)
    )
    expected = summaries(frame(spark, events), query, **COLUMNS)
    end = f.lit((NOON + 720 * SECOND) // SECOND).cast("timestamp")
    streamed, batch = rows.toArrow(), expected.where(f.col("sub_window.end") <= end).toArrow()
    assert streamed.num_rows == batch.num_rows > 20
    keys = [("site", "ascending"), ("k", "ascending"), ("count", "ascending"), ("summary", "ascending")]
    assert streamed.drop(["sub_window"]).sort_by(keys).equals(batch.drop(["sub_window"]).sort_by(keys))
    counts = accounts(spark, checkpoint)
    assert counts.reconcile
    assert counts.came == events.num_rows


def test_a_stream_that_starts_warm_answers_as_if_it_had_seen_the_events_before(spark, events, answered, tmp_path):
    border = (NOON + 450 * SECOND) // 60_000_000 * 60_000_000
    times = events["ts"].cast(pa.int64()).to_numpy()
    before, after = events.filter(times < border), events.filter(times >= border)
    warm = spark.createDataFrame(summaries(frame(spark, before), QUERY, **COLUMNS).toArrow())
    rows, answers, checkpoint = replay(
        spark,
        lambda stream: quantiles(stream, QUERY, clock=None, warm=warm, **COLUMNS),
        tmp_path,
        "warm",
        slices(after, 3),
    )
    everything = rows.union(open_end(answers, QUERY, checkpoint))
    expected = [row for row in rows_of(answered, COLUMNS["by"]) if row[2] > border]
    assert_same(rows_of(everything, COLUMNS["by"]), expected)


def test_the_open_end_completes_what_a_replay_has_answered(spark, events, answered, tmp_path):
    query = QUERY.replace(lateness="3 minutes")
    rows, answers, checkpoint = replay(
        spark, lambda stream: quantiles(stream, query, clock=None, **COLUMNS), tmp_path, "end", slices(events, 3)
    )
    closed, rest = rows_of(rows, COLUMNS["by"]), rows_of(open_end(answers, query, checkpoint), COLUMNS["by"])
    assert closed
    assert rest
    assert_same(in_order([*closed, *rest]), rows_of(answered, COLUMNS["by"]))


def test_windows_counted_in_events_stream_as_in_a_batch(spark, tmp_path):
    events = events_of(seed=3, size=3_000, keys=3, seconds=600)
    numbers: dict[str, int] = {}
    sequence = [numbers.update({key: numbers.get(key, -1) + 1}) or numbers[key] for key in events["k"].to_pylist()]
    events = events.append_column("seq", pa.array(sequence))
    query, columns = Query(300, 100), {"value": "v", "time": "seq", "by": ["k"]}
    rows, answers, checkpoint = replay(
        spark, lambda stream: quantiles(stream, query, **columns), tmp_path, "counted", slices(events, 5)
    )
    batch = rows_of(quantiles(frame(spark, events), query, **columns), ["k"])
    assert_same(rows_of(rows.union(open_end(answers, query, checkpoint)), ["k"]), batch)
    counts = accounts(spark, checkpoint)
    assert counts.reconcile
    assert (counts.late, counts.open) == (0, sum(n % 100 for n in (numbers[k] + 1 for k in numbers)))
