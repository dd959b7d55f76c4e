"""Follows a file of lines that somebody appends to, and now and then cuts, replaces or removes."""

from pathlib import Path

_BLOCK = 1 << 20
_CHECKED = 1 << 10


class Appended:
    """The whole lines of a file, each once, in pieces. A last line without its end waits until it has one.

    most_bytes
        Of a larger file only so much of its end is read.

    A look costs one stat while nothing changes, and at most 1 MB of reading otherwise.
    """

    def __init__(self, file: Path, most_bytes: int = 1 << 24) -> None:
        self.file = file
        self._most_bytes = most_bytes
        self._forget()

    def _forget(self) -> None:
        self._inode: int | None = None
        self._looked: tuple[int, int, int] | None = None  # inode, size and time of change when all was read
        self._at = 0
        self._before = b""  # the bytes in front of `_at`: if they are others now, the file was cut and written again

    def read(self) -> tuple[bool, list[bytes]]:
        """Whether all that was read before no longer counts, and the lines that are new. Raises OSError."""
        try:
            told = self.file.stat()
        except FileNotFoundError:
            again = self._inode is not None
            self._forget()
            return again, []
        seen = (told.st_ino, told.st_size, told.st_mtime_ns)
        if seen == self._looked:
            return False, []
        with self.file.open("rb") as raw:
            again = self._inode is not None and (told.st_ino != self._inode or not self._goes_on(raw, told.st_size))
            if again:
                self._forget()
            if self._inode is None and told.st_size > self._most_bytes:
                raw.seek(told.st_size - self._most_bytes)
                raw.readline()
                self._at = raw.tell()
            self._inode = told.st_ino
            raw.seek(self._at)
            block = raw.read(_BLOCK)
        whole = block.rfind(b"\n") + 1
        if not whole and len(block) == _BLOCK:
            whole = _BLOCK  # no line is so long: whoever takes it apart finds it damaged
        self._at += whole
        self._before = (self._before + block[:whole])[-_CHECKED:]
        self._looked = seen if len(block) < _BLOCK else None
        return again, block[:whole].splitlines()

    def _goes_on(self, raw: object, size: int) -> bool:
        """Whether the file still holds what was read, as its last bytes tell."""
        if size < self._at:
            return False
        raw.seek(self._at - len(self._before))  # type: ignore[attr-defined]
        return raw.read(len(self._before)) == self._before  # type: ignore[attr-defined, no-any-return]
