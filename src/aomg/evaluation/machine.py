"""What a result was measured with: the machine, the packages, the sizes, the data and the command."""

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
_WHOLE = "guarantee"  # the experiment that reads a file to its end


def about(run: Run, command: str) -> dict[str, Any]:
    """All that somebody needs to know to measure the same again, as JSON has it."""
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


def part_read(told: dict[str, Any]) -> str:
    """Which values of a file are evaluated at this scale, and how to get more of them."""
    values, events = told["data"]["values"], told["scale"]["events"]
    if values <= events:
        return f"all {values:,} values"
    more = f" ({_WHOLE} reads all of them"
    more += f"; --full takes {min(values, FULL.events):,})" if events < FULL.events else ")"
    return f"the first {events:,} of {values:,} values{more}"


def facts(told: dict[str, Any]) -> list[tuple[str, str]]:
    """The same, as names and texts for people."""
    scale, data = told["scale"], told["data"]
    sizes = f"{scale['events']:,} events of a stream, {scale['synthetic']:,} of Normal and Uniform in scalability"
    rounds = "one turn" if scale["rounds"] == 1 else f"the best of {scale['rounds']} turns"
    found = [
        ("measured", told["date"]),
        ("command", told["command"]),
        ("scale", f"{scale['name']}: {sizes}; speeds are {rounds}"),
    ]
    if data is None:
        found.append(("streams", f"seed {told['seed']}"))
    else:
        left_out = f"; {data['dropped']:,} rows without a finite number were left out" if data["dropped"] else ""
        found.append(("data", f"{data['title']}: {part_read(told)}{left_out}"))
    return [
        *found,
        ("processor", f"{told['cpu']}, {told['cores']} cores, {told['system']}"),
        ("AOMG", told["aomg"]),
        ("Python", told["python"]),
        ("packages", ", ".join(f"{name} {version}" for name, version in told["packages"].items())),
    ]


def facts_of_all(abouts: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """The facts of several results: of the last, with every day and every command."""
    days = sorted({told["date"] for told in abouts})
    commands = "; ".join(dict.fromkeys(told["command"] for told in abouts))
    other = {"measured": days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}", "command": commands}
    return [(name, other.get(name, text)) for name, text in facts(abouts[-1])]


def cpu() -> str:
    """The processor as it calls itself."""
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
