"""The page knows the alerts as the monitor does, whatever happens to its files meanwhile."""

import json
import os
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import MINUTE, queries, rows, rule

from aomg.monitor.alert import Alert, FleetReport, alert_id
from aomg.monitor.alerts.judge import Judge
from aomg.monitor.alerts.state import State
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.journal import Journal
from aomg.monitor.rules.builder import build
from aomg.monitor.sinks.jsonl import JsonLinesSink
from aomg.times import time_text
from aomg.web.follow.alerts import AlertLog
from aomg.web.views.alerts import AlertsRequest
from aomg.web.views.limits import KnownRule, Limit
from aomg.web.views.reasons import amount

RULES = [rule(for_=2 * MINUTE, labels={"severity": "page"}), rule("p50 > 1ms", "Median", keep_firing_for=2 * MINUTE)]
KNOWN = {
    ("network", "Slow"): KnownRule("p99 > 4ms", ("inbound",), (Limit("inbound", "p99", 4000.0, ">", "Slow"),)),
    ("network", "Median"): KnownRule("p50 > 1ms", ("inbound",), ()),
}
NAMES = {"inbound": ("podset",)}
START = 10_000 * MINUTE


@pytest.fixture(scope="module", autouse=True)
def quick():
    with mock.patch.object(os, "fsync", lambda handle: None):
        yield


class Monitor:
    """Judges and writes as a monitor does: lines, and the state of each batch."""

    def __init__(self, folder: Path, stream: str = "3f9a00112233", state: str = "state") -> None:
        self.folder, self.state_folder, self.file = folder, folder / state, folder / "alerts.jsonl"
        self.state_folder.mkdir(exist_ok=True)
        (self.state_folder / "stream").write_text(stream + "\n")
        self.judge = Judge([build(one, queries()) for one in RULES], queries())
        self.sink = JsonLinesSink(self.file, stream=stream)
        self.stream, self.journal = stream, Journal(self.state_folder, stream)
        self.state = State()

    def batch(self, number: int, slow: set[str], keys: str = "abc") -> None:
        for stale in range(number, self.journal.next):  # restored from a backup
            (self.state_folder / "journal" / f"{stale:010d}.json").unlink()
        self.journal = Journal(self.state_folder, self.stream)
        last = self.journal.last
        before = State() if last is None else State.from_json(last.state)
        values = {
            key: {"p99": (4900, 5000, 5100) if key in slow else 900, "p50": 2000 if key in slow else 500}
            for key in keys
        }
        window = rows(START + number * MINUTE, values)
        self.state, alerts = self.judge.step(before, {"inbound": [window]}, number)
        self.sink.write(number, alerts)
        self.journal.put(Entry(number, "", None, state=self.state.to_json()))

    def log(self, **more) -> AlertLog:
        return AlertLog(self.file, self.state_folder, rules=KNOWN, names=NAMES, **more)

    def fired(self) -> set:
        """The alerts that fired: one for each firing of a rule for a key, as the monitor counts them."""
        lines = self.file.read_bytes().splitlines() if self.file.exists() else []
        alerts = [json.loads(line) for line in lines]
        return {one["id"] for one in alerts if one["transition"] == "firing"}

    def active(self) -> set:
        """What is active, as the judge says."""
        return {
            (one.rule, tuple(sorted(one.labels.items())), "firing" if one.firing else "pending", time_text(one.since))
            for one in self.judge.active(self.state)
        }


def shown_active(log: AlertLog) -> set:
    return {
        (one["rule"], tuple(sorted(one["labels"].items())), one["state"], one["started"])
        for one in log.snapshot().active
    }


def settled(log: AlertLog) -> AlertLog:
    for _ in range(20):
        if not log.step():
            return log
    raise AssertionError("it changes without end")


