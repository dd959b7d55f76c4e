"""What does one hot key with 90 % of the events cost on Spark, 1 hour by 1 minute, 100 keys?"""

from benchmarks.measure import Figure, ratio
from benchmarks.spark.race import Rival, compared, default_query, in_batch, in_stream, pingmesh_events, race

AIM = 0.5
SHARE = 0.9


def run(quick: bool) -> list[Figure]:
    rivals = [
        Rival("even", default_query, pingmesh_events(100, quick)),
        Rival("one hot key", default_query, pingmesh_events(100, quick, hot=SHARE)),
    ]
    figures = []
    for mode, timed, rounds in (("batch", in_batch, 5), ("stream", in_stream, 3)):
        times = race(f"{mode}, one hot key", 1 if quick else rounds, rivals, timed)
        setting = f"{mode}, 1 hour by 1 minute, 100 keys, one with 90 % of the events"
        figures.append(compared(setting, "even keys", ratio(*times), AIM, rivals, times))
    return figures
