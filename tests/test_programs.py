"""A program that is on PATH and does not run: tests that need it are skipped, with the reason and the remedy."""

import os
import subprocess
import sys
from pathlib import Path

import programs
import pytest
from programs import Program

HERE = Path(__file__).parent
LIBRARY = "error while loading shared libraries: libatomic.so.1: cannot open shared object file"
TEMPLATE = "open /usr/share/prometheus/alertmanager/default.tmpl: no such file or directory"
UNPACKED = f"""\
[ "$1" = --version ] && exit 0
echo 'level=info msg="Loading configuration file"' >&2
echo 'level=error msg="cannot apply" err="failed to parse templates: {TEMPLATE}"' >&2
exit 1"""
LISTENING = """\
echo 'level=info msg="Listening on" address=127.0.0.1:9093' >&2
exec sleep 600"""
LACKING = f"echo '{LIBRARY}' >&2\nexit 127"


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Puts a shell script on PATH before everything else."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def put_script(name: str, script: str) -> str:
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return str(file)

    return put_script


@pytest.mark.parametrize(
    ("trial", "script", "complaint"),
    [
        (programs.version, "exit 0", None),
        (programs.version, LACKING, LIBRARY),
        (programs.version, "exit 1", "it ended without a word"),
        (programs.alertmanager, LISTENING, None),
        (programs.alertmanager, UNPACKED, f'"failed to parse templates: {TEMPLATE}"'),
        (programs.alertmanager, LACKING, LIBRARY),
    ],
    ids=["version", "library", "silent", "listening", "unpacked", "alertmanager-library"],
)
def test_a_program_counts_if_it_really_starts(put, trial, script, complaint):
    path = put("it", script)
    found = Program(["not-there", "it"], "apt install it", trial)
    assert found.path == path
    assert found.fault == (complaint and f"{path} does not start ({complaint}): apt install it")


def test_a_program_that_is_not_there_is_named_with_the_remedy():
    assert Program(["not-there"], "apt install it", programs.version).fault == (
        "not-there is not installed: apt install it"
    )


def test_tests_whose_programs_do_not_run_are_skipped_with_the_reason_and_the_remedy(put, tmp_path):
    for name in ("prometheus", "promtool", "chromium", "node"):
        put(name, LACKING)
    put("prometheus-alertmanager", UNPACKED)
    names = [
        "monitor/delivery/test_receivers.py::test_a_real_alertmanager_shows_a_firing_alert_until_it_is_resolved",
        "web/metrics/test_prometheus.py::test_promtool_finds_nothing_wrong_with_the_rules",
        "web/metrics/test_prometheus.py"
        "::test_prometheus_scrapes_with_a_token_and_answers_with_the_same_values_and_the_fault_fires",
        "evaluation/report/test_html.py::test_printed_it_is_light_and_fits_the_paper",
    ]
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *(str(HERE / name) for name in names)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PLAYWRIGHT_NODEJS_PATH": str(tmp_path / "node"), "COLUMNS": "400"}
    done = subprocess.run(
        command, cwd=HERE.parent, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0 and "4 skipped" in done.stdout, done.stdout + done.stderr
    reasons = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    for reason, remedy in (
        (TEMPLATE, "apt install prometheus-alertmanager"),
        (f"promtool does not start ({LIBRARY})", "apt install prometheus"),
        (f"prometheus does not start ({LIBRARY})", "apt install prometheus"),
        (f"its driver does not start ({LIBRARY})", "apt install libatomic1"),
    ):
        assert any(reason in line and remedy in line for line in reasons), reasons
