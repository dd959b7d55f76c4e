import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from web.stored_rows import MINUTE, NOON, contents, contents_of_rows, row, table

from aomg.web.memory.history import History


@st.composite
def some_rows(draw, most=25):
    """Rows of two queries, few keys and ends, some written again by later batches; some lack an estimate."""
    result = []
    for query, end, batch in draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.integers(0, 4)))):
        for key in draw(st.lists(st.sampled_from(["1", "2", "10", "", "x"]), unique=True, max_size=4)):
            low, width = draw(st.floats(0, 1e6)), draw(st.just(0.0) | st.floats(0, 1e3))
            names = draw(st.sampled_from([("p50", "p99"), ("p99", "p50"), ("p99",), ("below_500", "p50")]))
            method = draw(st.sampled_from(["band", "exact", "certified", "mean", None]))
            estimates = dict.fromkeys(names, (low, low + width / 2, low + width, method))
            more = {"count": draw(st.integers(0, 1 << 40)), "burst": draw(st.booleans())}
            result.append(row(key, end, batch, query, estimates=estimates, **more))
    unique = {(one["query"], one["labels"][0], one["end"], one["batch"]): one for one in result}
    return list(unique.values())[:most]


@given(rows=some_rows(), data=st.data())
def test_whatever_the_order_in_which_rows_come_the_newest_batch_counts(rows, data):
    shuffled = data.draw(st.permutations(rows))
    history = History()
    index = 0
    while index < len(shuffled):
        size = data.draw(st.integers(1, 6))
        history.add(table(*shuffled[index : index + size]))
        index += size
    assert contents(history) == contents_of_rows(table(*rows))
    assert history.bytes() > 0 or not rows
    assert not history.add(table(*rows)), "what is known changes nothing"


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(numbers, numbers, numbers).map(sorted), min_size=1, max_size=20))
def test_bounds_hold_after_they_were_rounded(bounds):
    rows = [
        row(str(index), estimates={"p99": (low, value, high)}, min=low, max=high)
        for index, (low, value, high) in enumerate(bounds)
    ]
    history = History()
    history.add(table(*rows))
    query = history.snapshot()["inbound"]
    window = query.newest
    value, low, high = window.numbers[:, query.estimate("p99")].T
    assert window.numbers.dtype == np.float32
    assert (low <= value).all() and (value <= high).all()
    for number, (exact_low, exact, exact_high) in enumerate(bounds):
        index = window.row(query.keys.number({"podset": str(number)}))
        assert float(low[index]) <= exact_low and exact_high <= float(high[index])
        with np.errstate(over="ignore"):
            assert value[index] == np.float32(exact)
            assert float(np.nextafter(low[index], np.float32(np.inf))) > exact_low, "and no wider than they must be"
            assert float(np.nextafter(high[index], np.float32(-np.inf))) < exact_high
        assert float(window.minimum[index]) <= exact_low and exact_high <= float(window.maximum[index])


def test_a_row_that_lacks_numbers_is_kept_without_them():
    history = History()
    lacking = row("2", estimates={"p50": (None, None, None)}, count=None, min=None, max=None, burst=None)
    history.add(table(row("1"), lacking, row("3", query=None), row("4", estimates={})))
    query = history.snapshot()["inbound"]
    window = query.newest
    assert len(window) == 3 and len(history.snapshot()) == 1
    index = window.rows([query.keys.number({"podset": name}) for name in "24"])
    assert np.isnan(window.numbers[index]).all() and window.count[index].tolist() == [0, 10]
    assert np.isnan(window.minimum[index[0]]) and query.methods[window.methods[index[0], 0]] == ""


