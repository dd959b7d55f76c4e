"""Plots quantiles over time with Plotly: a line for each quantile, in the band of its guaranteed intervals.

Colours can be read on light and dark backgrounds: whichever template is the default of Plotly, or is set later, fits.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aomg.durations import duration_text
from aomg.names import estimate_title, quantile_of
from aomg.numbers import number_texts
from aomg.packages import optional
from aomg.result import Results
from aomg.tables.curves import Curve, Curves, Integers, curves_of_results
from aomg.tables.keyed_curves import curves_of_table
from aomg.tables.thinning import ThinnedCurve, thinned

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# the colours of Okabe and Ito, as light as white allows and as dark as black allows
COLOURS = ("#1f82c0", "#d96412", "#0e9a73", "#c0659b", "#a87a00", "#7a6fd0", "#7d8590", "#c24a4a")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_TITLE_WIDTH, _SUBTITLE_WIDTH = 40, 58  # characters that fit a phone
_ENDS = ("end of the window (UTC)", "end of the window (number of events)")


def plot(
    results: Any, quantiles: Any = None, *, by: Sequence[str] | None = None, keys: Any = None, most: int = 8
) -> "Figure":
    """Plot quantiles over time with their intervals. Returns a figure of Plotly.

    results
        Results, or a table of results of Arrow, pandas, Polars or Spark, with or without keys, nested or flat.
    quantiles
        The quantiles to draw, such as 0.99 or (0.5, 0.99). The default is all; with keys only p99 or, if there is none,
        the last.
    by
        The columns with the key of each row. The default is all columns that a result does not have.
    keys
        The keys to draw: values of the by column, or tuples if there are several. The default is all keys.
    most
        If there are more keys than this and `keys` does not choose: draw those with the largest value of the quantile,
        the worst first.

    The axis of values is logarithmic, unless a value or an interval reaches zero. Diamonds mark bursts. Curves of more
    than 2,000 windows are thinned out; their extremes are always drawn.
    """
    graphs = optional("plotly.graph_objects", "pip install 'aomg[plot]'")
    if isinstance(results, Results) and by is None and keys is None:
        curves = curves_of_results(results, quantiles)
    else:
        curves = curves_of_table(results, quantiles, by, keys, most)
    figure: Figure = graphs.Figure(_figure(curves))
    if "minorloglabels" in figure.layout.yaxis:  # since Plotly 6.3: 200, not a small 2
        figure.update_yaxes(minorloglabels="complete")
    return figure


@dataclass(frozen=True)
class _Drawing:
    """What is drawn of a curve, and its style."""

    thinned: ThinnedCurve
    label: str
    group: str
    colour: str
    dash: str
    marks_bursts: bool

    @property
    def curve(self) -> Curve:
        return self.thinned.curve


def _figure(curves: Curves) -> dict[str, Any]:
    """Return the data and the layout of a figure. Bands come first, so that no band hides a line."""
    drawings = _drawings(curves)
    bands = [_band(drawing, curves.counted) for drawing in drawings]
    lines = [_line(drawing, curves.counted) for drawing in drawings]
    bursts = [_bursts(drawing, curves.counted) for drawing in drawings if drawing.marks_bursts]
    traces = [trace for trace in (*bands, *lines, *bursts) if trace["x"]]
    return {"data": traces, "layout": _layout(curves, drawings, has_bursts=any(trace["x"] for trace in bursts))}


def _drawings(curves: Curves) -> list[_Drawing]:
    """Each quantile has a colour; with keys each key has one, and quantiles differ in their dashes."""
    names = _names(curves)
    highest = max(names, key=lambda name: quantile_of(name) or 0, default="")
    drawings = []
    for position, curve in enumerate(curves.curves):
        key, name = divmod(position, len(names))  # not by their texts: two keys may have the same
        title = estimate_title(curve.name)
        label = f"{_escaped(curve.key)} {title}" if len(names) > 1 else _escaped(curve.key)
        number, dash = (key, name) if curves.by else (name, name // len(COLOURS))
        drawings.append(
            _Drawing(
                thinned(curve, curves.period),
                label if curves.by else title,
                str(key if curves.by else name),
                COLOURS[number % len(COLOURS)],
                _DASHES[(dash + number // len(COLOURS) * bool(curves.by)) % len(_DASHES)],
                curve.name == highest,
            )
        )
    return drawings


def _line(drawing: _Drawing, counted: bool) -> dict[str, Any]:
    """The trace of the values. A window between two gaps has no line: it is a dot."""
    curve, pieces = drawing.curve, drawing.thinned.pieces
    sizes = [size or 0 for size in _joined(pieces, lambda piece: [7] if piece.size == 1 else [0] * piece.size)]
    return {
        "type": "scatter",
        "name": drawing.label,
        "legendgroup": drawing.group,
        "showlegend": True,
        "x": _joined(pieces, lambda piece: _moments(curve.ends[piece], counted)),
        "y": _joined(pieces, lambda piece: curve.values[piece].tolist()),
        "customdata": _joined(pieces, lambda piece: [_hover_text(drawing, window) for window in piece.tolist()]),
        "hovertemplate": "%{customdata}<extra></extra>",
        "mode": "lines+markers" if any(sizes) else "lines",
        "line": {"color": drawing.colour, "width": 2, "dash": drawing.dash},
        "marker": {"color": drawing.colour, "size": sizes} if any(sizes) else {},
        "connectgaps": False,
    }


def _band(drawing: _Drawing, counted: bool) -> dict[str, Any]:
    """The trace of the intervals: a closed polygon for each piece where they are known, along the highs and back."""
    curve = drawing.curve
    known = np.isfinite(curve.lows) & np.isfinite(curve.highs)
    pieces = [part for piece in drawing.thinned.pieces for part in _parts(piece, known[piece])]
    there_and_back = [np.concatenate([piece, piece[::-1]]) for piece in pieces]
    return {
        "type": "scatter",
        "name": f"{drawing.label} interval",
        "legendgroup": drawing.group,
        "showlegend": False,
        "x": _joined(there_and_back, lambda windows: _moments(curve.ends[windows], counted)),
        "y": _joined(pieces, lambda piece: [*curve.highs[piece].tolist(), *curve.lows[piece][::-1].tolist()]),
        "mode": "lines",
        "line": {"color": _translucent(drawing.colour, 0.5), "width": 0.6},
        "fill": "toself",
        "fillcolor": _translucent(drawing.colour, 0.25),
        "hoverinfo": "skip",
        "connectgaps": False,
    }


def _bursts(drawing: _Drawing, counted: bool) -> dict[str, Any]:
    windows = np.flatnonzero(drawing.curve.bursts)
    return {
        "type": "scatter",
        "name": f"{drawing.label} burst",
        "legendgroup": drawing.group,
        "showlegend": False,
        "x": _moments(drawing.curve.ends[windows], counted),
        "y": drawing.curve.values[windows].tolist(),
        "mode": "markers",
        "marker": {
            "symbol": "diamond-open",
            "size": 8 if windows.size <= 40 else 5,
            "color": drawing.colour,
            "line": {"width": 1.5},
        },
        "hoverinfo": "skip",
    }


def _layout(curves: Curves, drawings: Sequence[_Drawing], has_bursts: bool) -> dict[str, Any]:
    numbers = [column for d in drawings for column in (d.curve.values, d.curve.lows) if column.size]
    least = min((float(np.nanmin(column, initial=np.inf)) for column in numbers), default=1.0)
    largest = max((float(np.nanmax(np.abs(column), initial=0)) for column in numbers), default=1.0)
    plain = 1e-4 <= largest < 1e9 and (least <= 0 or least >= 1e-4)  # axes of other numbers have powers of ten
    title = _title(curves, drawings, has_bursts)
    layout: dict[str, Any] = {
        "title": {"text": "<br>".join(title), "x": 0.02, "xanchor": "left", "y": 1, "yanchor": "top", "pad": {"t": 18}},
        "margin": {"l": 16, "r": 16, "t": 32 + 20 * len(title), "b": 48},
        "hovermode": "x unified",
        "legend": {
            "orientation": "h",
            "traceorder": "normal",
            "xref": "container",
            "x": 0.02,
            "xanchor": "left",
            "yref": "container",
            "y": 0.02,
            "yanchor": "bottom",
        },
        "showlegend": True,
        "xaxis": {"title": {"text": _ENDS[curves.counted]}, "automargin": True},
        "yaxis": {
            "title": {"text": "value"},
            "type": "log" if least > 0 else "linear",
            "automargin": True,
            "exponentformat": "none" if plain else "power",
            "separatethousands": True,
        },
    }
    ends = np.unique([drawing.curve.ends[[0, -1]] for drawing in drawings if drawing.curve.ends.size])
    if ends.size == 1:  # otherwise Plotly shows a range of milliseconds
        layout["xaxis"]["range"] = _moments(np.array([ends[0] - curves.size, ends[0] + curves.size]), curves.counted)
    if not numbers:
        hidden, place = {"visible": False}, {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
        layout |= {"annotations": [{"text": "no results", **place}], "xaxis": hidden, "yaxis": hidden}
    return layout


def _title(curves: Curves, drawings: Sequence[_Drawing], has_bursts: bool) -> list[str]:
    """The lines of the title: what is drawn, and below it how to read it."""
    names = _names(curves)
    title = estimate_title(names[0]) if len(names) == 1 else "Quantiles"
    if curves.size and curves.period:
        unit, text = (" events", "{:,}".format) if curves.counted else ("", duration_text)
        title += f" of windows of {text(curves.size)}{unit}, every {text(curves.period)}"
    if curves.by:
        title += f", by {', '.join(curves.by)}"
    notes = [curves.choice] if curves.choice else []
    if any(np.isfinite(drawing.curve.lows).any() for drawing in drawings):
        notes.append("bands are intervals")
    if has_bursts:
        notes.append("diamonds are bursts")
    run = max((drawing.thinned.run for drawing in drawings), default=1)
    if run > 1:
        notes.append(f"only the extremes of each {run:,} windows are drawn")
    return [
        *map(_escaped, textwrap.wrap(title, _TITLE_WIDTH)),
        *(f'<span style="font-size:12px">{line}</span>' for line in textwrap.wrap("; ".join(notes), _SUBTITLE_WIDTH)),
    ]


def _hover_text(drawing: _Drawing, window: int) -> str:
    curve = drawing.curve
    value, low, high = (float(column[window]) for column in (curve.values, curve.lows, curve.highs))
    texts = number_texts(value, low, high)
    interval = f" in {texts.interval}" if np.isfinite(low) and np.isfinite(high) else ""
    method = _escaped(curve.method_names[curve.methods[window]])
    burst = "burst" if drawing.marks_bursts and curve.bursts[window] else ""
    return ", ".join(text for text in (f"{drawing.label}: {texts.value}{interval}", method, burst) if text)


def _joined(pieces: Sequence[Integers], items: Callable[[Integers], list[Any]]) -> list[Any]:
    """The items of all pieces, with None between them: Plotly draws no line there."""
    return [item for piece in pieces for item in (*items(piece), None)][:-1]


def _parts(piece: Integers, known: npt.NDArray[np.bool_]) -> list[Integers]:
    """The parts of a piece where the intervals are known."""
    parts = np.split(np.arange(piece.size), np.flatnonzero(np.diff(known)) + 1)
    return [piece[part] for part in parts if known[part[0]]]


def _moments(ends: Integers, counted: bool) -> list[Any]:
    return list((ends if counted else np.datetime_as_string(ends.astype("datetime64[us]"))).tolist())


def _names(curves: Curves) -> list[str]:
    """The columns of the quantiles."""
    return list(dict.fromkeys(curve.name for curve in curves.curves))


def _escaped(text: str) -> str:
    """Plotly reads tags and entities in its texts."""
    return escape(text, quote=False)


def _translucent(colour: str, share: float) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"
