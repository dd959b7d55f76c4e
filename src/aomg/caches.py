"""Finds directories for cached files: compiled kernels, and the start script of the packaged Java.

Importing this module makes sure that Numba has a directory for compiled kernels; kernels import it first.
"""

import os
import sys
import tempfile
from pathlib import Path

import numba


def cache_directory() -> Path:
    """Return this user's directory for AOMG's caches; create it if it does not exist.

    It is in the system's usual place for caches or, if that is not writable (no home, or a read-only one), in the
    directory for temporary files, and is never one that another user can write. Costs a few system calls.
    """
    preferred = _preferred()
    return preferred if preferred is not None and is_writable(preferred) else _temporary()


def kernel_cache() -> Path | None:
    """Return the directory in which Numba caches the compiled kernels of this process; None if it compiles none.

    It is NUMBA_CACHE_DIR, or next to the source or, if that is not writable, in the user's cache.
    """
    from aomg.core.kernels._compile import cache_folder  # only now: it needs the directory when it is imported

    return cache_folder()


def is_writable(directory: Path) -> bool:
    """Whether a file can be created in `directory`: creates one, and the directory if it does not exist."""
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
            status = directory.stat()
            # Programs are run from here: another user who can write here could plant one.
            if status.st_uid == os.getuid() and not status.st_mode & 0o022:
                return directory
    return Path(tempfile.mkdtemp(prefix="aomg-"))


def _find_kernel_cache() -> None:
    """Make Numba use our directory if it finds none: otherwise it refuses to load any cached kernel."""
    try:
        numba.njit(cache=True)(_preferred)  # only looks for a directory: nothing is compiled
    except RuntimeError:
        numba.config.CACHE_DIR = str(cache_directory() / "kernels")  # type: ignore[attr-defined]


_find_kernel_cache()
