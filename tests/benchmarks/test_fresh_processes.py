"""The benchmarks that start a fresh process each time, with a small aomg in place of the real one."""

import pytest
from benchmarks.core import compilation, import_time

QUICK = """
import os
from pathlib import Path

class Operator:
    def __init__(self, query):
        assert query in [(131_072, 16_384), ("1h", "1m")]

    def push(self, values, times=None):
        cache = Path(os.environ["NUMBA_CACHE_DIR"])
        assert not any(cache.iterdir()), "something is compiled already"
        (cache / "kernel").touch()

def Query(size, period):
    return size, period
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "aomg.py"


def test_every_compilation_starts_without_a_cache(package):
    package.write_text(QUICK)
    for compile_once in compilation.cases(quick=True).values():
        assert compile_once() > 0
        assert compile_once() > 0


def test_the_clock_starts_before_the_import(package):
    """The clock is replaced: it stands still but for what the import takes."""
    package.write_text("import time\ntime.perf_counter = lambda: 1_000_000_000.0\n")
    (import_once,) = import_time.cases(quick=True).values()
    assert import_once() > 900_000_000


def test_an_import_that_fails_shows_its_error(package):
    package.write_text("raise ImportError('a library is missing')")
    (import_once,) = import_time.cases(quick=True).values()
    with pytest.raises(RuntimeError, match="a library is missing"):
        import_once()
