"""Which files of a source folder Spark will read, found without Spark.

Spark skips hidden files and folders, and empty files. Of what remains it reads the files of the folder itself, unless
there are folders such as `day=2024-05-01`: then it reads those, and what they are called is a column. Other folders are
read with `recursiveFileLookup` alone, and then all of them.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from aomg.monitor.config.secret import Secret, revealed
from aomg.monitor.errors import ConfigError

MOST_FILES = 20_000


@dataclass(frozen=True)
class SourceFiles:
    """The files that will be read, sorted by path (of many the first), and the columns that their folders tell."""

    files: tuple[Path, ...]
    folder_columns: tuple[str, ...] = ()


def source_files(folder: Path, options: Mapping[str, str | Secret]) -> SourceFiles:
    """Look where Spark will look. Raises ConfigError for what it would refuse, or silently leave out.

    Costs a listing of the folder, of 20,000 files at most.
    """
    given = {name.lower(): value for name, value in revealed(options).items()}
    wanted = glob_pattern(given["pathglobfilter"]) if "pathglobfilter" in given else None
    visible = [file for _, file in zip(range(MOST_FILES), _visible(folder), strict=False)]
    found = [file for file in visible if file.stat().st_size and (wanted is None or wanted.fullmatch(file.name))]
    if given.get("recursivefilelookup", "").lower() == "true":
        return SourceFiles(tuple(found))
    told = {file: _folder_columns(file.parent.relative_to(folder)) for file in visible}
    first = next((file for file, columns in told.items() if columns), None)
    if first is None:
        top = [file for file in found if file.parent == folder]
        if found and not top:
            raise ConfigError(
                f"all files of {folder} lie in folders in it, such as {found[0].parent.name}/, which are not read; "
                "set options: {recursiveFileLookup: true}, or give one of those folders"
            )
        return SourceFiles(tuple(top))
    for file in found:
        if told[file] != told[first]:
            raise ConfigError(
                f"{file} lies beside folders such as {first.parent.relative_to(folder)}, and Spark reads only one "
                "kind of folder; move it into one of them, or set options: {recursiveFileLookup: true}"
            )
    return SourceFiles(tuple(found), told[first])


def _visible(folder: Path) -> Iterator[Path]:
    """All files that are not hidden, folder by folder."""

    def refuse(error: OSError) -> None:
        raise ConfigError(f"{error.filename} cannot be read ({error.strerror}); give this user the right to")

    for at, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in sorted(names):
            file = Path(at, name)
            if not _is_hidden(name) and file.is_file():
                yield file


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.endswith("._COPYING_") or (name.startswith("_") and "=" not in name)


def _folder_columns(path: Path) -> tuple[str, ...]:
    return tuple(part.partition("=")[0] for part in path.parts if "=" in part[1:])


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A pattern of Hadoop's for names of files: * ? [a-z] [^a-z] {one,other}; a backslash before the character itself.

    >>> bool(glob_pattern("{a,b}*.csv").fullmatch("b1.csv")), bool(glob_pattern("[^a]?").fullmatch("a1"))
    (True, False)
    """
    pieces, depth, at = [], 0, 0
    while at < len(glob):
        character = glob[at]
        if character == "\\" and at + 1 < len(glob):
            at += 1
            pieces.append(re.escape(glob[at]))
        elif character == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\")
            pieces.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at = end
        elif character == "{":
            depth += 1
            pieces.append("(?:")
        elif character == "}" and depth:
            depth -= 1
            pieces.append(")")
        else:
            known = {"*": ".*", "?": ".", ",": "|" if depth else ","}
            pieces.append(known.get(character) or re.escape(character))
        at += 1
    try:
        return re.compile("".join(pieces), re.DOTALL)
    except re.error:
        raise ConfigError(f"the option pathGlobFilter is no pattern, {glob!r}; write it as *.parquet") from None
