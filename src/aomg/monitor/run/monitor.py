"""Runs a configuration on Spark, until it is stopped, its source ends, or something fails.

Spark's output goes to `spark.log` in the state folder, not to the terminal; its size is bounded.
"""

import logging
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
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
from aomg.monitor.run.log_files import BoundedLog
from aomg.monitor.run.plan import planned
from aomg.monitor.run.progress import Watcher
from aomg.monitor.run.spark_log import append, errors_to, log_of, silence_accumulators
from aomg.monitor.run.state_owner import claim_state
from aomg.monitor.source.events import folder_of, has_lines
from aomg.monitor.source.generator import Generator
from aomg.monitor.source.header import with_header
from aomg.monitor.source.long_lines import LongLines
from aomg.spark import Accounts, named_accounts, session
from aomg.streams import podsets

_FLUSH_SECONDS = 10.0
_SIGNAL_SECONDS = 1.0  # a signal to all processes may end the JVM before it is delivered here
_NEVER_SPLIT = 1 << 40  # bytes
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
        self._long_lines = LongLines(config.source) if has_lines(config.source) else None
        self._stop = threading.Event()
        self._health: Health | None = None
        self.query: StreamingQuery | None = None
        self.undelivered: dict[str, int] = {}

    def run(self) -> None:
        """Run to the end. Raises ConfigError before anything is started, RunError if it had to stop."""
        with self._explained():
            self.config = with_header(self.config)
            inspect(self.config)
            self.config.state.mkdir(parents=True, exist_ok=True)
            busy = f"another monitor uses the state folder {self.config.state}; stop it, or configure another folder"
            log = BoundedLog(log_of(self.config), self.config.log_size)
            with locked(self.config.state / "lock", busy), log.watching():
                self.config = claim_state(self.config)
                self._generate()
                health = self._health = Health(self.config.state, self._late)
                batches = assembled(self.config, self._console, (*self._watchers, health), self._long_lines)
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
            return dict.fromkeys(self.config.queries, Accounts())
        if self.stopped and self._spark is None:
            raise RunError("the events were not counted, because Spark did not start before the stop")
        with self._explained():
            counts = named_accounts(self._started(), str(checkpoint))
            return {name: counts.get(name, Accounts()) for name in self.config.queries}

    def close(self) -> None:
        """Stop the Spark session, if it was started here."""
        if self._owns_spark and self._spark is not None:
            with suppress(Exception), warnings.catch_warnings():  # the JVM may have ended
                warnings.simplefilter("ignore")
                self._spark.stop()
            self._spark = None

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
        while not self.stopped and self._must_repeat(frame, batches, health):
            pass

    def _must_repeat(self, frame: DataFrame, batches: Batches, health: Health) -> bool:
        """Run the stream to its end. True if it stopped because it must read whole files from here on."""
        writer = frame.writeStream.queryName("aomg").outputMode("append").foreachBatch(batches)
        writer = writer.option("checkpointLocation", str(checkpoint_of(self.config)))
        if self.once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{self.config.every / 1e6} seconds")
        is_whole = self._reads_whole_files
        with _whole_files(frame.sparkSession) if is_whole else nullcontext():
            self.query = writer.start()
            try:
                with health.watching(self.query):
                    self._watch(self.query)
            except PySparkException:
                if self._reads_whole_files and not is_whole:
                    return True
                raise
        return False

    @property
    def _reads_whole_files(self) -> bool:
        return self._long_lines is not None and self._long_lines.whole_files

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
def _whole_files(spark: SparkSession) -> Iterator[None]:
    """Let streams of this session split no file meanwhile: the rest of a line that is too long would become a line."""
    names = [f"spark.sql.files.{setting}" for setting in ("maxPartitionBytes", "openCostInBytes")]
    before = {name: spark.conf.get(name) for name in names}
    try:
        for name in names:
            spark.conf.set(name, _NEVER_SPLIT)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")


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
