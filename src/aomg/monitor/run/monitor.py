"""Runs a configuration on Spark, until it is told to stop, its source ends, or something fails.

Where Spark would print to the terminal, it writes to `spark.log` in the state folder instead.
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from aomg.errors import SettingsError
from aomg.monitor.atomic import locked
from aomg.monitor.config.model import Config
from aomg.monitor.config.secret import without_secrets
from aomg.monitor.errors import RunError
from aomg.monitor.run.assembly import assembled, checkpoint_of
from aomg.monitor.run.check import inspect
from aomg.monitor.run.health import FAILED, Health
from aomg.monitor.run.plan import planned
from aomg.monitor.run.progress import Watcher
from aomg.monitor.run.state_owner import claim_state
from aomg.monitor.source.events import folder_of
from aomg.monitor.source.generated import Generator
from aomg.spark import Accounts, accounts, session
from aomg.streams import podsets

_FLUSH_SECONDS = 10.0


class Monitor:
    """A configuration at work: `start`, then `wait` until it ends; `stop` from any thread.

    The Spark session is the caller's, or one is started on this machine.
    """

    def __init__(
        self,
        config: Config,
        console: Console,
        watchers: Sequence[Watcher] = (),
        spark: SparkSession | None = None,
        once: bool = False,
    ) -> None:
        self.config, self.once = config, once
        self._console, self._watchers = console, watchers
        self._spark = spark
        self._owns_spark = False
        self._generator = _generator(config)
        self._stop = threading.Event()
        self._health: Health | None = None
        self.query: StreamingQuery | None = None
        self.undelivered: dict[str, int] = {}

    def run(self) -> None:
        """Run to the end. Raises ConfigError before anything is started, RunError where it had to stop."""
        inspect(self.config)
        self.config.state.mkdir(parents=True, exist_ok=True)
        busy = f"another monitor runs with the state folder {self.config.state}; stop it first, or give another one"
        with locked(self.config.state / "lock", busy):
            claim_state(self.config)
            self._generate()
            health = self._health = Health(self.config.state, self.scans, self._late)
            batches = assembled(self.config, self._console, (*self._watchers, health))
            health.waiting = lambda: {one.name: one.waiting for one in batches.notifier.status()}
            health.started()
            because = FAILED
            try:
                self._run(batches, health)
                because = "it was stopped" if self.stopped else "its source ended"
            finally:
                if self._generator is not None:
                    self._generator.stop()
                self.undelivered = batches.notifier.close(_FLUSH_SECONDS)
                for sink in (*batches.results, *batches.alerts):
                    sink.close()
                health.ended(because)

    def stop(self) -> None:
        """Ask it to end. A micro-batch that is at work then is repeated at the next start."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether it was asked to end."""
        return self._stop.is_set()

    @property
    def late(self) -> int | None:
        """Events that came too late, as far as they were counted while it runs: once a minute at most."""
        return None if self._health is None else self._health.late

    @property
    def newest_generated(self) -> int | None:
        """The time of the newest event that was generated, in microseconds; None of other sources."""
        return None if self._generator is None else self._generator.newest

    def accounts(self) -> dict[str, Accounts]:
        """What became of every event, by query, up to the last micro-batch; zeros before the first."""
        checkpoint = checkpoint_of(self.config)
        if not any(checkpoint.glob("commits/[0-9]*")):  # Spark has no state to read from then
            return dict.fromkeys(self.config.queries, Accounts(0, 0, 0, 0, 0, 0))
        spark = self._started()
        return {name: accounts(spark, str(checkpoint), number) for number, name in enumerate(self.config.queries)}

    def close(self) -> None:
        """Stop the Spark session, if it was started here."""
        if self._owns_spark and self._spark is not None:
            self._spark.stop()
            self._spark = None

    @property
    def scans(self) -> int:
        """How often each event is read: Spark counts it as often. Summaries to store share what their query reads."""
        return len(self.config.queries) + 1

    def _generate(self) -> None:
        if self._generator is None:
            return
        if self.once:
            self._generator.write_all()
        else:
            self._generator.start()

    def _started(self) -> SparkSession:
        if self._spark is None:
            log, another = self.config.state / "spark.log", None
            with suppress(PySparkException):
                another = SparkSession.active()
            try:
                with _errors_to(log), _own_signals():
                    self._spark = session("aomg monitor")
            except SettingsError as error:
                if isinstance(error.__cause__, PySparkException):
                    raise SettingsError(f"{error} (of a monitor, standard error is in {log})") from error
                raise
            self._owns_spark = another is None
        return self._spark

    def _late(self) -> int:
        """Events that came too late: of the queries, the one that missed most."""
        return max(counts.late for counts in self.accounts().values())

    def _run(self, batches: object, health: Health) -> None:
        with health.starting():
            frame = self._planned()
        if self.stopped:
            return
        writer = frame.writeStream.queryName("aomg").outputMode("append").foreachBatch(batches)  # type: ignore[arg-type]
        writer = writer.option("checkpointLocation", str(checkpoint_of(self.config)))
        if self.once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{self.config.every / 1e6} seconds")
        self.query = writer.start()
        try:
            with health.watching(self.query):
                self._watch(self.query)
        except PySparkException as error:
            raise RunError(explained(str(error), self.config)) from error
        finally:
            with suppress(PySparkException):
                self.query.stop()

    def _planned(self) -> DataFrame:
        try:
            return planned(self._started(), self.config)
        except PySparkException as error:
            raise RunError(explained(str(error), self.config)) from error

    def _watch(self, query: StreamingQuery) -> None:
        while not self._stop.is_set():
            if query.awaitTermination(0.2):  # type: ignore[arg-type]
                return
            if self._generator is not None and self._generator.done and not self.once:
                if self._generator.failure is not None:
                    raise RunError(f"the generated events cannot be written: {self._generator.failure}")
                query.processAllAvailable()
                return


