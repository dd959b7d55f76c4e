"""What AOMG needs on a machine: whether it is here, and how to mend it if not."""

import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aomg.caches import is_writable, kernel_cache
from aomg.java import INSTALL, OLDEST, look_for_java
from aomg.packages import CORE, PYSPARK, SPARK, Package

FREE_BYTES = 1 << 30  # Spark puts shuffles and the state of streams there
PATIENCE = 300  # seconds for Spark's trial: a start takes 5 to 10, on a busy machine some times that

_BATCH, _STREAM = "Spark", "Spark streaming"
_COLOURS = {"ok": "green", "wrong": "red", "left out": "yellow"}
_LONGEST = 300

# What a failed trial said -> what to do. The first that fits is the cause.
_CAUSES = (
    ("jdk.incubator.vector not found", f"this Java was made without a module that Spark asks for: {INSTALL}"),
    ("UnsupportedClassVersionError", f"this Java is too old: {INSTALL}"),
    ("No space left on device", "the disk of the temporary files is full: free some, or set TMPDIR to another disk"),
    ("PYTHON_VERSION_MISMATCH", "workers run another Python: unset PYSPARK_PYTHON and spark.pyspark.python"),
    ("ModuleNotFoundError", "the package that is named there is missing: install it for this Python"),
    ("Could not reserve enough space", "there is too little memory for the JVM: stop something else"),
    ("OutOfMemoryError", "there is too little memory for the JVM: stop something else, or raise its memory"),
    ("BindException", "no port can be opened on 127.0.0.1: look at firewalls and at the limits of a sandbox"),
    ("UnknownHostException", "this machine cannot look up its own name: add it to /etc/hosts with 127.0.0.1"),
    ("UnsatisfiedLinkError", "RocksDB's library cannot be loaded: set TMPDIR to a disk where programs may run"),
    ("Cannot run program", "put that program on PATH, or let it be run"),
    ("SPARK_REMOTE", "unset SPARK_REMOTE"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `mend` says what to do about a wrong one."""

    what: str
    state: Literal["ok", "wrong", "left out"]
    found: str
    mend: str = ""


def examine(spark: bool = True) -> Iterator[Finding]:
    """Look at everything, one finding after the other.

    Without `spark` Spark is not started, and where it is not installed it is not missed. Costs less than a second,
    and 10 to 20 with Spark.
    """
    yield _python()
    yield from map(_package, CORE)
    yield _kernels()
    yield _disk()
    if not spark and PYSPARK.version() is None:
        yield Finding("Spark", "left out", "not installed")
        return
    wanted = [*map(_package, SPARK), _java()]
    yield from wanted
    if not spark:
        yield Finding("Spark", "left out", "not started")
    elif any(finding.state == "wrong" for finding in wanted):
        yield Finding("Spark", "left out", "not started: mend what is wrong above first")
    else:
        yield from _trials()


def is_fit(findings: Iterable[Finding]) -> bool:
    """Tell whether nothing is wrong."""
    return all(finding.state != "wrong" for finding in findings)


def run(console: Console, spark: bool = True, as_json: bool = False) -> bool:
    """Examine, print a table or JSON, and tell whether everything needed is fine. Costs what examine costs."""
    with Console(stderr=True).status("looking around, starting Spark" if spark else "looking around"):
        findings = list(examine(spark))
    fit = is_fit(findings)
    if as_json:
        told = {"ok": fit, "findings": [asdict(finding) for finding in findings]}
        console.out(json.dumps(told, indent=2), highlight=False)
    else:
        console.print(_table(findings))
    return fit


def trial() -> None:
    """Start Spark, run one job through Python, then one stream with state; print a line when each is done.

    It is run in a process of its own: what Spark says can be read there, and a running session is not met.
    """
    from pyspark.sql import functions as f

    from aomg.spark.session import session

    began = time.monotonic()
    spark = session("aomg doctor", cores=1)
    assert spark.range(1000).mapInArrow(_echo, "id long").count() == 1000
    print(json.dumps({"done": _BATCH, "found": f"{spark.version}, {time.monotonic() - began:.0f} s"}), flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "events").mkdir()
        Path(directory, "events", "one.txt").write_text("1\n2\n2\n")
        counts = spark.readStream.text(f"{directory}/events").groupBy("value").agg(f.count("*").alias("n"))
        stream = counts.writeStream.format("noop").outputMode("complete").trigger(availableNow=True)
        stream.option("checkpointLocation", f"{directory}/checkpoint").start().awaitTermination()
    print(json.dumps({"done": _STREAM, "found": f"RocksDB, {time.monotonic() - began:.0f} s"}), flush=True)
    spark.stop()


def _echo(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _table(findings: Iterable[Finding]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        about = Text(finding.found)
        if finding.mend:
            about.append(f"\n{finding.mend}", style="bold")
        table.add_row(finding.what, Text(finding.state, style=_COLOURS[finding.state]), about)
    return table


def _python() -> Finding:
    # An older one could not have read this file.
    return Finding("Python", "ok", f"{platform.python_version()}, {sys.executable}")


def _package(package: Package) -> Finding:
    fault = package.fault()
    if fault is None:
        return Finding(package.name, "ok", str(package.version()))
    return Finding(package.name, "wrong", fault, f"run: {package.install()}")


def _kernels() -> Finding:
    cache = kernel_cache()
    if cache is None:
        mend = "unset NUMBA_DISABLE_JIT: nothing is compiled, and everything is slow"
        return Finding("compiled kernels", "wrong", "none", mend)
    if is_writable(cache):
        return Finding("compiled kernels", "ok", str(cache))
    mend = "every process compiles anew: set NUMBA_CACHE_DIR to a directory that can be written"
    return Finding("compiled kernels", "wrong", f"{cache} cannot be written", mend)


def _disk() -> Finding:
    directory = tempfile.gettempdir()
    free = shutil.disk_usage(directory).free
    found = f"{free / 1e9:,.1f} GB free in {directory}"
    if free >= FREE_BYTES:
        return Finding("temporary files", "ok", found)
    return Finding("temporary files", "wrong", found, "free some of it, or set TMPDIR to a directory on another disk")


def _java() -> Finding:
    java, seen = look_for_java()
    if java is None:
        return Finding("Java", "wrong", f"no Java {OLDEST} or newer ({seen})", INSTALL)
    return Finding("Java", "ok", f"{java.version}, from {java.origin}: {java.program}")


def _trials() -> Iterator[Finding]:
    """Run `trial` in a process of its own and read what it says."""
    command = [sys.executable, "-c", "from aomg.doctor import trial; trial()"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        lines, said = process.stdout.splitlines(), process.stderr
    except subprocess.TimeoutExpired:
        lines, said = [], f"no answer in {PATIENCE} s"
    done = {}
    for line in lines:
        if line.startswith('{"done"'):
            step = json.loads(line)
            done[step["done"]] = step["found"]
    for what in (_BATCH, _STREAM):
        if what not in done:
            yield Finding(what, "wrong", *explain(said))
            return
        yield Finding(what, "ok", done[what])


def explain(said: str) -> tuple[str, str]:
    """Return the line that tells most of what a failed trial said, and what to do about it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for sign, mend in _CAUSES:
        for line in lines:
            if sign in line:
                return line[:_LONGEST], mend
    telling = [line for line in lines if re.match(r"(Caused by: |: )?[\w.]+(Error|Exception)\b", line)]
    mend = "look up what Spark says there, or report it with the output of `aomg doctor --json`"
    return (telling or lines or ["it ended without a word"])[-1][:_LONGEST], mend