@given(
    windows=st.lists(st.integers(0, 30), unique=True, min_size=1, max_size=12),
    keys=st.integers(1, 5),
    room=st.integers(0, 14),
    data=st.data(),
)
def test_the_newest_windows_that_fit_stay_whatever_the_order(windows, keys, room, data):
    """In any order, and also if a window comes in two halves."""
    halves = [(end, half) for end in windows for half in (0, 1)]
    one = History()
    one.add(table(*(row(str(key), 0) for key in range(keys))))
    more = History()
    more.add(table(*(row(str(key), end) for key in range(keys) for end in (0, 1))))
    a_window = more.bytes() - one.bytes()
    most = one.bytes() + room * a_window
    history = History(most)
    for end, half in data.draw(st.permutations(halves)):
        part = [row(str(key), end) for key in range(keys) if key % 2 == half]
        before = history.snapshot()
        changed = history.add(table(*part))
        assert changed == (history.snapshot() is not before)
        assert history.bytes() <= most
    stored = [(window.end - NOON) // MINUTE for window in history.snapshot()["inbound"].windows]
    assert stored == sorted(windows)[-(room + 1) :]
    assert all(len(window) == keys for window in history.snapshot()["inbound"].windows)


def test_the_newest_window_stays_however_large_it_is():
    history = History(most_bytes=1)
    history.add(table(*(row(str(key), end, query=query) for key in range(9) for end in (1, 2, 3) for query in "ab")))
    assert [len(query.windows) for query in history.snapshot().values()] == [1, 1]
    assert history.snapshot()["a"].newest.end == NOON + 3 * MINUTE
    assert not history.add(table(row(end=2))), "what was dropped does not come again"
    assert history.floor == NOON + 2 * MINUTE


def test_keys_that_are_in_no_window_any_more_go():
    """Hundreds of windows of keys that never come again, and one key that is always there."""
    history = History(most_bytes=100_000)
    most, renumbered = 0, 0
    for end in range(300):
        rows = [row("always", end, count=end), *(row(f"pod {end} {index}", end) for index in range(10))]
        history.add(table(*rows))
        query = history.snapshot()["inbound"]
        renumbered += len(query.keys) < most
        most = max(most, len(query.keys))
        assert history.bytes() <= 100_000
        for window in (query.windows[0], query.newest):
            named = {query.keys.labels(key)["podset"] for key in window.keys.tolist()}
            number = (window.end - NOON) // MINUTE
            assert named == {"always", *(f"pod {number} {index}" for index in range(10))}
            always = window.row(query.keys.number({"podset": "always"}))
            assert window.count[always] == number
    used = sum(len(window) - 1 for window in query.windows) + 1
    assert 5 < len(query.windows) < 60 and renumbered
    assert used <= len(query.keys) <= most <= 2 * used


def test_a_snapshot_never_changes():
    history = History(most_bytes=100_000)
    history.add(table(row("1"), row("2")))
    before = history.snapshot()
    query, window = before["inbound"], before["inbound"].newest
    stored = contents(history)
    for end in range(200):
        history.add(table(row("1", end, batch=1, count=99), *(row(f"{end} {index}", end) for index in range(5))))
    assert history.snapshot()["inbound"].windows[0].end > window.end
    assert before == {"inbound": query} and query.windows == (window,) and len(query.keys) == 2
    assert window.count.tolist() == [10, 10] and query.keys.labels(1) == {"podset": "2"}
    frozen = History()
    frozen._snapshot = before
    assert contents(frozen) == stored
    for part in window.parts():
        with pytest.raises(ValueError, match="read-only"):
            part[:] = 0


def test_others_read_whole_windows_while_one_adds():
    """Every window that is seen is whole: all keys, all of one batch, whose number is in every count."""
    history, ended, wrong, looked = History(most_bytes=100_000), threading.Event(), [], []

    def look():
        while not ended.is_set():
            for query in history.snapshot().values():
                looked.append(1)
                for window in query.windows[-20:]:
                    names = {query.keys.labels(key)["podset"] for key in window.keys.tolist()}
                    if len(names) != 20 or set(window.count.tolist()) != {(window.end - NOON) // MINUTE}:
                        wrong.append((window.end, names))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for end in range(100):
            history.add(table(*(row(f"{end // 10} {index}", end, count=end) for index in range(20))))
    finally:
        ended.set()
        reader.join()
    assert not wrong and looked


def test_estimates_that_come_later_get_their_place():
    history = History()
    history.add(table(row(end=1, estimates={"p99": (1, 2, 3, "band")})))
    history.add(table(row(end=2, estimates={"below_500": (0.1, 0.2, 0.3), "p99_9": (4, 5, 6), "p50": (0, 1, 2)})))
    query = history.snapshot()["inbound"]
    assert query.estimates == ("p50", "p99", "p99_9", "below_500")
    first, second = query.windows
    assert first.numbers[0, query.estimate("p99")].tolist() == [2, 1, 3] and np.isnan(first.numbers[0, 0]).all()
    assert query.methods[first.methods[0, 1]] == "band" and query.methods[second.methods[0, 0]] == ""
    assert second.numbers[0, query.estimate("p99_9")].tolist() == [5, 4, 6]
    with pytest.raises(KeyError):
        query.estimate("p10")
    together = History()
    together.add(table(row(end=2, estimates={"below_500": (0.1, 0.2, 0.3), "p99_9": (4, 5, 6), "p50": (0, 1, 2)})))
    together.add(table(row(end=1, estimates={"p99": (1, 2, 3, "band")})))
    assert history.bytes() == together.bytes(), "the room that they take is counted"


def test_labels_are_called_as_the_newest_rows_call_them():
    history = History()
    history.add(table(row("1", end=2, names=("pod",))))
    history.add(table(row("2", end=1, names=("podset",))))
    assert history.snapshot()["inbound"].keys.names == ("pod",)
    history.add(table(row("2", end=3, names=("rack",))))
    assert history.snapshot()["inbound"].keys.names == ("rack",)
    history.add(table(row((), end=3, names=(), query="all")))
    assert history.snapshot()["all"].keys.labels(0) == {}


def test_rows_are_found_by_key():
    history = History()
    history.add(table(*(row(str(index), end) for end in (0, 1) for index in range(end, 9, 2))))
    query = history.snapshot()["inbound"]
    window = query.newest
    numbers = [query.keys.number({"podset": str(index)}) for index in range(9)]
    result = window.rows(np.array(numbers))
    assert (result >= 0).tolist() == [index % 2 == 1 for index in range(9)]
    assert [window.row(number) for number in numbers] == [index if index >= 0 else None for index in result.tolist()]
    assert window.row(1000) is None and window.rows([1000]).tolist() == [-1]


@given(
    rows=some_rows(),
    first=st.integers(0, 4),
    last=st.integers(0, 4),
    ends=st.tuples(st.integers(0, 5), st.integers(0, 5)),
)
def test_rows_that_are_forgotten_go_and_no_others(rows, first, last, ends):
    """Where no row had taken the place of another one."""
    once = {(one["query"], one["labels"][0], one["end"]): one for one in rows}
    history = History()
    history.add(table(*once.values()))
    span = (NOON + ends[0] * MINUTE, NOON + ends[1] * MINUTE)
    history.forget((first, last), span)
    stored = [one for one in once.values() if not (first <= one["batch"] <= last and span[0] <= one["end"] < span[1])]
    assert contents(history) == contents_of_rows(table(*stored))
    assert not history.overrode
    fresh = History()
    fresh.add(table(*once.values()))
    gone = [one for one in once.values() if one not in stored]
    fresh.add(table(*gone), instead_of=((first, last), span))
    assert contents(fresh) == contents_of_rows(table(*once.values()))


def test_exact_is_told_only_where_the_stored_ends_are_equal_also_of_shares():
    """In single precision the ends of 0.1 differ, and those of two close numbers may be the same."""
    close = np.nextafter(0.1, 1)
    estimates = {
        "p50": (0.1, 0.1, 0.1, "exact"),
        "p90": (0.1, 0.1, close, "exact"),
        "below_5": (0.1, 0.1, 0.1, None),
        "below_6": (0.1, 0.1, close, None),
    }
    history = History()
    history.add(table(row(estimates=estimates)))
    query = history.snapshot()["inbound"]
    methods = [query.methods[method] for method in query.newest.methods[0]]
    assert dict(zip(query.estimates, methods, strict=True)) == {
        "p50": "exact",
        "p90": "certified",
        "below_5": "exact",
        "below_6": "",
    }
