"""The LRU cache: bounded, thread-safe, and every value computed once."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aomg.web.lru_cache import LruCache


def test_the_least_recently_used_value_is_evicted():
    cache = LruCache(2)
    computed = []

    def get(key):
        return cache.get(key, lambda: computed.append(key) or key)

    for key in ("a", "b", "a", "c", "a", "b"):
        assert get(key) == key
    assert computed == ["a", "b", "c", "b"]
    assert len(cache) == 2


def test_threads_that_request_a_key_at_the_same_time_share_one_computation():
    cache, computed_by, values = LruCache(4), [], []
    start = threading.Barrier(8)

    def compute():
        computed_by.append(threading.get_ident())
        time.sleep(0.05)
        return object()

    def request():
        start.wait(10)
        values.append(cache.get("key", compute))

    threads = [threading.Thread(target=request, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(computed_by) == 1
    assert len(values) == 8 and len(set(map(id, values))) == 1


def test_an_error_is_raised_and_not_stored():
    cache = LruCache(4)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 // 0)
    assert cache.get("key", lambda: "fine") == "fine"


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5000)), max_size=60), st.integers(1, 8))
def test_both_bounds_hold(requests, max_entries):
    cache = LruCache(max_entries, 20_000, len)
    for name, size in requests:
        assert cache.get((name, size), lambda name=name, size=size: bytes([name]) * size) == bytes([name]) * size
        assert sum(map(len, cache._values.values())) <= 20_000
        assert len(cache) <= max_entries
