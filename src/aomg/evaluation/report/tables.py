"""Lays out tables: numeric columns, cells of the paper, and how to split a wide table."""

import re
from collections.abc import Iterable, Sequence

from aomg.evaluation.outcome import Table

_NUMBER = re.compile(r"[<>=~+-]*\s?[\d.,]+(e[+-]?\d+)?\s?(%|x|K|M|k|G|)(\s\([\w.,% ]{1,12}\))?")
GAP = 3
"""Characters between two columns."""
_PAPERS = re.compile(r"\bpaper\b", re.IGNORECASE)


def is_number(table: Table, column: int) -> bool:
    """Return whether a column is right-aligned: all cells are numbers or look like one: 12 %, 3,340 (16,416)."""
    cells = [row[column] for row in table.rows if row[column] not in (None, "", "-")]
    return bool(cells) and all(not isinstance(cell, str) or _NUMBER.fullmatch(cell) for cell in cells)


def texts(table: Table) -> list[list[str]]:
    """Return every cell as text."""
    return [[column.text(cell) for column, cell in zip(table.columns, row, strict=True)] for row in table.rows]


def headings(table: Table) -> list[str]:
    """Return the heading of each column; a percent sign stays on the line of its number."""
    return [column.heading.replace(" %", "\u00a0%") for column in table.columns]


def is_papers_column(table: Table, column: int) -> bool:
    """Return whether a column has the paper's numbers. "AOMG (paper)" is a contender: AOMG as the paper ran it."""
    return bool(_PAPERS.search(table.columns[column].heading.replace("AOMG (paper)", "")))


def is_papers_row(row: Sequence[str]) -> bool:
    """Return whether a row has the paper's numbers: one of its cells is that word."""
    return any(cell.lower() in ("paper", "the paper") for cell in row)


def widths(table: Table, total: int) -> list[int]:
    """Return the least width of each column: headings and texts are broken between words, numbers are not broken.

    A text gets at most a quarter of the total width, or its longest word; no column gets more than half.
    """
    needed_widths = []
    for number, (heading, cells) in enumerate(zip(headings(table), _columns(table), strict=True)):
        needed = _longest(cells)
        if not is_number(table, number):
            needed = max(min(needed, total // 4), _longest(word for cell in cells for word in cell.split()))
        needed_widths.append(max(min(max(needed, _longest(heading.split(" "))), total // 2 - GAP), 1))
    return needed_widths


def parts(table: Table, total: int) -> list[list[int]]:
    """Split columns into groups that fit into this many characters. Each group starts with the key columns."""
    needed = [width + GAP for width in widths(table, total)]
    if sum(needed) <= total:
        return [list(range(len(needed)))]
    keys = _keys(table, needed, total // 2)
    start = sum(needed[: len(keys)])
    groups, used = [list(keys)], start
    for number in range(len(keys), len(needed)):
        if used + needed[number] > total and len(groups[-1]) > len(keys):
            groups.append(list(keys))
            used = start
        groups[-1].append(number)
        used += needed[number]
    return groups


def fitted(table: Table, columns: Sequence[int], total: int) -> list[int]:
    """Return the width of each column of a group: its least width, and a share of the remaining characters."""
    needed, cells, names = widths(table, total), _columns(table), headings(table)
    final = {column: needed[column] for column in columns}
    left = total - sum(final.values()) - GAP * len(final)
    lacking = {column: _longest([names[column], *cells[column]]) - final[column] for column in columns}
    for done, column in enumerate(sorted(columns, key=lambda column: lacking[column])):
        more = max(min(lacking[column], left // (len(final) - done)), 0)
        final[column] += more
        left -= more
    return [final[column] for column in columns]


def _keys(table: Table, needed: Sequence[int], total: int) -> list[int]:
    """Return the key columns: the first ones that make rows unique, if they fit."""
    cells, count = texts(table), 1
    while count < len(needed) - 1 and sum(needed[: count + 1]) <= total:
        if len({tuple(row[:count]) for row in cells}) == len(cells):
            break
        count += 1
    return list(range(count))


def _columns(table: Table) -> list[list[str]]:
    cells = texts(table)
    return [[row[number] for row in cells] for number in range(len(table.columns))]


def _longest(pieces: Iterable[str]) -> int:
    return max(map(len, pieces), default=0)
