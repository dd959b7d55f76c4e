"""Disturbs a monitor and says what came of it: the outcome of an undisturbed run, or a refusal that names the file.

Anything else is wrong, and raises WrongOutcomeError.
"""

import logging
import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import spark_monitor
from pyspark.sql import SparkSession
from spark_monitor import FILES, Process, arrive, batches, configured, java_of, start, wait_for, workers_of

from aomg.errors import AomgError, DamagedFileError
from aomg.monitor.delivery.base import NotDelivered
from aomg.monitor.delivery.log import Log
from aomg.monitor.run import monitor as monitor_module

SAME = "same"
DAMAGES = ("removed", "truncated", "flipped")
EXCHANGES = ("copied over", "swapped with")
VICTIMS = ("all", "driver", "java", "worker", "stop", "stop at the start")


LOGS = {  # what people read and no program reads again, by the part of the outcome that it is
    "alerts.log": "delivered",
    "more.log": "delivered later",
    "state/quarantine/refused.jsonl": "refused rows",
}
Outcome = dict[str, object]
_Place = TypeVar("_Place", str, Path)


class WrongOutcomeError(AssertionError):
    """A disturbed monitor neither did what an undisturbed one does nor said clearly that it cannot."""


def compare(found: Outcome, expected: Outcome, what: str) -> str:
    """Return SAME, or raise WrongOutcomeError with the names of what differs."""
    differing = [name for name in expected if found.get(name) != expected[name]]
    if differing:
        raise WrongOutcomeError(f"{what}: {', '.join(differing)} differ from those of an undisturbed run")
    return SAME


def undisturbed(folder: Path, spark: SparkSession) -> Outcome:
    """The outcome of a run that nothing disturbs."""
    configured(folder)
    arrive(folder, range(FILES))
    spark_monitor.run(folder, spark)
    return spark_monitor.outcome(folder, spark)


