"""Disturbs monitors again and again until the time is over, and writes a report.

    python tests/faults/campaign.py --minutes 60 --seed 1 --out build/faults

Every trial depends on the seed and on its number alone. A campaign that was stopped goes on with its next trial.
Ends with 1 if a trial had a wrong outcome; `--only N` repeats one trial.
"""

import json
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS), *(str(_TESTS / name) for name in ("spark", "monitor", "faults"))]

from killed_writes import KilledWrites  # noqa: E402
from local import start_session  # noqa: E402
from trials import (  # noqa: E402
    DAMAGES,
    EXCHANGES,
    SAME,
    VICTIMS,
    KilledMonitor,
    WrongOutcomeError,
    compare,
    half_on_spark,
    undisturbed,
)

_MOST_KILLS = 6


@dataclass(frozen=True)
class TrialRecord:
    """One trial: what was done, what came of it (`same`, `refused` or `wrong`) and how it was said."""

    number: int
    kind: str
    done: str
    verdict: str
    text: str
    seconds: float


class Campaign:
    """The trials of a seed, in a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._seed = folder, seed
        self._work = folder / "work"
        for place in self._work.glob("*"):  # folders of wrong trials stay, to be looked at
            if not place.name.startswith("trial-"):
                shutil.rmtree(place)
        self._work.mkdir(parents=True, exist_ok=True)
        self._spark = start_session(self._work / "spark")
        self._expected = undisturbed(self._work / "undisturbed", self._spark)
        self._half = half_on_spark(self._work / "half", self._spark, self._expected)
        self._writes = KilledWrites(self._work / "writes")
        self._kinds: dict[str, Callable[[random.Random, Path], tuple[str, str]]] = {
            "kills on Spark": self._kill,
            "damaged files": self._damage,
            "exchanged files": self._exchange,
            "kills at writes": self._kill_at_writes,
        }

    def trial(self, number: int) -> TrialRecord:
        """Run one trial."""
        chance = random.Random(f"{self._seed}/{number}")
        kind = list(self._kinds)[number % len(self._kinds)]
        folder, began = self._work / f"trial-{number}", time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        try:
            done, text = self._kinds[kind](chance, folder)
            verdict = SAME if text == SAME else "refused"
        except WrongOutcomeError as error:
            done, verdict, text = "", "wrong", str(error)
        except Exception as error:  # a refusal where there must be none, or a fault of the trial: look at it
            done, verdict, text = "", "wrong", f"{type(error).__name__}: {error}"
        if verdict != "wrong":
            shutil.rmtree(folder, ignore_errors=True)
        return TrialRecord(number, kind, done, verdict, text, round(time.monotonic() - began, 1))

    def _kill(self, chance: random.Random, folder: Path) -> tuple[str, str]:
        victims = [chance.choice(VICTIMS) for _ in range(chance.randint(1, _MOST_KILLS))]
        monitor = KilledMonitor(folder, chance)
        monitor.kill(victims)
        return ", ".join(victims), compare(monitor.finish(self._spark), self._expected, f"killed: {', '.join(victims)}")

    def _damage(self, chance: random.Random, folder: Path) -> tuple[str, str]:
        name, how = chance.choice(self._half.files), chance.choice(DAMAGES)
        return f"{name} {how}", self._half.damaged(name, how, chance)

    def _exchange(self, chance: random.Random, folder: Path) -> tuple[str, str]:
        kind, how = chance.choice(sorted(self._half.kinds())), chance.choice(EXCHANGES)
        names = self._half.kinds()[kind]
        older, newer = sorted(chance.sample(range(len(names)), 2))
        newer = len(names) - 1 if chance.random() < 0.5 and older < len(names) - 1 else newer
        return f"{names[older]} {how} {names[newer]}", self._half.exchanged(names[older], names[newer], how)

    def _kill_at_writes(self, chance: random.Random, folder: Path) -> tuple[str, str]:
        operations = [chance.randrange(self._writes.operations) for _ in range(chance.randint(1, 3))]
        return f"before operations {operations}", self._writes.killed_before(operations, folder)

    def close(self) -> None:
        """End Spark."""
        self._spark.stop()


def main(
    minutes: Annotated[float, typer.Option(help="No trial begins after so many minutes.")] = 10,
    seed: Annotated[int, typer.Option(help="Other seeds have other trials.")] = 1,
    out: Annotated[Path, typer.Option(help="The folder of trials.jsonl and report.md.")] = Path("build/faults"),
    only: Annotated[int | None, typer.Option(help="Repeat this trial alone, and print what came of it.")] = None,
) -> None:
    """Disturb monitors until the time is over, and write a report."""
    folder = out.resolve() / f"seed-{seed}"
    file = folder / "trials.jsonl"
    records = _stored(file)
    if records:
        print(f"{file} has {len(records)} trials; going on with trial {len(records)}")
    began = time.monotonic()
    campaign = Campaign(folder, seed)
    try:
        if only is not None:
            print(json.dumps(asdict(campaign.trial(only)), indent=2))
            return
        with file.open("a") as lines:
            while time.monotonic() - began < 60 * minutes:
                record = campaign.trial(len(records))
                records.append(record)
                lines.write(f"{json.dumps(asdict(record))}\n")
                lines.flush()
                print(f"{record.number} {record.kind}: {record.verdict} ({record.done or record.text})", flush=True)
                (folder / "report.md").write_text(report(records, seed))
    finally:
        campaign.close()
    print(report(records, seed))
    if any(record.verdict == "wrong" for record in records):
        raise typer.Exit(1)


def _stored(file: Path) -> list[TrialRecord]:
    """The trials so far; a last line that a stop has cut off is left out."""
    records: list[TrialRecord] = []
    if file.exists():
        lines = file.read_text().splitlines(keepends=True)
        records = [TrialRecord(**json.loads(line)) for line in lines if line.endswith("\n")]
        file.write_text("".join(line for line in lines if line.endswith("\n")))
    return records


def report(records: list[TrialRecord], seed: int) -> str:
    """A table of what came of the trials; then each wrong one."""
    lines = [f"# Faults, seed {seed}", "", "| kind | trials | same | refused | wrong |", "|---|---|---|---|---|"]
    for kind in dict.fromkeys(record.kind for record in records):
        verdicts = Counter(record.verdict for record in records if record.kind == kind)
        counts = " | ".join(str(verdicts[name]) for name in (SAME, "refused", "wrong"))
        lines.append(f"| {kind} | {verdicts.total()} | {counts} |")
    for record in records:
        if record.verdict == "wrong":
            lines += ["", f"Trial {record.number} (`--seed {seed} --only {record.number}`): {record.text}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    typer.run(main)
