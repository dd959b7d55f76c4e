"""Result rows, alerts, and a process that dies on purpose, for the tests of what is written."""

import fcntl
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import pyarrow as pa

from aomg.monitor.alert import Alert, alert_id
from aomg.monitor.delivery.notifier import Notifier
from aomg.monitor.delivery.outbox import Outbox
from aomg.monitor.journal.entry import Entry
from aomg.monitor.journal.journal import Journal

MINUTE = 60_000_000
NOON = 1_794_830_400_000_000  # 2026-11-16T12:00:00Z
NAMES = {"inbound": ("podset",), "outbound": ("podset",), "pairs": ("src", "dst"), "all": ()}


def row(key=("1",), end=NOON, query="inbound", p99=4000.0, p50=500.0, count=1000, burst=False, **more) -> dict:
    estimates = [
        {"name": "p50", "value": p50, "low": p50 - 1, "high": p50 + 1, "method": "band"},
        {"name": "p99", "value": p99, "low": p99 * 0.99, "high": p99 * 1.01, "method": "band"},
    ]
    record = {"query": query, "labels": list(key), "start": end - 60 * MINUTE, "end": end, "count": count}
    record |= {"min": 100.0, "max": 9000.0, "sub_windows": 60, "burst": burst, "estimates": estimates}
    return record | more


def table(*rows: dict) -> pa.Table:
    """As the pipeline hands it over."""
    time = pa.timestamp("us", tz="UTC")
    estimate = pa.struct(
        [("name", pa.string()), *((n, pa.float64()) for n in ("value", "low", "high")), ("method", pa.string())]
    )
    schema = pa.schema(
        [
            ("query", pa.string()),
            ("labels", pa.list_(pa.string())),
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("count", pa.int64()),
            ("min", pa.float64()),
            ("max", pa.float64()),
            ("sub_windows", pa.int32()),
            ("burst", pa.bool_()),
            ("estimates", pa.list_(estimate)),
        ]
    )
    result = pa.Table.from_pylist(list(rows), schema)
    for name in ("start", "end"):
        result = result.set_column(result.column_names.index(name), name, result[name].cast(time))
    return result


def spark_plans(state: Path, batch: int, *offsets: str) -> None:
    """Write what Spark writes before a batch: what each of its sources reads."""
    file = state / "checkpoint" / "offsets" / str(batch)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["v1", "{}", *(offsets or ["-"])]))


def spark_commits(state: Path, batch: int) -> None:
    """Write what Spark writes after a batch."""
    file = state / "checkpoint" / "commits" / str(batch)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("v1\n{}")


def alert(transition="firing", podset="17", end=NOON, batch=3, rule="SwitchFault", **more) -> Alert:
    labels = {"podset": podset, "severity": "page"}
    parts = {
        "id": alert_id("network", rule, labels, transition, end),
        "rule": rule,
        "group": "network",
        "transition": transition,
        "labels": labels,
        "annotations": {"summary": f"switch of podset {podset} is faulty"},
        "start": end - 60 * MINUTE,
        "end": end,
        "certainty": "certain",
        "quantities": {"inbound.p99": (4100.0, 4200.0, 4300.0)},
        "count": 1000,
        "started": end - 2 * MINUTE,
        "fired": None if transition == "pending" else end,
        "batch": batch,
    }
    return Alert(**(parts | more))


def record_of(one: Alert) -> dict:
    return {**one.to_json(), "id": one.id}


def is_new(handle: int) -> bool:
    """Whether a file is written from its beginning, and not changed in its place."""
    return fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY


class Killed(BaseException):
    """The process is gone."""


class Operations(list[str]):
    """Operations on the file system that were done. After the kill, nothing is done (`dead`).

    sites
        The places in the package from which each was called: the last two functions.
    """

    dead = False

    def __init__(self) -> None:
        super().__init__()
        self.sites: list[str] = []


def _site() -> str:
    """The last two functions of the package that lead here."""
    frame, places = sys._getframe(1), []
    while frame is not None and len(places) < 2:
        if "/aomg/" in frame.f_code.co_filename:
            places.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        frame = frame.f_back
    return " ".join(places)


@contextmanager
def dying(operation_number: int, torn: bool = False) -> Iterator[Operations]:
    """A process that dies before the operation with this number on the file system, from 0 on; then nothing happens.

    Dying while a new file is brought to the disk, it may leave half of it (`torn`). Gives what was done.
    """
    done = Operations()

    def patched(name):
        real = getattr(os, name)

        def operation(*arguments, **named):
            if len(done) >= operation_number and not done.dead:
                done.dead = True
                if torn and name == "fsync" and is_new(arguments[0]):
                    os.ftruncate(arguments[0], os.fstat(arguments[0]).st_size // 2)
            if done.dead:
                raise Killed
            done.append(name)
            done.sites.append(f"{name} {_site()}")
            return real(*arguments, **named)

        return mock.patch.object(os, name, operation)

    with ExitStack() as all_of_them:
        for name in ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "link"):
            all_of_them.enter_context(patched(name))
        # a thread that is killed says nothing
        all_of_them.enter_context(mock.patch.object(threading, "excepthook", _unless_killed))
        yield done


def _unless_killed(raised: threading.ExceptHookArgs, real: Callable[..., object] = threading.excepthook) -> None:
    if raised.exc_type is not Killed:
        real(raised)


def quick_disk() -> Iterator[None]:
    """A fixture: nobody waits for the disk. What is tested is the order of operations, not the power supply."""
    with mock.patch.object(os, "fsync", lambda handle: None):
        yield


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file can become larger than this: writing fails in the middle, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder but locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


class JournaledOutbox(Outbox):
    """An outbox whose alerts are in a journal; another one in the same folder goes on."""

    def __init__(self, folder: Path, receivers, **more) -> None:
        self.journal = Journal(folder / "state", "0" * 12)
        last = self.journal.last
        known = {} if last is None else last.positions
        super().__init__(folder, receivers, self.journal.queue, known, self.journal.next, **more)

    def put(self, batch: int, alerts) -> dict[str, list[dict]]:
        """Queue the alerts of a batch as a monitor does. A batch that is in the journal is a repeat."""
        if batch not in self.journal.entries:
            self.journal.put(Entry(batch, "", None, queue=tuple(alerts), positions=self.positions))
        return super().put(batch, alerts)


class JournaledNotifier(Notifier):
    """A notifier whose alerts are in a journal, as those of a monitor are; another one in the same folder goes on."""

    def __init__(self, folder: Path, receivers, backoff=None, **more) -> None:
        self.journal = Journal(folder / "state", "0" * 12)
        super().__init__(folder, receivers, backoff, journal=self.journal, **more)

    def send(self, batch: int, alerts) -> None:
        """Send the alerts of a batch as a monitor does. A batch that is in the journal is a repeat."""
        if batch not in self.journal.entries:
            queue = tuple(self.queue_of(batch, alerts))
            self.journal.put(Entry(batch, "", None, queue=queue, positions=self.positions))
        super().send(batch, self.journal.entries[batch].queue)
