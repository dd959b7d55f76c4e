"""How fast are the streams generated, on one thread?"""

from aomg.streams import BLOCK, ar1, drift, named, pingmesh, with_bursts
from benchmarks.measure import LARGE, SMALL, Figure, memory_sum, pingmesh_values, ratio, take_turns

PLAIN = ("pingmesh", "search", "normal", "uniform", "taxi", "host_resources")
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
    streams = {name: named(name) for name in PLAIN} | OTHERS
    values = pingmesh_values(SMALL)
    adding, *generating = take_turns(
        rounds,
        lambda: memory_sum(values),
        *(lambda stream=stream: _generate(stream, events) for stream in streams.values()),
    )
    figures = []
    for name, times in zip(streams, generating, strict=True):
        speed = events / min(times) / 1e6
        found = ratio(adding, times, events / values.size)
        plain = name in PLAIN
        figures.append(
            Figure(
                f"generating {name}, million events a second",
                f"{speed:.0f}; {found.best:.3f} of a sum",
                f">= {AIM:.0f}" if plain else "",
                speed >= AIM if plain else None,
                {"million_events_a_second": speed, "of_a_sum": found.best, "median": found.median},
            )
        )
    return figures


def _generate(stream, events: int) -> None:
    for _ in stream.chunks(events, PART):
        pass
