"""The files of the page and Plotly's JavaScript: names are looked up, never joined to a path."""

import gzip
import hashlib
import os
import re
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PAGE = Path(__file__).parents[1] / "page"
PLOTLY = "/static/plotly.js"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}
_STYLE_ID = re.compile(rb'getElementById\("([0-9a-f]{64})"\)')


@dataclass(frozen=True, eq=False)
class StaticFile:
    """A file's bytes and media type; compressed on first use."""

    content: bytes
    kind: str
    immutable: bool = False
    """Whether its address changes with its content."""

    @cached_property
    def tag(self) -> str:
        """Hash of the content, for the ETag."""
        return hashlib.blake2b(self.content, digest_size=10).hexdigest()

    @cached_property
    def compressed(self) -> bytes:
        """The content as gzip."""
        return gzip.compress(self.content, 6, mtime=0)


class StaticFiles:
    """The files of a folder, cached and read again when they change; index.html gets Plotly's address."""

    def __init__(self, folder: Path = PAGE) -> None:
        self._folder = folder
        self._cache: dict[str, tuple[tuple[int, int], StaticFile]] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> StaticFile | None:
        """Return the file of this name in the folder or its subfolders, or None."""
        if name == "plotly.js":
            return self._plain_plotly
        if name == self.plotly_name:
            return self.plotly
        return self._file(name) if name != "index.html" else None

    @cached_property
    def plotly(self) -> StaticFile:
        """Plotly's JavaScript, from the installed package."""
        import plotly

        file = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
        return StaticFile(file.read_bytes(), _KINDS[".js"], immutable=True)

    @cached_property
    def plotly_name(self) -> str:
        """Plotly's name in addresses; it changes with the content."""
        return f"plotly-{self.plotly.tag}.js"

    @cached_property
    def _plain_plotly(self) -> StaticFile:
        return StaticFile(self.plotly.content, self.plotly.kind)

    @cached_property
    def _metas(self) -> str:
        # Plotly adds <style> elements, which the policy forbids, unless elements with these ids exist
        ids = sorted(set(_STYLE_ID.findall(self.plotly.content)))
        metas = [f'<meta name="aomg-plotly" content="/static/{self.plotly_name}">']
        return "\n".join(metas + [f'<meta id="{style_id.decode()}" name="aomg-style">' for style_id in ids])

    def index(self) -> StaticFile | None:
        """Return index.html, which serves every view."""
        page = self._file("index.html")
        if page is None:
            return None
        text = page.content.decode().replace(PLOTLY, f"/static/{self.plotly_name}")
        return StaticFile(text.replace("</head>", f"{self._metas}\n</head>", 1).encode(), page.kind)

    def _file(self, name: str) -> StaticFile | None:
        path = self._named().get(name)
        if path is None or path.suffix not in _KINDS or path.is_symlink() or not path.is_file():
            return None
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        with self._lock:
            cached = self._cache.get(name)
            if cached is None or cached[0] != stamp:
                cached = self._cache[name] = (stamp, StaticFile(path.read_bytes(), _KINDS[path.suffix]))
        return cached[1]

    def _named(self) -> dict[str, Path]:
        """Return all files of the folder and its subfolders by name (overview/row.js), but for hidden ones."""
        named = {}
        for place, folders, files in os.walk(self._folder):  # does not follow links
            folders[:] = [folder for folder in folders if not folder.startswith(".")]
            for file in files:
                if not file.startswith("."):
                    path = Path(place, file)
                    named[path.relative_to(self._folder).as_posix()] = path
        return named
