"""The command `aomg evaluate`: what it runs, what it says, and how it refuses."""

import csv
import json
import sys
import time
from dataclasses import replace

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import aomg.evaluation
from aomg import streams
from aomg.cli import app
from aomg.evaluation import command, files
from aomg.evaluation.experiment import Piece
from aomg.evaluation.measure.scale import FULL, QUICK, STANDARD
from aomg.evaluation.outcome import Claim, Outcome, Table, TableColumn
from aomg.evaluation.report import html as report
from aomg.evaluation.report import markdown, terminal
from aomg.evaluation.report.losses_page import filled
from aomg.evaluation.report.tables import parts

runner = CliRunner(env={"COLUMNS": "100"})


def aomg_evaluate(*arguments: object):
    return runner.invoke(app, ["evaluate", *map(str, arguments)])


def refused(*arguments: object) -> str:
    """The one line that a command says when it cannot do what was asked."""
    result = aomg_evaluate(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("cannot evaluate: ") and result.stderr.count("\n") == 1
    return result.stderr


def results_of(folder):
    """All tables and findings of a run, without its date and command."""
    content = {file.name: json.loads(file.read_text()) for file in (folder / "results").iterdir()}
    tables = {file.name: file.read_text() for file in (folder / "tables").iterdir()}
    return {name: content["outcome"] for name, content in content.items()}, tables


@pytest.fixture
def data(tmp_path):
    """A file with a column of numbers, one with gaps, and one of words."""
    values = streams.pingmesh(seed=3).take(20_000).tolist()
    gaps = [None if n % 10 == 0 else value / 3 for n, value in enumerate(values)]
    table = pa.table({"rtt_us": values, "gaps": gaps, "host": [f"h{value % 7}" for value in values]})
    pa.csv.write_csv(table, tmp_path / "mine.csv")
    pq.write_table(table, tmp_path / "mine.parquet")
    return tmp_path


# -- what is run -------------------------------------------------------------------------------------------------------


def test_every_experiment_is_written_to_files_and_shown(tmp_path, experiments):
    result = aomg_evaluate("--quick", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    expected = {"results/first.json", "results/second.json", "report.html"}
    expected |= {"tables/first-1.csv", "tables/first-2.csv", "tables/second-1.csv"}
    assert {path for path in written if not path.startswith("pieces/")} == expected
    for text in ("The first", "How large is the error?", "Errors", "1,234,567", "A note.", "half of the paper's"):
        assert text in result.output
    assert "does not hold it is fast: the paper 15 to 92 %, here 3 % (the rivals are built well)" in result.output
    assert result.output.rstrip().endswith("report.html")
    assert max(map(len, result.output.splitlines()[:-1])) <= 100


def test_a_table_that_is_too_wide_goes_on_below_with_its_first_column():
    rows = [["a stream", *range(1_000_000, 1_000_010)]]
    table = Table("Wide", [TableColumn("stream"), *(TableColumn(f"c{n}") for n in range(10))], rows)
    assert parts(table, 200) == [list(range(11))]
    groups = parts(table, 60)
    assert len(groups) > 1 and all(group[0] == 0 for group in groups)
    assert [column for group in groups for column in group[1:]] == list(range(1, 11))


def test_names_choose_and_a_later_run_adds_to_the_report(tmp_path, experiments):
    for name in ("second", "first"):
        assert aomg_evaluate(name, "--quick", "--out", tmp_path).exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert page.index('<section id="first">') < page.index('<section id="second">')


def test_results_of_another_scale_are_not_in_the_report(tmp_path, experiments):
    assert aomg_evaluate("second", "--quick", "--out", tmp_path).exit_code == 0
    assert aomg_evaluate("first", "--full", "--out", tmp_path).exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert '<section id="first">' in page and '<section id="second">' not in page


def test_fewer_tables_than_before_leave_none_of_the_old(tmp_path, experiments):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/first-3.csv").write_text("old")
    (tmp_path / "tables/first_other-1.csv").write_text("of another experiment")
    assert aomg_evaluate("first", "--quick", "--out", tmp_path).exit_code == 0
    assert sorted(file.name for file in (tmp_path / "tables").iterdir()) == [
        "first-1.csv",
        "first-2.csv",
        "first_other-1.csv",
    ]


def test_the_scales_are_the_three():
    assert [command.scale_of(*arguments) for arguments in ((True, False), (False, False), (False, True))] == [
        QUICK,
        STANDARD,
        FULL,
    ]


def test_the_list_has_every_experiment_there_is():
    result = aomg_evaluate("--list")
    assert result.exit_code == 0
    content = [line.split()[0] for line in result.output.splitlines()[2:]]
    assert content == list(aomg.evaluation.names())
    as_json = json.loads(aomg_evaluate("--list", "--json").output)
    assert [one["name"] for one in as_json] == content


def test_with_json_the_output_is_one_document(tmp_path, experiments):
    result = aomg_evaluate("--quick", "--json", "--out", tmp_path)
    content = json.loads(result.stdout)
    assert [one["name"] for one in content["experiments"]] == ["first", "second"]
    assert content["experiments"][0]["about"]["scale"]["name"] == "quick"
    assert content["report"] == str(tmp_path / "report.html")
    assert "Errors" in result.stderr


def test_the_command_in_the_results_is_the_one_that_was_given(tmp_path, experiments, data):
    out = tmp_path / "with space"
    arguments = ["first", "--quick", "--data", data / "mine.csv", "--value", "rtt_us", "--out", out]
    assert aomg_evaluate(*arguments).exit_code == 0
    content = json.loads((out / "results/first.json").read_text())["about"]
    assert content["command"] == f"aomg evaluate first --quick --data {data}/mine.csv --value rtt_us --out '{out}'"


# -- interrupted -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop_at", ["a", "dddd", "y"])
def test_after_ctrl_c_the_same_command_goes_on_and_comes_to_the_same_files(tmp_path, experiments, pieces, stop_at):
    assert aomg_evaluate("--quick", "--out", tmp_path / "whole").exit_code == 0
    pieces.stop_at = stop_at
    stopped = aomg_evaluate("--quick", "--out", tmp_path / "part")
    done = {"a": 0, "dddd": 3, "y": 7}[stop_at]
    assert stopped.exit_code == 130
    again = f"aomg evaluate --quick --out {tmp_path / 'part'}"
    assert stopped.stderr == f"stopped: {done} of 8 pieces are stored in {tmp_path / 'part'}. To resume: {again}\n"
    assert (tmp_path / "part/results/first.json").exists() == (stop_at == "y")
    pieces.stop_at = None
    pieces.measured.clear()
    resumed = aomg_evaluate("--quick", "--out", tmp_path / "part")
    assert resumed.exit_code == 0
    assert len(pieces.measured) == 8 - done
    assert (f"resuming: {done} of 8 pieces are already measured" in resumed.output) == (done > 0)
    assert results_of(tmp_path / "part") == results_of(tmp_path / "whole")


def test_time_left_follows_the_work_that_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    left = terminal.TimeLeft(10.0)
    assert left.seconds() is None
    left.known(Piece("kept", dict, 1.0), 3.0)  # 3 seconds for each unit of work
    assert left.seconds() == 30.0
    now[0] += 4
    assert left.seconds() == 26.0  # while a piece is measured, time goes on
    left.done(Piece("done", dict, 5.0), 9.0)  # 12 seconds for 6
    assert left.seconds() == 10.0


# -- the paper's claims ------------------------------------------------------------------------------------------------


def test_check_lists_all_claims_and_fails_where_one_does_not_hold(tmp_path, experiments):
    result = aomg_evaluate("--check", "--quick", "--out", tmp_path)
    assert result.exit_code == 1 and result.exception.__class__ is SystemExit
    table = result.output.split("The paper's claims")[1]
    for text in ("the error is small", "below 5 %", "it is fast", "15 to 92 %", "does not hold", "1 of 2 hold"):
        assert text in table
    with (tmp_path / "tables/claims-1.csv").open() as file:
        assert [row["verdict"] for row in csv.DictReader(file)] == ["holds", "does not hold"]
    content = json.loads((tmp_path / "results/claims.json").read_text())
    assert [claim["holds"] for claim in content["outcome"]["claims"]] == [True, False]


def test_check_succeeds_where_all_hold(tmp_path, experiments, monkeypatch):
    monkeypatch.setattr(aomg.evaluation, "_NAMES", ("first",))
    result = aomg_evaluate("--check", "--quick", "--out", tmp_path)
    assert result.exit_code == 0 and "1 of 1 hold" in result.output


def test_what_is_not_measured_is_shown_everywhere_and_is_no_failure(tmp_path, experiments, monkeypatch):
    """In the terminal, the table of claims, JSON, the report and the pages."""
    claim = Claim("it is 62 times", "62 times", "no such window", None, "run it without --quick")
    first = replace(experiments["first"], outcome=lambda *measurements: Outcome([], claims=[claim]))
    monkeypatch.setattr(sys.modules["aomg.evaluation.experiments.first"], "EXPERIMENT", first)
    monkeypatch.setattr(aomg.evaluation, "_NAMES", ("first",))
    result = aomg_evaluate("--check", "--quick", "--json", "--out", tmp_path)
    assert result.exit_code == 0
    text = "not measured at this scale it is 62 times: the paper 62 times, here no such window (run it without --quick)"
    assert text in " ".join(result.stderr.split())
    assert "0 of 1 hold, 1 is not measured at this scale" in result.stderr
    assert [one["holds"] for one in json.loads(result.stdout)["claims"]] == [None]
    page = (tmp_path / "report.html").read_text()
    assert '<span class="open">? not measured at this scale</span>' in page and "These do not:" not in page
    content = files.read(tmp_path, ("first",))
    assert "| it is 62 times | 62 times | no such window | not measured at this scale |" in markdown.page(content[0])
    assert "it is 62 times" not in filled(
        "".join(f"<!-- {n}: {e} -->" for n in ("claims", "losses") for e in ("begin", "end")), [], content
    )


def test_without_check_a_claim_that_does_not_hold_is_no_failure(tmp_path, experiments):
    assert aomg_evaluate("second", "--quick", "--out", tmp_path).exit_code == 0


# -- data of one's own -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["mine.csv", "mine.parquet"])
def test_a_file_of_ones_own_is_evaluated(data, file):
    result = aomg_evaluate(
        "table1", "--quick", "--data", data / file, "--value", "gaps", "--json", "--out", data / "out"
    )
    assert result.exit_code == 0, result.output
    (content,) = json.loads(result.stdout)["experiments"]
    assert content["about"]["data"]["title"] == f"{file}, gaps"
    assert (content["about"]["data"]["values"], content["about"]["data"]["dropped"]) == (18_000, 2_000)
    assert [row[0] for row in content["outcome"]["tables"][0]["rows"]] == [f"{file}, gaps"]
    assert "2,000 rows without a finite number were skipped" in (data / "out/report.html").read_text()


def test_of_a_long_file_it_is_said_which_part_is_evaluated(data, experiments, monkeypatch):
    monkeypatch.setattr(command, "QUICK", replace(QUICK, events=8_000))
    arguments = ("--data", data / "mine.csv", "--value", "rtt_us", "--out", data / "out")
    result = aomg_evaluate("--quick", *arguments)
    text = "the first 8,000 of 20,000 values (guarantee reads all of them; --full reads 20,000)"
    assert f"mine.csv, rtt_us: {text}" in " ".join(result.output.split())
    page = (data / "out/report.html").read_text()
    assert f"windows over your data: {text}." in page and f"<dd>mine.csv, rtt_us: {text}</dd>" in page
    result = aomg_evaluate(*arguments)
    assert "mine.csv, rtt_us: all 20,000 values\n" in result.output


def test_what_means_nothing_on_ones_own_data_is_skipped_with_a_line_and_refused_by_name(data, experiments, pieces):
    arguments = ("--quick", "--data", data / "mine.csv", "--value", "rtt_us", "--out", data / "out")
    result = aomg_evaluate(*arguments)
    assert result.exit_code == 0
    assert "second is skipped: it has its own streams" in result.output
    assert pieces.measured == ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]
    assert "second has its own streams and does not run with --data" in refused("second", *arguments)


@pytest.mark.parametrize(
    ("file", "column", "text"),
    [
        ("mine.csv", "latency", "mine.csv has no column 'latency'; its columns of numbers are rtt_us, gaps"),
        ("mine.parquet", "latency", "mine.parquet has no column 'latency'; its columns of numbers are rtt_us, gaps"),
        ("mine.csv", "host", "column 'host' of mine.csv holds string, not numbers; its columns of numbers are rtt_us"),
        (
            "mine.csv",
            None,
            "add --value COLUMN, the column of mine.csv to evaluate; its columns of numbers are",
        ),
        ("yours.csv", "rtt_us", "there is no file"),
        ("mine.txt", "rtt_us", "give a file that ends in .parquet, .csv, .jsonl"),
        ("short.csv", "x", "short.csv has 3 finite values in 'x'; at least 2,000 are needed"),
        ("broken.parquet", "x", "broken.parquet cannot be read"),
        ("words.csv", "x", "column 'x' of words.csv holds string, not numbers; it has no column of numbers"),
    ],
)
def test_a_file_with_wrong_columns_or_types_gets_a_clear_error(data, pieces, experiments, file, column, text):
    (data / "short.csv").write_text("x\n1\n2\n3\n")
    (data / "words.csv").write_text("x\na\nb\n")
    (data / "broken.parquet").write_text("no Parquet")
    arguments = ["--quick", "--data", data / file, "--out", data / "out"]
    assert text in refused("first", *arguments, *(["--value", column] if column else []))
    assert pieces.measured == [] and not (data / "out").exists()


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["tabel1"], "there is no experiment 'tabel1'; did you mean table1?"),
        (["--quick", "--full"], "--quick and --full exclude each other"),
        (["--value", "x"], "--value x needs a file: add --data FILE"),
        (["--check", "table1"], "remove names and --data"),
        (["--check", "--data", "x.csv", "--value", "x"], "remove names and --data"),
    ],
)
def test_what_does_not_fit_together_is_refused(arguments, text, tmp_path):
    assert text in refused(*arguments, "--out", tmp_path)


def test_a_missing_plotly_is_said_before_anything_is_measured(tmp_path, experiments, pieces, monkeypatch):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    assert "pip install 'aomg[evaluation]'" in refused("--quick", "--out", tmp_path)
    assert pieces.measured == []


def test_a_folder_that_cannot_be_written_is_said(tmp_path, experiments):
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused("first", "--quick", "--out", tmp_path / "file")


def test_a_module_that_is_missing_is_not_hidden(tmp_path, monkeypatch):
    monkeypatch.setattr(aomg.evaluation, "_NAMES", ("nowhere",))
    assert "aomg.evaluation.experiments.nowhere" not in sys.modules
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        runner.invoke(app, ["evaluate", "--out", str(tmp_path)], catch_exceptions=False)