@settings(max_examples=40)
@given(
    slow=st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=12),
    repeats=st.lists(st.tuples(st.integers(0, 11), st.sets(st.sampled_from("abc"))), max_size=3),
    looks=st.integers(1, 4),
)
def test_a_log_that_followed_knows_what_one_that_reads_all_at_once_knows(slow, repeats, looks):
    """The monitor is restarted now and then: it cuts its lines and repeats batches, perhaps with other rows."""
    with tempfile.TemporaryDirectory() as folder:
        monitor = Monitor(Path(folder))
        log = monitor.log()
        plan = list(enumerate(slow))
        for first, other in repeats:
            plan += [(number, other if number == first else slow[number]) for number in range(first, len(slow))]
        for index, (number, choice) in enumerate(plan):
            monitor.batch(number, choice)
            if index % looks == 0:
                log.step()
        settled(log)
        assert log.snapshot().all == settled(monitor.log()).snapshot().all
        assert shown_active(log) == monitor.active()
        counts = log.snapshot().counts
        fired = counts.pop("fired")
        assert counts == {state: sum(one["state"] == state for one in log.snapshot().all) for state in counts}
        assert fired == counts["firing"] + counts["resolved"] == len(monitor.fired())


@settings(max_examples=20)
@given(st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=10), st.data())
def test_what_is_active_is_what_the_state_says_whichever_lines_are_lost(slow, data):
    with tempfile.TemporaryDirectory() as folder:
        monitor = Monitor(Path(folder))
        for number, choice in enumerate(slow):
            monitor.batch(number, choice)
        lines = monitor.file.read_bytes().splitlines(keepends=True) if monitor.file.exists() else []
        monitor.file.write_bytes(b"".join(line for line in lines if data.draw(st.booleans())))
        log = settled(monitor.log())
        assert shown_active(log) == monitor.active()
        assert all(one["reason"] for one in log.snapshot().all)


def test_an_alert_is_one_object_from_pending_to_resolved(tmp_path):
    monitor = Monitor(tmp_path)
    log = monitor.log()
    observed = []
    for number, slow in enumerate([{"b"}, {"b"}, {"b"}, {"b"}, set()]):
        monitor.batch(number, slow)
        assert log.step()
        observed += [one for one in log.snapshot().all if one["rule"] == "Slow"]
    assert [one["state"] for one in observed] == ["pending", "pending", "firing", "firing", "resolved"]
    assert len({one["id"] for one in observed}) == 1 and {one["started"] for one in observed} == {time_text(START)}
    last = observed[-1]
    assert (last["fired"], last["resolved"]) == (time_text(START + 2 * MINUTE), time_text(START + 4 * MINUTE))
    assert last["labels"] == {"podset": "b", "severity": "page"} and last["group"] == "network"
    assert last["quantities"] == {"inbound.p99": [4900.0, 5000.0, 5100.0]} and last["units"] == {"inbound.p99": "us"}
    assert last["link"] == {"query": "inbound", "key": {"podset": "b"}, "at": time_text(START + 2 * MINUTE)}
    assert [one["transition"] for one in last["transitions"]] == ["pending", "firing", "resolved"]
    assert log.step() is False


def test_reasons_say_value_interval_limit_and_certainty_with_units(tmp_path):
    monitor = Monitor(tmp_path)
    log = monitor.log()
    reasons = []
    for number, slow in enumerate([{"b"}, {"b"}, {"b"}, {"b"}, set()]):
        monitor.batch(number, slow)
        log.step()
        reasons += [one["reason"] for one in log.snapshot().all if one["rule"] == "Slow"]
    observed = "inbound p99 5 ms (4.9..5.1), above 4 ms"
    assert reasons[1] == f"{observed}: certain; it fires if this continues"
    assert reasons[2:4] == [f"{observed}: certain"] * 2
    assert reasons[4] == f"{observed}: certain; resolved: inbound p99 900 us"
    (median,) = (one for one in log.snapshot().all if one["rule"] == "Median")
    assert median["reason"] == "inbound p50 2 ms; p50 > 1ms: certain"  # it keeps firing for two minutes
    assert median["condition"] == "p50 > 1ms" and median["quantities_at_end"] == {}


def test_an_alert_has_one_duration_from_its_firing_to_its_end(tmp_path):
    monitor = Monitor(tmp_path)
    log = monitor.log()
    seconds = {"Slow": [], "Median": []}
    for number, slow in enumerate([{"b"}, {"b"}, {"b"}, {"b"}, set()]):
        monitor.batch(number, slow)
        log.step()
        for one in log.snapshot().all:
            seconds[one["rule"]].append((one["state"], one["seconds"]))
    assert seconds["Slow"] == [("pending", 0), ("pending", 60), ("firing", 0), ("firing", 60), ("resolved", 120)]
    assert seconds["Median"][-1] == ("firing", 240.0)  # up to the newest window, though the condition no longer holds
    (slow,) = (one for one in log.snapshot().all if one["rule"] == "Slow")
    assert slow["quantities_at_end"] == {"inbound.p99": [900.0, 900.0, 900.0]}


