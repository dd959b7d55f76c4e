"""Compiles kernels with Numba, and reuses compiled code only while every file of their package is unchanged.

Numba's own cache watches the file of a function, but not the files of the functions that it calls. Kernels call each
other across files, so we give their cache another stamp: a digest of all source files of the package. An edit of any
file compiles all kernels again. A new modification time without an edit compiles nothing.

Numba numbers the files of compiled code: 1 for the first signature of a function, 2 for the next. Two processes that
compile at the same time take the same number, and then one finds the code of the other: for other arguments, which
Numba loads again at every call, or of another version of the source. So we name a file by the signature and the stamp.

Workers of Spark start together and need the same kernels. Only one process compiles a kernel; the others wait, and load
what it has compiled.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.compiler_lock import global_compiler_lock

import aomg.caches  # it finds a directory for compiled kernels
import aomg.compile_notice  # noqa: F401  it says that kernels are being compiled

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LOCKS = "compiling.lock"
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


@cache
def _lock_file(folder: Path) -> int | None:
    """Open the file on which the kernels of a folder are locked. It stays open: closing it would release all locks."""
    if fcntl is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / _LOCKS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


@contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    """Wait until no other process compiles the kernel of this name. Does not wait where files cannot be locked.

    Each kernel locks one byte of the file. The system releases the locks of a process that ends. Threads first wait for
    Numba's own lock: in the other order, two of them could wait for each other.
    """
    with global_compiler_lock:
        file = _lock_file(folder)
        place = int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "big")
        locked = False
        if file is not None:
            with suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
                locked = True
        try:
            yield
        finally:
            if locked:
                fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector: it would look at all objects of the compiler again and again, a tenth of the time.

    Kernels compile those that they call, so only the outermost pauses it.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _compile_alone(kernel: Any) -> None:
    """Let only one process at a time compile the kernel; the next one finds what it has compiled."""
    compile_signature, folder = kernel.compile, Path(kernel._cache.cache_path)
    name = f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"

    def compile_alone(signature: Any) -> Any:
        with _alone(folder, name), _without_collection():
            return compile_signature(signature)

    kernel.compile = compile_alone


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
        _compile_alone(kernel)
        return kernel

    return compile_kernel


STAMP = source_stamp(Path(__file__).parent)
# _nrt=False: these loops allocate nothing, and counting references to every slice would cost more than they do.
# no_cfunc_wrapper: no C code calls them; to compile such an entry for each would take a sixth of the time.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
compiled = compiler(STAMP, **_OPTIONS)
inlined = compiler(STAMP, **_OPTIONS, forceinline=True)  # saves the 10 ns of a call
# Copied into its callers before types are inferred: compiled once per caller, without what `level is None` rules out.
# Only such a function can return a part of an array.
copied = compiler(STAMP, **_OPTIONS, inline="always")


def cache_folder() -> Path | None:
    """Return the folder of the compiled kernels; None if nothing is cached. Compiles nothing."""
    path = getattr(getattr(compiled(source_stamp), "stats", None), "cache_path", None)
    return Path(path) if path else None
