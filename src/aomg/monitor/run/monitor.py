"""Runs a configuration on Spark, until it is stopped, its source ends, or something fails.

Spark's output goes to `spark.log` in the state folder, not to the terminal.
"""

import logging
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from aomg.errors import AomgError, SettingsError
from aomg.monitor.atomic_files import locked
from aomg.monitor.config.model import Config
from aomg.monitor.config.secret import without_secrets
from aomg.monitor.errors import RunError
from aomg.monitor.run.assembly import assembled, checkpoint_of
from aomg.monitor.run.batches import Batches
from aomg.monitor.run.check import inspect
from aomg.monitor.run.failures import failure_of
from aomg.monitor.run.health import FAILED, Health
from aomg.monitor.run.plan import planned
from aomg.monitor.run.progress import Watcher
from aomg.monitor.run.spark_log import append, errors_to, log_of, silence_accumulators
from aomg.monitor.run.state_owner import claim_state
from aomg.monitor.source.events import folder_of
from aomg.monitor.source.generator import Generator
from aomg.spark import Accounts, accounts, session
from aomg.streams import podsets

_FLUSH_SECONDS = 10.0
_SIGNAL_SECONDS = 1.0  # a signal to all processes may end the JVM before it is delivered here
_LOG = logging.getLogger(__name__)


class Monitor:
    """Runs a configuration: `run` returns when it ends; call `stop` from any thread.

    Uses the caller's Spark session, or starts one on this machine.
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
        """Run to the end. Raises ConfigError before anything is started, RunError if it had to stop."""
        with self._explained():
            self._supervise()

    def _supervise(self) -> None:
        """Hold the state folder while the streaming query runs."""
        inspect(self.config)
        self.config.state.mkdir(parents=True, exist_ok=True)
        busy = f"another monitor uses the state folder {self.config.state}; stop it, or configure another folder"
        with locked(self.config.state / "lock", busy):
            claim_state(self.config)
            self._generate()
            health = self._health = Health(self.config.state, self.scans, self._late)
            batches = assembled(self.config, self._console, (*self._watchers, health))
            health.waiting = lambda: {receiver.name: receiver.waiting for receiver in batches.notifier.status()}
            health.started()
            because = FAILED
            try:
                self._run(batches, health)
                because = "it was stopped" if self.stopped else "its source ended"
            finally:
                self._end(batches, health, because)

    def stop(self) -> None:
        """Ask it to end. The next start repeats a micro-batch that was not complete."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    @property
    def late(self) -> int | None:
        """Late events, as last counted while it runs: once a minute at most."""
        return None if self._health is None else self._health.late

    @property
    def newest_generated(self) -> int | None:
        """The time of the newest generated event, in microseconds; None for other sources."""
        return None if self._generator is None else self._generator.newest

    def accounts(self) -> dict[str, Accounts]:
        """How many events were used, late, refused and so on, by query, up to the last micro-batch."""
        checkpoint = checkpoint_of(self.config)
        if not any(checkpoint.glob("commits/[0-9]*")):  # Spark has no state to read from then
            return dict.fromkeys(self.config.queries, Accounts(0, 0, 0, 0, 0, 0))
        if self.stopped and self._spark is None:
            raise RunError("the events were not counted, because Spark did not start before the stop")
        with self._explained():
            spark = self._started()
            return {name: accounts(spark, str(checkpoint), number) for number, name in enumerate(self.config.queries)}

    def close(self) -> None:
        """Stop the Spark session, if it was started here."""
        if self._owns_spark and self._spark is not None:
            with suppress(Exception), warnings.catch_warnings():  # the JVM may have ended
                warnings.simplefilter("ignore")
                self._spark.stop()
            self._spark = None

    @property
    def scans(self) -> int:
        """How many times each event is read: Spark counts it as often. Stored summaries share their query's reading."""
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
            log, another = log_of(self.config), None
            with suppress(PySparkException):
                another = SparkSession.active()
            try:
                with errors_to(log), _own_signals():
                    self._spark = session("aomg monitor")
            except SettingsError as error:
                if isinstance(error.__cause__, PySparkException):
                    raise SettingsError(f"{error} (the monitor writes Spark's standard error to {log})") from error
                raise
            self._owns_spark = another is None
            if self._owns_spark:
                silence_accumulators(self._spark)
        return self._spark

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn every failure into an error of this package that says what to do."""
        try:
            yield
        except AomgError:
            raise
        except Exception as error:
            failure = failure_of(error, self.config)
            if not isinstance(error, PySparkException):  # Spark has written those to its log
                text = "".join(traceback.format_exception(error))
                append(log_of(self.config), without_secrets(f"the monitor failed: {failure}\n{text}", self.config))
            raise failure from error

    def _late(self) -> int:
        """Late events of the query that has most."""
        return max(counts.late for counts in self.accounts().values())

    def _run(self, batches: Batches, health: Health) -> None:
        """Run the streaming query. A failure that comes with a requested stop is the stop: the JVM gets signals too."""
        try:
            with self._explained():
                self._stream(batches, health)
        except AomgError:
            if not self._stop.wait(_SIGNAL_SECONDS):
                raise
        finally:
            if self.query is not None:
                with suppress(Exception):  # the JVM may have ended; the first failure is the one to report
                    self.query.stop()

    def _stream(self, batches: Batches, health: Health) -> None:
        with health.starting():
            frame = planned(self._started(), self.config)
        if self.stopped:
            return
        writer = frame.writeStream.queryName("aomg").outputMode("append").foreachBatch(batches)
        writer = writer.option("checkpointLocation", str(checkpoint_of(self.config)))
        if self.once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{self.config.every / 1e6} seconds")
        self.query = writer.start()
        with health.watching(self.query):
            self._watch(self.query)

    def _end(self, batches: Batches, health: Health, because: str) -> None:
        """Deliver what waits, and write why the monitor ends. After a failure, nothing here hides it."""
        if self._generator is not None:
            self._generator.stop()
        try:
            self.undelivered = batches.notifier.close(_FLUSH_SECONDS)
        except Exception as error:
            if because != FAILED:
                raise
            _LOG.warning("cannot close the outbox: %s", error)
        finally:
            health.ended(because)

    def _watch(self, query: StreamingQuery) -> None:
        while not self._stop.is_set():
            if query.awaitTermination(0.2):  # type: ignore[arg-type]
                return
            if self._generator is not None and self._generator.done and not self.once:
                if self._generator.failure is not None:
                    raise RunError(f"cannot write the generated events: {self._generator.failure}")
                query.processAllAvailable()
                return


def _generator(config: Config) -> Generator | None:
    settings = config.source.generate
    folder = folder_of(config)
    if settings is None or folder is None:
        return None
    stream = podsets(seed=settings.seed, rate=settings.rate, incidents=None if settings.incidents else ())
    return Generator(stream, folder, settings.events, settings.speed)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the handler of Ctrl-C afterwards: starting a session replaces it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
