"""Two small experiments that stand for all sixteen, for whom running and reporting is tested."""

import sys
from types import ModuleType

import pytest

import aomg.evaluation
from aomg.evaluation.experiment import Experiment, Piece
from aomg.evaluation.outcome import Claim, Outcome, Plot, Series, Table, TableColumn

LONG = ["a stream with a long name", "a stream with a longer name still", "a third stream of that kind"]
HOSTILE = "</script><img src=x onerror=alert(1)> & | _so_ *on*"


class Pieces:
    """Pieces that note when they are measured, and can be told to stop the run, as Ctrl-C does."""

    def __init__(self) -> None:
        self.measured: list[str] = []
        self.stop_at: str | None = None

    def measure(self, name: str) -> dict[str, float]:
        if name == self.stop_at:
            raise KeyboardInterrupt
        self.measured.append(name)
        return {"error": len(name) / 7 + 0.01, "speed": float(sum(map(ord, name)))}

    def of(self, *names: str):
        return lambda scale, own: [Piece(name, lambda name=name: self.measure(name), len(name)) for name in names]


def _first(measurements, scale, own):
    rows = [
        [name, measurement["error"], round(measurement["speed"]), None, "12 (34)"]
        for name, measurement in measurements.items()
    ]
    rows.append(["paper", 0.5, 1234567, 3.25, "-"])
    columns = [
        TableColumn("policy"),
        TableColumn("error", 3, "%"),
        TableColumn("events"),
        TableColumn("paper's error"),
        TableColumn("space"),
    ]
    errors = [measurement["error"] for measurement in measurements.values()]
    series = [Series("AOMG", [1, 10, 100], errors[:3]), Series("AOMG, paper", [1, 10, 100], [0.5, 0.0, 2], dashed=True)]
    claims = [Claim("the error is small", "below 5 %", f"{max(errors):.2f} %", True)]
    return Outcome(
        [Table("Errors", columns, rows, "A note."), Table("More", [TableColumn(HOSTILE)], [[HOSTILE], [float("nan")]])],
        [Plot("Error by window", "window", "error (%)", series, log_x=True, log_y=True, caption="What it shows.")],
        ["The error here is half of the paper's.", HOSTILE],
        claims,
    )


def _second(measurements, scale, own):
    bars = [Series("KLL", LONG, [1.0, 2.0, None]), Series("paper", LONG, [2.0, 2.5, 3.0], dashed=True)]
    points = [Series(HOSTILE, [1, 2], [3, 4], labels=["one", HOSTILE])]
    wide = Table("Wide", [TableColumn(f"column {n}", 2) for n in range(30)], [[n * 1000.5 for n in range(30)]] * 40)
    return Outcome(
        [wide],
        [Plot("Bars", "", "speed", bars, "bars"), Plot("Points", "bytes", "error", points, "points")],
        claims=[Claim("it is fast", "15 to 92 %", "3 %", False, "the rivals are built well")],
    )


@pytest.fixture
def pieces() -> Pieces:
    return Pieces()


@pytest.fixture
def experiments(monkeypatch, pieces) -> dict[str, Experiment]:
    """Nothing but two experiments: `first` of six pieces, and `second`, which does not run on data of one's own."""
    one = pieces.of("a", "bb", "ccc", "dddd", "eeeee", "ffffff")
    there = {
        "first": Experiment("first", "The first", "How large is the error?", "Table 1", one, _first),
        "second": Experiment("second", "The second", "How fast?", "Figure 2", pieces.of("x", "y"), _second, False),
    }
    monkeypatch.setattr(aomg.evaluation, "_NAMES", tuple(there))
    for name, experiment in there.items():
        module = ModuleType(f"aomg.evaluation.experiments.{name}")
        module.EXPERIMENT = experiment
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return there
