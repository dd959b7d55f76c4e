"""Exchanges two folders in one step of the file system, where it can: renameat2 with RENAME_EXCHANGE, on Linux."""

import ctypes
import os
import sys
from pathlib import Path

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def exchange(new: Path, old: Path) -> bool:
    """Exchange two folders; False, and nothing is changed, if the file system cannot."""
    swap = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if swap is None:
        return False
    flags = ctypes.c_uint(_RENAME_EXCHANGE)
    return not swap(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), flags)


def can_exchange(folder: Path) -> bool:
    """Whether folders in this folder, which is empty, can be exchanged."""
    one, other = folder / "one", folder / "other"
    one.mkdir()
    other.mkdir()
    try:
        return exchange(one, other)
    finally:
        one.rmdir()
        other.rmdir()
