"""Compiles kernels with Numba, and reuses compiled code only while every file of their package is unchanged.

Numba's own cache watches the file of a function, but not the files of the functions that it calls. Kernels call each
other across files, so we give their cache another stamp: a digest of all source files of the package. An edit of any
file compiles all kernels again. A new modification time without an edit compiles nothing.
"""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import njit


def source_stamp(folder: Path) -> str:
    """Return a digest of the names and contents of all Python files in a folder and below. Takes about 1 ms."""
    digest = blake2b(Path(__file__).read_bytes(), digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def compiler(stamp: str, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function of the package with this stamp, with options of Numba's njit."""

    def compile_kernel(function: Callable[..., Any]) -> Any:
        kernel = njit(cache=True, **options)(function)
        if kernel is function:  # NUMBA_DISABLE_JIT: nothing is compiled
            return kernel
        index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if not hasattr(index, "_source_stamp"):
            return njit(**options)(function)  # unknown Numba: compile every time, which is slow but never stale
        index._source_stamp = stamp
        return kernel

    return compile_kernel


_STAMP = source_stamp(Path(__file__).parent)
# _nrt=False: these loops allocate nothing, and counting references to every slice would cost more than they do.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}
compiled = compiler(_STAMP, **_OPTIONS)
inlined = compiler(_STAMP, **_OPTIONS, forceinline=True)  # saves the 10 ns of a call
