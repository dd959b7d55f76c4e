"""Hypothesis profiles: ``default`` for every run, ``soak`` for ``make soak``."""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=60, derandomize=bool(os.environ.get("CI")))
settings.register_profile("soak", deadline=None, max_examples=2000, derandomize=False)
settings.load_profile("default")
