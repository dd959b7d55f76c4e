"""Compiled code is used again only while every file of the package is as it was."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aomg.core.kernels import _compile, steps
from aomg.core.kernels._compile import source_stamp
from aomg.policies.kernels import gk

CALLER = """
from package._compile import compiled
from package.callee import amount

@compiled
def add(x):
    return x + amount(x)
"""
CALLEE = """
from package._compile import compiled

@compiled
def amount(x):
    return {amount}
"""
DECORATOR = """
from pathlib import Path
from aomg.core.kernels._compile import compiler, source_stamp

compiled = compiler(source_stamp(Path(__file__).parent), nogil=True)
"""
PLAIN_DECORATOR = """
from numba import njit

compiled = njit(cache=True, nogil=True)
"""
# the result, and how often the caller was found in the cache and how often it was not
RUN = (
    "from package.caller import add; result = add(1); stats = add.stats;"
    "print(result, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))"
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "_compile.py").write_text(DECORATOR)
    (folder / "caller.py").write_text(CALLER)
    (folder / "callee.py").write_text(CALLEE.format(amount=10))
    return folder


def environment_of(package: Path) -> dict[str, str]:
    """A cache of its own, and no bytecode files: Python would not see a second edit within a second."""
    return dict(os.environ, NUMBA_CACHE_DIR=str(package.parent / "cache"), PYTHONDONTWRITEBYTECODE="1")


def run(package: Path) -> list[int]:
    environment = environment_of(package)
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=package.parent, env=environment, capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


def test_an_edit_of_a_callee_recompiles_its_caller_in_another_file(package):
    assert run(package) == [11, 0, 1]
    assert run(package) == [11, 1, 0]
    (package / "callee.py").write_text(CALLEE.format(amount=20))
    assert run(package) == [21, 0, 1]
    assert run(package) == [21, 1, 0]


def test_without_the_stamp_numba_uses_stale_code(package):
    """Why there is a stamp. Should this fail one day, Numba has learnt to see edits in other files."""
    (package / "_compile.py").write_text(PLAIN_DECORATOR)
    assert run(package) == [11, 0, 1]
    (package / "callee.py").write_text(CALLEE.format(amount=20))
    assert run(package) == [11, 1, 0]


def test_a_new_time_stamp_without_an_edit_compiles_nothing(package):
    assert run(package) == [11, 0, 1]
    for file in package.glob("*.py"):
        os.utime(file, (1, 1))
    assert run(package) == [11, 1, 0]


@pytest.mark.parametrize("edit", ["change", "add", "remove", "rename"])
def test_every_edit_of_the_package_changes_its_stamp(tmp_path, edit):
    folder = tmp_path / "kernels"
    shutil.copytree(Path(_compile.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert source_stamp(folder) == source_stamp(Path(_compile.__file__).parent)
    before = source_stamp(folder)
    lists = folder / "paper" / "lists.py"
    if edit == "change":
        lists.write_text(lists.read_text() + "\n")
    elif edit == "add":
        (folder / "more.py").write_text("")
    elif edit == "remove":
        lists.unlink()
    else:
        lists.rename(lists.with_name("other.py"))
    assert source_stamp(folder) != before


def test_every_kernel_of_the_core_and_of_the_policies_has_the_stamp():
    kernels = 0
    for one in (steps, gk):
        package, folder = one.__package__, Path(one.__file__).parent
        for file in sorted(folder.rglob("*.py")):
            if file.name.startswith("_"):
                continue
            module = __import__(".".join([package, *file.relative_to(folder).with_suffix("").parts]), fromlist=["_"])
            for name, kernel in vars(module).items():
                if getattr(kernel, "__module__", None) == module.__name__ and hasattr(kernel, "py_func"):
                    assert kernel._cache._cache_file._source_stamp == source_stamp(folder), f"{file.name}: {name}"
                    kernels += 1
    assert kernels > 150


def test_where_numba_has_no_such_cache_kernels_are_compiled_without_one(monkeypatch):
    """A stale cache gives wrong numbers; compiling every time is only slow."""
    real = _compile.njit

    def njit_without_the_attribute(**options):
        def compile_function(function):
            kernel = real(**options)(function)
            if options.get("cache"):
                del kernel._cache._cache_file
            return kernel

        return compile_function

    monkeypatch.setattr(_compile, "njit", njit_without_the_attribute)

    @_compile.compiler("a stamp")
    def double(x):
        return 2 * x

    assert double(21) == 42
    assert double.stats.cache_path is None


# calls with an integer or a double, twice; how often compiled code was loaded and how often it was not
RUN_TWICE = (
    "import sys; from package.caller import add; x = eval(sys.argv[1]); add(x); result = add(x); stats = add.stats;"
    "print(result, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))"
)


def run_twice(package: Path, argument: str) -> str:
    environment = environment_of(package)
    command = [sys.executable, "-c", RUN_TWICE, argument]
    return subprocess.run(
        command, cwd=package.parent, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def indexes(package: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (package.parent / "cache").rglob("*.nbi")}


@pytest.mark.parametrize("plain", [False, True])
def test_processes_that_compile_at_the_same_time_do_not_take_each_others_code(package, plain):
    """Both see an empty cache; the index of the first is the last that is written, and it finds its own code."""
    if plain:  # Why there is `_save`. Should this fail one day, Numba has learnt it.
        (package / "_compile.py").write_text(PLAIN_DECORATOR)
    assert run_twice(package, "1") == "11 0 1"
    first = indexes(package)
    for path in first:
        path.unlink()
    assert run_twice(package, "1.5") == "11.5 0 1"
    for path, content in first.items():
        path.write_bytes(content)
    # Numba alone finds the code for doubles, and loads it again at every call
    assert run_twice(package, "1") == ("11.0 2 0" if plain else "11 1 0")


def test_versions_that_run_at_the_same_time_do_not_take_each_others_code(package):
    assert run(package) == [11, 0, 1]
    first = indexes(package)
    (package / "callee.py").write_text(CALLEE.format(amount=20))
    assert run(package) == [21, 0, 1]
    (package / "callee.py").write_text(CALLEE.format(amount=10))
    for path, content in first.items():
        path.write_bytes(content)
    assert run(package) == [11, 1, 0]


SLOW = """
from package._compile import compiled
from package.callee import amount

@compiled
def add(x):
    for _ in range(3):
        for _ in range(4):
            for _ in range(5):
                x += amount(x)
    return x
"""


def test_of_processes_that_need_a_kernel_together_one_compiles_and_the_others_load(package):
    (package / "caller.py").write_text(SLOW)
    environment = environment_of(package)
    command = "import sys; from package.caller import add; print(flush=True); sys.stdin.readline();" + RUN
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", command],
            cwd=package.parent,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:  # all have imported everything, none has compiled anything
        assert process.stdout is not None
        assert process.stdout.readline() == "\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120)[0].split() for process in processes]
    assert sorted(words[1:] for words in told) == [["0", "1"], ["1", "0"], ["1", "0"]]
    assert len({words[0] for words in told}) == 1
