"""Writes and reads results: a JSON file per experiment with everything, and a CSV file per table.

The report and the pages are written from these files, so all of them show the same numbers.
"""

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aomg.evaluation.experiment import Experiment
from aomg.evaluation.outcome import Claim, Outcome, Plot, Series, Table, TableColumn
from aomg.evaluation.run import EvaluationError, put

_RESULTS, _TABLES = "results", "tables"


@dataclass(frozen=True)
class ExperimentResult:
    """The outcome of one experiment, and how it was measured (`about`)."""

    name: str
    title: str
    question: str
    paper: str
    outcome: Outcome
    about: dict[str, Any]

    @classmethod
    def of(cls, experiment: Experiment, outcome: Outcome, about: dict[str, Any]) -> "ExperimentResult":
        """Return the result of an experiment with JSON types only."""
        fields = {"name": experiment.name, "title": experiment.title, "question": experiment.question}
        return _from_json(_to_json(cls(**fields, paper=experiment.paper, outcome=outcome, about=about)))

    def tables(self) -> list[tuple[str, Table]]:
        """Return each table with the path of its CSV file, relative to the folder of the evaluation."""
        return [(f"{_TABLES}/{self.name}-{number}.csv", table) for number, table in enumerate(self.outcome.tables, 1)]


def write(folder: Path, result: ExperimentResult) -> None:
    """Write the files of a result, each atomically. Replaces those of an earlier run."""
    for stale in (folder / _TABLES).glob(f"{result.name}-[0-9]*.csv"):
        stale.unlink(missing_ok=True)
    for path, table in result.tables():
        put(folder / path, csv_of(table))
    put(folder / _RESULTS / f"{result.name}.json", json.dumps(_to_json(result), indent=1, allow_nan=False) + "\n")


def read(folder: Path, order: Iterable[str], run: str | None = None) -> list[ExperimentResult]:
    """Read the results in a folder, in the order of names; only those of `run`, if given."""
    results = []
    for name in order:
        file = folder / _RESULTS / f"{name}.json"
        if file.is_file():
            try:
                result = _from_json(json.loads(file.read_text()))
            except (ValueError, KeyError, TypeError) as error:
                raise EvaluationError(f"{file} is damaged: remove it and run {name} again") from error
            if run is None or result.about["run"] == run:
                results.append(result)
    return results


def csv_of(table: Table) -> str:
    """Return a table as CSV: headings, then cells with all digits; empty if there is no number."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([column.heading for column in table.columns])
    rows.writerows(table.rows)
    return text.getvalue()


def _to_json(result: ExperimentResult) -> dict[str, Any]:
    content: dict[str, Any] = _plain(asdict(result))
    return content


def _plain(part: Any) -> Any:
    """Convert NumPy numbers to Python's, and numbers that are not finite to None, because JSON has none."""
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_plain(value) for value in part]
    if hasattr(part, "tolist"):
        return _plain(part.tolist())
    return None if isinstance(part, float) and not math.isfinite(part) else part


def _from_json(content: dict[str, Any]) -> ExperimentResult:
    stored = content["outcome"]
    tables = [
        Table(**{**table, "columns": [TableColumn(**column) for column in table["columns"]]})
        for table in stored["tables"]
    ]
    plots = [Plot(**{**plot, "series": [Series(**series) for series in plot["series"]]}) for plot in stored["plots"]]
    outcome = Outcome(tables, plots, stored["findings"], [Claim(**claim) for claim in stored["claims"]])
    return ExperimentResult(**{**content, "outcome": outcome})
