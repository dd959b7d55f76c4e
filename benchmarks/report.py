"""Writes the README's table of figures from the results in the tree: python -m benchmarks report."""

import json
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
ORDER = ("throughput", "scaling", "peers", "threads", "few_k", "accuracy", "accuracy_on_files", "state")
COMMANDS = {"accuracy_on_files": "accuracy --data FILES"}
SIGNS = {True: "yes", False: "**no**", None: ""}


def rewrite(results: Path, readme: Path = README) -> None:
    """Replace what stands between the two marks."""
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    readme.write_text(f"{before}{BEGIN}\n{table(results)}{END}{after}")


def table(results: Path) -> str:
    rows = ["| what | aim | measured | met | `python -m benchmarks ...` |", "|---|---|---|---|---|"]
    machines = []
    for name in ORDER:
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
    said = {
        f"{m['cpu']}, {m['cores']} cores, Python {m['python']}, NumPy {m['numpy']}, Numba {m['numba']}"
        for m in machines
    }
    dates = sorted({m["date"] for m in machines})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}" if dates else "never"
    return "\n".join([*rows, "", f"Measured {days} on {'; '.join(sorted(said))}.", ""])
