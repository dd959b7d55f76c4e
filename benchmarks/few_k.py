"""What does few-k merging cost in paper mode, 100K by 1K, beside what the paper measured?

Tails from 0.99 on are kept, and the same 100,000 values come again and again, out of a cache. `aomg evaluate fewk_cost`
has tails for 0.999 alone, too, as the paper describes it, and values that are new.
"""

from aomg import FewK, Operator, Query
from benchmarks.measure import SMALL, Figure, memory_sum, pingmesh_values, ratio, take_turns

PAPER = {0.2: 9.0, 1.0: 21.2}


def run(quick: bool) -> list[Figure]:
    events, rounds = 100_000, 5 if quick else 31
    values = pingmesh_values(SMALL)
    part = values[:events]
    queries = [Query.paper(100_000, 1_000)]
    queries += [Query.paper(100_000, 1_000, few_k=FewK(fraction=fraction)) for fraction in PAPER]
    operators = [Operator(query) for query in queries]
    for operator in operators:
        operator.push(values[:100_000])
    pushes = [lambda operator=operator: operator.push(part) for operator in operators]
    adding, plain, *merging = take_turns(rounds, lambda: memory_sum(values), *pushes)
    figures = []
    for (fraction, paper), times in zip(PAPER.items(), merging, strict=True):
        found = ratio(plain, times)
        figures.append(
            Figure(
                f"cost of few-k merging at fraction {fraction}, tails from {queries[1].few_k.high:g}, paper mode, "
                "100K by 1K, the same window again and again",
                f"{100 * (1 - found.best):.1f} % (median {100 * (1 - found.median):.1f} %)",
                f"the paper: {paper} %",
                None,
                {
                    "cost": 1 - found.best,
                    "median": 1 - found.median,
                    "million_events_a_second": events / min(times) / 1e6,
                },
            )
        )
    speed = events / min(plain) / 1e6
    figures.append(
        Figure(
            "paper mode without few-k merging, 100K by 1K",
            f"{speed * min(adding) / values.size * 1e6:.4f} of a sum",
            "",
            None,
            {"million_events_a_second": speed, "of_a_sum": speed * min(adding) / values.size * 1e6},
        )
    )
    return figures