def test_a_pending_alert_that_never_fires_is_no_alert(tmp_path):
    monitor = Monitor(tmp_path)
    for number, slow in enumerate([{"b"}, set(), {"b"}, {"b"}, {"b"}, set()]):
        monitor.batch(number, slow)
    alerts = settled(monitor.log()).snapshot()
    slow = [one for one in alerts.all if one["rule"] == "Slow"]
    assert [(one["state"], one["fired"] is None) for one in slow] == [("resolved", False), ("inactive", True)]
    assert "before it fired" in slow[1]["reason"]
    assert alerts.counts["inactive"] == 1 and alerts.counts["fired"] == len(monitor.fired())
    listed = alerts.page(AlertsRequest())
    assert listed["total"] == listed["matching"] == len(alerts.all) - 1
    assert [one["id"] for one in alerts.page(AlertsRequest(state="inactive"))["alerts"]] == [slow[1]["id"]]
    assert all(one["state"] != "inactive" for one in (*listed["alerts"], *alerts.active))


def test_quantities_have_the_digits_that_are_known(tmp_path):
    quantities = {"inbound.p99": (4980.0, 5042.2150000000765, 5119.0), "share": (0.1, 0.30000000000000004, 0.4)}
    JsonLinesSink(tmp_path / "alerts.jsonl").write(0, [line(0, "firing", quantities=quantities)])
    (answer,) = settled(AlertLog(tmp_path / "alerts.jsonl", None)).snapshot().all
    assert answer["quantities"] == {"inbound.p99": [4980.0, 5042.215, 5119.0], "share": [0.1, 0.3, 0.4]}


def test_a_state_without_lines_tells_what_is_active(tmp_path):
    monitor = Monitor(tmp_path)
    for number in range(4):
        monitor.batch(number, {"b"})
    log = settled(AlertLog(None, monitor.state_folder, rules=KNOWN, names=NAMES))
    assert shown_active(log) == monitor.active() and log.snapshot().counts["firing"] == 2
    (slow,) = (one for one in log.snapshot().all if one["rule"] == "Slow")
    assert slow["reason"] == "p99 > 4ms; the values are not in alerts.jsonl"
    assert slow["link"]["key"] == {"podset": "b"} and slow["end"] == time_text(START + 3 * MINUTE)


def test_lines_without_a_state_tell_what_is_active(tmp_path):
    monitor = Monitor(tmp_path)
    for number, slow in enumerate([{"a", "b"}, {"a", "b"}, {"a"}, {"a"}]):
        monitor.batch(number, slow)
    log = settled(AlertLog(monitor.file, None))
    assert shown_active(log) == monitor.active()
    assert all(one["link"] is None for one in log.snapshot().all)
    named = settled(AlertLog(monitor.file, None, names=NAMES))
    assert all(one["link"]["key"].keys() == {"podset"} for one in named.snapshot().all)


def test_alerts_of_a_run_that_was_abandoned_are_over(tmp_path):
    old = Monitor(tmp_path)
    for number in range(3, 9):
        old.batch(number, {"a"})
    new = Monitor(tmp_path, "aaaaaaaaaaaa", "other")  # its batches count from 0 again
    for number in range(2):
        new.batch(number, {"b"})
    log = settled(new.log())
    assert {one["labels"]["podset"] for one in log.snapshot().active} == {"b"}
    over = [one for one in log.snapshot().all if one["labels"]["podset"] == "a"]
    assert len(over) == 2 and {one["state"] for one in over} == {"resolved"} and over[0]["resolved"] is None
    assert "no longer active" in over[0]["reason"]


