"""Shared modules of these tests and of the monitor's are found."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "monitor")]
