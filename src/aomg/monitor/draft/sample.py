"""What was read of some data: a bounded number of rows, and how many there are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 21
"""Of text that is read altogether."""
MOST_ROWS = 20_000
MOST_FILES = 8
MOST_COLUMNS = 1_000


@dataclass(frozen=True)
class Times:
    """How a Parquet file stores the times of a column."""

    has_zone: bool
    nanoseconds: bool = False


@dataclass
class Sample:
    """Some rows of a source, column by column, in the order in which they are stored.

    kind
        csv, jsonl, parquet or kafka.
    columns
        Name -> values; None where there is none. CSV has texts; times of Parquet are microseconds since 1970.
    runs
        Rows that follow each other without a gap.
    total
        How many rows there are, as far as that can be estimated; None for topics.
    files
        How many files there are; 0 for topics.
    options
        Options of Spark that the files need.
    names_columns
        Whether the files name their columns: Parquet, and CSV with a header.
    times
        Columns of Parquet that are times.
    unusable
        Columns that no query can read, each with the reason.
    folder_columns
        Columns in the names of folders such as day=2024-05-01; they are among `columns`.
    """

    kind: str
    columns: dict[str, list[Any]]
    runs: list[range]
    total: float | None
    files: int = 0
    options: dict[str, str] = field(default_factory=dict)
    names_columns: bool = True
    times: dict[str, Times] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    folder_columns: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return sum(len(run) for run in self.runs)


def ends_of(rows: Sequence[Any], most: int) -> list[Sequence[Any]]:
    """The first and the last rows of a piece, if it has more than that; each part is a run."""
    half = max(most // 2, 1)
    return [rows] if len(rows) <= most else [rows[:half], rows[len(rows) - half :]]


def chosen(files: Sequence[Path]) -> list[Path]:
    """Some of the files: the first, the last, and others at equal distances."""
    most = min(len(files), MOST_FILES)
    if most < 2:
        return list(files)
    return [files[round(number * (len(files) - 1) / (most - 1))] for number in range(most)]


def folder_values(file: Path, names: Sequence[str]) -> dict[str, str | None]:
    """What the folders of a file say of columns such as day=2024-05-01."""
    parts = dict(part.split("=", 1) for part in file.parent.parts if "=" in part[1:])
    return {name: parts.get(name) for name in names}
