"""What a result was measured with: the machine, the packages, the sizes, the data and the command."""

import datetime
import os
import platform
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import aomg
from aomg.evaluation.run import Run

PACKAGES = ("numpy", "numba", "pyarrow", "datasketches", "ddsketch", "fastdigest", "hdrhistogram", "pyspark")
SEED = 1


def about(run: Run, command: str) -> dict[str, Any]:
    """All that somebody needs to know to measure the same again, as JSON has it."""
    source = run.source
    return {
        "run": run.identity,
        "aomg": aomg.__version__,
        "scale": asdict(run.scale),
        "data": None
        if source is None
        else {"title": source.title, "values": source.size, "dropped": source.dropped, "identity": source.identity},
        "seed": SEED,
        "command": command,
        "date": datetime.date.today().isoformat(),
        "cpu": cpu(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }


def facts(told: dict[str, Any]) -> list[tuple[str, str]]:
    """The same, as names and texts for people."""
    scale, data = told["scale"], told["data"]
    sizes = f"{scale['events']:,} events of a stream, {scale['synthetic']:,} of Normal and Uniform"
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
        found.append(("data", f"{data['title']}: {data['values']:,} values{left_out}"))
    return [
        *found,
        ("processor", f"{told['cpu']}, {told['cores']} cores, {told['system']}"),
        ("AOMG", told["aomg"]),
        ("Python", told["python"]),
        ("packages", ", ".join(f"{name} {version}" for name, version in told["packages"].items())),
    ]


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
