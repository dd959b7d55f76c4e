"""Describes how a result was measured: machine, packages, sizes, data and command."""

import datetime
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import aomg
from aomg.evaluation.measure.scale import FULL
from aomg.evaluation.run import Run

PACKAGES = ("numpy", "numba", "pyarrow", "datasketches", "ddsketch", "fastdigest", "hdrhistogram", "pyspark")
SEED = 1
_WHOLE = "guarantee"  # this experiment reads whole files


def conditions_of(run: Run, command: str) -> dict[str, Any]:
    """Return everything needed to repeat a measurement, as JSON."""
    source = run.source
    return {
        "run": run.identity,
        "aomg": aomg.__version__,
        "scale": asdict(run.scale),
        "data": None
        if source is None
        else {
            "title": source.title,
            "values": source.size,
            "evaluated": source.most(run.scale.events),
            "dropped": source.dropped,
            "identity": source.identity,
        },
        "seed": SEED,
        "command": command,
        "date": datetime.date.today().isoformat(),
        "cpu": cpu(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }


def part_read(conditions: dict[str, Any]) -> str:
    """Describe which values of a file are evaluated at this scale, and how to evaluate more."""
    values, events = conditions["data"]["values"], conditions["scale"]["events"]
    if values <= events:
        return f"all {values:,} values"
    more = f" ({_WHOLE} reads all of them"
    more += f"; --full reads {min(values, FULL.events):,})" if events < FULL.events else ")"
    return f"the first {events:,} of {values:,} values{more}"


def facts(conditions: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the conditions as names and texts."""
    scale, data = conditions["scale"], conditions["data"]
    sizes = f"{scale['events']:,} events of a stream, {scale['synthetic']:,} of Normal and Uniform in scalability"
    rounds = "one turn" if scale["rounds"] == 1 else f"the best of {scale['rounds']} turns"
    pairs = [
        ("measured", conditions["date"]),
        ("command", conditions["command"]),
        ("scale", f"{scale['name']}: {sizes}; speeds are {rounds}"),
    ]
    if data is None:
        pairs.append(("streams", f"seed {conditions['seed']}"))
    else:
        left_out = f"; {data['dropped']:,} rows without a finite number were skipped" if data["dropped"] else ""
        pairs.append(("data", f"{data['title']}: {part_read(conditions)}{left_out}"))
    return [
        *pairs,
        ("processor", f"{conditions['cpu']}, {conditions['cores']} cores, {conditions['system']}"),
        ("AOMG", conditions["aomg"]),
        ("Python", conditions["python"]),
        ("packages", ", ".join(f"{name} {version}" for name, version in conditions["packages"].items())),
    ]


def facts_of_all(abouts: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the facts of several results: those of the last one, with the days and commands of all."""
    days = sorted({conditions["date"] for conditions in abouts})
    commands = "; ".join(dict.fromkeys(conditions["command"] for conditions in abouts))
    replaced = {"measured": days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}", "command": commands}
    return [(name, replaced.get(name, text)) for name, text in facts(abouts[-1])]


def cpu() -> str:
    """Return the model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
