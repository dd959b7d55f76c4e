"""What `make` fetches for the tests, as root and as anyone else; every program that it calls is a stand-in."""

import os
import subprocess
from pathlib import Path

import pytest
from programs import Program, needs, version

ROOT = Path(__file__).parents[1]
pytestmark = needs(Program(["make"], "apt install make", version))


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Puts a shell script at a place under `tmp_path`; those in `bin` go before all programs."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)

    def put_script(name: str, script: str) -> None:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    return put_script


def environment() -> dict[str, str]:
    """As if no make had started the tests."""
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}


def make(*arguments: str) -> str:
    """Run make, and return what it prints."""
    command = ["make", "--no-print-directory", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("user", [0, 1000])
def test_templates_of_an_unpacked_alertmanager_are_put_where_it_reads_them_by_root_only(put, tmp_path, user):
    put("bin/id", f"echo {user}")
    for name in ("prometheus", "prometheus-alertmanager"):
        put(f"unpacked/usr/bin/{name}", "exit 0")
    templates = tmp_path / "share" / "alertmanager"
    unpacked = Path(f"{tmp_path}/unpacked{templates}")
    unpacked.mkdir(parents=True)
    (unpacked / "default.tmpl").write_text("a template")
    said = make("prometheus", f"UNPACKED={tmp_path}/unpacked", f"TEMPLATES={templates}")
    if user == 0:
        assert (templates / "default.tmpl").read_text() == "a template" and said == ""
    else:
        assert not templates.exists() and "run make prometheus as root once" in said


@pytest.mark.parametrize("user", [0, 1000])
def test_the_library_of_playwrights_driver_is_installed_by_root_only(put, tmp_path, user):
    put("bin/id", f"echo {user}")
    put("bin/chromium", "exit 0")
    put("bin/apt-get", f"echo $* >>{tmp_path}/installed")
    put("venv/bin/python", f"grep -q libatomic1 {tmp_path}/installed")  # a driver that starts once it is there
    (tmp_path / "venv" / ".installed").touch()
    said = make("browser", f"VENV={tmp_path}/venv")
    if user == 0:
        assert (tmp_path / "installed").read_text().splitlines()[-1].endswith(" --no-install-recommends libatomic1")
        assert said == "installing libatomic1 (once)\n"
    else:
        assert not (tmp_path / "installed").exists()
        assert said == "not installed: libatomic1; tests that need it are skipped\n"


def test_a_fresh_machine_is_not_made_by_others_than_root(put):
    put("bin/id", "echo 1000")
    done = subprocess.run(
        [ROOT / "scripts" / "fresh-machine.sh"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "only root can make a bare Debian tree: run it with sudo" in done.stderr


def test_another_spark_is_tested_in_an_environment_of_its_own_which_is_made_once(put, tmp_path):
    recorded = tmp_path / "recorded"
    put("python", f"mkdir -p $4/bin; cp {tmp_path}/pip $4/bin/pip; cp {tmp_path}/pip $4/bin/pytest")
    put("pip", f'echo "$(basename $0) $*" >>{recorded}')
    arguments = ("test-spark", "SPARK=4.1.0", f"PYTHON={tmp_path}/python", f"SPARK_ENVIRONMENTS={tmp_path}")
    for _ in range(2):
        make(*arguments, "TESTS=tests/spark")
    runs = recorded.read_text().splitlines()
    assert [line.split()[0] for line in runs] == ["pip", "pytest", "pytest"]
    assert " pyspark[connect]==4.1.0 " in runs[0] and runs[1].endswith(" tests/spark")
    pinned = (tmp_path / "spark-4.1.0" / "constraints.txt").read_text()
    assert "numpy==" in pinned and "pyspark==" not in pinned


def test_without_a_version_of_spark_nothing_is_installed():
    command = ["make", "--no-print-directory", "test-spark", "SPARK="]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == "name a version of PySpark: make test-spark SPARK=4.1.4\n"
