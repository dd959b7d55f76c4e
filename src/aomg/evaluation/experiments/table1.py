"""Table 1: the values 2 % of the ranks below and above the median and the 0.99-quantile of 100,000 events."""

from functools import partial
from typing import Any

import numpy as np

from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.accuracy import ranks
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource, of_stream
from aomg.evaluation.outcome import Claim, Outcome, Plot, Series, Table, TableColumn

WINDOW = 100_000
DISTANCE = 0.02
QUANTILES = ("0.5", "0.99")
PAPER = {
    "Pingmesh": (781, 798, 814, 1516, 1874, 74265),
    "Search": (3384, 3574, 3780, 154156, 200109, 263771),
    "TaxiTrip": (1500, 1570, 1620, 17000, 19610, 74700),
}


def _sources(own: ValueSource | None) -> list[ValueSource]:
    return [own] if own is not None else [of_stream(name) for name in ("pingmesh", "search", "taxi")]


def _values(source: ValueSource, size: int) -> list[float]:
    """Return the values at rank - 2 %, at the rank, and at rank + 2 % (at most the largest), per quantile."""
    ordered = np.sort(source.values(size))
    distance = round(DISTANCE * ordered.size)
    values = []
    for rank in ranks(QUANTILES, ordered.size):
        values += [ordered[max(min(rank + move, ordered.size), 1) - 1] for move in (-distance, 0, distance)]
    return [float(value) for value in values]


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    return [Piece(s.name, partial(_values, s, s.most(WINDOW)), 0.1) for s in _sources(own)]


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    columns = [TableColumn("stream"), TableColumn("")]
    columns += [TableColumn(f"{quantile} {side}") for quantile in QUANTILES for side in ("-2 %", "exact", "+2 %")]
    rows: list[list[Any]] = []
    findings, series = [], []
    for source in _sources(own):
        values = measurements[source.name]
        rows.append([source.title, "here", *(round(value) if value == int(value) else value for value in values)])
        if source.title in PAPER:
            rows.append([source.title, "paper", *PAPER[source.title]])
        low, exact, high = values[3:]
        findings.append(
            f"{source.title}: a rank error of 2 % moves the median by {_percent(values[0], values[1], values[2])} and "
            f"the 0.99-quantile by {_percent(low, exact, high)}."
        )
        places = ["0.5 -2 %", "0.5", "0.5 +2 %", "0.99 -2 %", "0.99", "0.99 +2 %"]
        series.append(Series(source.title, places, [value / exact if exact else None for value in values]))
    size = _sources(own)[0].most(WINDOW)
    if own is None:
        findings.append(
            "Our streams are generated to fit the paper's numbers, so this table checks the streams, not the method."
        )
    return Outcome(
        [Table(f"Values at a distance of 2 % of the ranks, {size:,} events", columns, rows)],
        [Plot("Value at a rank, relative to the 0.99-quantile", "rank", "value / Q0.99", series, log_y=True)],
        findings,
        _claims(measurements["pingmesh"]) if own is None else (),
    )


def _claims(values: list[float]) -> list[Claim]:
    """Return the claims of the paper's text about this table."""
    median, above, high, largest = values[1], values[2], values[4], values[5]
    move, times = 100 * (above / median - 1), largest / high
    drawn = "the stream is generated to fit these numbers, so this checks the stream"
    return [
        Claim(
            "table1: 2,000 ranks above the median of Pingmesh",
            "only 2 % relative value error",
            f"{move:.1f} %",
            round(move) == 2,
            drawn,
        ),
        Claim(
            "table1: 2,000 ranks above the 0.99-quantile of Pingmesh",
            "39 times larger",
            f"{times:.1f} times",
            int(times) == 39,
            drawn,
        ),
    ]


def _percent(low: float, exact: float, high: float) -> str:
    return f"{100 * (low / exact - 1):+.1f} / {100 * (high / exact - 1):+.1f} %" if exact else "no relative error"


EXPERIMENT = Experiment(
    "table1",
    "Table 1: how a rank error changes the value",
    "How far apart are values that are 2 % of the ranks apart?",
    "Section 2, Table 1",
    _pieces,
    _outcome,
)
