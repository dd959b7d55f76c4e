"""Lists the files of a source folder that Spark will read, without Spark.

Spark skips hidden files and folders, and empty files. It reads the files of the folder itself, unless there are folders
such as `day=2024-05-01`: then it reads those, and `day` is a column. Other folders are read only with
`recursiveFileLookup`, and then all of them.
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
    """The files that will be read, sorted by path (the first 20,000), and the columns in the names of their folders."""

    files: tuple[Path, ...]
    folder_columns: tuple[str, ...] = ()


def source_files(folder: Path, options: Mapping[str, str | Secret]) -> SourceFiles:
    """List the files that Spark will read in a folder; a file is the whole source.

    Raises ConfigError for files that Spark would refuse or silently skip. Lists 20,000 files at most.
    """
    if not folder.is_dir():
        return SourceFiles(_alone(folder))
    by_name = {name.lower(): value for name, value in revealed(options).items()}
    wanted = glob_pattern(by_name["pathglobfilter"]) if "pathglobfilter" in by_name else None
    visible = [file for _, file in zip(range(MOST_FILES), _visible(folder), strict=False)]
    files = [file for file in visible if file.stat().st_size and (wanted is None or wanted.fullmatch(file.name))]
    if by_name.get("recursivefilelookup", "").lower() == "true":
        return SourceFiles(tuple(files))
    columns_of = {file: _folder_columns(file.parent.relative_to(folder)) for file in visible}
    first = next((file for file, columns in columns_of.items() if columns), None)
    if first is None:
        top = [file for file in files if file.parent == folder]
        if files and not top:
            raise ConfigError(
                f"all files of {folder} are in subfolders such as {files[0].parent.name}/, which are not read; "
                "set options: {recursiveFileLookup: true}, or name one of those folders"
            )
        return SourceFiles(tuple(top))
    for file in files:
        if columns_of[file] != columns_of[first]:
            raise ConfigError(
                f"{file} is next to folders such as {first.parent.relative_to(folder)}, and Spark would skip it; "
                "move it into one of them, or set options: {recursiveFileLookup: true}"
            )
    return SourceFiles(tuple(files), columns_of[first])


def _alone(file: Path) -> tuple[Path, ...]:
    if _is_hidden(file.name):
        raise ConfigError(f"Spark skips files whose names begin with . or _, such as {file}; rename it")
    return (file,) if file.is_file() and file.stat().st_size else ()


def spark_path(path: Path) -> str:
    """The path of a source for Spark. That of a file is a pattern that fits no other file.

    Spark streams from no single file, and would list everything in its folder if it had to look there.

    >>> spark_path(Path("/in/no-such-folder"))
    '/in/no-such-folder'
    """
    if not path.is_file():
        return str(path)
    place = next((place for place, letter in enumerate(path.name) if letter.isalnum()), 0)
    return str(path.parent / f"{path.name[:place]}[{path.name[place]}]{path.name[place + 1 :]}")


def _visible(folder: Path) -> Iterator[Path]:
    """All files that are not hidden, folder by folder."""

    def refuse(error: OSError) -> None:
        raise ConfigError(f"{error.filename} cannot be read ({error.strerror}); change its permissions")

    for parent, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in sorted(names):
            file = Path(parent, name)
            if not _is_hidden(name) and file.is_file():
                yield file


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.endswith("._COPYING_") or (name.startswith("_") and "=" not in name)


def _folder_columns(path: Path) -> tuple[str, ...]:
    return tuple(part.partition("=")[0] for part in path.parts if "=" in part[1:])


def glob_pattern(glob: str) -> re.Pattern[str]:
    """Translate a Hadoop glob for file names: * ? [a-z] [^a-z] {one,two}; a backslash escapes a character.

    >>> bool(glob_pattern("{a,b}*.csv").fullmatch("b1.csv")), bool(glob_pattern("[^a]?").fullmatch("a1"))
    (True, False)
    """
    pieces, depth, index = [], 0, 0
    while index < len(glob):
        character = glob[index]
        if character == "\\" and index + 1 < len(glob):
            index += 1
            pieces.append(re.escape(glob[index]))
        elif character == "[" and (end := glob.find("]", index + 2)) > 0:
            inside = glob[index + 1 : end].replace("\\", "\\\\")
            pieces.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            index = end
        elif character == "{":
            depth += 1
            pieces.append("(?:")
        elif character == "}" and depth:
            depth -= 1
            pieces.append(")")
        else:
            known = {"*": ".*", "?": ".", ",": "|" if depth else ","}
            pieces.append(known.get(character) or re.escape(character))
        index += 1
    try:
        return re.compile("".join(pieces), re.DOTALL)
    except re.error:
        raise ConfigError(
            f"the option pathGlobFilter is {glob!r}, which is not a pattern; write one such as *.parquet"
        ) from None
