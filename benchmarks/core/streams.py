"""How fast are streams generated, on one thread?"""

from aomg.streams import BLOCK, ar1, drift, named, pingmesh, with_bursts
from benchmarks.measure import LARGE, SMALL, Figure, memory_sum, pingmesh_values, ratio, take_turns

WITH_AIM = ("pingmesh", "search", "normal", "uniform", "taxi", "host_resources")
OTHERS = {
    "ar1(0.9)": ar1(0.9),
    "pingmesh with bursts": with_bursts(pingmesh(), 131_072, 16_384),
    "pingmesh with drift": drift(pingmesh()),
    "podsets": named("podsets"),
}
AIM = 50.0  # million events a second
PART = 16 * BLOCK


def run(quick: bool) -> list[Figure]:
    events, rounds = (SMALL // 4, 3) if quick else (LARGE // 2, 9)
    streams = {name: named(name) for name in WITH_AIM} | OTHERS
    values = pingmesh_values(SMALL)
    adding, *generating = take_turns(
        rounds,
        lambda: memory_sum(values),
        *(lambda stream=stream: _generate(stream, events) for stream in streams.values()),
    )
    figures = []
    for name, times in zip(streams, generating, strict=True):
        speed = events / min(times) / 1e6
        of_sum = ratio(adding, times, events / values.size)
        has_aim = name in WITH_AIM
        figures.append(
            Figure(
                f"generate {name}",
                f"{speed:.0f} million events/s",
                f">= {AIM:.0f}" if has_aim else "",
                speed >= AIM if has_aim else None,
                {"million_events_a_second": speed, "of_a_sum": of_sum.best, "median": of_sum.median},
                "million events/s",
                f"the fastest sum: {of_sum.best:.3f} of its speed",
            )
        )
    return figures


def _generate(stream, events: int) -> None:
    for _ in stream.chunks(events, PART):
        pass
