"""Who waits for a compilation is told of it once, in a terminal, a notebook or a log."""

import logging
import sys
from types import SimpleNamespace

import pytest
from numba.core import event

from aomg import compile_notice
from aomg.core.kernels import steps


@pytest.fixture(autouse=True)
def listener(monkeypatch):
    """One that has reported nothing yet."""
    fresh = compile_notice._Listener()
    monkeypatch.setattr(compile_notice, "_LISTENER", fresh)
    with event.install_listener("numba:compile", fresh):
        yield fresh


def compile_kernel(dispatcher=steps.push_counted):
    with event.trigger_event("numba:compile", data={"dispatcher": dispatcher}):
        pass


def test_a_command_reports_the_first_compilation_in_its_own_way(listener):
    reports = []
    compile_notice.report_to(reports.append)
    compile_kernel()
    compile_kernel()
    assert reports == [compile_notice.NOTICE]


def test_an_interactive_python_prints_it(listener, monkeypatch, capsys):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    compile_kernel()
    assert capsys.readouterr().err == f"aomg: {compile_notice.NOTICE}\n"


def test_a_program_finds_it_in_its_log(listener, monkeypatch, caplog, capsys):
    monkeypatch.delattr(sys, "ps1", raising=False)
    with caplog.at_level(logging.INFO, "aomg"):
        compile_kernel()
    assert [record.getMessage() for record in caplog.records] == [compile_notice.NOTICE]
    assert capsys.readouterr().err == ""


def test_functions_of_others_are_no_concern_of_it(listener, caplog):
    with caplog.at_level(logging.INFO, "aomg"):
        compile_kernel(SimpleNamespace(py_func=lambda: None))
    assert not caplog.records and not listener.is_done
