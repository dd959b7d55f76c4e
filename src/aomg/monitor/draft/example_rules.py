"""Two example rules whose limits come from the sample: a tail that is slow, and a tail far above the median."""

from collections.abc import Sequence
from dataclasses import dataclass

from aomg.durations import duration_text
from aomg.monitor.draft.windows import WindowChoice

_LARGEST = 1e299


@dataclass(frozen=True)
class ExampleRule:
    """A rule of the configuration, with a comment that says where its limit comes from."""

    name: str
    condition: str
    wait: str
    min_count: int
    comment: str


def example_rules(query: str, unit: str | None, numbers: Sequence[float], windows: WindowChoice) -> list[ExampleRule]:
    """Two rules that do not fire on usual windows."""
    ordered = sorted(numbers)
    middle, tail = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
    top = "p99" if "0.99" in windows.quantiles else "p90"
    wait = duration_text(2 * windows.period)
    least = 10 if windows.events is None else max(1, min(100, int(windows.events / 10)))
    title = "".join(part.capitalize() for part in query.split("_"))
    shown = f"{_number(tail)}{unit or ''}"
    first = ExampleRule(
        f"High{title}",
        f"{top} > {_limit(tail)}{unit or ''}",
        wait,
        least,
        f"the p99 of the sample is {shown}, of all keys together",
    )
    if middle > 0 and tail > 0:
        factor = max(round(3 * min(tail / middle, _LARGEST)), 5)
        ratio = f"{min(tail / middle, _LARGEST):.2g}"
        second = ExampleRule(
            f"{title}Tail", f"{top} > {factor} * p50", wait, least, f"in the sample p99 is {ratio} times p50"
        )
    else:
        second = ExampleRule(
            f"{title}Median", f"p50 > {_limit(middle)}{unit or ''}", wait, least, "twice the median of the sample"
        )
    return [first, second]


def _limit(quantile: float) -> str:
    """Twice a quantile, rounded; a limit that is above it in any case."""
    if quantile <= 0:
        return "0" if quantile < 0 else "1"
    return _number(min(2 * quantile, _LARGEST))


def _number(number: float) -> str:
    return f"{float(f'{number:.2g}'):.15g}"
