"""Finds a place in which folders of a sink are rebuilt, and cleans it up.

The place is beside the sink's folder (`.results.compacting` for `results`), where its readers do not look: Polars, and
DuckDB with `**`, also read hidden folders. If the folder's parent is on another file system, or cannot be written, the
place is hidden in the folder itself (`.compacting`).
"""

import shutil
from functools import lru_cache
from pathlib import Path

_NAME = ".compacting"


def work_places(root: Path) -> tuple[Path, Path]:
    """Both places for the folder of a sink: beside it, and in it."""
    whole = root.resolve()
    return whole.with_name(f".{whole.name}{_NAME}"), root / _NAME


@lru_cache(maxsize=64)
def work_place(root: Path) -> Path:
    """The place to use, which does not exist yet. The caller holds the lock of `root`."""
    beside, inside = work_places(root)
    try:
        (beside / "probe").mkdir(parents=True)
        inside.mkdir()
        (beside / "probe").rename(inside / "probe")
    except OSError:
        return inside
    finally:
        clean_up(root)
    return beside


def clean_up(root: Path) -> None:
    """Finish or undo what was done: restore a folder that was renamed away, and remove all else.

    The caller holds the lock of `root`.
    """
    for place in work_places(root):
        if place.exists():
            for aside in (place / "old").glob("*"):
                if not (root / aside.name).exists():
                    aside.rename(root / aside.name)
            shutil.rmtree(place)