def test_a_torn_last_line_waits_and_damaged_lines_are_counted(tmp_path):
    monitor = Monitor(tmp_path)
    for number in range(3):
        monitor.batch(number, {"a"})
    content = monitor.file.read_bytes()
    bad = [b"no json", b"{}", b"[1]", b'{"batch":1,"rule":5}', content.splitlines()[0].replace(b'"firing"', b'"odd"')]
    bad += [
        content.splitlines()[0].replace(b'"labels":{', b'"labels":[{').replace(b',"annotations"', b'],"annotations"')
    ]
    log = AlertLog(monitor.file, None)
    monitor.file.write_bytes(content[:-20])
    settled(log)
    before = log.snapshot().all
    monitor.file.write_bytes(content)
    settled(log)
    assert len(log.snapshot().all) == len(before) and log.snapshot().all != before and log.snapshot().damaged == 0
    with monitor.file.open("ab") as raw:
        raw.write(b"\n".join(bad) + b"\n\n")
    settled(log)
    assert log.snapshot().damaged == len(set(bad) - {content.splitlines()[0]}) and len(log.snapshot().all) == len(
        before
    )


def test_a_file_that_is_removed_or_replaced_is_noticed(tmp_path):
    monitor = Monitor(tmp_path)
    for number in range(3):
        monitor.batch(number, {"a"})
    log = AlertLog(monitor.file, None)
    settled(log)
    content = monitor.file.read_bytes()
    monitor.file.unlink()
    assert log.step() and log.snapshot().all == ()
    monitor.file.write_bytes(content)
    assert log.step() and len(log.snapshot().all) == 2
    other = tmp_path / "other"
    other.write_bytes(content.replace(b'"podset":"a"', b'"podset":"z"'))
    other.replace(monitor.file)
    assert log.step() and {one["labels"]["podset"] for one in log.snapshot().all} == {"z"}
    with monitor.file.open("r+b") as raw:  # cut and written again between two looks, and longer than before
        raw.truncate(0)
        raw.write(content.replace(b'"podset":"a"', b'"podset":"another"'))
    assert log.step() and {one["labels"]["podset"] for one in log.snapshot().all} == {"another"}


def test_a_damaged_state_is_a_problem_and_what_was_known_stays(tmp_path):
    monitor = Monitor(tmp_path)
    for number in range(3):
        monitor.batch(number, {"a"})
    log = settled(monitor.log())
    before = log.snapshot().all
    (monitor.state_folder / "journal" / "0000000007.json").write_text("{}")
    log.step()
    assert "damaged" in log.problem and log.snapshot().all == before
    (monitor.state_folder / "journal" / "0000000007.json").unlink()
    log.step()
    assert log.problem is None


def line(number: int, transition: str = "resolved", **more) -> Alert:
    labels = {"podset": str(number)}
    end = START + number * MINUTE
    parts = {"id": alert_id("g", "R", labels, transition, end), "rule": "R", "group": "g", "labels": labels}
    parts |= {"transition": transition, "annotations": {"summary": f"podset {number}"}, "start": end - MINUTE}
    parts |= {"end": end, "certainty": "certain", "quantities": {"inbound.p99": (1.0, 2.0, 3.0)}, "count": 7}
    return Alert(**(parts | {"started": end - MINUTE, "fired": end, "batch": number} | more))


def test_of_too_many_alerts_those_that_are_over_longest_are_forgotten(tmp_path):
    file = tmp_path / "alerts.jsonl"
    for number in range(60):
        JsonLinesSink(file).write(number, [line(number, "firing" if number < 5 else "resolved")])
    log = settled(AlertLog(file, None, most=20))
    assert len(log.snapshot().all) == 20
    assert {one["labels"]["podset"] for one in log.snapshot().active} == {"0", "1", "2", "3", "4"}
    assert [one["labels"]["podset"] for one in log.snapshot().all[5:]] == [str(n) for n in range(59, 44, -1)]


