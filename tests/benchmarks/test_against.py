"""Runs of `python -m benchmarks against` in a small repository whose aomg says itself how many seconds it takes."""

import ast
import json
import shutil
import subprocess
from itertools import chain, pairwise
from pathlib import Path

import pytest
from benchmarks.against import command
from benchmarks.against.command import BENCHMARKS, main, turns
from benchmarks.against.worker import Worker

ROOT = Path(__file__).parents[2]
PUBLIC = {"aomg", "aomg.streams", "aomg.spark", "aomg.policies"}
CASES = """
import aomg
def cases(quick):
    return {"steady": lambda: 1.0, "changed": aomg.seconds}
"""
ONCE = ["few_k", "--starts", "1", "--rounds", "6"]
PROJECT = """
[project]
name = "aomg"
dependencies = ["numpy>=2"]
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A checkout whose only commit takes 2 seconds."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed: install it (Debian: apt install git)")
    monkeypatch.setattr(command, "LEAST_SECONDS", 0)  # every round runs a case once
    (tmp_path / "src" / "aomg").mkdir(parents=True)
    _take(tmp_path, "2.0")
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "constraints.txt").write_text("numpy==2.0.0\n")
    (tmp_path / ".gitignore").write_text("build/\n__pycache__/\n")
    shutil.copytree(ROOT / "benchmarks" / "against", tmp_path / "benchmarks" / "against")
    (tmp_path / "benchmarks" / "core").mkdir()
    for package in ("", "core"):
        shutil.copy(ROOT / "benchmarks" / package / "__init__.py", tmp_path / "benchmarks" / package)
    (tmp_path / "benchmarks" / "core" / "few_k.py").write_text(CASES)
    _git(tmp_path, "init", "--quiet")
    _commit(tmp_path)
    return tmp_path


def _take(repository, seconds):
    (repository / "src" / "aomg" / "__init__.py").write_text(f"def seconds():\n    return {seconds}\n")


def _commit(repository):
    _git(repository, "add", "--all")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    _git(repository, *author, "commit", "--quiet", "-m", "a commit")


def _git(repository, *arguments):
    subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True)


def _results(repository):
    content = json.loads((repository / "build" / "against" / "few_k.json").read_text())
    return {case["case"]: case for case in content["cases"]}


def test_sides_take_turns_so_that_a_drift_cancels():
    assert list(chain.from_iterable(turns(4))) == ["old", "new", "new", "old", "old", "new", "new", "old"]


def test_a_slower_checkout_does_not_reach_the_bound(repository, capsys):
    _take(repository, "2.5")
    assert main(["HEAD", *ONCE], repository) == 1
    output = capsys.readouterr().out
    assert "with changes that are not committed" in output
    assert "environment: one for both: the same constraints.txt and dependencies" in output
    assert "1 of 2 intervals reach their bound" in output
    assert max(map(len, output.splitlines())) <= 80
    results = _results(repository)
    assert results["steady"]["ratio"] == {"low": 1, "median": 1, "high": 1}
    assert results["changed"]["ratio"] == pytest.approx({"low": 0.8, "median": 0.8, "high": 0.8})
    assert (results["steady"]["reached"], results["changed"]["reached"]) == ("yes", "no")
    assert (results["changed"]["new"], results["changed"]["old"]) == ([[2.5] * 6], [[2.0] * 6])


def test_the_bound_can_be_chosen_and_an_unchanged_checkout_is_as_fast(repository, capsys):
    assert main(["HEAD", *ONCE], repository) == 0
    assert "not committed" not in capsys.readouterr().out
    _take(repository, "2.5")
    assert main(["HEAD", *ONCE, "--bound", "0.75"], repository) == 0


def test_the_bound_is_reached_by_the_upper_end_of_the_interval(repository, capsys):
    """In five rounds of six it is slower: the interval reaches from the worst round to the best."""
    # one call to prepare, three to see how long it takes, then the rounds
    source = "calls = 0\ndef seconds():\n    global calls\n    calls += 1\n    return 2.0 if calls == 7 else 2.5\n"
    (repository / "src" / "aomg" / "__init__.py").write_text(source)
    assert main(["HEAD", *ONCE], repository) == 0
    result = _results(repository)["changed"]
    assert result["ratio"] == pytest.approx({"low": 0.8, "median": 0.8, "high": 1.0})
    assert result["reached"] == "unsure"
    assert "more starts or rounds make it narrower" in " ".join(capsys.readouterr().out.split())


def test_what_differs_between_two_starts_of_the_same_code_widens_the_interval(repository):
    """One start of six is slower in all of its rounds. It counts once, as one of six, not as three rounds of 18."""
    count = repository / "build" / "count"
    count.parent.mkdir()
    (repository / "src" / "aomg" / "__init__.py").write_text(
        "from pathlib import Path\n"
        f"count = Path({str(count)!r})\n"
        "starts = int(count.read_text()) if count.exists() else 0\n"
        "count.write_text(str(starts + 1))\n"
        "def seconds():\n"
        "    return 2.5 if starts == 2 else 2.0\n"
    )
    assert main(["HEAD", "few_k", "--starts", "6", "--rounds", "3"], repository) == 0
    result = _results(repository)["changed"]
    assert result["new"] == [*[[2.0] * 3] * 2, [2.5] * 3, *[[2.0] * 3] * 3]
    assert result["old"] == [[2.0] * 3] * 6
    assert result["ratio"] == {"low": 0.8, "median": 1, "high": 1}


@pytest.mark.parametrize(("broken", "side"), [("new", "this checkout"), ("old", "HEAD~1")])
def test_a_benchmark_that_fails_says_on_which_side_and_shows_the_error(repository, capsys, broken, side):
    if broken == "old":
        _take(repository, "undefined_name")
        _commit(repository)
        _take(repository, "2.0")
        _commit(repository)
    else:
        _commit_nothing(repository)
        _take(repository, "undefined_name")
    assert main(["HEAD~1", *ONCE], repository) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert f"few_k on the {broken} side ({side}" in error
    assert "NameError: name 'undefined_name' is not defined" in error


def _commit_nothing(repository):
    (repository / "note").touch()
    _commit(repository)


def test_a_process_that_dies_says_on_which_side_and_shows_what_it_printed(repository, capsys):
    _take(repository, "print('no memory is left', flush=True) or __import__('os')._exit(9)")
    assert main(["HEAD", *ONCE], repository) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "few_k on the new side" in error
    assert "ended with status 9 no memory is left" in error


def test_what_a_case_prints_is_no_answer(repository):
    _take(repository, "print('loading') or 2.0")
    assert main(["HEAD", *ONCE], repository) == 0


def test_the_processor_s_clock_does_not_count_what_a_side_waits(repository):
    """A case may say that it took any time: the clock of the processor is read by the worker."""
    _take(repository, "sum(range(100_000)) and 3600.0")
    assert main(["HEAD", *ONCE, "--clock", "cpu"], repository) in (0, 1)
    (seconds,) = _results(repository)["changed"]["new"]
    assert all(0 < second < 3600 for second in seconds)


def test_the_same_work_is_asked_of_both_sides(repository, monkeypatch):
    """A short case runs several times a round. Here each call takes a second more than the one before it."""
    monkeypatch.setattr(command, "LEAST_SECONDS", 100)
    source = "calls = 0\ndef seconds():\n    global calls\n    calls += 1\n    return float(calls)\n"
    (repository / "src" / "aomg" / "__init__.py").write_text(source)
    _commit(repository)
    (repository / "src" / "aomg" / "__init__.py").write_text(source.replace("float(calls)", "float(calls + 8)"))
    main(["HEAD", *ONCE], repository)
    result = _results(repository)["changed"]
    # the first call prepares; the second of the faster side takes 2 seconds: 50 calls a round
    assert {after - before for side in ("new", "old") for before, after in pairwise(result[side][0])} == {50}


def test_a_side_that_imports_another_aomg_is_not_measured(tmp_path):
    with pytest.raises(RuntimeError, match=r"aomg was imported from .*, not from"):
        Worker("core.few_k", tmp_path, quick=True).answer({"do": "prepare"})


def test_what_is_edited_meanwhile_is_not_measured(repository):
    package = repository / "src" / "aomg" / "__init__.py"
    package.write_text(f"from pathlib import Path\nPath({str(package)!r}).write_text('broken')\n{package.read_text()}")
    assert main(["HEAD", "few_k", "--starts", "6", "--rounds", "1"], repository) == 0
    assert package.read_text() == "broken"


def test_a_revision_that_does_not_exist_is_refused(repository, capsys):
    assert main(["nowhere", "few_k"], repository) == 2
    assert "git has no revision 'nowhere': give a branch, a tag or a commit" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_folder_without_history_is_refused(repository, capsys):
    shutil.rmtree(repository / ".git")
    assert main(["HEAD", "few_k"], repository) == 2
    assert "is not a git checkout" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["HEAD", "peers"], "against has no benchmark peers; it has throughput"),
        (["HEAD", "--starts", "5"], "throughput has 5 x 5 rounds; an interval of 95 % needs 6 starts or more"),
        (["HEAD", "import", "--rounds", "5"], "or one start of 6 rounds or more"),
        (["HEAD", "--rounds", "0"], "9 x 0 rounds"),
        (["HEAD", "--bound", "0"], "give a ratio above 0, such as 0.97"),
        (["HEAD", "few_k", "spark_batch", "--clock", "cpu"], "leave out spark_batch"),
    ],
)
def test_wrong_arguments_are_refused_with_what_is_right(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err


def test_other_dependencies_can_share_this_environment_and_the_output_says_so(repository, capsys):
    (repository / "constraints.txt").write_text("numpy==2.1.0\n")
    (repository / "pyproject.toml").write_text(PROJECT.replace("numpy>=2", "numpy>=2.1"))
    assert main(["HEAD", *ONCE, "--same-environment"], repository) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "although they differ in constraints.txt and the dependencies of pyproject.toml" in output


def test_other_dependencies_get_an_environment_of_their_own(repository, monkeypatch, capsys):
    """Made with this Python in place of a real environment, which would take minutes."""
    environments = []

    def make(folder, revision):
        environments.append((folder / "constraints.txt").read_text())
        return Path(shutil.which("python3") or "python3")

    monkeypatch.setattr("benchmarks.against.checkout._virtual_environment", make)
    (repository / "constraints.txt").write_text("numpy==2.1.0\n")
    assert main(["HEAD", *ONCE], repository) == 0
    assert environments == ["numpy==2.0.0\n"]
    assert "one for each: they differ in constraints.txt" in capsys.readouterr().out


def test_an_environment_that_cannot_be_made_is_said_with_the_way_around(repository, capsys, monkeypatch):
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    (repository / "constraints.txt").write_text("numpy==2.1.0\n")
    assert main(["HEAD", "few_k"], repository) == 2
    assert "could not be created" in (error := " ".join(capsys.readouterr().err.split()))
    assert "add --same-environment" in error


def test_benchmarks_use_public_names_only_so_that_revisions_can_be_compared():
    files = {ROOT / "benchmarks" / f"{benchmark.module.replace('.', '/')}.py" for benchmark in BENCHMARKS.values()}
    files |= {ROOT / "benchmarks" / name for name in ("measure.py", "spark/race.py", "against/worker.py")}
    for file in files:
        for node in ast.parse(file.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name for name in names if name.split(".")[0] == "aomg"} <= PUBLIC, file
