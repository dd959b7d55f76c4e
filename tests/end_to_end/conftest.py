"""Shared modules of the monitor's tests are found."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "monitor"))
