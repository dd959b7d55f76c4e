"""What most tests of the page begin with: a folder as a monitor leaves it, and a server of it."""

import pytest
from web.local_server import serving
from web.monitor_files import monitor_files

from aomg.evaluation.report import pictures


@pytest.fixture(scope="module")
def monitor(tmp_path_factory):
    """What a monitor wrote; modules that need other keys or windows have their own."""
    return monitor_files(tmp_path_factory.mktemp("made"), summaries=True)


@pytest.fixture(scope="module")
def chromium():
    """A browser; only for modules that are skipped where there is none."""
    with pictures.browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def served(monitor):
    """A server of the module's monitor."""
    with serving(monitor.file) as running:
        yield running
