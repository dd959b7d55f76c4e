"""Disturbs a monitor and says what came of it: the outcome of an undisturbed run, or a refusal that names the file.

Anything else is wrong, and raises WrongOutcome.
"""

import os
import random
import re
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import spark_monitor
from pyspark.sql import SparkSession
from spark_monitor import FILES, Process, arrive, batches, configured, java_of, start, wait_for, workers_of

from aomg.errors import AomgError

SAME = "same"
DAMAGES = ("removed", "truncated", "flipped")
VICTIMS = ("all", "driver", "java", "worker", "stop")


class WrongOutcome(AssertionError):
    """A disturbed monitor neither did what an undisturbed one does nor said clearly that it cannot."""


def compare(found: dict[str, object], expected: dict[str, object], what: str) -> str:
    """Return SAME, or raise WrongOutcome with the names of what differs."""
    differing = [name for name in expected if found.get(name) != expected[name]]
    if differing:
        raise WrongOutcome(f"{what}: {', '.join(differing)} differ from those of an undisturbed run")
    return SAME


def undisturbed(folder: Path, spark: SparkSession) -> dict[str, object]:
    """The outcome of a run that nothing disturbs."""
    configured(folder)
    arrive(folder, range(FILES))
    spark_monitor.run(folder, spark)
    return spark_monitor.outcome(folder, spark)


# -- kills -------------------------------------------------------------------------------------------------------------


def kill(process: Process, victim: str) -> None:
    """Kill all processes of a monitor, its driver, its JVM or a worker; or ask all of them to stop."""
    if victim in ("all", "stop"):
        os.killpg(process.pid, signal.SIGKILL if victim == "all" else signal.SIGTERM)
    elif victim == "driver":
        os.kill(process.pid, signal.SIGKILL)
    else:
        java = java_of(process)
        for pid in workers_of(process)[:1] if victim == "worker" else [java] if java else []:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@dataclass
class KilledMonitor:
    """A monitor that is killed again and again while files arrive.

    kills
        The victims so far.
    in_batch
        How many kills fell into a micro-batch.
    """

    folder: Path
    chance: random.Random
    arrived: int = 0
    in_batch: int = 0

    def kill_during(self, victims: list[str]) -> None:
        """Start it, and kill these, each within a micro-batch that has just begun. Starts again where it ended."""
        process = None
        try:
            for victim in victims:
                if process is None or process.poll() is not None:
                    process = start(self.folder, tries=4)
                self._wait_for_a_batch(process)
                time.sleep(self.chance.uniform(0, 0.3))
                self.in_batch += batches(self.folder, "offsets") > batches(self.folder, "commits")
                kill(process, victim)
                if victim != "worker":
                    process.wait(spark_monitor.PATIENCE)
        finally:
            if process is not None:
                spark_monitor.end(process)

    def _wait_for_a_batch(self, process: Process) -> None:
        """Let files arrive until another micro-batch begins; or until the process ends, because a worker was killed."""
        begun = batches(self.folder, "offsets")
        unread = self.arrived < FILES - 1  # one is left for the end
        if unread:
            arrive(self.folder, [self.arrived])
            self.arrived += 1
        torn = begun > batches(self.folder, "commits")
        wait_for(
            lambda: batches(self.folder, "commits") >= begun if torn else batches(self.folder, "offsets") > begun,
            process,
        )

    def finish(self, spark: SparkSession) -> dict[str, object]:
        """Let all other files arrive, read everything, and return the outcome."""
        arrive(self.folder, range(self.arrived, FILES))
        spark_monitor.run(self.folder, spark)
        return spark_monitor.outcome(self.folder, spark)


# -- damage ------------------------------------------------------------------------------------------------------------


def kind_of(name: str) -> str:
    """What kind of file a name is: digests and numbers do not matter.

    >>> kind_of("results/day=2023-11-14/batch-12-0a1b2c3d4e5f6a7b.parquet")
    'results/day=N/batch-N-H.parquet'
    """
    return re.sub(r"\d+(-\d+)*", "N", re.sub(r"[0-9a-f]{8}[0-9a-f-]*", "H", re.sub(r"=\d{4}-\d\d-\d\d", "=N", name)))


class HalfRun:
    """A monitor that has read some files and ended well; it can be restored, damaged and continued many times."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self._backup, self._spark = folder / "monitor", folder / "backup", spark
        configured(self.folder)
        arrive(self.folder, range(FILES - 3))
        spark_monitor.run(self.folder, spark)
        shutil.copytree(self.folder, self._backup)
        names = (str(file.relative_to(self._backup)) for file in self._backup.rglob("*") if file.is_file())
        self.files = sorted(name for name in names if not name.endswith(("lock", "aomg.yaml")))

    def restore(self) -> None:
        """Bring the folder to where it was."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._backup, self.folder)

    def newest(self) -> dict[str, str]:
        """For each kind of file, the newest one."""
        by_kind: dict[str, list[str]] = {}
        for name in self.files:
            by_kind.setdefault(kind_of(name), []).append(name)
        return {
            kind: max(names, key=lambda name: ((self._backup / name).stat().st_mtime_ns, name))
            for kind, names in by_kind.items()
        }

    def damage(self, name: str, how: str, chance: random.Random) -> None:
        """Remove a file, cut it short or flip one of its bits."""
        file = self.folder / name
        content = bytearray(file.read_bytes())
        if how == "removed" or not content:
            file.unlink()
        elif how == "truncated":
            file.write_bytes(content[: chance.randrange(len(content))])
        else:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            file.write_bytes(content)

    def continued(self, name: str, how: str, chance: random.Random, expected: dict[str, object]) -> str:
        """Damage a file and run to the end. Returns SAME, or what was refused; then the undamaged file must help."""
        self.restore()
        self.damage(name, how, chance)
        arrive(self.folder, range(FILES - 3, FILES))
        what = f"{name} was {how}"
        try:
            spark_monitor.run(self.folder, self._spark)
        except AomgError as error:
            refusal = str(error)
        else:
            return compare(spark_monitor.outcome(self.folder, self._spark), self._expected(name, expected), what)
        if not self._names(refusal, name):
            raise WrongOutcome(f"{what}, and the refusal does not name it: {refusal}")
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self._backup / name, self.folder / name)
        try:
            spark_monitor.run(self.folder, self._spark)
        except AomgError as error:
            raise WrongOutcome(f"{what}; restored, it is still refused: {error}") from error
        compare(spark_monitor.outcome(self.folder, self._spark), expected, f"{what}, refused, restored")
        return refusal

    def _names(self, refusal: str, name: str) -> bool:
        """Whether a refusal names the file, or the folder in which it is."""
        places = [self.folder / name, *(self.folder / name).parents]
        return any(str(place) in refusal for place in places[: places.index(self.folder)])

    def _expected(self, name: str, expected: dict[str, object]) -> dict[str, object]:
        """What must be the same: what the damaged file itself tells is no more than a log."""
        logs = {"alerts.log": "delivered"}
        return {part: value for part, value in expected.items() if part != logs.get(name)}
