"""Our question: speed on Spark. Reads the stored figures of the Spark benchmarks, which take half an hour and Java."""

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

from aomg.evaluation.experiment import Experiment, Measurements, Piece
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.measure.source import ValueSource
from aomg.evaluation.outcome import Cell, Outcome, Plot, Series, Table, TableColumn
from aomg.evaluation.run import EvaluationError

_CHECKOUT = Path(__file__).parents[4]
_OURS = "quantiles"
_SPEEDS = "million_events_a_second"


def result_files() -> list[Path]:
    """Return the result files of `make bench-spark`, in the working directory or in the checkout of this file."""
    for place in (Path.cwd(), _CHECKOUT):
        files = sorted((place / "benchmarks" / "results").glob("spark_*.json"))
        if files:
            return files
    return []


def _read(files: list[Path]) -> list[dict[str, Any]]:
    """Return all figures, each with its benchmark's name, day and machine."""
    figures = []
    for file in files:
        try:
            result = json.loads(file.read_text())
            machine = {key: str(result["machine"][key]) for key in ("date", "cpu", "cores", "spark")}
            for figure in result["figures"]:
                speeds = (figure["detail"] or {}).get(_SPEEDS, {})
                fields = {key: figure[key] for key in ("what", "against", "measured", "aim", "met")}
                figures.append({"benchmark": result["name"], "machine": machine, "speeds": speeds, **fields})
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise EvaluationError(f"{file} is not a result of a Spark benchmark: run make bench-spark again") from error
    return figures


def _pieces(scale: Scale, own: ValueSource | None) -> list[Piece]:
    files = result_files()
    # the name has a digest of the files, so that a stored piece is not used for new measurements
    mark = hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=6).hexdigest()
    return [Piece(f"results-{mark}", partial(_read, files), 0.01)]


def _plot(title: str, figures: list[dict[str, Any]]) -> Plot:
    """Return bars: a series per contender, a category per figure."""
    places = [f"{figure['what']} ({figure['benchmark'].removeprefix('spark_')})" for figure in figures]
    names = list(dict.fromkeys(name for figure in figures for name in figure["speeds"]))
    series = [Series(name, places, [figure["speeds"].get(name) for figure in figures]) for name in names]
    return Plot(title, "", "million events a second", series, "bars", log_y=True)


def _findings(figures: list[dict[str, Any]]) -> list[str]:
    aimed = [figure for figure in figures if figure["met"] is not None]
    missed = [figure for figure in aimed if not figure["met"]]
    conditions = [figure["machine"] for figure in figures]
    machines = sorted({f"{m['cores']} cores of {m['cpu']}, Spark {m['spark']}" for m in conditions})
    days = sorted({machine["date"] for machine in conditions})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    met = len(aimed) - len(missed)
    findings = [f"{met} of {len(aimed)} aims are met, measured {when} on {'; '.join(machines)}."]
    findings += [
        f"Not met: {f['what']}, against {f['against']}: {f['measured']}, the aim is {f['aim']}." for f in missed
    ]
    races = [figure["speeds"] for figure in figures if _OURS in figure["speeds"]]
    for name in dict.fromkeys(name for speeds in races for name in speeds if name != _OURS):
        times = [speeds[_OURS] / speeds[name] for speeds in races if name in speeds]
        spread = f"{min(times):.2g}" if len(times) == 1 else f"{min(times):.2g} to {max(times):.2g}"
        slower = sum(ratio < 1 for ratio in times)
        findings.append(
            f"The quantiles have {spread} times the speed of {name}: slower in {slower} of {len(times)} settings."
        )
    return findings


def _outcome(measurements: Measurements, scale: Scale, own: ValueSource | None) -> Outcome:
    (figures,) = measurements.values()
    columns = [TableColumn(name) for name in ("what", "against", "aim", "measured", "met")]
    if not figures:
        instructions = (
            "There are no results of the Spark benchmarks: run make bench-spark in a checkout (half an hour), then "
            "evaluate again in that folder."
        )
        return Outcome([Table("Spark", columns, [], instructions)], findings=[instructions])
    met = {True: "yes", False: "no", None: ""}
    rows: list[list[Cell]] = [[f["what"], f["against"], f["aim"], f["measured"], met[f["met"]]] for f in figures]
    rivals = [figure for figure in figures if _OURS in figure["speeds"]]
    itself = [figure for figure in figures if figure["speeds"] and _OURS not in figure["speeds"]]
    plots = []
    if rivals:
        plots.append(_plot("Quantiles on Spark and their rivals", rivals))
    if itself:
        plots.append(_plot("Quantiles on Spark by window size and skew of keys", itself))
    return Outcome([Table("Spark", columns, rows)], plots, _findings(figures))


EXPERIMENT = Experiment(
    "spark",
    "Spark: speed, state and delay",
    "How fast are the quantiles on Spark, against its own count, percentile_approx and KLL?",
    "",
    _pieces,
    _outcome,
    own_data=False,
)
