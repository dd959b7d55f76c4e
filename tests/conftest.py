"""Hypothesis profiles, shared modules of the tests, and one Spark session for all tests of a process.

Profiles: ``default`` for every run, ``soak`` for ``make soak``.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE / "spark")]

_slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default",
    deadline=None,
    max_examples=40,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=_slow,
)
settings.register_profile("soak", deadline=None, max_examples=2000, derandomize=False, suppress_health_check=_slow)
settings.load_profile("default")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse to run where pytest-xdist does not keep groups together: every worker would start Spark for itself."""
    if getattr(config.option, "loadgroup", False):
        apart = [item.nodeid for item in items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid]
        if apart:
            raise pytest.UsageError(
                f"pytest-xdist ignores the group of {apart[0]}; install the pytest of constraints.txt"
            )


@pytest.hookimpl(tryfirst=True)  # before fixtures are made for a test that cannot run
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a program which does not run here (tests/programs.py)."""
    for mark in item.iter_markers("needs"):
        for program in mark.args:
            if program.fault:
                pytest.skip(program.fault)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """Starting a session takes seconds."""
    from local import start_session

    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
