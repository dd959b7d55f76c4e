"""Compiles the kernels of the policies; see `aomg.core.kernels._compile`."""

from pathlib import Path

from aomg.core.kernels._compile import compiler

compiled = compiler(Path(__file__).parent, nogil=True, error_model="numpy")
