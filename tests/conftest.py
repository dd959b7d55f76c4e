"""Hypothesis profiles: ``default`` for every run, ``soak`` for ``make soak``. Shared modules of the tests are found."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

_slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default",
    deadline=None,
    max_examples=60,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=_slow,
)
settings.register_profile("soak", deadline=None, max_examples=2000, derandomize=False, suppress_health_check=_slow)
settings.load_profile("default")