def half_on_spark(folder: Path, spark: SparkSession, expected: Outcome) -> "HalfRun":
    """A monitor on Spark that has read all files but the last two; one of its receivers was down until then."""

    def begin(monitor: Path) -> None:
        configured(monitor, FILES // 4)
        arrive(monitor, range(FILES - 2))
        with (
            mock.patch.object(Log, "deliver", _deliver_to_one),
            mock.patch.object(monitor_module, "_FLUSH_SECONDS", 1.0),
        ):
            spark_monitor.run(monitor, spark)

    def finish(monitor: Path) -> None:
        arrive(monitor, range(FILES - 2, FILES))
        spark_monitor.run(monitor, spark)

    return HalfRun(folder, begin, finish, lambda monitor: spark_monitor.outcome(monitor, spark), expected)


def _deliver_to_one(receiver: Log, alert: Mapping[str, Any], deliver: Callable[..., None] = Log.deliver) -> None:
    """Let the other receiver be down."""
    if receiver.identity.endswith("more.log"):
        raise NotDelivered("it is down")
    deliver(receiver, alert)


# -- kills -------------------------------------------------------------------------------------------------------------


def kill(process: Process, victim: str) -> None:
    """Kill all processes of a monitor, its driver, its JVM or a worker; or ask all of them to stop.

    They may have ended already, because of what was killed before.
    """
    with suppress(ProcessLookupError):
        if victim == "all":
            os.killpg(process.pid, signal.SIGKILL)
        elif victim.startswith("stop"):
            os.killpg(process.pid, signal.SIGTERM)
        elif victim == "driver":
            os.kill(process.pid, signal.SIGKILL)
        else:
            java = java_of(process)
            for pid in workers_of(process)[:1] if victim == "worker" else [java] if java else []:
                os.kill(pid, signal.SIGKILL)


class KilledMonitor:
    """A monitor that is killed again and again while files arrive.

    in_batch
        How many kills fell into a micro-batch.
    """

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder, self._chance = configured(folder), chance
        self._arrived = self.in_batch = 0

    def kill(self, victims: Sequence[str]) -> list[int | None]:
        """Start it, and kill these one after the other, each in a micro-batch; start again what has ended.

        Returns how the process ended after each kill; None if it went on.
        """
        process, ends = None, []
        try:
            for victim in victims:
                if process is None or process.poll() is not None:
                    process = start(self._folder)
                if victim == "stop at the start":
                    wait_for(lambda p=process: java_of(p), process)
                else:
                    self._wait_for_a_batch(process)
                    time.sleep(self._chance.uniform(0, 0.3))
                    self.in_batch += batches(self._folder, "offsets") > batches(self._folder, "commits")
                kill(process, victim)
                ends.append(None if victim == "worker" else process.wait(spark_monitor.PATIENCE))
        finally:
            if process is not None:
                spark_monitor.end(process)
        return ends

    def _wait_for_a_batch(self, process: Process) -> None:
        """Let a file arrive and wait until a micro-batch begins, or until the process ends."""
        if self._arrived == FILES:
            return
        repeats = batches(self._folder, "offsets") > batches(self._folder, "commits")
        expected = batches(self._folder, "commits") + (2 if repeats else 1)
        arrive(self._folder, [self._arrived])
        self._arrived += 1
        wait_for(lambda: batches(self._folder, "offsets") >= expected, process)

    def finish(self, spark: SparkSession) -> Outcome:
        """Let all other files arrive, read everything, and return the outcome."""
        arrive(self._folder, range(self._arrived, FILES))
        spark_monitor.run(self._folder, spark)
        return spark_monitor.outcome(self._folder, spark)


# -- damage ------------------------------------------------------------------------------------------------------------


def kind_of(name: str) -> str:
    """What kind of file a name is: digests and numbers do not matter.

    >>> kind_of("results/day=2023-11-14/batch-12-0a1b2c3d4e5f6a7b.parquet")
    'results/day=N/batch-N-H.parquet'
    >>> kind_of("state/outbox/log-more-log-0a1b2c3d.json")
    'state/outbox/log.json'
    """
    name = re.sub(r"outbox/([a-z]+)-[\w-]+", r"outbox/\1", name)
    return re.sub(r"\d+(-\d+)*", "N", re.sub(r"[0-9a-f]{8}[0-9a-f-]*", "H", re.sub(r"=\d{4}-\d\d-\d\d", "=N", name)))


class HalfRun:
    """A monitor that has ended well in the middle; it can be restored, damaged and continued many times.

    begin
        Runs a monitor in a folder to the middle.
    finish
        Lets it go on to the end.
    outcome
        What people see then.
    """

    def __init__(
        self,
        folder: Path,
        begin: Callable[[Path], object],
        finish: Callable[[Path], object],
        outcome: Callable[[Path], Outcome],
        expected: Outcome,
    ) -> None:
        self.folder, self._backup = folder / "monitor", folder / "backup"
        self._finish, self._outcome, self._expected = finish, outcome, expected
        begin(self.folder)
        shutil.copytree(self.folder, self._backup)
        names = (str(file.relative_to(self._backup)) for file in self._backup.rglob("*") if file.is_file())
        self.files = sorted(name for name in names if not name.endswith(("lock", "aomg.yaml")))

    def newest(self) -> dict[str, str]:
        """For each kind of file, the newest one."""
        by_kind: dict[str, list[str]] = {}
        for name in self.files:
            by_kind.setdefault(kind_of(name), []).append(name)
        return {kind: max(names, key=self._age) for kind, names in by_kind.items()}

    def _age(self, name: str) -> tuple[int, str]:
        return (self._backup / name).stat().st_mtime_ns, name

    def kinds(self) -> dict[str, list[str]]:
        """For each kind of file that there are several of, their names, the oldest first."""
        by_kind: dict[str, list[str]] = {}
        for name in sorted(self.files, key=self._age):
            if not name.endswith(".crc"):
                by_kind.setdefault(kind_of(name), []).append(name)
        return {kind: names for kind, names in by_kind.items() if len(names) > 1}

    def damaged(self, name: str, how: str, chance: random.Random, restores: bool = True) -> str:
        """Damage a file and go on to the end. Returns SAME, or what was refused; then the undamaged file must help.

        restores
            Whether that is tried, too.
        """
        return self._disturbed([name], f"{name} was {how}", lambda: damage(self.folder / name, how, chance), restores)

    def exchanged(self, older: str, newer: str, how: str, restores: bool = True) -> str:
        """Copy a file over a newer one of its kind, or swap both, with their checksums; then as `damaged`."""
        names = [newer] if how == "copied over" else [older, newer]

        def act() -> None:
            exchange(self.folder / older, self.folder / newer, how)

        return self._disturbed(names, f"{older} was {how} {newer}", act, restores)

    def _disturbed(self, names: Sequence[str], what: str, act: Callable[[], None], restores: bool) -> str:
        shutil.rmtree(self.folder)
        shutil.copytree(self._backup, self.folder)
        act()
        with _warnings() as warned:
            try:
                self._finish(self.folder)
            except AomgError as error:
                refusal = str(error)
            else:
                return self._completed(names, what, warned)
        if not any(self._is_named(name, refusal) for name in names):
            raise WrongOutcomeError(f"{what}, and the refusal does not name it: {refusal}")
        if not restores:
            return refusal
        for file in (file for name in names for file in (name, checksums_of(name))):
            if (self._backup / file).exists():
                (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self._backup / file, self.folder / file)
        try:
            self._finish(self.folder)
        except AomgError as error:
            raise WrongOutcomeError(f"{what}; restored, it is still refused: {error}") from error
        compare(self._outcome(self.folder), self._expected, f"{what}, refused and restored")
        return refusal

    def _completed(self, names: Sequence[str], what: str, warned: list[str]) -> str:
        """SAME, or a warning or an error of a reader that names what is lost."""
        try:
            return compare(self._outcome(self.folder), self._untouched(names), what)
        except DamagedFileError as error:
            if not any(self._is_named(name, str(error)) for name in names):
                raise WrongOutcomeError(f"{what}, and the error of a reader does not name it: {error}") from error
            return str(error)
        except WrongOutcomeError:
            named = [text for text in warned if any(str(self.folder / name) in text for name in names)]
            if not named:
                raise
            return named[0]

    def _is_named(self, name: str, refusal: str) -> bool:
        """Whether a refusal names the file, or its folder, or the checkpoint that it is in."""
        places = [self.folder / name, (self.folder / name).parent]
        if name.startswith("state/checkpoint/"):
            places.append(self.folder / "state/checkpoint")
        text = refusal.partition(" (more in ")[0]
        return any(str(place) in text for place in places)

    def _untouched(self, names: Sequence[str]) -> Outcome:
        """The expected outcome without what was in the damaged files, if they are logs that nobody reads again."""
        logs = [LOGS.get(name) for name in names]
        return {part: value for part, value in self._expected.items() if part not in logs}


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect what the monitor warns of meanwhile."""
    texts: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: texts.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("aomg")
    logger.addHandler(handler)
    try:
        yield texts
    finally:
        logger.removeHandler(handler)


def damage(file: Path, how: str, chance: random.Random) -> None:
    """Remove a file, cut it short or flip one of its bits."""
    content = bytearray(file.read_bytes())
    if how == "removed" or not content:
        file.unlink()
    elif how == "truncated":
        file.write_bytes(content[: chance.randrange(len(content))])
    else:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)


def checksums_of(file: _Place) -> _Place:
    """Where Hadoop keeps the checksums of a file."""
    path = Path(file)
    return type(file)(path.with_name(f".{path.name}.crc"))


def exchange(older: Path, newer: Path, how: str) -> None:
    """Copy a file over another one, or swap both, with their checksums if they have any."""
    for one, other in ((older, newer), (checksums_of(older), checksums_of(newer))):
        if one.exists() and other.exists():
            before = other.read_bytes()
            other.write_bytes(one.read_bytes())
            if how == "swapped with":
                one.write_bytes(before)
