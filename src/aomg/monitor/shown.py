"""How stored results are shown: a table in the terminal, the worst keys first, or JSON."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aomg.monitor.alerts import time_text
from aomg.monitor.ranking import Ranked, chosen_quantile, ranked
from aomg.monitor.result_rows import plain
from aomg.monitor.results import read
from aomg.monitor.sinks import brief, title_of

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 24


def show(
    console: Console,
    folder: Path,
    query: str | None = None,
    by: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    quantile: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    last: timedelta | None = None,
    most: int = 20,
    as_json: bool = False,
) -> None:
    """Print the worst keys of each query, at most `most`. Raises ResultsError where there is nothing to show.

    by
        The labels that name a line; of keys that share them the worst counts.
    quantile
        What is worst is judged by it: p99, p99.9 or 0.999.
    """
    rows = read(folder, query, labels, since, until, last)
    told = []
    for name in sorted(set(rows["query"].to_pylist())):
        part = rows.filter(pc.equal(rows["query"], name))
        chosen = chosen_quantile(part, quantile)
        keys = ranked(part, by, chosen)
        if as_json:
            told.append(_json(name, chosen, keys, most))
        else:
            first, final = span = _span(part)
            title = (
                f"{name}: worst keys by {title_of(chosen)}, windows that end {time_text(first)} to {time_text(final)}"
            )
            console.print(title, style="bold", markup=False, highlight=False, soft_wrap=True)
            console.print(_table(chosen, keys[:most], span, console.width))
            if len(keys) > most:
                console.print(f"and {len(keys) - most:,} more keys; --most shows more of them", markup=False)
    if as_json:
        console.print(
            json.dumps(told, ensure_ascii=False, allow_nan=False), markup=False, highlight=False, soft_wrap=True
        )


def _json(query: str, chosen: str, keys: list[Ranked], most: int) -> dict[str, Any]:
    lines = []
    for key in keys[:most]:
        series = [{"end": time_text(end), "value": v, "low": low, "high": high} for end, v, low, high in key.series]
        lines.append({"labels": key.labels, "worst": key.worst, "series": series})
    told: dict[str, Any] = plain({"query": query, "quantile": chosen, "keys": len(keys), "worst_first": lines})
    return told


def _table(chosen: str, keys: list[Ranked], span: tuple[int, int], width: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in keys[0].labels if keys else ():
        table.add_column(Text(name), no_wrap=True, overflow="ellipsis")
    estimates = list(dict.fromkeys(name for key in keys for name in key.worst["estimates"]))
    for name in estimates:
        style = "bold" if name == chosen else ""
        table.add_column(Text(title_of(name)), justify="right", style=style, no_wrap=True)
    wide = width >= 20 + 14 * len(estimates) + 20
    if wide:
        table.add_column("events", justify="right", no_wrap=True)
    table.add_column("worst at", no_wrap=True)
    table.add_column(Text(title_of(chosen)), no_wrap=True)
    values = [value for key in keys for _, value, _, _ in key.series]
    ends = sorted({end for key in keys for end, *_ in key.series})
    steps = (span[1] - span[0]) // min((b - a for a, b in pairwise(ends)), default=1) + 1
    bars = min(_WIDTH, steps, max(width - 14 * len(estimates) - (32 if wide else 20), 4))
    for key in keys:
        cells = [Text("-" if value is None else value) for value in key.labels.values()]
        cells += [_estimate(key.worst["estimates"].get(name)) for name in estimates]
        burst = " burst" if key.worst["burst"] else ""
        cells += [Text(f"{key.worst['count']:,}")] if wide else []
        cells.append(Text(_short(key.worst["end"], span) + burst))
        cells.append(Text(sparkline(key.series, span, min(values), max(values), bars)))
        table.add_row(*cells)
    return table


def _estimate(part: dict[str, Any] | None) -> Text:
    if part is None:
        return Text("-")
    text = Text(brief(part.get("value")))
    text.append(f"\n{brief(part.get('low'))}..{brief(part.get('high'))}", style="dim")
    return text


def sparkline(
    series: Sequence[tuple[int, float, float, float]],
    span: tuple[int, int],
    low: float,
    high: float,
    width: int = _WIDTH,
) -> str:
    """Bars over time, the highest value in each part of the time; a space where there is no window.

    All keys have the same scale, from the lowest value of any to the highest.

    >>> sparkline([(0, 1.0, 1, 1), (10, 8.0, 8, 8), (30, 4.5, 4, 5)], (0, 30), 1.0, 8.0, width=4)
    '▁█ ▄'
    """
    first, last = span
    peaks: list[float | None] = [None] * width
    for end, value, _, _ in series:
        place = (end - first) * width // (last - first + 1) if last > first else 0
        before = peaks[place]
        peaks[place] = value if before is None else max(before, value)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(" " if peak is None else _BARS[int((peak - low) * scale)] for peak in peaks)


def _span(rows: pa.Table) -> tuple[int, int]:
    ends = rows["end"].cast(pa.int64())
    return pc.min(ends).as_py(), pc.max(ends).as_py()


def _short(end: str, span: tuple[int, int]) -> str:
    """A time without the day, if all are of one."""
    same = time_text(span[0])[:10] == time_text(span[1])[:10]
    return end[11 if same else 5 :].removesuffix("Z").replace("T", " ")
