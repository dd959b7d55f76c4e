"""Compiles kernels with Numba, and reuses compiled code only while every file of their package is unchanged.

Numba's own cache watches the file of a function, but not the files of the functions that it calls. Kernels call each
other across files, so we give their cache another stamp: a digest of all source files of the package. An edit of any
file compiles all kernels again. A new modification time without an edit compiles nothing.

Numba numbers the files of compiled code: 1 for the first signature of a function, 2 for the next. Two processes that
compile at the same time take the same number, and then one finds the code of the other: for other arguments, which
Numba loads again at every call, or of another version of the source. So we name a file by the signature and the stamp.
"""

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import njit

# what we use of Numba's cache, none of it public
_USED = ("_source_stamp", "_data_name_pattern", "_data_name", "_save_data", "_load_index", "_save_index", "save")


def source_stamp(folder: Path) -> str:
    """Return a digest of the names and contents of all Python files in a folder and below. Takes about 1 ms."""
    digest = blake2b(Path(__file__).read_bytes(), digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _data_name(pattern: str, stamp: str) -> Callable[[Any], str]:
    """Return the function that names the file of a compiled signature; `pattern` takes a number."""

    def data_name(key: Any) -> str:
        digest = blake2b(f"{stamp} {key!r}".encode(), digest_size=8).digest()
        return pattern.format(number=int.from_bytes(digest, "big"))

    return data_name


def _save(index: Any, key: Any, data: Any) -> None:
    """Save compiled code: the data first, so that whoever finds it in the index finds it whole.

    Of two processes that save at the same time the index has one entry only: the other is compiled once more.
    """
    name = index._data_name(key)
    index._save_data(name, data)
    overloads = index._load_index()
    overloads[key] = name
    index._save_index(overloads)


def compiler(stamp: str, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function of the package with this stamp, with options of Numba's njit."""

    def compile_kernel(function: Callable[..., Any]) -> Any:
        kernel = njit(cache=True, **options)(function)
        if kernel is function:  # NUMBA_DISABLE_JIT: nothing is compiled
            return kernel
        index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if not all(hasattr(index, name) for name in _USED):
            return njit(**options)(function)  # unknown Numba: compile every time, which is slow but never stale
        index._source_stamp = stamp
        index._data_name = _data_name(index._data_name_pattern, stamp)
        index.save = partial(_save, index)
        return kernel

    return compile_kernel


_STAMP = source_stamp(Path(__file__).parent)
# _nrt=False: these loops allocate nothing, and counting references to every slice would cost more than they do.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}
compiled = compiler(_STAMP, **_OPTIONS)
inlined = compiler(_STAMP, **_OPTIONS, forceinline=True)  # saves the 10 ns of a call
# Copied into its callers before types are inferred: a caller compiles it once; `level is None` prunes what it skips.
copied = compiler(_STAMP, **_OPTIONS, inline="always")
