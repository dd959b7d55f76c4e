"""Lists all benchmarks. To add one, write its module with `run(quick)` and add a line to its area."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Area:
    """A section of docs/figures.md: its benchmarks by name, each with its module."""

    title: str
    about: str
    modules: Mapping[str, str]


SPARK = Area(
    "Spark",
    "Batch and Structured Streaming on two cores. Rivals read the same Parquet files.",
    {
        "spark_batch": "spark.batch",
        "spark_stream": "spark.stream",
        "spark_files": "spark.files",
        "spark_percentile": "spark.percentile",
        "spark_kll": "spark.kll",
        "spark_scaling": "spark.scaling",
        "spark_skew": "spark.skew",
        "spark_state": "spark.state",
        "spark_delay": "spark.delay",
        "spark_monitor": "spark.monitor",
    },
)
PAGE = Area("Live page", "Headless Chromium and a server on one machine.", {"web_page": "page.live_page"})
AREAS = (
    Area(
        "Speed",
        "One process. A plain sum is a Numba loop over the same array, `for word in words: total += word`. The fastest "
        "sum is vectorised, and shows what the memory can deliver.",
        {
            "throughput": "core.throughput",
            "scaling": "core.scaling",
            "magnitudes": "core.magnitudes",
            "peers": "core.peers",
            "threads": "core.threads",
            "few_k": "core.few_k",
            "event_time": "core.event_time",
            "many_keys": "core.many_keys",
        },
    ),
    Area(
        "Accuracy",
        "Errors compare with the exact quantile of the raw values, in every full window. A false alarm is a sub-window "
        "of a calm stream at which `burst` becomes true.",
        {"accuracy": "core.accuracy", "accuracy_on_files": "core.accuracy", "bursts": "core.bursts"},
    ),
    Area("Space", "Variables are live scalars, the paper's measure of space.", {"state": "core.state"}),
    Area("Generated streams", "One thread.", {"streams": "core.streams"}),
    SPARK,
    PAGE,
)
MODULES = {name: module for area in AREAS for name, module in area.modules.items()}
COMMANDS = {"accuracy_on_files": "accuracy --data FILES"}
"""Arguments of `python -m benchmarks` where they are not the benchmark's name."""
DEFAULT = tuple(name for name, module in MODULES.items() if module.startswith("core.") and name not in COMMANDS)
"""Run if no name is given."""


def command(name: str) -> str:
    """Return the command line that runs a benchmark."""
    return f"python -m benchmarks {COMMANDS.get(name, name)}"
