import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.streams import Incident, bursty_tail, podsets, switch_fault

START = np.datetime64("2024-05-01T00:00:00", "us")
SECONDS = np.timedelta64(1_000_000, "us")
FAULT = switch_fault(3, START + 10 * SECONDS, START + 20 * SECONDS)
TAIL = bursty_tail(7, START + 15 * SECONDS, START + 25 * SECONDS, share=0.01)
STREAM = podsets(n=10, rate=20_000, incidents=[FAULT, TAIL])
TOTAL = 700_000  # 35 seconds


@pytest.fixture(scope="module")
def events() -> dict[str, np.ndarray]:
    return arrays(STREAM.take(TOTAL))


@pytest.fixture(scope="module")
def calm() -> dict[str, np.ndarray]:
    return arrays(STREAM.calm.take(TOTAL))


def arrays(table) -> dict[str, np.ndarray]:
    return {name: table[name].to_numpy() for name in table.column_names}


def touched(events, incident) -> np.ndarray:
    """By hand, not by Incident.touches."""
    ours = np.zeros(events["ts"].size, dtype=bool)
    for podset in incident.podsets:
        ours |= (events["src_podset"] == podset) | (events["dst_podset"] == podset)
    return ours & (events["ts"] >= incident.start) & (events["ts"] < incident.end)


def p99(values: np.ndarray) -> float:
    return float(np.quantile(values, 0.99))


def test_a_switch_fault_raises_all_of_a_podsets_latency_and_nothing_else():
    faulty = podsets(n=10, rate=20_000, incidents=[FAULT])
    events, calm = arrays(faulty.take(TOTAL)), arrays(faulty.calm.take(TOTAL))
    during = touched(events, FAULT)
    assert during.sum() > 30_000
    assert np.array_equal(events["rtt_us"][during], 3 * calm["rtt_us"][during])
    assert np.array_equal(events["rtt_us"][~during], calm["rtt_us"][~during])


def test_a_bursty_tail_raises_a_podsets_largest_values_and_nothing_else():
    bursty = podsets(n=10, rate=20_000, incidents=[TAIL])
    events, calm = arrays(bursty.take(TOTAL)), arrays(bursty.calm.take(TOTAL))
    during = touched(events, TAIL)
    raised = events["rtt_us"] != calm["rtt_us"]
    assert not raised[~during].any()
    assert raised[during].mean() == pytest.approx(0.01, rel=0.15)
    assert np.array_equal(events["rtt_us"][raised], 10 * calm["rtt_us"][raised])
    assert calm["rtt_us"][raised].min() >= calm["rtt_us"][during & ~raised].max()


def test_two_incidents_at_once_both_have_their_effect(events, calm):
    both = touched(events, FAULT) & touched(events, TAIL)
    factors = events["rtt_us"][both] / calm["rtt_us"][both]
    assert set(factors.tolist()) == {3.0, 30.0}


def test_times_and_podsets_are_those_of_the_calm_stream(events, calm):
    for column in ("ts", "src_podset", "dst_podset"):
        assert np.array_equal(events[column], calm[column])


def test_the_incident_tells_the_truth_about_each_event(events):
    for incident in STREAM.incidents:
        affected = incident.touches(events["ts"], events["src_podset"], events["dst_podset"])
        assert np.array_equal(affected, touched(events, incident))


@pytest.mark.parametrize("direction", ["src_podset", "dst_podset"])
def test_a_faulty_switch_passes_four_milliseconds_in_both_directions_and_others_do_not(direction):
    stream = podsets(n=20, rate=20_000, incidents=[switch_fault(6, START, START + 60 * SECONDS)])
    events = arrays(stream.take(1_000_000))
    slow = [podset for podset in range(20) if p99(events["rtt_us"][events[direction] == podset]) > 4_000]
    assert slow == [6]


def test_a_bursty_tail_shows_at_the_thousandth_and_not_at_the_hundredth():
    stream = podsets(n=4, rate=20_000, incidents=[bursty_tail(1, START, START + 60 * SECONDS)])
    events, calm = arrays(stream.take(800_000)), arrays(stream.calm.take(800_000))
    own = events["src_podset"] == 1
    assert p99(events["rtt_us"][own]) == p99(calm["rtt_us"][own])
    thousandth = [np.quantile(part["rtt_us"][own], 0.999) for part in (events, calm)]
    assert thousandth[0] > 5 * thousandth[1]


def test_calm_round_trips_are_those_of_pingmesh(calm):
    for phi, value in {0.5: 798, 0.97: 1_516, 0.99: 1_874}.items():
        assert np.quantile(calm["rtt_us"], phi) == pytest.approx(value, rel=0.02)


def test_every_podset_probes_every_other_equally_often(events):
    pairs = np.bincount(10 * events["src_podset"] + events["dst_podset"], minlength=100)
    assert np.abs(pairs / (TOTAL / 100) - 1).max() < 0.06


def test_events_arrive_at_the_rate_and_at_most_the_disorder_late(events):
    arrival = START + 1 * SECONDS + (np.arange(TOTAL) * 50).astype("timedelta64[us]")
    delay = arrival - events["ts"]
    assert delay.min() >= np.timedelta64(0, "us") and delay.max() < SECONDS
    assert np.median(delay) <= SECONDS / 16
    assert (np.diff(events["ts"]) < np.timedelta64(0, "us")).mean() > 0.1
    assert events["ts"].min() >= START


def test_without_disorder_times_ascend():
    times = podsets(disorder=0.0).take(10_000)["ts"].to_numpy()
    assert times[0] == START and (np.diff(times) > np.timedelta64(0, "us")).all()


def test_times_are_utc():
    assert str(podsets().take(1)["ts"].type) == "timestamp[us, tz=UTC]"


@given(start=st.integers(0, TOTAL - 100_000), n=st.integers(0, 100_000))
def test_a_slice_has_its_incidents_wherever_the_cut_is(events, start, n):
    part = arrays(STREAM.take(n, start))
    assert all(np.array_equal(part[column], events[column][start : start + n]) for column in events)


def test_the_first_ten_million_events_hold_both_of_the_usual_incidents():
    stream = podsets()
    last = stream.take(1, 10_000_000 - 1)["ts"].to_numpy()[0]
    assert [incident.kind for incident in stream.incidents] == ["switch fault", "bursty tail"]
    assert all(incident.end < last for incident in stream.incidents)
    middle = stream.take(60_000, 300 * 10_000)  # minute 5
    raised = pc.not_equal(middle["rtt_us"], stream.calm.take(60_000, 300 * 10_000)["rtt_us"]).to_numpy()
    assert raised.any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"rate": 0}, "rate is 0"),
        ({"disorder": -1}, "disorder is -1"),
        ({"start": "noon"}, "start is 'noon'"),
        ({"n": 3, "incidents": [FAULT]}, "podset 3; there are 0 to 2"),
    ],
)
def test_what_cannot_be_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        podsets(**wrong)


def test_an_incident_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError, match="ends after it starts"):
        Incident("switch fault", (1,), START, START, 3)


def test_an_incident_reads_as_a_sentence():
    text = "switch fault of podset 3, 2024-05-01T00:00:10 to 2024-05-01T00:00:20 UTC: all values times 3"
    assert str(FAULT) == text
