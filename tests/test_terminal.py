"""Text from data cannot control the terminal; JSON keeps the true text."""

import ast
import io
import json
import logging
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from monitor.samples import NAMES, NOON, alert, row, table
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from aomg import cli
from aomg.monitor.errors import ConfigError
from aomg.monitor.results.display import show
from aomg.monitor.run.view import _change
from aomg.monitor.sinks.console import ConsoleSink
from aomg.monitor.sinks.parquet import ParquetSink
from aomg.terminal import Terminal, escape_log, json_text, printable

SOURCE = Path(__file__).parent.parent / "src" / "aomg"
HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b31m\u202eb\u2066c\rd\x00\x7f"
DANGEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printed(what, *arguments, **settings) -> str:
    output = io.StringIO()
    what(Terminal(file=output, width=400, **settings), *arguments)
    return output.getvalue()


def refuse_control(text: str) -> None:
    assert DANGEROUS.findall(text) == []


@example(HOSTILE)
@given(st.text())
def test_nothing_that_is_printed_controls_the_terminal(text):
    for renderable in (Text(text), Text("b", style="bold").append(text)):
        refuse_control(printed(lambda console, part=renderable: console.print(part)))
    refuse_control(printed(lambda console: console.print(text, markup=False)))
    refuse_control(printed(lambda console: console.out(text)))
    cells = Table("x", text)
    cells.add_row(Text(text), Text("1"))
    refuse_control(printed(lambda console: console.print(cells)))


@example(HOSTILE)
@given(st.text())
def test_json_is_safe_to_print_and_keeps_the_true_text(text):
    refuse_control(json_text({text: [text]}))
    assert json.loads(json_text({text: [text]})) == {text: [text]}


def test_escapes_are_visible_and_other_letters_stay():
    assert printable("käse\x1b[1m\n\u202e") == "käse\\x1b[1m\\n\\u202e"
    assert printable("two\nlines\t\x07", keep_layout=True) == "two\nlines\t\\x07"


def test_colours_of_our_own_reach_a_terminal():
    coloured = printed(lambda console: console.print(Text("a\x1bb", style="red")), force_terminal=True)
    assert coloured == "\x1b[31ma\\x1bb\x1b[0m\n"


def test_a_stored_key_is_shown_with_its_escapes(tmp_path):
    ParquetSink(tmp_path, NAMES).write(0, table(row((HOSTILE,), NOON)))
    shown = printed(show, tmp_path)
    refuse_control(shown)
    assert "a\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202eb\\u2066c\\rd\\x00\\x7f" in shown
    document = printed(lambda console: show(console, tmp_path, as_json=True))
    refuse_control(document)
    assert json.loads(document)[0]["worst_first"][0]["labels"] == {"podset": HOSTILE}


def test_sinks_and_the_view_of_a_run_show_keys_with_their_escapes():
    rows = table(row((HOSTILE + "\nfake",), NOON))
    refuse_control(printed(lambda console: ConsoleSink(console, NAMES).write(0, rows)))
    hostile = alert(labels={"podset": HOSTILE}, annotations={"summary": HOSTILE})
    lines = printed(lambda console: ConsoleSink(console, NAMES).write(0, [hostile])).splitlines()
    assert len(lines) == 1 and "\\x1b[2J" in lines[0]
    refuse_control(printed(lambda console: console.print(_change(hostile))))


def test_errors_are_printed_with_escapes(monkeypatch, tmp_path):
    def fail(*arguments):
        raise ConfigError(f"no key {HOSTILE}")

    monkeypatch.setattr("aomg.monitor.command.query", fail)
    done = CliRunner().invoke(cli.app, ["query", str(tmp_path)])
    assert done.exit_code == 2 and "no key a\\x1b]0;owned" in done.stderr
    refuse_control(done.stderr)


def test_log_messages_on_standard_error_have_escapes(capsys):
    escape_log()
    record = logging.LogRecord("aomg", logging.WARNING, "", 0, "not delivered: %s", (HOSTILE,), None)
    refuse_control(logging.lastResort.format(record))


def test_every_console_of_the_program_is_a_terminal_of_ours():
    """A plain Console, or typer's echo of a message, would pass control characters through."""
    offenders = []
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Console", "rich.print", "rich.get_console"):
                offenders.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    assert offenders == []


@pytest.mark.parametrize("file", ["cli.py"])
def test_only_what_is_ours_is_echoed_as_it_is(file):
    calls = [
        ast.unparse(node.args[0])
        for node in ast.walk(ast.parse((SOURCE / file).read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "typer.echo"
    ]
    assert all(call.startswith(("_json.dumps(", "_evaluate.as_json(", "aomg.__version__")) for call in calls), calls
