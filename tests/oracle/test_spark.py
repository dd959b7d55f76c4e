"""Batches, streams and stored summaries give what they gave when the oracle was recorded, bit for bit.

Summaries and a stream's checkpoint that were stored then are read, and the stream continues.
"""

import pytest
from oracle_fixtures import FIXTURES, unpack_folder
from oracle_records import Outcome, compare, read, table_rows
from oracle_spark import (
    FIRST_FILES,
    REQUESTS,
    SAVED,
    STORED,
    WHOLE,
    answered,
    batch_cases,
    fixture_of,
    new_stream,
    stream_goes_on,
    summarised,
)

pytestmark = pytest.mark.xdist_group("spark")

BATCHES = batch_cases()


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_gives_the_recorded_results(spark, name):
    compare(BATCHES[name].run(spark), read("batches")[name])


@pytest.mark.parametrize(
    ("name", "query", "files"), [("first files", SAVED, FIRST_FILES), ("paper, 20 sub-windows", WHOLE, 4)]
)
def test_a_stream_gives_the_recorded_results(spark, tmp_path, name, query, files):
    compare(new_stream(spark, tmp_path, query, files).outcome(), read("streams")[name])


@pytest.mark.parametrize("archive", ["stream-4.1.tar.gz", "stream-4.2.tar.gz", "stream.tar.gz"])  # the last is of 4.3
def test_a_stream_continues_from_a_checkpoint_of_any_version_of_spark_as_if_it_had_never_stopped(
    spark, tmp_path, archive
):
    unpack_folder(FIXTURES / archive, tmp_path)
    compare(stream_goes_on(spark, tmp_path).outcome(), read("streams")["the other files"])


@pytest.fixture(scope="module")
def stored(spark):
    """The stored summaries, by the query that wrote them."""
    return {name: spark.read.parquet(str(fixture_of(name))).cache() for name in STORED}


@pytest.mark.parametrize("name", STORED)
def test_summaries_are_the_recorded_bytes(spark, stored, name):
    compare(Outcome(table_rows(summarised(spark, name).toArrow())), read("summaries")[name])
    compare(Outcome(table_rows(stored[name].toArrow())), read("stored")[name])  # of a version of before


@pytest.mark.parametrize("name", REQUESTS)
def test_stored_summaries_give_the_recorded_windows(stored, name):
    compare(answered(stored[REQUESTS[name][0]], name), read("windows")[name])
