"""Names in the source say what they name: no two classes share a name, and no name is a filler word.

`python tests/test_source_names.py` lists every offender by folder.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "aomg"
FILLERS = frozenset({"told", "found", "asked", "said", "made", "at"})

# Folders of src/aomg whose names were gone through; "." is the files of src/aomg itself. All of them belong here.
DONE: tuple[str, ...] = (".", "core", "evaluation", "monitor", "policies", "spark", "streams", "web")

# "path:name" -> why the name has to stay.
ALLOWED: dict[str, str] = {"policies/base.py:asked": "the deprecated name of `quantiles`, which policies of users have"}


def folder_of(path: Path) -> str:
    """Return the first folder below src/aomg, or "." for a file of src/aomg itself."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "."


def names_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that the code binds, with its line: variables, parameters, attributes, fields, functions."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno
            case ast.MatchMapping(rest=str(name)):
                yield name, node.lineno
            case ast.alias(asname=str(name)):
                yield name, node.lineno
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                yield from (
                    (str(part.value), part.lineno) for part in ast.walk(value) if isinstance(part, ast.Constant)
                )


def fillers_of(code: str) -> list[tuple[str, int]]:
    """Return the names that are filler words, with or without underscores around them."""
    return sorted((name, line) for name, line in names_of(ast.parse(code)) if name.strip("_").lower() in FILLERS)


def classes_of(code: str) -> list[tuple[str, int]]:
    """Return the classes, private and nested ones too."""
    return [(node.name, node.lineno) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ClassDef)]


def fillers_by_folder() -> dict[str, list[str]]:
    """Return "path:line name" of each filler name that is not allowed."""
    offenders = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        for name, line in fillers_of(path.read_text()):
            if f"{place}:{name}" not in ALLOWED:
                offenders[folder_of(path)].append(f"{place}:{line} {name}")
    return offenders


def shared_class_names() -> dict[str, list[Path]]:
    """Return the files of each class name that several classes have."""
    files = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for name, _ in classes_of(path.read_text()):
            files[name].append(path)
    return {name: paths for name, paths in sorted(files.items()) if len(paths) > 1}


def test_no_name_is_a_filler_word():
    offenders = fillers_by_folder()
    assert {folder: offenders[folder] for folder in DONE if folder in offenders} == {}


def test_no_two_classes_share_a_name():
    shared = {
        name: [path.relative_to(SOURCE).as_posix() for path in paths]
        for name, paths in shared_class_names().items()
        if sum(folder_of(path) in DONE for path in paths) > 1
    }
    assert shared == {}


def test_every_exception_is_needed():
    present = {
        f"{path.relative_to(SOURCE).as_posix()}:{name}"
        for path in SOURCE.rglob("*.py")
        for name, _ in fillers_of(path.read_text())
    }
    assert set(ALLOWED) <= present
    assert all(ALLOWED.values())


def test_fillers_are_seen_wherever_a_name_can_stand():
    code = """
import json as told
from json import loads as found

class _Asked:
    __slots__ = ("said",)
    made: int = 0

    def at(self, at, *made, asked=1, **said):
        self._at = at
        self.rows[0].found = 1
        told, (found, _) = at, made
        for at in (said := []):
            pass
        try:
            with open(asked) as made:
                return [said for said in made]
        except OSError as at:
            pass
        match told:
            case {"a": found, **made}:
                pass
            case [*told] | (1 as said):
                return lambda asked: asked
"""
    names = [name for name, _ in fillers_of(code)]
    assert sorted(set(names)) == ["_Asked", "_at", "asked", "at", "found", "made", "said", "told"]
    counts = {name: names.count(name) for name in set(names)}
    assert counts == {"_Asked": 1, "_at": 1, "asked": 2, "at": 4, "found": 4, "made": 4, "said": 5, "told": 3}


def test_words_in_longer_names_texts_and_reads_are_no_fillers():
    code = 'starts_at = made_of = row["at"]\nprint(match.found, said(), "told", f(at=starts_at))\n'
    assert fillers_of(code) == []


def test_private_and_nested_classes_are_seen():
    assert classes_of("class A:\n    class _B: ...\ndef f():\n    class _B: ...\n") == [("A", 1), ("_B", 2), ("_B", 4)]


def main() -> None:
    """Print every offender by folder."""
    for folder, lines in sorted(fillers_by_folder().items()):
        print(f"{folder}: {len(lines)} names" + (", done" if folder in DONE else ""))
        print("".join(f"  {line}\n" for line in lines), end="")
    print("class names that are used more than once")
    for name, paths in shared_class_names().items():
        print(f"  {name}: {', '.join(path.relative_to(SOURCE).as_posix() for path in paths)}")


if __name__ == "__main__":
    main()
