"""How much state does a stream on Spark need per key, and does it stop growing?

Counts the bytes of the values in the checkpoint: tallies of open sub-windows, live summaries and their sums. Growth is
measured over ten windows of 2 minutes by 10 seconds, after ten others.
"""

import shutil
from functools import partial
from pathlib import Path

from pyspark.sql import functions as f

from aomg import Query
from aomg.spark.stream.summaries import maps_of
from benchmarks.measure import Figure
from benchmarks.spark.race import QUERY, Data, default_query, log, new_folder, pingmesh_events, run_stream, spark

AIM = 0.02
SHORT = QUERY.replace(size="2 minutes", period="10 seconds")


def run(quick: bool) -> list[Figure]:
    figures = []
    for keys in (100, 10_000):
        data = pingmesh_events(keys, quick)
        stored = _stored(data, keys)
        log(f"{keys:,} keys, 1 hour by 1 minute: {stored}")
        before, after = _growth(data, keys)
        growth = after["total"] / before["total"] - 1
        log(f"{keys:,} keys, 2 minutes by 10 seconds: {before}, ten windows later {after}")
        figures += [
            Figure(
                f"state of a stream per key, 1 hour by 1 minute, {keys:,} keys",
                f"{stored['total']:,.0f} bytes, {stored['open']:,.0f} of them for open sub-windows",
                detail={"bytes_a_key": stored, "events_a_key_and_sub_window": data.events / keys / 120},
                unit="bytes",
            ),
            Figure(
                f"growth of the state over ten windows, 2 minutes by 10 seconds, {keys:,} keys",
                f"{100 * growth:+.1f} %",
                "< 2 %",
                growth < AIM,
                {"growth": growth, "bytes_a_key_before": before, "bytes_a_key_after": after},
                "%",
                f"ten windows earlier: {before['total']:,.0f} bytes per key",
            ),
        ]
    return figures


def _stored(data: Data, keys: int) -> dict[str, float]:
    """Return the bytes per key after 80 minutes."""
    checkpoint = new_folder("state")
    run_stream(default_query(data.part("part-0[0-7].parquet").stream()), checkpoint)
    return _bytes(checkpoint, keys, QUERY)


def _growth(data: Data, keys: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the bytes per key after two files, each five windows long, and after two more."""
    folder, checkpoint = new_folder("growth"), new_folder("state")
    plan = partial(default_query, query=SHORT)
    stored = []
    for files in ("part-0[01].parquet", "part-0[23].parquet"):
        for path in data.part(files).paths:
            shutil.copy2(path, folder)
        run_stream(plan(Data(folder).stream()), checkpoint)
        stored.append(_bytes(checkpoint, keys, SHORT))
    return stored[0], stored[1]


def _bytes(checkpoint: Path, keys: int, query: Query) -> dict[str, float]:
    stored = {}
    for variable in (*maps_of(query), "open"):
        state = spark().read.format("statestore").option("stateVarName", variable).load(str(checkpoint))
        total = state.agg(f.coalesce(f.sum(f.length("user_map_value.content")), f.lit(0))).first()
        stored[variable] = total[0] / keys
    return {"total": sum(stored.values()), **stored}
