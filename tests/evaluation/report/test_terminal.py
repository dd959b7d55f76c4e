"""Tables in the terminal: nothing of them is cut off, however narrow it is."""

import io
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from aomg.evaluation import names
from aomg.evaluation.outcome import Table, TableColumn
from aomg.evaluation.report.tables import headings, is_number, parts, texts
from aomg.evaluation.report.terminal import show_table

PAGES = Path(__file__).parents[3] / "docs" / "results"


def tables_of(page: Path) -> list[Table]:
    """Every table of a page of results, with its cells as texts."""
    grids: list[list[list[str]]] = []
    before = ""
    for line in page.read_text().splitlines():
        if line.startswith("|"):
            cells = [re.sub(r"\\(.)", r"\1", cell) for cell in re.split(r" ?(?<!\\)\| ?", line.strip())[1:-1]]
            if not before.startswith("|"):
                grids.append([])
            if not set(line) <= set("|-: "):
                grids[-1].append(cells)
        before = line
    return [Table(page.stem, [TableColumn(name) for name in rows[0]], rows[1:], "A note.") for rows in grids]


def shown(table: Table, width: int) -> str:
    text = io.StringIO()
    show_table(Console(file=text, width=width), table)
    return text.getvalue()


def said_in(groups: list[list[int]], cells: list[list[str]]) -> list[tuple[list[int], list[list[str]]]]:
    """Each group of columns with the rows it must show: all at first, then those with more than their keys."""
    shared = set(groups[0]).intersection(*groups[1:])
    grids = [(groups[0], cells)]
    for group in groups[1:]:
        grids.append((group, [row for row in cells if any(row[column] for column in group if column not in shared)]))
    return grids


def check_all_is_there(table: Table, width: int) -> None:
    """Every sign of every cell is there as often as it must be, every number in one piece, and no line is too long."""
    output = shown(table, width)
    assert max(map(len, output.splitlines())) <= width
    groups = parts(table, width - 2)
    cells, heads = texts(table), headings(table)
    expected = [table.title, table.note, *["... the other columns"] * (len(groups) - 1)]
    expected += [line[column] for group, rows in said_in(groups, cells) for line in (heads, *rows) for column in group]
    letters = lambda text: Counter(re.sub(r"[\s─]", "", text))  # noqa: E731
    assert letters(output) == letters("".join(expected))
    words = Counter(output.split())
    for column in range(len(heads)):
        if is_number(table, column):
            for number, times in Counter(row[column] for row in cells if row[column]).items():
                assert all(words[part] >= times for part in number.split())


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", names())
def test_every_cell_of_every_result_is_shown(name, width):
    page = PAGES / f"{name}.md"
    if not page.exists():
        pytest.skip(f"no page of {name}: make evaluation writes it")
    tables = tables_of(page)
    assert tables
    for table in tables:
        check_all_is_there(table, width)


def test_a_number_is_never_shortened():
    """As 2.057e+04 once was, to 2.057."""
    numbers = [20_570.1234, 1.5e-7, 12_345_678, 3.0]
    table = Table(
        "Long", [TableColumn("stream"), *(TableColumn(f"0.99 +{n} %") for n in range(4))], [["a stream", *numbers]]
    )
    for width in (30, 40, 60, 80):
        check_all_is_there(table, width)


def test_a_row_goes_on_below_only_if_it_has_more_to_say():
    rows = [["first", "a" * 40, "a reason"], ["second", "b" * 40, ""]]
    table = Table("Claims", [TableColumn("name"), TableColumn("what"), TableColumn("why")], rows)
    assert len(parts(table, 38)) == 2
    below = shown(table, 40).split("... the other columns")[1]
    assert "first" in below and "a reason" in below and "second" not in below


def test_rows_are_told_apart_in_every_part_of_a_table():
    rows = [["AOMG", "here", *range(10)], ["AOMG", "paper", *range(10)]]
    table = Table(
        "Both", [TableColumn("policy"), TableColumn(""), *(TableColumn(f"column {n}") for n in range(10))], rows
    )
    groups = parts(table, 60)
    assert len(groups) > 1 and all(group[:2] == [0, 1] for group in groups)


def test_texts_take_the_room_that_is_left():
    long = "a text that is longer than a quarter of the line, and has room enough"
    assert long in shown(Table("Wide", [TableColumn("what"), TableColumn("number")], [[long, 1]]), 100)


cell = st.one_of(st.integers(), st.floats(allow_nan=False), st.text("ab <[/]%é|", max_size=60), st.none())


@given(st.data(), st.integers(20, 140))
def test_nothing_is_cut_off_whatever_the_cells_are(data, width):
    count = data.draw(st.integers(1, 8))
    rows = data.draw(st.lists(st.lists(cell, min_size=count, max_size=count), max_size=4))
    heads = data.draw(st.lists(st.text("abc (%)", max_size=30), min_size=count, max_size=count))
    table = Table("Made", [TableColumn(name) for name in heads], rows, "[dim]A note")
    groups = parts(table, width - 2)
    output = re.sub(r"[\s─]", "", shown(table, width))
    expected = [table.title, table.note, *["... the other columns"] * (len(groups) - 1)]
    expected += [
        line[column]
        for group, rows in said_in(groups, texts(table))
        for line in (headings(table), *rows)
        for column in group
    ]
    assert Counter(output) == Counter(re.sub(r"\s", "", "".join(expected)))
