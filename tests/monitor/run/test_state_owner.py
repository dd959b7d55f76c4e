"""Which queries may go on with a state folder."""

import json
from pathlib import Path

import pytest

from aomg.errors import StateError
from aomg.monitor.config.model import Config
from aomg.monitor.config.reader import load
from aomg.monitor.errors import ConfigError
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.journal import Journal
from aomg.monitor.journal.queries import FILE, queries_digest, queries_problem
from aomg.monitor.run.state_owner import claim_state

RTT = "rtt: {value: rtt, size: 1m, period: 10s}"
EVENTS = "time: ts, columns: {ts: string, rtt: long, load: double, host: string}"
LOAD = "load: {value: load, size: 5m, period: 1m}"


def config_of(folder: Path, *queries: str, source: str = "csv", more: str = "", events: str = "") -> Config:
    (folder / "in").mkdir(exist_ok=True)
    file = folder / "aomg.yaml"
    file.write_text(
        f"source: {{{source}: in/, {events or EVENTS}}}\nstate: state/\nqueries: {{{', '.join(queries)}}}\n{more}"
    )
    return load(file)


@pytest.fixture
def begun(tmp_path):
    """A state folder whose first batch is planned."""
    claim_state(config_of(tmp_path, RTT, LOAD))
    planned = tmp_path / "state" / "checkpoint" / "offsets" / "0"
    planned.parent.mkdir(parents=True)
    planned.touch()
    return tmp_path


def stored(folder: Path) -> dict:
    return json.loads((folder / "state" / FILE).read_text())


def test_queries_may_be_added_and_removed(begun, caplog):
    claim_state(config_of(begun, LOAD, "slow: {value: rtt, size: 1h, period: 1m}"))
    assert "added slow, removed rtt" in caplog.text
    assert list(stored(begun)["queries"]) == ["load", "slow"]
    claim_state(config_of(begun, LOAD))
    assert list(stored(begun)["queries"]) == ["load"]


def test_summaries_may_be_stored_from_now_on(begun):
    before = stored(begun)
    claim_state(config_of(begun, RTT, LOAD, more="sinks: {summaries: [{parquet: summaries/}]}\n"))
    assert stored(begun) == before


@pytest.mark.parametrize(
    ("queries", "source", "message"),
    [
        ([RTT.replace("1m", "2m"), LOAD], "csv", "query rtt was .*size 1m.* and is .*size 2m.* another name"),
        ([RTT.replace("rtt: {", "ping: {")], "csv", "there was rtt, load and there is ping. Keep one of the queries"),
        ([RTT, LOAD], "jsonl", "the source was 'csv' and is 'jsonl'. Restore them, or use a new state folder"),
    ],
)
def test_other_changes_are_refused(begun, queries, source, message):
    before = stored(begun)
    with pytest.raises(ConfigError, match=message):
        claim_state(config_of(begun, *queries, source=source))
    assert stored(begun) == before


def test_a_folder_of_a_version_with_a_state_for_each_query_is_refused(begun):
    (begun / "state" / FILE).write_text('{"source": "csv", "summaries": "not stored", "query rtt": "..."}\n')
    with pytest.raises(ConfigError, match="written by an earlier version, which kept a state for each query"):
        claim_state(config_of(begun, RTT, LOAD))


def test_changes_of_queries_are_not_taken_for_edits_before_and_after_the_next_entry(begun):
    """The newest entry has the digest of the file as it was when its batch was written."""
    state = begun / "state"

    def put_entry(batch: int) -> Entry:
        return Journal(state, "s").put(Entry(batch, "", None, queries=queries_digest(state)))

    put_entry(0)
    for queries in ([RTT], [RTT, LOAD], [LOAD]):  # starts that end before they write an entry
        claim_state(config_of(begun, *queries))
    last = put_entry(1)
    assert queries_problem(state, last) is None
    claim_state(config_of(begun, LOAD))
    file = state / FILE
    file.write_text(file.read_text().replace("1m", "2m").replace("60000000", "120000000"))
    with pytest.raises(StateError, match="was edited or damaged"):
        claim_state(config_of(begun, LOAD))


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        ("time: ts", "time: host", "the time column of the events was 'ts' and is 'host'. Restore them"),
        ("time: ts", "time: ts, time_format: epoch_ms", "the time format of the events was 'iso' and is 'epoch_ms'"),
        (
            "time: ts",
            "time: ts, time_zone: Europe/Berlin",
            "the time zone of the events was 'UTC' and is 'Europe/Berlin'",
        ),
        ("rtt: long", "rtt: double", "the type of rtt of the events was 'long' and is 'double'"),
    ],
)
def test_events_must_be_read_as_those_before(begun, before, now, message):
    record = stored(begun)
    with pytest.raises(ConfigError, match=message):
        claim_state(config_of(begun, RTT, LOAD, events=EVENTS.replace(before, now)))
    assert stored(begun) == record


def test_columns_that_no_query_of_before_uses_may_change(begun):
    claim_state(config_of(begun, RTT, LOAD, "hosts: {value: rtt, by: [host], size: 1m, period: 10s}"))
    claim_state(config_of(begun, RTT, LOAD, events=EVENTS.replace("host: string", "host: int")))
    claim_state(config_of(begun, RTT, events=EVENTS.replace("load: double", "load: long")))
    assert stored(begun)["events"] == {
        "time column": "ts",
        "time format": "iso",
        "time zone": "UTC",
        "type of rtt": "long",
    }


def test_another_unit_is_logged(begun, caplog):
    claim_state(config_of(begun, RTT.replace("value: rtt", "value: rtt, unit: ms"), LOAD))
    assert "the unit of query rtt was '' and is 'ms': rules take the values in the windows as such from" in caplog.text
    caplog.clear()
    claim_state(config_of(begun, RTT.replace("value: rtt", "value: rtt, unit: ms"), LOAD))
    assert not caplog.text


def test_the_record_of_a_version_without_source_is_completed(begun):
    whole = stored(begun)
    old = {name: part for name, part in whole.items() if name not in ("folder", "events", "units")}
    (begun / "state" / FILE).write_text(json.dumps(old))
    claim_state(config_of(begun, RTT, LOAD))
    assert {name: part for name, part in stored(begun).items() if name != "before"} == whole
