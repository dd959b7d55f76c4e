"""Lists the files that a micro-batch reads, from Spark's checkpoint.

Spark writes `offsets/12` before batch 12 begins. The line of a file source in it is `{"logOffset":7}`: the batch reads
what `sources/0/` lists up to number 7, after the number of the batch before.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_HEAD_LINES = 2  # the version, and the settings of the batch


def files_of(checkpoint: Path, batch: int) -> list[Path]:
    """The files that a batch reads; none for sources without files, and if the checkpoint does not have the batch."""
    end, start = (_log_offset(checkpoint / "offsets" / str(number)) for number in (batch, batch - 1))
    numbers = range(start + 1, end + 1)
    listed = [entry for number in numbers for entry in _listed(checkpoint / "sources" / "0", number)]
    return [Path(unquote(urlsplit(entry["path"]).path)) for entry in listed]


def _log_offset(file: Path) -> int:
    """The last number that a batch reads; -1 if there is none."""
    try:
        offset = json.loads(file.read_text("utf-8").splitlines()[_HEAD_LINES])
        return int(offset["logOffset"])
    except (OSError, ValueError, IndexError, KeyError, TypeError):
        return -1


def _listed(log: Path, number: int) -> list[dict[str, Any]]:
    """What is listed under a number: in a file of its own, or in one that has all before it, too."""
    later = sorted(int(path.stem) for path in log.glob("*.compact") if path.stem.isdecimal())
    names = [str(number), *(f"{one}.compact" for one in later if one >= number)]
    file = next((log / name for name in names if (log / name).exists()), None)
    if file is None:
        return []
    mark = f'"batchId":{number}}}'
    lines = file.read_text("utf-8").splitlines()[1:]
    return [json.loads(line) for line in lines if line.endswith(mark)]
