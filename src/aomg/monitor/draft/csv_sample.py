"""Samples CSV files: separator, quotes, header, encoding, then the rows of some pieces."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from aomg.monitor.draft.data_files import DataFiles
from aomg.monitor.draft.sample import MOST_COLUMNS, MOST_ROWS, Sample, ends_of, folder_values
from aomg.monitor.draft.text_pieces import TextPiece, pieces_of
from aomg.monitor.errors import ConfigError

_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|\.\d+)([eE][-+]?\d+)?")
_DOUBLED = re.compile(r'(?<![\\,;\t|\r\n"])""')  # inside a field; an empty field is "", too
_HEAD_ROWS = 200


@dataclass(frozen=True)
class _Dialect:
    separator: str
    encoding: str
    backslash: bool
    comment: str

    def rows(self, text: str) -> list[tuple[list[str], int]]:
        """The rows of a text, each with the number of its lines."""
        lines = (
            line
            for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
            if line.strip() and not (self.comment and line.startswith(self.comment))
        )
        reader = csv.reader(
            (line.rstrip("\r\n") + "\n" for line in lines),
            delimiter=self.separator,
            doublequote=not self.backslash,
            escapechar="\\" if self.backslash else None,
        )
        rows: list[tuple[list[str], int]] = []
        before = 0
        try:
            for row in reader:
                rows.append((row, reader.line_num - before))
                before = reader.line_num
        except csv.Error:
            pass  # what was read until there is enough
        return rows


def csv_sample(source: DataFiles, has_header: bool | None = None, separator: str | None = None) -> Sample:
    """Sample CSV files. `has_header` and `separator` replace what would be guessed."""
    pieces = pieces_of(source.files)
    dialect = _dialect(pieces[0], separator)
    head = [row for row, _ in dialect.rows(_text(pieces[0], dialect.encoding))]
    if not head:
        raise ConfigError(f"{pieces[0].file} has no rows; start once there are events")
    named = _is_header(head) if has_header is None else has_header
    names = head[0] if named else [f"column_{number + 1}" for number in range(_usual_length(head))]
    options = _options(dialect, named)
    if any(name != name.strip() for name in names):
        options |= {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}
        names = [name.strip() for name in names]
    _check_names(names, pieces[0], source.folder_columns)
    columns: dict[str, list[str | None]] = {name: [] for name in (*names, *source.folder_columns)}
    runs: list[range] = []
    most = max(MOST_ROWS // len(pieces), 1)
    several_lines, parsed = False, 0
    for piece in pieces:
        rows = dialect.rows(_text(piece, dialect.encoding))
        parsed += len(rows)
        rows = rows[1:] if piece.is_first and named else rows
        several_lines |= any(lines > 1 for row, lines in rows if len(row) == len(names))
        for good in ends_of([row for row, _ in rows if len(row) == len(names)], most):
            begin = runs[-1].stop if runs else 0
            runs.append(range(begin, begin + len(good)))
            for number, name in enumerate(names):
                columns[name] += [row[number] or None for row in good]
            for name, value in folder_values(piece.file, source.folder_columns).items():
                columns[name] += [value] * len(good)
    if several_lines:
        options["multiLine"] = "true"
    runs = [run for run in runs if run]
    if not runs:
        raise ConfigError(f"{pieces[0].file} has a header, but no rows of as many fields; start once there are events")
    total = rows_in_all(source, pieces, parsed, len(source.files) * named)
    return Sample(
        "csv",
        columns,
        runs,
        total,
        len(source.files),
        {**options, **source.options},
        named,
        unusable={"": "it has no name"} if "" in columns else {},
        folder_columns=source.folder_columns,
    )


def rows_in_all(source: DataFiles, pieces: Sequence[TextPiece], rows: int, headers: int = 0) -> float:
    """How many rows the files have, if they are as long as those in the pieces. Compressed files count as they are."""
    size = sum(len(piece.text) for piece in pieces)
    whole = {piece.file: len(piece.text) for piece in pieces if piece.is_whole}
    total = sum(whole[file] if file in whole else file.stat().st_size for file in source.files)
    return max(total * rows / max(size, 1) - headers, 1.0)


def _text(piece: TextPiece, encoding: str) -> str:
    return piece.text.decode(encoding, "replace")


def _dialect(piece: TextPiece, separator: str | None) -> _Dialect:
    try:
        piece.text.decode("utf-8")
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = "latin-1"
    text = _text(piece, encoding)
    if text.count("\0"):
        raise ConfigError(f"{piece.file} has zero bytes, so it is no text; give CSV, JSON lines or Parquet")
    comment = "#" if text.startswith("#") and re.search(r"^[^#\s]", text, re.MULTILINE) else ""
    backslash = '\\"' in text and _DOUBLED.search(text) is None
    choices = (separator,) if separator else _SEPARATORS
    dialects = [_Dialect(choice, encoding, backslash, comment) for choice in choices]
    return max(dialects, key=lambda dialect: _fit(dialect, text[: 1 << 17]))


def _fit(dialect: _Dialect, text: str) -> tuple[float, int]:
    """How well a separator fits: the share of rows with the usual number of fields, and that number."""
    rows = [row for row, _ in dialect.rows(text)][:_HEAD_ROWS]
    if not rows:
        return 0.0, 0
    length = _usual_length(rows)
    alike = sum(len(row) == length for row in rows) / len(rows)
    return (alike if length > 1 else 0.0), length


def _usual_length(rows: Sequence[Sequence[str]]) -> int:
    return Counter(map(len, rows[:_HEAD_ROWS])).most_common(1)[0][0]


def _is_header(head: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: no numbers, no name twice, and the rows below differ from it."""
    first, rest = head[0], head[1:_HEAD_ROWS]
    named = [name.strip() for name in first]
    if len(set(named)) < len(named) or any(_looks_like_data(name) for name in named):
        return False
    if not any(named):
        return False
    if not rest:
        return True
    return any(
        number < len(row) and _looks_like_data(row[number].strip()) for row in rest for number in range(len(first))
    )


def _looks_like_data(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) or (sum(letter.isdigit() for letter in text) >= 6 and ":" in text)


def _options(dialect: _Dialect, named: bool) -> dict[str, str]:
    options = {"header": "true"} if named else {}
    if dialect.separator != ",":
        options["sep"] = "\\t" if dialect.separator == "\t" else dialect.separator
    if dialect.encoding != "utf-8":
        options["encoding"] = "ISO-8859-1"
    if dialect.backslash:
        options["escape"] = "\\"
    if dialect.comment:
        options["comment"] = dialect.comment
    return options


def _check_names(names: Sequence[str], piece: TextPiece, folders: Sequence[str]) -> None:
    if len(names) > MOST_COLUMNS:
        raise ConfigError(f"{piece.file} has {len(names):,} columns; aomg init reads files of up to {MOST_COLUMNS:,}")
    lower = [name.lower() for name in (*names, *folders)]
    twice = next((name for name in lower if lower.count(name) > 1), None)
    if twice is not None:
        what = f"the column {twice!r} twice" if twice else "two columns without a name"
        raise ConfigError(f"the header of {piece.file} has {what} (capitals do not matter); rename one of them")
