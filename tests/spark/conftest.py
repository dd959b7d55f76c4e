"""One Spark session for all tests of a process: starting one takes seconds."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from local import start_session

    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
