"""Checks this machine and explains how to fix what is missing."""

import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aomg.caches import is_writable, kernel_cache
from aomg.java import INSTALL, OLDEST, look_for_java
from aomg.packages import CORE, EXTRAS, PYSPARK, PYYAML, SPARK, TESTED_SPARK, Package, install_extras, is_tested
from aomg.terminal import Terminal

FREE_BYTES = 1 << 30  # Spark puts shuffles and the state of streams there
PATIENCE = 300  # seconds for Spark's trial: a start takes 5 to 10, on a busy machine some times that

_BATCH, _STREAM = "Spark", "Spark streaming"
_COLOURS = {"ok": "green", "wrong": "red", "left out": "yellow"}
_LONGEST = 300

# A text in the output of a failed trial -> the fix. The first match is the cause.
_CAUSES = (
    ("jdk.incubator.vector not found", f"this Java lacks a module that Spark needs: {INSTALL}"),
    ("UnsupportedClassVersionError", f"this Java is too old: {INSTALL}"),
    ("No space left on device", "the disk of temporary files is full: free some, or set TMPDIR to another disk"),
    ("PYTHON_VERSION_MISMATCH", "Spark's workers use another Python: unset PYSPARK_PYTHON and spark.pyspark.python"),
    ("ModuleNotFoundError", "that package is missing: install it for this Python"),
    ("Could not reserve enough space", "too little memory for the JVM: stop other programs"),
    ("OutOfMemoryError", "too little memory for the JVM: stop other programs, or increase its memory"),
    ("BindException", "no port can be opened on 127.0.0.1: check firewalls and sandbox limits"),
    ("UnknownHostException", "this machine cannot resolve its own name: add it to /etc/hosts with 127.0.0.1"),
    ("UnsatisfiedLinkError", "RocksDB's library cannot be loaded: set TMPDIR to a disk mounted without noexec"),
    ("Cannot run program", "put that program on PATH, or make it executable"),
    ("SPARK_REMOTE", "unset SPARK_REMOTE"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `remedy` says how to fix it; `extra` names the extra that installs it, "" for none."""

    subject: str
    state: Literal["ok", "wrong", "left out"]
    detail: str
    remedy: str = ""
    extra: str | None = None

    def to_json(self) -> dict[str, str]:
        """Return it as a JSON object."""
        return {"what": self.subject, "state": self.state, "found": self.detail, "mend": self.remedy}


def examine(spark: bool = True) -> Iterator[Finding]:
    """Check everything, one finding after the other.

    Without `spark`, Spark is not started, and may be missing. Takes less than a second; 10 to 20 seconds with Spark.
    """
    yield _python()
    yield from map(_package, CORE)
    yield _kernels()
    yield _disk()
    yield _page()
    if not spark and PYSPARK.version() is None:
        yield Finding("Spark", "left out", "not installed")
        return
    needed = [*(_package(package, "monitor") for package in SPARK), _java()]
    yield from needed
    yield _configurations()
    if not spark:
        yield Finding("Spark", "left out", "not started")
    elif any(finding.state == "wrong" for finding in needed):
        yield Finding("Spark", "left out", "not started: fix the problems above first")
    else:
        yield from _trials()


def is_fit(findings: Iterable[Finding]) -> bool:
    """Return whether nothing is wrong."""
    return all(finding.state != "wrong" for finding in findings)


def installation(findings: Iterable[Finding]) -> str | None:
    """Return the one command that installs all that is missing; None if nothing is."""
    extras = {finding.extra for finding in findings if finding.extra is not None and finding.state != "ok"}
    return install_extras(sorted(extra for extra in extras if extra)) if extras else None


def run(console: Console, spark: bool = True, as_json: bool = False) -> bool:
    """Check everything, print a table or JSON, and return whether nothing is wrong."""
    with Terminal(stderr=True).status("checking, starting Spark" if spark else "checking"):
        findings = list(examine(spark))
    fit = is_fit(findings)
    if as_json:
        report = {"ok": fit, "findings": [finding.to_json() for finding in findings], "install": installation(findings)}
        console.out(json.dumps(report, indent=2), highlight=False)
    else:
        console.print(_table(findings))
        if (command := installation(findings)) is not None:
            console.print(f"\nTo install what is missing:\n  {command}", markup=False, soft_wrap=True)
    return fit


def trial() -> None:
    """Start Spark, run one job through Python, then one stream with state; print a line after each.

    Runs in a process of its own, so that its output can be read, and a running session is not disturbed.
    """
    from pyspark.sql import functions as f

    from aomg.spark.session import session

    began = time.monotonic()
    spark = session("aomg doctor", cores=1)
    assert spark.range(1000).mapInArrow(_echo, "id long").count() == 1000
    print(json.dumps({"done": _BATCH, "detail": f"{spark.version}, {time.monotonic() - began:.0f} s"}), flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "events").mkdir()
        Path(directory, "events", "one.txt").write_text("1\n2\n2\n")
        counts = spark.readStream.text(f"{directory}/events").groupBy("value").agg(f.count("*").alias("n"))
        stream = counts.writeStream.format("noop").outputMode("complete").trigger(availableNow=True)
        stream.option("checkpointLocation", f"{directory}/checkpoint").start().awaitTermination()
    print(json.dumps({"done": _STREAM, "detail": f"RocksDB, {time.monotonic() - began:.0f} s"}), flush=True)
    spark.stop()


def _echo(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _table(findings: Iterable[Finding]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(finding.detail)
        if finding.remedy:
            text.append(f"\n{finding.remedy}", style="bold")
        table.add_row(finding.subject, Text(finding.state, style=_COLOURS[finding.state]), text)
    return table


def _python() -> Finding:
    # an older Python cannot parse this file
    return Finding("Python", "ok", f"{platform.python_version()}, {sys.executable}")


def _package(package: Package, extra: str = "") -> Finding:
    fault = package.fault()
    if fault is not None:
        return Finding(package.name, "wrong", fault, f"run: {package.install()}", extra)
    detail = str(package.version())
    if package is PYSPARK and not is_tested(detail):
        detail = f"{detail}, which is not tested ({', '.join(TESTED_SPARK)} are)"
    return Finding(package.name, "ok", detail)


def _configurations() -> Finding:
    if PYYAML.is_missing():
        return Finding(PYYAML.name, "left out", "not installed; aomg run, demo and check need it", extra="monitor")
    return _package(PYYAML)


def _page() -> Finding:
    missing = [package.name for package in EXTRAS["web"] if package.is_missing() and package is not PYYAML]
    if missing:
        return Finding("live page", "left out", f"{', '.join(missing)}: not installed; aomg web needs it", extra="web")
    return Finding("live page", "ok", "its packages are installed")


def _kernels() -> Finding:
    cache = kernel_cache()
    if cache is None:
        remedy = "unset NUMBA_DISABLE_JIT: without compiled kernels everything is slow"
        return Finding("compiled kernels", "wrong", "none", remedy)
    if is_writable(cache):
        return Finding("compiled kernels", "ok", str(cache))
    remedy = "every process compiles them again: set NUMBA_CACHE_DIR to a writable directory"
    return Finding("compiled kernels", "wrong", f"{cache} cannot be written", remedy)


def _disk() -> Finding:
    directory = tempfile.gettempdir()
    free = shutil.disk_usage(directory).free
    detail = f"{free / 1e9:,.1f} GB free in {directory}"
    if free >= FREE_BYTES:
        return Finding("temporary files", "ok", detail)
    return Finding("temporary files", "wrong", detail, "free some space, or set TMPDIR to a directory on another disk")


def _java() -> Finding:
    java, rejected = look_for_java()
    if java is None:
        return Finding("Java", "wrong", f"no Java {OLDEST} or newer ({rejected})", INSTALL, "java")
    return Finding("Java", "ok", f"{java.version}, from {java.origin}: {java.program}")


def _trials() -> Iterator[Finding]:
    """Run `trial` in a process of its own and read its output."""
    command = [sys.executable, "-c", "from aomg.doctor import trial; trial()"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        lines, errors = process.stdout.splitlines(), process.stderr
    except subprocess.TimeoutExpired:
        lines, errors = [], f"no output in {PATIENCE} s"
    done = {}
    for line in lines:
        if line.startswith('{"done"'):
            step = json.loads(line)
            done[step["done"]] = step["detail"]
    for subject in (_BATCH, _STREAM):
        if subject not in done:
            detail, remedy = explain(errors)
            yield Finding(subject, "wrong", detail, f"{remedy}; {_stored(errors)}" if errors else remedy)
            return
        yield Finding(subject, "ok", done[subject])


def _stored(output: str) -> str:
    """Store the whole output of a failed trial; returns where it is."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="aomg-doctor-", suffix=".log", delete=False) as log:
            log.write(output)
    except OSError as error:
        return f"its output could not be stored ({error.strerror})"
    return f"the whole output is in {log.name}"


def explain(output: str) -> tuple[str, str]:
    """Return the most useful line of a failed trial's output, and how to fix it."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for sign, remedy in _CAUSES:
        for line in lines:
            if sign in line:
                return line[:_LONGEST], remedy
    errors = [line for line in lines if re.match(r"(Caused by: |: )?[\w.]+(Error|Exception)\b", line)]
    remedy = "search for this error of Spark, or report it with the output of `aomg doctor --json`"
    return (errors or lines or ["it ended without output"])[-1][:_LONGEST], remedy
