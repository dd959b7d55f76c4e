"""Samples objects of JSON: lines of files, or messages of a topic."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from aomg.monitor.draft.csv_sample import rows_in_all
from aomg.monitor.draft.data_files import DataFiles
from aomg.monitor.draft.sample import MOST_COLUMNS, MOST_ROWS, Sample, ends_of, folder_values
from aomg.monitor.draft.text_pieces import pieces_of
from aomg.monitor.errors import ConfigError


def json_sample(source: DataFiles) -> Sample:
    """Sample files of JSON lines. Raises ConfigError if there is no object in them."""
    pieces = pieces_of(source.files)
    most = max(MOST_ROWS // len(pieces), 1)
    runs, objects = [], 0
    for piece in pieces:
        if piece.is_first and piece.text.lstrip().startswith(b"["):
            raise ConfigError(f"{piece.file} is one JSON array; write one object a line, for example with jq -c '.[]'")
        folders = folder_values(piece.file, source.folder_columns)
        rows = objects_of(re.split(rb"[\r\n]+", piece.text))
        objects += len(rows)
        for part in ends_of(rows, most):
            runs.append([{**row, **folders} for row in part])
    if not any(runs):
        raise ConfigError(f"{pieces[0].file} has no line that is a JSON object; give JSON lines, CSV or Parquet")
    sample = sample_of_objects("jsonl", runs)
    sample.total = rows_in_all(source, pieces, objects)
    sample.files, sample.options = len(source.files), dict(source.options)
    sample.folder_columns = source.folder_columns
    return sample


def objects_of(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """The objects among some lines; others are left out, as the monitor does."""
    rows = []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def sample_of_objects(kind: str, runs: Sequence[Sequence[dict[str, Any]]]) -> Sample:
    """A sample of objects, run by run. Nested values cannot be read, and are left out."""
    names = list(dict.fromkeys(name for run in runs for row in run for name in row))[:MOST_COLUMNS]
    columns: dict[str, list[Any]] = {}
    unusable: dict[str, str] = {}
    lower = [name.lower() for name in names]
    for name in names:
        values = [row.get(name) for run in runs for row in run]
        if any(isinstance(value, (dict, list)) for value in values):
            unusable[name] = "its values are nested"
        elif lower.count(name.lower()) > 1:
            unusable[name] = "another column differs in capitals only"
        columns[name] = values
    ranges: list[range] = []
    for run in runs:
        begin = ranges[-1].stop if ranges else 0
        ranges.append(range(begin, begin + len(run)))
    return Sample(kind, columns, [run for run in ranges if run], None, names_columns=False, unusable=unusable)
