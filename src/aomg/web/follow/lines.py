"""Reads new lines of a file that is appended to, and may be truncated, replaced or removed."""

from pathlib import Path

_BLOCK = 1 << 20
_CHECKED = 1 << 10


class LineReader:
    """Reads each complete line of a file once. A last line without a line break waits for it.

    most_bytes
        Of a larger file, only the last `most_bytes` are read.

    `read` costs one stat call while nothing changes, and reads at most 1 MB.
    """

    def __init__(self, file: Path, most_bytes: int = 1 << 24) -> None:
        self.file = file
        self._most_bytes = most_bytes
        self._reset()

    def _reset(self) -> None:
        self._inode: int | None = None
        self._complete: tuple[int, int, int] | None = (
            None  # inode, size and modification time of a file read to its end
        )
        self._offset = 0
        self._tail = b""  # the bytes before `_offset`: if they differ, the file was rewritten

    def read(self) -> tuple[bool, list[bytes]]:
        """Return whether the file was replaced, which voids earlier lines, and its new lines. Raises OSError."""
        try:
            status = self.file.stat()
        except FileNotFoundError:
            restarted = self._inode is not None
            self._reset()
            return restarted, []
        identity = (status.st_ino, status.st_size, status.st_mtime_ns)
        if identity == self._complete:
            return False, []
        with self.file.open("rb") as raw:
            restarted = self._inode is not None and (
                status.st_ino != self._inode or not self._continues(raw, status.st_size)
            )
            if restarted:
                self._reset()
            if self._inode is None and status.st_size > self._most_bytes:
                raw.seek(status.st_size - self._most_bytes)
                raw.readline()
                self._offset = raw.tell()
            self._inode = status.st_ino
            raw.seek(self._offset)
            block = raw.read(_BLOCK)
        end = block.rfind(b"\n") + 1
        if not end and len(block) == _BLOCK:
            end = _BLOCK  # no valid line is so long: the caller's parser rejects it
        self._offset += end
        self._tail = (self._tail + block[:end])[-_CHECKED:]
        self._complete = identity if len(block) < _BLOCK else None
        return restarted, block[:end].splitlines()

    def _continues(self, raw: object, size: int) -> bool:
        """Whether the file still holds what was read, by its last bytes."""
        if size < self._offset:
            return False
        raw.seek(self._offset - len(self._tail))  # type: ignore[attr-defined]
        return raw.read(len(self._tail)) == self._tail  # type: ignore[attr-defined, no-any-return]