def test_what_is_asked_is_filtered_and_paged_with_the_active_ones_first(tmp_path):
    file = tmp_path / "alerts.jsonl"
    kinds = {0: "firing", 1: "pending", 2: "firing"}
    sink = JsonLinesSink(file)
    for number in range(12):
        kind = kinds.get(number, "resolved")
        sink.write(number, [line(number, kind, fired=None if kind == "pending" else START + number * MINUTE)])
    log = settled(AlertLog(file, None, names=NAMES)).snapshot()

    def podsets(**requested):
        return [one["labels"]["podset"] for one in log.page(AlertsRequest(**requested))["alerts"]]

    assert podsets() == ["2", "0", "1", "11", "10", "9", "8", "7", "6", "5", "4", "3"]
    assert podsets(offset=2, limit=3) == ["1", "11", "10"]
    assert podsets(state="firing") == ["2", "0"] and podsets(state="pending") == ["1"]
    assert podsets(search="PODSET 1") == ["1", "11", "10"] and podsets(search="podset=11") == ["11"]
    assert (
        podsets(key={"podset": "7"}) == ["7"]
        and podsets(query="outbound") == []
        and len(podsets(query="inbound")) == 12
    )
    answer = log.page(AlertsRequest(state="resolved", limit=2))
    assert (answer["total"], answer["matching"], len(answer["alerts"])) == (12, 9, 2)
    assert answer["counts"] == {"firing": 2, "pending": 1, "resolved": 9, "inactive": 0, "fired": 11}
    assert [one["transition"] for one in log.transitions("inbound", {"podset": "1"})] == ["pending"]
    json.dumps(log.page(AlertsRequest()), allow_nan=False)


def test_a_fleet_tells_who_violates_and_has_no_link_to_a_key(tmp_path):
    report = FleetReport(12, 40, ("a", "b"))
    alert = line(
        0, "firing", labels={"dc": "x"}, quantities={"share": (0.28, 0.3, 0.325)}, units={"share": "%"}, fleet=report
    )
    JsonLinesSink(tmp_path / "alerts.jsonl").write(0, [alert])
    known = {("g", "R"): KnownRule("p99 > 4ms", ("inbound",), (), 0.25)}
    (answer,) = settled(AlertLog(tmp_path / "alerts.jsonl", None, rules=known, names=NAMES)).snapshot().all
    assert answer["reason"] == "12 of 40 members violate the condition, 30 % (28..32.5), limit 25 %: certain"
    assert answer["link"] is None and answer["queries"] == ["inbound"] and answer["fleet"]["total"] == 40


def test_a_possible_alert_and_unknown_bounds_say_so(tmp_path):
    parts = {
        "certainty": "possible",
        "quantities": {"inbound.p99": (3900.0, 4010.0, float("inf"))},
        "units": {"inbound.p99": "us"},
    }
    JsonLinesSink(tmp_path / "alerts.jsonl").write(0, [line(0, "firing", **parts)])
    known = {("g", "R"): KnownRule("p99 > 4ms", ("inbound",), (Limit("inbound", "p99", 4000.0, ">", "R"),))}
    (answer,) = settled(AlertLog(tmp_path / "alerts.jsonl", None, rules=known)).snapshot().all
    assert answer["reason"] == "inbound p99 4.01 ms (3.9..unknown), perhaps above 4 ms: possible"
    assert answer["quantities"] == {"inbound.p99": [3900.0, 4010.0, None]}


@given(st.floats(1e-9, 1e12), st.floats(0, 0.05), st.sampled_from(["us", "ms", "s", "%", None]))
def test_an_interval_is_rounded_outward(value, width, unit):
    low, high = value * (1 - width), value * (1 + width)
    text = amount(low, value, high, unit)
    scale = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01, "": 1.0}
    displayed = text.split(" (")[0].partition(" ")[2]
    if "(" in text:
        first, last = (float(part) for part in text.split("(")[1].rstrip(")").split(".."))
        stored = scale["" if unit == "%" else unit or ""]
        assert (
            first * scale[displayed] <= low * stored * (1 + 1e-12)
            and high * stored * (1 - 1e-12) <= last * scale[displayed]
        )


def test_no_reason_has_a_value_outside_of_its_interval():
    """Four digits are 1.94 ms over 1.93..1.94."""
    assert amount(1938.0, 1939.6, 1939.9, "us") == "1.9396 ms (1.938..1.9399)"
    assert amount(0.9871, 0.98766, 0.98769, "%") == "98.76 % (98.71..98.77)"


def test_nothing_is_there_yet_and_nothing_is_wrong(tmp_path):
    log = AlertLog(tmp_path / "alerts.jsonl", tmp_path / "state")
    assert log.step() is False and log.snapshot().all == () and log.problem is None
    assert set(log.snapshot().counts.values()) == {0}
