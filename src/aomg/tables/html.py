"""Formats results as HTML tables, for notebooks.

Texts take the colour of their surroundings, so tables can be read in light and dark themes. Without styles, which some
notebooks remove, they are plain tables. Numbers are rounded as in `aomg.numbers`: never out of their interval.
"""

from collections.abc import Iterable, Sequence
from html import escape

from aomg.names import estimate_title, quantile_name, threshold_name
from aomg.numbers import NumberTexts, number_texts
from aomg.query import Query
from aomg.result import Estimate, Result, Results, Share
from aomg.times import microseconds_of, time_text

MOST_WINDOWS = 10
"""Windows in a table of results: the last ones."""

_CELL = "padding:.15em .5em;text-align:right;white-space:nowrap"
_CAPTION = "padding:.15em .5em;caption-side:top;text-align:left"
_INTERVAL = "opacity:.75"


def results_html(results: Results) -> str:
    """Return a table of the last windows: a row for each, with the interval below each estimate."""
    query, last = results.query, results[-MOST_WINDOWS:]
    number = f"Last {len(last)} of {len(results):,}" if len(last) < len(results) else f"{len(results)}"
    caption = f"{number} {_plural('result', len(results))} of <code>{escape(repr(query))}</code>"
    heads = ["window end" if query.counted else "window end (UTC)", "count", *_quantiles(query), *_thresholds(query)]
    rows = [
        [
            escape(_moment(result.end, query)),
            f"{result.count:,}",
            *(_estimate(result[quantile]) for quantile in query.quantiles),
            *(_estimate(result.below(threshold)) for threshold in query.thresholds),
            "burst" if result.burst else "",
        ]
        for result in last
    ]
    return _table(caption, [*heads, "burst"], rows)


def result_html(result: Result, query: Query) -> str:
    """Return a table of one window: a row for each quantile and threshold."""
    ends = [_moment(moment, query) for moment in (result.start, result.end)]
    extremes = number_texts(None, result.minimum, result.maximum)
    caption = (
        f"Window {ends[0]} to {ends[1]}{'' if query.counted else ' UTC'}: {result.count:,} "
        f"{_plural('event', result.count)} from {extremes.low} "
        f"to {extremes.high}, {result.sub_windows:,} of {query.sub_windows:,} sub-windows"
    )
    rows = []
    for title, quantile in zip(_quantiles(query), query.quantiles, strict=True):
        estimate, texts = result[quantile], _texts(result[quantile])
        bounds = [_bound(bound) for bound in (estimate.bound, estimate.bound_corrected)]
        rows.append([title, texts.value, texts.low, texts.high, estimate.method, *bounds])
    for title, threshold in zip(_thresholds(query), query.thresholds, strict=True):
        texts = _texts(result.below(threshold))
        rows.append([title, *(f"{text} %" for text in (texts.value, texts.low, texts.high)), "", "", ""])
    heads = ["", "value", "low", "high", "method", "bound", "bound_corrected"]
    width = len(heads) if query.guarantee is None else heads.index("bound")
    escaped = [[escape(text) for text in row[:width]] for row in rows]
    return _table(escape(caption) + (", burst" if result.burst else ""), heads[:width], escaped)


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"


def _quantiles(query: Query) -> list[str]:
    return [estimate_title(quantile_name(quantile)) for quantile in query.quantiles]


def _thresholds(query: Query) -> list[str]:
    return [estimate_title(threshold_name(threshold)) for threshold in query.thresholds]


def _moment(moment: object, query: Query) -> str:
    """Return the end or the start of a window; a time without the marks of ISO 8601, which are for machines."""
    if query.counted:
        return f"{moment:,}"
    return time_text(microseconds_of(moment)).removesuffix("Z").replace("T", " ")  # type: ignore[arg-type]


def _texts(estimate: Estimate | Share) -> NumberTexts:
    scale = (100, 1) if isinstance(estimate, Share) else (1, 1)
    return number_texts(estimate.value, estimate.low, estimate.high, scale=scale)


def _estimate(estimate: Estimate | Share) -> str:
    """Return a cell: the value, below it the interval; the method is shown by the pointer."""
    texts = _texts(estimate)
    unit, method = (" %", "") if isinstance(estimate, Share) else ("", f' title="{escape(estimate.method)}"')
    return f'<span{method}>{texts.value}{unit}<br><small style="{_INTERVAL}">{texts.interval}{unit}</small></span>'


def _bound(bound: float | None) -> str:
    return number_texts(bound, None, None).value


def _table(caption: str, heads: Iterable[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are HTML; the first cell of a row is its head. It scrolls where it is too wide."""
    head = "".join(f'<th scope="col" style="{_CELL}">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row" style="{_CELL}">{first}</th>'
        + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
        + "</tr>"
        for first, *cells in rows
    )
    return (
        f'<div style="overflow-x:auto"><table><caption style="{_CAPTION}">{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
