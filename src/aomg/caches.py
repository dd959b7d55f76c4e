"""Where files go that are made once and used again: compiled kernels, the start script of a packaged Java.

Importing this module makes sure that Numba has a place for compiled kernels; the package imports it first.
"""

import os
import sys
import tempfile
from pathlib import Path

import numba


def cache_directory() -> Path:
    """Return a directory of this user for AOMG's caches, made if need be.

    It lies where the system wants caches. Where that cannot be written (no home, a read-only one), it lies among the
    temporary files, and is never one that another user can write. Costs a handful of system calls.
    """
    preferred = _preferred()
    return preferred if preferred is not None and is_writable(preferred) else _temporary()


def kernel_cache() -> Path | None:
    """Return the directory in which Numba keeps the compiled kernels of this process; None: it compiles none.

    It is NUMBA_CACHE_DIR, or lies beside the source, or where that cannot be written in the user's own cache.
    """
    from aomg.core.kernels import steps  # not before a place was found for it

    for kernel in vars(steps).values():
        path = getattr(getattr(kernel, "stats", None), "cache_path", None)
        if path:
            return Path(path)
    return None


def is_writable(directory: Path) -> bool:
    """Tell whether files can be made in `directory`, by making one; the directory is made first if need be."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _preferred() -> Path | None:
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        root = "~/Library/Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(root).expanduser() / "aomg"
    except RuntimeError:  # there is no home directory
        return None


def _temporary() -> Path:
    if sys.platform != "win32":
        directory = Path(tempfile.gettempdir()) / f"aomg-{os.getuid()}"
        if is_writable(directory) and not directory.is_symlink():
            facts = directory.stat()
            # Programs are run from here: whoever else can write could plant one.
            if facts.st_uid == os.getuid() and not facts.st_mode & 0o022:
                return directory
    return Path(tempfile.mkdtemp(prefix="aomg-"))


def _find_kernel_cache() -> None:
    """Have Numba use our directory where it finds none of its own: it would refuse to load a kernel, cached or not."""
    try:
        numba.njit(cache=True)(_preferred)  # only asks for a place: nothing is compiled
    except RuntimeError:
        numba.config.CACHE_DIR = str(cache_directory() / "kernels")  # type: ignore[attr-defined]


_find_kernel_cache()
