"""python -m benchmarks [NAME...] [--quick] [--data FILE_OR_FOLDER...] [--value COLUMN...].

Runs benchmarks. At full size, each stores its figures in benchmarks/results; `python -m benchmarks report` writes
docs/figures.md from them. `python -m benchmarks against REV` compares the speed of this checkout with another revision.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import outcome, registry, report
from benchmarks.against import command
from benchmarks.measure import Figure


def main() -> None:
    if sys.argv[1:2] == ["against"]:
        sys.exit(command.main(sys.argv[2:]))
    options = _options(sys.argv[1:])
    console = Console(highlight=False)
    if "report" in options.names:
        report.write()
        console.print(f"wrote {report.PAGE}", soft_wrap=True)
        return
    for name in options.names or registry.DEFAULT:
        module = importlib.import_module(f"benchmarks.{registry.MODULES[name]}")
        console.print(f"[bold]{name}[/]: {module.__doc__.strip().splitlines()[0]}")
        if name == "accuracy_on_files":
            figures = module.run_on(options.data, options.value, options.quick)
        else:
            figures = module.run(options.quick)
        console.print(_table(figures))
        if not options.quick:
            file = outcome.write(outcome.RESULTS, outcome.measured_now(name, figures))
            console.print(f"stored in {file}; python -m benchmarks report updates docs/figures.md", soft_wrap=True)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    known = (
        f"{', '.join(registry.DEFAULT)} (default: all of these), spark for {', '.join(registry.SPARK.modules)}, "
        f"{', '.join(registry.PAGE.modules)}, or report"
    )
    add("names", nargs="*", metavar="NAME", help=known)
    add("--quick", action="store_true", help="fewer events and rounds; stores nothing")
    add("--data", nargs="+", type=Path, metavar="PATH", help="measure accuracy on Parquet files or folders of them")
    add("--value", nargs="+", default=["value"], metavar="COLUMN", help="column to read: the first that a file has")
    options = parser.parse_args(arguments)
    options.names = [one for name in options.names for one in (registry.SPARK.modules if name == "spark" else (name,))]
    if options.data:
        options.names = ["accuracy_on_files" if name == "accuracy" else name for name in options.names or ["accuracy"]]
    elif "accuracy_on_files" in options.names:
        parser.error(f"accuracy_on_files needs files: {registry.command('accuracy_on_files')}")
    unknown = sorted(set(options.names) - {*registry.MODULES, "report"})
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {known}")
    return options


def _table(figures: Sequence[Figure]) -> Table:
    table = Table(show_edge=False)
    for heading in ("what", "figure", "against", "aim"):
        table.add_column(heading, overflow="fold")
    colours = {True: "green", False: "red", None: ""}
    for figure in figures:
        table.add_row(figure.what, figure.measured, figure.against, figure.aim, style=colours[figure.met])
    return table


if __name__ == "__main__":
    main()
