"""Compiles the kernels of the policies; see `aomg.core.kernels._compile`."""

from pathlib import Path

from aomg.core.kernels._compile import compiler, source_stamp

compiled = compiler(source_stamp(Path(__file__).parent), nogil=True, error_model="numpy")
