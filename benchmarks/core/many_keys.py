"""How fast are many keys in a table compared with a plain count by minute in Polars, and on two threads?"""

import os
import time
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import aomg
from aomg import Query
from benchmarks.measure import Array, Figure, Timed, pingmesh_values, ratio, take_turns, timed

QUERY = Query("1 hour", "1 minute")
AIMS = {100: 0.5, 10_000: 0.3}
KINDS = ("int64", "string")
EVENTS = 12_000_000
START = 1_767_225_600_000_000  # 2026-01-01 in microseconds
HOUR = 3_600_000_000
MINUTE = HOUR // 60
DISORDER = 2_000_000
SPARSE_KEYS, SPARSE_MINUTES, SPARSE_EVENTS = 489, 6_953, 1_300_000  # 3.4 million results


def run(quick: bool) -> list[Figure]:
    rounds = 2 if quick else 7
    figures = []
    for keys, aim in AIMS.items():
        for kind in KINDS:
            figures += _compared(_events(keys, kind, quick), keys, kind, aim, rounds)
    return [*figures, _to_pandas()]


def cases(quick: bool) -> dict[str, Timed]:
    return {
        f"{keys:,} {kind} keys, {threads} thread{'s' * (threads > 1)}": _timed(keys, kind, quick, threads)
        for keys in AIMS
        for kind in KINDS
        for threads in (1, 2)
    }


def _timed(keys: int, kind: str, quick: bool, threads: int) -> Timed:
    events = _events(keys, kind, quick)
    return timed(lambda: _quantiles(events, threads))


def _compared(events: pa.Table, keys: int, kind: str, aim: float, rounds: int) -> list[Figure]:
    """One thread against Polars on one thread, and two threads against one."""
    frame = _polars().from_arrow(events)
    one, two, *counts = take_turns(
        rounds,
        lambda: _quantiles(events, 1),
        lambda: _quantiles(events, 2),
        lambda: _count(frame, _truncated()),
        lambda: _count(frame, _divided()),
    )
    rival = min(counts, key=min)
    speed, faster = ratio(rival, one), ratio(one, two)
    detail = {"best": speed.best, "median": speed.median, "million_events_a_second": len(events) / min(one) / 1e6}
    what = f"table of {keys:,} {kind} keys, 1 hour by 1 minute"
    return [
        Figure(
            f"{what}, one thread",
            f"{speed}",
            f">= {aim}",
            speed.best >= aim,
            detail,
            against="Polars' group_by(key, minute).len() on one thread",
        ),
        Figure(
            f"{what}, two threads",
            f"{faster}",
            ">= 1.6",
            faster.best >= 1.6,
            {"best": faster.best, "median": faster.median},
            against="one thread",
        ),
    ]


def _quantiles(events: pa.Table, threads: int) -> pa.Table:
    pa.set_cpu_count(threads)
    return aomg.quantiles(events, QUERY, value="rtt_us", time="ts", by="podset", threads=threads)


@cache
def _polars() -> Any:
    os.environ["POLARS_MAX_THREADS"] = "1"  # it is read at the import; nothing else here uses Polars
    import polars

    if polars.thread_pool_size() != 1:
        raise RuntimeError("Polars was imported before and has several threads; run this benchmark alone")
    return polars


def _truncated() -> Any:
    return _polars().col("ts").dt.truncate("1m")


def _divided() -> Any:
    return (_polars().col("ts").to_physical() // MINUTE).alias("minute")


def _count(frame: Any, minute: Any) -> Any:
    return frame.lazy().group_by("podset", minute).len().collect()


@cache
def _events(keys: int, kind: str, quick: bool) -> pa.Table:
    """Two hours of events of random keys, each up to two seconds out of order."""
    size = EVENTS // 10 if quick else EVENTS
    random = np.random.default_rng(keys)
    key = random.integers(0, keys, size)
    times = START + np.arange(size) * (2 * HOUR) // size + random.integers(0, DISORDER, size)
    return _table(_keys(key, keys, kind), times, pingmesh_values(size))


def _keys(key: Array, keys: int, kind: str) -> pa.Array:
    if kind == "int64":
        return pa.array(key)
    names = pa.array([f"podset-{i:05d}" for i in range(keys)])
    return pa.DictionaryArray.from_arrays(pa.array(key), names).cast(pa.string())


def _table(keys: pa.Array, times: Array, values: Array) -> pa.Table:
    return pa.table({"podset": keys, "ts": pa.array(times, pa.timestamp("us", tz="UTC")), "rtt_us": values})


def _to_pandas() -> Figure:
    """Sparse keys over days: from events to a flat frame of pandas."""
    random = np.random.default_rng(7)
    times = START + np.sort(random.integers(0, SPARSE_MINUTES * MINUTE, SPARSE_EVENTS))
    keys = _keys(random.integers(0, SPARSE_KEYS, SPARSE_EVENTS), SPARSE_KEYS, "string")
    events = _table(keys, times, pingmesh_values(SPARSE_EVENTS))
    pa.set_cpu_count(os.cpu_count() or 1)
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        windows = aomg.quantiles(events, QUERY, value="rtt_us", time="ts", by="podset")
        frame = aomg.flat_table(windows).to_pandas()
        best = min(best, time.perf_counter() - started)
    return Figure(
        f"{SPARSE_KEYS} keys, {len(frame) / 1e6:.1f} million results, to a frame of pandas",
        f"{best:.1f} s",
        "< 20 s",
        best < 20,
        {"best_seconds": best, "results": len(frame)},
        unit="seconds",
    )
