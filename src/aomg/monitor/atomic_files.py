"""Writes files atomically: under a hidden name, flushed to the disk, then renamed."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aomg.errors import AomgError


class SinkError(AomgError, RuntimeError):
    """Results, alerts or refused rows could not be written. Existing files are unchanged."""


def put(file: Path, content: bytes) -> None:
    """Write or replace a file in one step: readers see the old content or the new one.

    The content is on the disk when this returns. Raises SinkError, and leaves nothing behind, if it cannot be written.
    """
    partial = file.with_name(f".{file.name}.partial")  # readers of Parquet folders skip a leading dot
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as raw:
            raw.write(content)
            raw.flush()
            os.fsync(raw.fileno())
        partial.replace(file)
        flush_folder(file.parent)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise SinkError(reason(error, file)) from error


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, so that a rename survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(file: Path, busy: str | None = None) -> Iterator[None]:
    """Hold a lock, which ends with the process. With `busy`, raise that error instead of waiting."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SinkError(reason(error, file)) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
        except BlockingIOError:
            raise SinkError(busy) from None
        yield
    finally:
        os.close(handle)


def reason(error: OSError, place: Path) -> str:
    """Return why a file cannot be written, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space is left on the disk of {place}; free some. The next start repeats the micro-batch"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{place} cannot be written; change its permissions, or configure another path"
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        return f"{place} cannot be written: it is a file where a folder is needed, or the reverse; move it"
    return f"{place} cannot be written ({error.strerror or type(error).__name__})"
