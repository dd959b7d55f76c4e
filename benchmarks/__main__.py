"""python -m benchmarks [NAME...] [--quick] [--data FILE_OR_FOLDER...] [--value COLUMN...].

python -m benchmarks against REV compares the speed of this checkout with that of another revision.
"""

import argparse
import importlib
import importlib.metadata
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import report
from benchmarks.against import command
from benchmarks.measure import Figure, machine

NAMES = ("throughput", "scaling", "peers", "threads", "few_k", "accuracy", "state", "streams")
SPARK = report.TABLES["spark figures"]
PAGE = report.TABLES["page figures"]
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    if sys.argv[1:2] == ["against"]:
        sys.exit(command.main(sys.argv[2:]))
    asked = _arguments()
    console = Console(highlight=False)
    if "report" in asked.names:
        report.rewrite(RESULTS)
        return
    for name in asked.names or NAMES:
        module = importlib.import_module(f"benchmarks.{name}")
        console.print(f"[bold]{name}[/]: {module.__doc__.strip().splitlines()[0]}")
        if asked.data and name == "accuracy":
            name = "accuracy_on_files"
            figures = module.run_on(asked.data, asked.value, asked.quick)
        else:
            figures = module.run(asked.quick)
        console.print(_table(figures))
        if not asked.quick:
            _write(name, figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    known = f"{', '.join(NAMES)} (all unless told), spark for {', '.join(SPARK)}, {', '.join(PAGE)}, or report"
    add("names", nargs="*", metavar="NAME", help=known)
    add("--quick", action="store_true", help="fewer events and rounds; prints, writes no results")
    add("--data", nargs="+", type=Path, metavar="PATH", help="accuracy on Parquet files or folders of them")
    add("--value", nargs="+", default=["value"], metavar="COLUMN", help="the first of these that a file has")
    asked = parser.parse_args()
    asked.names = [name for given in asked.names for name in (SPARK if given == "spark" else (given,))]
    unknown = set(asked.names) - {*NAMES, *SPARK, *PAGE, "report"}
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {known}")
    if asked.data and not asked.names:
        asked.names = ["accuracy"]
    return asked


def _table(figures: list[Figure]) -> Table:
    table = Table(show_edge=False)
    table.add_column("what", overflow="fold")
    table.add_column("aim")
    table.add_column("measured")
    colours = {True: "green", False: "red", None: ""}
    for figure in figures:
        table.add_row(figure.what, figure.aim, figure.measured, style=colours[figure.met])
    return table


def _write(name: str, figures: list[Figure]) -> None:
    RESULTS.mkdir(exist_ok=True)
    measured_on = machine()
    if name in SPARK:
        measured_on["spark"] = importlib.metadata.version("pyspark")
    content = {"name": name, "machine": measured_on, "figures": [figure.as_json() for figure in figures]}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
