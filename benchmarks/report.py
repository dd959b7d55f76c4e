"""Writes the README's tables of figures from the results in the tree: python -m benchmarks report."""

import json
from pathlib import Path

from aomg.evaluation.report.markdown import between_marks

README = Path(__file__).parent.parent / "README.md"
TABLES = {
    "figures": (
        "throughput",
        "scaling",
        "peers",
        "threads",
        "few_k",
        "accuracy",
        "accuracy_on_files",
        "state",
        "streams",
    ),
    "spark figures": tuple(
        f"spark_{name}"
        for name in ("batch", "stream", "percentile", "kll", "scaling", "skew", "state", "delay", "monitor")
    ),
    "page figures": ("web_page",),
}
COMMANDS = {"accuracy_on_files": "accuracy --data FILES"}
SIGNS = {True: "yes", False: "**no**", None: ""}


def rewrite(results: Path, readme: Path = README) -> None:
    """Replace what stands between the two marks of each table."""
    text = readme.read_text()
    for marked, names in TABLES.items():
        text = between_marks(text, marked, table(results, names))
    readme.write_text(text)


def table(results: Path, names: tuple[str, ...]) -> str:
    """The figures of these results; nothing where none was measured."""
    rows = ["| what | aim | measured | met | `python -m benchmarks ...` |", "|---|---|---|---|---|"]
    machines = []
    for name in names:
        file = results / f"{name}.json"
        if not file.exists():
            continue
        content = json.loads(file.read_text())
        machines.append(content["machine"])
        command = COMMANDS.get(name, name)
        rows += [
            f"| {f['what']} | {f['aim']} | {f['measured']} | {SIGNS[f['met']]} | `{command}` |"
            for f in content["figures"]
        ]
    if not machines:
        return ""
    said = {
        f"{m['cpu']}, {m['cores']} cores, Python {m['python']}, NumPy {m['numpy']}, Numba {m['numba']}"
        + (f", Spark {m['spark']}" if "spark" in m else "")
        for m in machines
    }
    dates = sorted({m["date"] for m in machines})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return "\n".join([*rows, "", f"Measured {days} on {'; '.join(sorted(said))}.", ""])
