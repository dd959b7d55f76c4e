"""Converts plots to Plotly's dictionaries, in a light and a dark theme. Does not need Plotly.

The colours are those of Okabe and Ito, which people with any colour vision can distinguish, slightly darker or lighter
to suit the background. Series also differ in the shape of their marks.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from aomg.evaluation.measure.contenders import TITLES
from aomg.evaluation.outcome import Plot, Series

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
LIGHT: dict[str, Any] = {
    "ink": "#1c2127",
    "soft": "#5b6470",
    "line": "#e3e6ea",
    "paper": "#ffffff",
    "series": ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87f00", "#56b4e9", "#5b6470", "#8f8500"),
}
DARK: dict[str, Any] = {
    "ink": "#e8eaed",
    "soft": "#a2abb6",
    "line": "#30363e",
    "paper": "#14171b",
    "series": ("#5db1ea", "#f0803c", "#2cc295", "#e29ac4", "#e69f00", "#b3dcf7", "#a2abb6", "#f0e442"),
}
_SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "triangle-down",
    "x",
    "star",
    "hexagon",
    "triangle-left",
    "bowtie",
    "triangle-right",
    "pentagon",
    "hourglass",
    "star-diamond",
    "hexagram",
    "square-x",
)
_KNOWN = ("AOMG (default)", "AOMG (paper)", *TITLES.values())
_COLOURS = len(LIGHT["series"])


def figure(plot: Plot, dark: bool = False) -> dict[str, Any]:
    """Return the data and the layout of a plot, without title and caption, which are part of the text."""
    theme = DARK if dark else LIGHT
    styles = _styles(plot.series)
    traces = [_trace(plot, series, style, theme) for series, style in zip(plot.series, styles, strict=True)]
    for number, trace in enumerate(traces):
        trace["uid"] = f"series{number}"  # otherwise Plotly picks a random one
    places = _places(plot)
    layout: dict[str, Any] = {
        "font": {"family": FONT, "size": 13, "color": theme["ink"]},
        "paper_bgcolor": theme["paper"],
        "plot_bgcolor": theme["paper"],
        "margin": {"l": 16, "r": 16, "t": 12, "b": 12},
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": theme["paper"], "bordercolor": theme["soft"], "font": {"color": theme["ink"]}},
        "barmode": "group",
        "bargap": 0.25,
        "xaxis": _axis(plot.x, plot.log_x, [x for series in plot.series for x in series.x], theme),
        "yaxis": _axis(plot.y, plot.log_y, [y for series in plot.series for y in series.y], theme),
        "showlegend": len(plot.series) > 1,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "yref": "container", "y": 0, "yanchor": "bottom"},
    }
    if not plot.log_y:
        layout["yaxis"]["rangemode"] = "tozero"
    if places:
        # in order of appearance over all series; Plotly would put those of the first series first
        layout["xaxis"] |= {"categoryorder": "array", "categoryarray": [_broken(place) for place in places]}
    if _sideways(plot):
        layout["xaxis"], layout["yaxis"] = layout["yaxis"], layout["xaxis"] | {"autorange": "reversed"}
        layout["meta"] = {"groups": len(places), "bars": len(places) * len(plot.series)}
    return {"data": traces, "layout": layout}


def caption(plot: Plot) -> str:
    """Return the caption, with the series whose points a logarithmic axis cannot show."""
    lost = [series.name for series in plot.series if _lost(plot, series)]
    note = f"A logarithmic axis cannot show zero; points are missing from {', '.join(lost)}." if lost else ""
    return " ".join(text for text in (plot.caption, note) if text)


def described(plot: Plot) -> str:
    """Describe the plot in words, for screen readers."""
    kind = {"lines": "Lines", "points": "Points", "bars": "Bars"}[plot.kind]
    return f"{plot.title}. {kind} of {plot.y} by {plot.x}: {', '.join(series.name for series in plot.series)}."


def _places(plot: Plot) -> list[str]:
    """Return the categories of the axis in order; none if it has numbers."""
    if not any(isinstance(x, str) for series in plot.series for x in series.x):
        return []
    return list(dict.fromkeys(str(x) for series in plot.series for x in series.x))


def _sideways(plot: Plot) -> bool:
    """Return whether bars are horizontal: if their names are too long to fit side by side."""
    return plot.kind == "bars" and sum(len(place) + 2 for place in _places(plot)) > 80


def _broken(place: str) -> str:
    """Break a name into lines of about twenty characters."""
    return "<br>".join(textwrap.wrap(place, 22)) or place


def _lost(plot: Plot, series: Series) -> bool:
    sides = [side for side, log in ((series.x, plot.log_x), (series.y, plot.log_y)) if log]
    return any(isinstance(value, int | float) and value <= 0 for side in sides for value in side)


def _styles(all_series: Sequence[Series]) -> list[int]:
    """Return a number per series, which determines its colour and mark.

    A contender has the same number in all plots; a dashed series (the paper's) has that of its namesake. The others get
    the free numbers, unused colours first.
    """
    own = {series.name: _KNOWN.index(series.name) for series in all_series if series.name in _KNOWN}
    names = [series.name for series in all_series if not series.dashed or _namesake(series, all_series) is None]
    for name in names:
        if name not in own:
            free = [number for number in range(len(_SYMBOLS)) if number not in own.values()] or [len(own)]
            used = {number % _COLOURS for number in own.values()}
            own[name] = next((number for number in free if number % _COLOURS not in used), free[0])
    return [own[series.name if series.name in own else _namesake(series, all_series) or ""] for series in all_series]


def _namesake(series: Series, others: Sequence[Series]) -> str | None:
    """Return the longest name of a solid series that is part of this one's name."""
    names = [candidate.name for candidate in others if not candidate.dashed and candidate.name in series.name]
    return max(names, key=len, default=None)


def _rank(name: str) -> int:
    """Return the position in the legend: AOMG, then the contenders, then all others."""
    if name.startswith("AOMG"):
        return 1
    return next((2 + number for number, title in enumerate(_KNOWN) if name.startswith(title)), 1000)


def _trace(plot: Plot, series: Series, style: int, theme: dict[str, Any]) -> dict[str, Any]:
    colour = theme["series"][style % _COLOURS]
    x = [_broken(x) if isinstance(x, str) else x for x in series.x]
    y = list(series.y)
    sideways = _sideways(plot)
    position, value = ("%{y}", "%{x}") if sideways else ("%{x}", "%{y}")
    template = f"<b>%{{fullData.name}}</b><br>{plot.x + ': ' if plot.x else ''}{position}<br>{plot.y}: {value}"
    if series.labels:
        template += "<br>%{customdata}"
    trace: dict[str, Any] = {
        "name": series.name,
        # the legend has a fixed order, independent of the drawing order
        "legendrank": _rank(series.name),
        "x": y if sideways else x,
        "y": x if sideways else y,
        "hovertemplate": template + "<extra></extra>",
    }
    if series.labels:
        trace["customdata"] = list(series.labels)
    if plot.kind == "bars":
        trace |= {"type": "bar", "orientation": "h" if sideways else "v", "marker": {"color": colour}}
        if series.dashed:
            trace["marker"]["pattern"] = {"shape": "/", "fgcolor": colour, "bgcolor": theme["paper"], "size": 6}
            trace["marker"]["line"] = {"color": colour, "width": 1}
        return trace
    mark = {"color": colour, "symbol": _SYMBOLS[style % len(_SYMBOLS)], "size": 9 if plot.kind == "points" else 7}
    if series.dashed:
        mark["symbol"] += "-open"
    trace |= {"type": "scatter", "mode": "markers" if plot.kind == "points" else "lines+markers", "marker": mark}
    if plot.kind == "lines":
        # dotted if the colour is used again
        dash = "dash" if series.dashed else "solid" if style < _COLOURS else "dot"
        trace["line"] = {"color": colour, "width": 2, "dash": dash}
    return trace


def _axis(title: str, log: bool, values: Sequence[float | str | None], theme: dict[str, Any]) -> dict[str, Any]:
    words = any(isinstance(value, str) for value in values)
    drawn = [abs(value) for value in values if isinstance(value, int | float) and value]
    wide = bool(drawn) and max(drawn) > 30 * min(drawn)
    return {
        "type": "category" if words else "log" if log else "linear",
        "title": {"text": title, "font": {"color": theme["soft"], "size": 13}, "standoff": 10},
        "automargin": True,
        "gridcolor": theme["line"],
        "linecolor": theme["soft"],
        "zerolinecolor": theme["soft"],
        "tickfont": {"color": theme["soft"]},
        # 10k and 1M, but 0.001 and not 1m
        "exponentformat": "SI" if drawn and min(drawn) >= 1 else "none",
        "minexponent": 2,
        "separatethousands": True,
        # label 2 and 5 between powers of ten only if there are few powers
        "minorloglabels": "none" if wide else "complete",
    }
