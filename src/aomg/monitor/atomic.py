"""Files that are there whole or not at all: written under a hidden name, flushed to the disk, then renamed."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aomg.errors import AomgError


class SinkError(AomgError, RuntimeError):
    """Results, alerts or refused rows that could not be written. What was there before is unchanged."""


def put(file: Path, content: bytes) -> None:
    """Write a file, or replace it, in one step: whoever reads it sees the old content or the new one.

    The content is on the disk when this returns. Raises SinkError, and leaves nothing behind, where it cannot be
    written.
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
    """Bring the names in a folder to the disk, so that a rename outlasts a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(file: Path, busy: str | None = None) -> Iterator[None]:
    """Hold a lock that ends with this process, however it ends; `busy` is the error instead of waiting for it."""
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
    """Say why a file cannot be written, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space is left on the disk of {place}: free some; the batch is repeated at the next start"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{place} cannot be written: give the right to write there, or another place in the configuration"
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        return f"{place} cannot be written: a file stands where a folder is needed, or the other way round; move it"
    return f"{place} cannot be written ({error.strerror or type(error).__name__})"
