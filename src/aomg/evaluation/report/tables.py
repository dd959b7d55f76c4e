"""How tables are shown: which columns are numbers, which cells are the paper's, and how a wide one is cut in parts."""

import re
from collections.abc import Iterable, Sequence

from aomg.evaluation.outcome import Table

_NUMBER = re.compile(r"[<>=~+-]*\s?[\d.,]+(e[+-]?\d+)?\s?(%|x|K|M|k|G|)(\s\([\w.,% ]{1,12}\))?")
GAP = 3
"""Characters between two columns."""
_PAPERS = re.compile(r"\bpaper\b", re.IGNORECASE)


def is_number(table: Table, column: int) -> bool:
    """Whether a column is written to the right: all its cells are numbers, or look like one: 12 %, 3,340 (16,416)."""
    cells = [row[column] for row in table.rows if row[column] not in (None, "", "-")]
    return bool(cells) and all(not isinstance(cell, str) or _NUMBER.fullmatch(cell) for cell in cells)


def texts(table: Table) -> list[list[str]]:
    """Every cell as people read it."""
    return [[column.text(cell) for column, cell in zip(table.columns, row, strict=True)] for row in table.rows]


def headings(table: Table) -> list[str]:
    """The heading of each column; a percent sign stays on the line of its number."""
    return [column.heading.replace(" %", "\u00a0%") for column in table.columns]


def is_papers_column(table: Table, column: int) -> bool:
    """Whether a column holds numbers of the paper. "AOMG (paper)" is a contender: AOMG as the paper ran it."""
    return bool(_PAPERS.search(table.columns[column].heading.replace("AOMG (paper)", "")))


def is_papers_row(row: Sequence[str]) -> bool:
    """Whether a row holds numbers of the paper: one of its cells is that word."""
    return any(cell.lower() in ("paper", "the paper") for cell in row)


def widths(table: Table, room: int) -> list[int]:
    """The characters that each column needs at least: headings and texts are broken between words, numbers not at all.

    A text gets a quarter of the room at most, or its longest word; nothing gets more than half of the room.
    """
    found = []
    for number, (heading, cells) in enumerate(zip(headings(table), _columns(table), strict=True)):
        needed = _longest(cells)
        if not is_number(table, number):
            needed = max(min(needed, room // 4), _longest(word for cell in cells for word in cell.split()))
        found.append(max(min(max(needed, _longest(heading.split(" "))), room // 2 - GAP), 1))
    return found


def parts(table: Table, room: int) -> list[list[int]]:
    """Columns in groups that fit into so many characters each. Every group begins with those that tell rows apart."""
    needed = [width + GAP for width in widths(table, room)]
    if sum(needed) <= room:
        return [list(range(len(needed)))]
    keys = _keys(table, needed, room // 2)
    start = sum(needed[: len(keys)])
    groups, used = [list(keys)], start
    for number in range(len(keys), len(needed)):
        if used + needed[number] > room and len(groups[-1]) > len(keys):
            groups.append(list(keys))
            used = start
        groups[-1].append(number)
        used += needed[number]
    return groups


def fitted(table: Table, columns: Sequence[int], room: int) -> list[int]:
    """The width of each column of a group: what it needs, and of the room that is left as much as its texts can use."""
    needed, cells, names = widths(table, room), _columns(table), headings(table)
    found = {column: needed[column] for column in columns}
    left = room - sum(found.values()) - GAP * len(found)
    lacking = {column: _longest([names[column], *cells[column]]) - found[column] for column in columns}
    for done, column in enumerate(sorted(columns, key=lambda column: lacking[column])):
        more = max(min(lacking[column], left // (len(found) - done)), 0)
        found[column] += more
        left -= more
    return [found[column] for column in columns]


def _keys(table: Table, needed: Sequence[int], room: int) -> list[int]:
    """The first column, and as many of the next as it takes to tell the rows apart, if they fit into the room."""
    cells, count = texts(table), 1
    while count < len(needed) - 1 and sum(needed[: count + 1]) <= room:
        if len({tuple(row[:count]) for row in cells}) == len(cells):
            break
        count += 1
    return list(range(count))


def _columns(table: Table) -> list[list[str]]:
    cells = texts(table)
    return [[row[number] for row in cells] for number in range(len(table.columns))]


def _longest(pieces: Iterable[str]) -> int:
    return max(map(len, pieces), default=0)
