"""Prints stored results: a table of the worst keys, or JSON."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table
from rich.text import Text

from aomg.monitor.results.ranking import RankedKey, Ranking, is_share, no_estimate, ranked, stored_name
from aomg.monitor.results.reader import read
from aomg.monitor.sinks.base import title_of
from aomg.monitor.sinks.result_folder import days
from aomg.monitor.sinks.result_rows import plain
from aomg.numbers import number_texts, rounded
from aomg.terminal import json_text, printable
from aomg.times import DAY, day_text, time_text

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 24
_FEWEST_BARS = 4
_GAP = 2
_WIDEST_LABEL, _NARROWEST_LABEL = 16, 4  # longer ones are cut if the terminal is narrow
_WIDEST_CURVE_TITLE = 6
_A_DAY = timedelta(days=1)


def show(
    console: Console,
    folder: Path,
    query: str | None = None,
    by: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    quantile: str | None = None,
    last: timedelta | None = None,
    most: int = 20,
    as_json: bool = False,
) -> None:
    """Print the worst keys of each query, at most `most`. Raises ResultsError if there are no results.

    Without `last`, reads the last day up to the newest window. On a terminal, shows which day it reads.

    by
        The labels that identify a line; of keys that share them the worst counts.
    quantile
        The estimate used to rank keys: p99, p99.9 or 0.999 (the highest is the worst), or below_250 (the lowest is).
    """
    with console.status("reading results") as status:
        rows = read(folder, query, labels, _A_DAY if last is None else last, _show_progress(status))
    documents = []
    names = sorted(pc.unique(rows["query"]).to_pylist())
    parts = {name: rows.filter(pc.equal(rows["query"], name)) if len(names) > 1 else rows for name in names}
    chosen_of = {name: stored_name(part, quantile) for name, part in parts.items()}
    if not any(chosen_of.values()):
        raise no_estimate(rows, quantile)
    for name, part in parts.items():
        chosen = chosen_of[name]
        if chosen is None:
            if not as_json:
                console.print(f"{name} has no {quantile or 'quantiles'}", style="dim", markup=False, highlight=False)
            continue
        with console.status(f"ranking the keys of {escape(name)}"):
            span, ranking = _span(part), ranked(part, by, chosen, most)
        if as_json:
            documents.append(_json(name, chosen, ranking, span))
        else:
            ends = f"windows ending {time_text(span[0])} to {time_text(span[1])}"
            title = f"{name}: worst keys by {title_of(chosen)}, {ends}"
            console.print(title, style="bold", markup=False, highlight=False, soft_wrap=True)
            table, left_out = _table(chosen, ranking.first, span, console.width)
            console.print(table)
            if left_out:
                names_left = ", ".join(left_out)
                console.print(
                    f"too narrow for {names_left}; use a wider terminal, or --json", style="dim", markup=False
                )
            if ranking.keys > most:
                console.print(f"and {ranking.keys - most:,} more keys; use --most to show more", markup=False)
    if last is None and not as_json and _has_older(folder, rows):
        console.print(
            "only the last 24 hours up to the newest window; use --last 7d to read further back",
            style="dim",
            highlight=False,
        )
    if as_json:
        console.print(json_text(documents), markup=False, highlight=False, soft_wrap=True)


def _has_older(folder: Path, rows: pa.Table) -> bool:
    """Whether there are older results than those that were read."""
    return days(folder)[0] <= day_text(_span(rows)[1] - DAY)


def _show_progress(status: Status) -> Callable[[str, int, int], None]:
    def show_day(day: str, number: int, count: int) -> None:
        status.update(f"reading results of {day}" + (f", day {number} of {count}" if count > 1 else ""))

    return show_day


def _json(query: str, chosen: str, ranking: Ranking, span: tuple[int, int]) -> dict[str, Any]:
    lines = []
    for key in ranking.first:
        series = [{"end": time_text(end), **_rounded(*numbers)} for end, *numbers in key.series]
        estimates = {
            name: {**part, **_rounded(part.get("value"), part.get("low"), part.get("high"))}
            for name, part in key.worst["estimates"].items()
        }
        extremes = {name: rounded(*[key.worst[name]] * 3)[0] for name in ("min", "max")}
        worst = {**key.worst, **extremes, "estimates": estimates}
        lines.append({"labels": key.labels, "worst": worst, "series": series})
    document: dict[str, Any] = plain(
        {
            "query": query,
            "quantile": chosen,
            "first_end": time_text(span[0]),
            "last_end": time_text(span[1]),
            "keys": ranking.keys,
            "worst_first": lines,
        }
    )
    return document


def _rounded(value: float | None, low: float | None, high: float | None) -> dict[str, float | None]:
    return dict(zip(("value", "low", "high"), rounded(value, low, high), strict=True))


def _table(chosen: str, keys: list[RankedKey], span: tuple[int, int], width: int) -> tuple[Table, list[str]]:
    """The table, and the estimates that do not fit: a number is shown whole or not at all."""
    labels = {name: [_label(key.labels[name]) for key in keys] for name in (keys[0].labels if keys else ())}
    names = list(dict.fromkeys(name for key in keys for name in key.worst["estimates"]))
    estimates = {name: [_estimate(key.worst["estimates"].get(name)) for key in keys] for name in names}
    widths = {name: widest(title_of(name), cells) for name, cells in estimates.items()}
    times = [Text(_short(key.worst["end"], span) + (" burst" if key.worst["burst"] else "")) for key in keys]
    counts = [Text(f"{key.worst['count']:,}") for key in keys]
    curve = title_of(chosen) if len(title_of(chosen)) <= _WIDEST_CURVE_TITLE else "trend"

    wanted = {name: widest(name, cells) for name, cells in labels.items()}
    label_widths = dict(zip(wanted, narrowed(list(wanted.values()), width - widths.get(chosen, 0) - _GAP), strict=True))
    others = [name for name in names if name != chosen]
    optional = [widest("worst at", times), *(widths[name] for name in others), max(len(curve), _FEWEST_BARS)]
    optional.append(widest("events", counts))
    fits = that_fit(width, [*label_widths.values(), widths.get(chosen, 0)], optional)
    with_times, *with_others, with_curve, with_counts = fits
    visible = [name for name in names if name == chosen or with_others[others.index(name)]]
    used = [*label_widths.values(), *(widths[name] for name in visible)]
    used += [optional[place] for place in (0, -2, -1) if fits[place]]
    free = width - sum(used) - _GAP * (len(used) - 1)

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for name in labels:
        more = min(wanted[name] - label_widths[name], max(free, 0))
        free -= more
        table.add_column(Text(name), no_wrap=True, overflow="ellipsis", width=label_widths[name] + more)
    for name in visible:
        style = "bold" if name == chosen else ""
        table.add_column(Text(title_of(name)), justify="right", style=style, no_wrap=True, min_width=widths[name])
    if with_counts:
        table.add_column("events", justify="right", no_wrap=True)
    if with_times:
        table.add_column("worst at", no_wrap=True)
    if with_curve:
        table.add_column(Text(curve), no_wrap=True, overflow="crop")
    values = [value for key in keys for _, value, _, _ in key.series]
    ends = sorted({end for key in keys for end, *_ in key.series})
    steps = (span[1] - span[0]) // min((b - a for a, b in pairwise(ends)), default=1) + 1
    bars = min(_WIDTH, steps, max(len(curve), _FEWEST_BARS) + max(free, 0))
    worst = min if is_share(chosen) else max
    for row, key in enumerate(keys):
        line = Text(sparkline(key.series, span, min(values), max(values), bars, worst))
        cells = [*(cells[row] for cells in labels.values()), *(estimates[name][row] for name in visible)]
        cells += [cell for cell, is_shown in ((counts[row], with_counts), (times[row], with_times)) if is_shown]
        table.add_row(*cells, *([line] if with_curve else []))
    left_out = [title_of(name) for name in names if name not in visible]
    extra = {"events": with_counts, "worst at": with_times, "the trend": with_curve}
    return table, left_out + [name for name, is_shown in extra.items() if not is_shown]


def narrowed(widths: Sequence[int], room: int) -> list[int]:
    """Widths of columns of texts that may be cut: at most 16 each, and less if they do not fit `room` with gaps.

    >>> narrowed([4, 30], 80), narrowed([4, 30, 30], 30)
    ([4, 16], [4, 10, 10])
    """
    most = _WIDEST_LABEL
    while most > _NARROWEST_LABEL and sum(min(width, most) + _GAP for width in widths) > room:
        most -= 1
    return [min(width, most) for width in widths]


def that_fit(width: int, required: Sequence[int], optional: Sequence[int]) -> list[bool]:
    """Which of the optional columns fit a table of this width beside the required ones; the first have priority.

    >>> that_fit(80, [10, 14], [14, 14, 30, 6])
    [True, True, False, True]
    """
    free = width - sum(required) - _GAP * (len(required) - 1)
    fits = []
    for column in optional:
        fits.append(column + _GAP <= free)
        free -= (column + _GAP) * fits[-1]
    return fits


def _label(value: str | None) -> Text:
    return Text("-" if value is None else printable(value))


def widest(title: str, cells: Sequence[Text]) -> int:
    """The width of a column: that of its widest line."""
    lines = [title, *(line for cell in cells for line in cell.plain.split("\n"))]
    return max(cell_len(line) for line in lines)


def _estimate(part: dict[str, Any] | None) -> Text:
    return Text("-") if part is None else estimate_cell(part.get("value"), part.get("low"), part.get("high"))


def estimate_cell(value: float | None, low: float | None, high: float | None) -> Text:
    """A cell of a table: the value, and below it the interval, or "exact"."""
    texts = number_texts(value, low, high)
    cell = Text(texts.value)
    cell.append("\nexact" if value is not None and low == value == high else f"\n{texts.interval}", style="dim")
    return cell


def sparkline(
    series: Sequence[tuple[int, float, float, float]],
    span: tuple[int, int],
    low: float,
    high: float,
    width: int = _WIDTH,
    worst: Callable[[float, float], float] = max,
) -> str:
    """Bars over time: the worst value in each part of the time; a space if it has no window.

    All keys have the same scale, from the lowest value of all to the highest.

    >>> sparkline([(0, 1.0, 1, 1), (10, 8.0, 8, 8), (30, 4.5, 4, 5)], (0, 30), 1.0, 8.0, width=4)
    '▁█ ▄'
    """
    first, last = span
    peaks: list[float | None] = [None] * width
    for end, value, _, _ in series:
        place = (end - first) * width // (last - first + 1) if last > first else 0
        before = peaks[place]
        peaks[place] = value if before is None else worst(before, value)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(" " if peak is None else _BARS[int((peak - low) * scale)] for peak in peaks)


def _span(rows: pa.Table) -> tuple[int, int]:
    ends = rows["end"].cast(pa.int64())
    return pc.min(ends).as_py(), pc.max(ends).as_py()


def _short(end: str, span: tuple[int, int]) -> str:
    """A time, without the day if there is only one."""
    same = time_text(span[0])[:10] == time_text(span[1])[:10]
    return end[11 if same else 5 :].removesuffix("Z").replace("T", " ")
