import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # the benchmarks are a package at the root
