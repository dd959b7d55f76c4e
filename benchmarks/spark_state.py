"""How much does a stream on Spark keep for each key, and does it stop growing?

Bytes of the values in the checkpoint: the tallies of open sub-windows, the summaries of live ones and their sums.
Growth is looked for over ten windows of 2 minutes by 10 seconds, after ten others.
"""

import shutil
from functools import partial
from pathlib import Path

from pyspark.sql import functions as f

from aomg import Query
from aomg.spark.stream.summaries import maps_of
from benchmarks.measure import Figure
from benchmarks.spark import QUERY, Data, default_query, new_folder, pingmesh_events, run_stream, say, spark

AIM = 0.02
SHORT = QUERY.replace(size="2 minutes", period="10 seconds")


def run(quick: bool) -> list[Figure]:
    figures = []
    for keys in (100, 10_000):
        data = pingmesh_events(keys, quick)
        kept = _kept(data, keys)
        say(f"{keys:,} keys, 1 hour by 1 minute: {kept}")
        before, after = _growth(data, keys)
        growth = after["total"] / before["total"] - 1
        say(f"{keys:,} keys, 2 minutes by 10 seconds: {before}, ten windows later {after}")
        figures += [
            Figure(
                f"state of a stream for each key, 1 hour by 1 minute, {keys:,} keys",
                f"{kept['total']:,.0f} bytes, {kept['open']:,.0f} of them of open sub-windows",
                detail={"bytes_a_key": kept, "events_a_key_and_sub_window": data.events / keys / 120},
            ),
            Figure(
                f"growth of the state over ten windows, 2 minutes by 10 seconds, {keys:,} keys",
                f"{100 * growth:+.1f} % (from {before['total']:,.0f} bytes for each key)",
                "< 2 %",
                growth < AIM,
                {"growth": growth, "bytes_a_key_before": before, "bytes_a_key_after": after},
            ),
        ]
    return figures


def _kept(data: Data, keys: int) -> dict[str, float]:
    """Bytes for each key after 80 minutes."""
    checkpoint = new_folder("state")
    run_stream(default_query(data.part("part-0[0-7].parquet").stream()), checkpoint)
    return _bytes(checkpoint, keys, QUERY)


def _growth(data: Data, keys: int) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes for each key after two files, each of which is five windows long, and after two more."""
    seen, checkpoint = new_folder("seen"), new_folder("state")
    plan = partial(default_query, query=SHORT)
    found = []
    for files in ("part-0[01].parquet", "part-0[23].parquet"):
        for path in data.part(files).paths:
            shutil.copy2(path, seen)
        run_stream(plan(Data(seen).stream()), checkpoint)
        found.append(_bytes(checkpoint, keys, SHORT))
    return found[0], found[1]


def _bytes(checkpoint: Path, keys: int, query: Query) -> dict[str, float]:
    found = {}
    for variable in (*maps_of(query), "open"):
        state = spark().read.format("statestore").option("stateVarName", variable).load(str(checkpoint))
        total = state.agg(f.coalesce(f.sum(f.length("user_map_value.content")), f.lit(0))).first()
        found[variable] = total[0] / keys
    return {"total": sum(found.values()), **found}
