"""Does a longer window cost speed on Spark? Period 1 minute, size 1 minute to 24 hours, 100 keys.

The events span 36 hours. Of the twelve micro-batches of a stream the last four are timed, when 24 hours are full.
"""

from functools import partial

from benchmarks.measure import Figure
from benchmarks.spark import (
    QUERY,
    Rival,
    default_query,
    in_batch,
    in_stream,
    pingmesh_events,
    race,
    speeds,
)

AIM = 0.85
SIZES = ("1 minute", "1 hour", "24 hours")


def run(quick: bool) -> list[Figure]:
    data = pingmesh_events(100, quick, hours=36)
    rivals = [Rival(size, partial(default_query, query=QUERY.replace(size=size)), data) for size in SIZES]
    figures = []
    for mode, timed in (("batch", in_batch), ("stream", partial(in_stream, steady=1 / 3))):
        times = race(f"{mode}, size of the window", 1 if quick else 3, rivals, timed)
        best = [min(seconds) for seconds in times]
        found = best[0] / max(best[1:])
        figures.append(
            Figure(
                f"{mode}, period 1 minute, 100 keys: slower of sizes 1 hour and 24 hours / size 1 minute",
                f"{found:.2f} (1 hour {best[0] / best[1]:.2f}, 24 hours {best[0] / best[2]:.2f})",
                f">= {AIM}",
                found >= AIM,
                {"slowest_over_first": found, **speeds(rivals, times)},
            )
        )
    return figures
