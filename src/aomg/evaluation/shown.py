"""How tables are shown: which columns are numbers, which cells are the paper's, and how a wide one is cut in parts."""

import re
from collections.abc import Sequence

from aomg.evaluation.outcome import Table

_NUMBER = re.compile(r"[<>=~+-]*\s?[\d.,]+(e[+-]?\d+)?\s?(%|x|K|M|k|G|)(\s\([\w.,% ]{1,12}\))?")
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
    """The characters that each column needs: headings and words may be broken between lines, numbers not."""
    cells = texts(table)
    found = []
    for number, heading in enumerate(headings(table)):
        longest = max((len(row[number]) for row in cells), default=0)
        needed = longest if is_number(table, number) else min(longest, room // 4)
        found.append(max([needed, *(len(word) for word in heading.split(" "))]))
    return found


def parts(table: Table, room: int, gap: int = 3) -> list[list[int]]:
    """Columns in groups that fit into so many characters each; the leading columns of words begin every group."""
    needed = [width + gap for width in widths(table, room)]
    numbers = [is_number(table, number) for number in range(len(needed))]
    keys = list(range(numbers.index(True))) if any(numbers) else []
    keys = keys or [0]
    start = sum(needed[key] for key in keys)
    if sum(needed) <= room or not any(numbers) or start > room // 2:
        return [list(range(len(needed)))]
    groups, used = [list(keys)], start
    for number in range(len(keys), len(needed)):
        if used + needed[number] > room and len(groups[-1]) > len(keys):
            groups.append(list(keys))
            used = start
        groups[-1].append(number)
        used += needed[number]
    return groups