def _generator(config: Config) -> Generator | None:
    asked = config.source.generate
    folder = folder_of(config)
    if asked is None or folder is None:
        return None
    stream = podsets(seed=asked.seed, rate=asked.rate, incidents=None if asked.incidents else ())
    return Generator(stream, folder, asked.events if asked.events is not None else 1 << 40, asked.speed)


def explained(said: str, config: Config) -> str:
    """The line of a failed stream's long story that tells most: our own error, else any, else its first line.

    Spark quotes options as it likes; the secrets of the configuration are not in what is told.
    """
    said = without_secrets(said, config)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    raised = [found for line in lines if (found := re.match(r"([\w.]+(?:Error|Exception|Interrupt)): (.+)", line))]
    for found in raised:
        if found[1].startswith("aomg."):
            return found[2]
    more = f"(more in {config.state / 'spark.log'})"
    if "Python worker failed to connect back" in said:
        return f"Spark's Python workers did not start in time: the machine is too busy; start again {more}"
    if raised:
        return f"{raised[0][1]}: {raised[0][2]} {more}"
    if "Failed to find data source: kafka" in said:
        return (
            "Spark has no connector for Kafka: start with PYSPARK_SUBMIT_ARGS='--packages "
            "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0 pyspark-shell'"
        )
    told = next((line for line in lines if line.startswith(("[", "Caused by:"))), lines[0] if lines else "no reason")
    return f"{told[:500]} {more}"


@contextmanager
def _own_signals() -> Iterator[None]:
    """Leave it to whoever asked first what Ctrl-C does: a session that starts would take it over."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, asked)


@contextmanager
def _errors_to(file: Path) -> Iterator[None]:
    """Let processes that are started meanwhile write their errors into a file: the JVM and its workers talk a lot."""
    sys.stderr.flush()
    kept = os.dup(2)
    log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 2)
    os.close(log)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
