"""Explains failures of Spark, its Java process, its Python workers and the disks: cause, file and remedy.

Spark wraps a cause many times. A damaged file reaches the driver as a StreamingQueryException, whose message has a
Python traceback, whose last line is a Py4JJavaError, whose message has a stack of Java exceptions; the last of them
names the file. So the text of a failure is split into its causes, and these are compared with what is known.

Nothing here calls the JVM, except to read the stack trace of a Py4JJavaError: it may have ended. No text contains a
secret of the configuration.
"""

import errno
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from aomg.errors import AomgError
from aomg.monitor.atomic_files import reason
from aomg.monitor.config.model import Config
from aomg.monitor.config.secret import without_secrets
from aomg.monitor.errors import RunError
from aomg.monitor.journal.checkpoint import Checkpoint
from aomg.monitor.run.assembly import checkpoint_of
from aomg.monitor.run.checksums import damaged_file
from aomg.monitor.run.spark_log import log_of
from aomg.monitor.source.events import folder_of

MORE_MEMORY = "PYSPARK_SUBMIT_ARGS='--driver-memory 4g pyspark-shell'"
_AGAIN = "start again: the micro-batch is repeated"
_LONGEST, _SHORT = 300, 120  # characters of a cause, and of a detail
_FULL = 20_000_000  # bytes; a failed write frees what it has written
_JAVA_PATIENCE = 2.0  # seconds from a lost connection to the end of the JVM
_OUT_OF_MEMORY = 52  # Spark's exit code

# "Caused by: a.b.SomeException: text" of Java, ": a.b.SomeException: text" of Py4J, "SomeError: text" of Python
_CAUSE = re.compile(
    r"(?:Caused by: (?P<java>[\w.$]+)"
    r"|(?:: )?(?P<known>(?:[A-Za-z_]\w*\.)*[A-Za-z_$][\w$]*(?:Error|Exception|Interrupt|Exit))"
    r"|(?P<long>[a-z_]\w*(?:\.[a-z_]\w*)+\.[A-Z][\w$]*))"
    r"(?:: ?(?P<message>.*))?"
)
_WRAPPERS = (
    re.compile(r"^\[STREAM_FAILED\] Query \[id = [^\]]*\] terminated with exception: ", re.DOTALL),
    re.compile(r"^Job aborted due to stage failure: .*?\(TID \d+\) \([^)]*\): ", re.DOTALL),
    re.compile(r"^\[FOREACH_BATCH_USER_FUNCTION_ERROR\] .*? Reason: ", re.DOTALL),
)
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w{5}\s*$")

_MISSING = {"MISSING_STATE_DIRECTORY": "state", "CHECKPOINT_MISSING_METADATA_FILE": "metadata"}
_STORE = re.compile(r"operatorId=(\d+), partitionId=(\d+)|opId=(\d+),partId=(\d+)")


@dataclass(frozen=True)
class Cause:
    """One exception of a chain: its class, and its message without stack traces."""

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.kind and self.message else self.kind or self.message


def failure_of(error: BaseException, config: Config) -> RunError:
    """Return the error to raise for a failure: what happened, which file is concerned, what to do, where to read more.

    Errors of this package keep their own text, also those that a Python worker or foreachBatch raised.
    """
    chain = list(_chain(error))
    for part in chain:
        if isinstance(part, RunError):
            return part
        if isinstance(part, AomgError):
            return RunError(without_secrets(str(part), config))
    if any(map(_is_lost_connection, chain)):
        return RunError(f"{_java_ended(java_exit_code())} {_more(config)}")
    if (cause := next((part for part in chain if isinstance(part, OSError) and part.filename), None)) is not None:
        return RunError(f"{without_secrets(reason(cause, Path(os.fsdecode(cause.filename))), config)} {_more(config)}")
    return RunError(explained("\n".join(map(text_of, chain)), config))


def explained(text: str, config: Config) -> str:
    """Return what a failure means, from the text of its exceptions and their stack traces."""
    causes = causes_of(without_secrets(text, config))
    if own := [cause for cause in causes if cause.kind.startswith("aomg.")]:
        return own[-1].message
    for recognised in _KNOWN:
        if (known := recognised(causes, config)) is not None:
            return f"{known} {_more(config)}"
    return f"{_innermost(causes)} {_more(config)}"


def causes_of(text: str) -> list[Cause]:
    """Split the text of a failure into its exceptions, the innermost last, without frames, plans and calls of Py4J.

    >>> text = '''An error occurred while calling o123.getResult.
    ... : org.apache.spark.SparkException: Exception thrown in awaitResult:
    ...         at org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
    ... Caused by: java.io.IOException: No space left on device'''
    >>> [str(cause) for cause in causes_of(text)][-1]
    'java.io.IOException: No space left on device'
    """
    causes: list[tuple[str, list[str]]] = []
    is_plan = False
    for line in text.splitlines():
        if not line.strip() or line[0].isspace():
            continue
        if (match := _CAUSE.fullmatch(line.rstrip())) is not None:
            is_plan = False
            kind = match["java"] or match["known"] or match["long"]
            causes.append((kind, [match["message"] or ""]))
            continue
        is_plan = is_plan or line.startswith(("=== Streaming Query ===", "Driver stacktrace:"))
        if not is_plan and not line.startswith("Traceback (most recent"):
            if not causes:
                causes.append(("", []))
            causes[-1][1].append(line)
    cleaned = [_unwrapped(kind, _clean("\n".join(lines))) for kind, lines in causes]
    return [cause for cause in cleaned if not cause.message.startswith("An error occurred while calling ")]


def text_of(error: BaseException) -> str:
    """All that an exception has to say, with the stack trace of Java."""
    if isinstance(error, PySparkException) and hasattr(error, "_stackTrace"):
        # its own __str__ calls the JVM
        return f"{getattr(error, '_desc', '')}\n{error._stackTrace}"
    kind = type(error)
    try:
        return f"{kind.__module__}.{kind.__qualname__}: {error}".removeprefix("builtins.")
    except Exception:  # the text of a Py4JJavaError is in the JVM
        return f"{kind.__module__}.{kind.__qualname__}"


def java_exit_code() -> int | None:
    """The exit code of the JVM that this process started, -9 for signal 9; None if it runs or is not ours."""
    process = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    if process is not None:
        with suppress(subprocess.TimeoutExpired):
            return int(process.wait(_JAVA_PATIENCE))
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those that led to it, the outermost first."""
    seen: set[int] = set()
    part: BaseException | None = error
    while part is not None and id(part) not in seen:
        seen.add(id(part))
        yield part
        part = part.__cause__ or (None if part.__suppress_context__ else part.__context__)


def _is_lost_connection(error: BaseException) -> bool:
    """Whether an exception says that the JVM ended, or does not answer any more."""
    if isinstance(error, Py4JNetworkError | ConnectionError | EOFError):
        return True
    # after a lost connection, Py4J raises a plain error that names the call and no reason
    return isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError) and "Trace:" not in str(error)


def _clean(message: str) -> str:
    message = message.strip()
    for wrapper in _WRAPPERS:
        message = wrapper.sub("", message)
    return _SQL_STATE.sub("", message).strip()


def _unwrapped(kind: str, message: str) -> Cause:
    """A cause, or the one that its message begins with."""
    first, newline, rest = message.partition("\n")
    if (match := _CAUSE.fullmatch(first)) is None or not match["message"]:
        return Cause(kind, message)
    return _unwrapped(match["java"] or match["known"] or match["long"], match["message"] + newline + rest)


def _more(config: Config) -> str:
    return f"(more in {log_of(config)})"


def _innermost(causes: Sequence[Cause]) -> str:
    """The last cause, on one line that can be read."""
    line = " ".join(str(causes[-1]).split()) if causes else "Spark failed without a reason"
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()} ..."


# -- what is known: each returns cause and remedy, or None -------------------------------------------------------------


def _memory(causes: Sequence[Cause], config: Config) -> str | None:
    cause = _last(causes, r"OutOfMemoryError|_OUT_OF_MEMORY\]|UNABLE_TO_ACQUIRE_MEMORY|Java heap space")
    return None if cause is None else _out_of_memory(cause.message.splitlines()[0] if cause.message else "")


def _out_of_memory(detail: str = "") -> str:
    detail = f" ({detail[:_SHORT]})" if detail else ""
    return (
        f"Spark's Java process ran out of memory{detail}; start with more, such as {MORE_MEMORY}: the micro-batch is "
        "repeated. Later ones need less with a smaller files_per_batch"
    )


def _space(causes: Sequence[Cause], config: Config) -> str | None:
    pattern = r"No space left on device|Disk quota exceeded|not enough space on the disk"
    cause = _last(causes, pattern)
    if cause is None:
        return None
    folders = _folders(config)
    named = [path for part in causes if re.search(pattern, str(part)) for path in _paths(str(part), folders)]
    place = next((path for path in named if _is_full(path)), None)
    place = place or next((folder for folder in folders if _is_full(folder)), None) or next(iter(named), None)
    if place is None:
        places = " or ".join(map(str, (config.state, *_spark_folders())))
        return f"no space is left on the disk of {places}; free some. The next start repeats the micro-batch"
    if any(place.is_relative_to(folder) for folder in _own_folders(config)):
        return reason(OSError(errno.ENOSPC, ""), place)
    folder = next(folder for folder in _spark_folders() if place.is_relative_to(folder))  # the file is gone by now
    return (
        f"no space is left on the disk of {folder}, where Spark's temporary files are; free some, or set "
        f"SPARK_LOCAL_DIRS to another folder, and {_AGAIN}"
    )


def _permission(causes: Sequence[Cause], config: Config) -> str | None:
    pattern = (
        r"Permission denied|Read-only file system|Operation not permitted|AccessDeniedException|"
        r"AccessControlException|Mkdirs failed to create"
    )
    named = [cause for cause in causes if re.search(pattern, str(cause))]
    source = folder_of(config)
    for cause in reversed(named):
        for path in _paths(str(cause), _folders(config)):
            if source is not None and path.is_relative_to(source):
                return f"{path} cannot be read; change its permissions and {_AGAIN}"
            return reason(OSError(errno.EACCES, ""), path)
    if named or _last(causes, r"CANNOT_WRITE_STATE_STORE|CHECKPOINT_LOG_WRITE_FAILURE|FAILED_RENAME") is not None:
        return reason(OSError(errno.EACCES, ""), checkpoint_of(config))
    return None


def _checkpoint(causes: Sequence[Cause], config: Config) -> str | None:
    checkpoint = checkpoint_of(config)
    damage = (
        r"\[(CANNOT_LOAD_STATE_STORE|STATE_STORE_|STATEFUL_|STREAMING_(STATEFUL|CHECKPOINT)|MALFORMED_LOG|STDS_"
        r"|CHECKPOINT_FILE_CHECKSUM|BATCH_METADATA_NOT_FOUND)|RocksDBException|StateStore\w*(Exception|Failed)"
    )
    paths = [path for cause in reversed(causes) for path in _paths(str(cause), [checkpoint])]
    place = next((path for path in paths if path != checkpoint), None) or damaged_file(checkpoint)
    place = place or _missing_log(causes, checkpoint)
    if place is None and _last(causes, r"sources in the checkpoint offsets") is not None:
        place = checkpoint / "offsets" / str(Checkpoint(checkpoint).planned)
    if place is None and _last(causes, damage) is None:
        return None
    if place is None:
        place = next((checkpoint / name for word, name in _MISSING.items() if _last(causes, word)), None)
    if place is None and (store := re.search(_STORE, "\n".join(map(str, causes)))) is not None:
        place = checkpoint / "state" / (store[1] or store[3]) / (store[2] or store[4])
    return (
        f"{place or checkpoint} of Spark's checkpoint is missing or damaged; restore the state folder from a backup, "
        "or use a new state folder and new folders for the sinks"
    )


def _missing_log(causes: Sequence[Cause], checkpoint: Path) -> Path | None:
    """The file of a batch in one of Spark's logs, if it is missing: Spark says "batch 12 doesn't exist"."""
    cause = _last(causes, r"^[\w.$]*IllegalStateException: batch \d+ doesn't exist")
    if cause is None:
        return None
    batch = cause.message.split()[1]
    logs = [checkpoint / "offsets", *sorted(checkpoint.glob("sources/*"))]
    return next((log / batch for log in logs if not (log / batch).exists()), None)


def _source_file(causes: Sequence[Cause], config: Config) -> str | None:
    source = folder_of(config)
    if source is None:
        return None
    named = [path for cause in reversed(causes) for path in _paths(str(cause), [source])]
    if not named:
        return None
    path = named[0]
    if path == source and not source.is_file():
        if source.is_dir():
            return None
        return f"the source folder {source} does not exist any more; create it and {_AGAIN}"
    if _last(causes, r"FILE_NOT_EXIST|FileNotFoundException|NoSuchFileException") is not None and not path.exists():
        return f"the source file {path} was removed before it was read; put it back and {_AGAIN}"
    detail = _detail(causes[-1].message, path)
    if (mismatch := _last(causes, r"PARQUET_COLUMN_DATA_TYPE_MISMATCH")) is not None:
        column = re.search(
            r"Parquet column \[?(\S+?)\]?\. Expected Spark type (\S+), actual Parquet type (\S+)\.", mismatch.message
        )
        if column is not None:
            detail = f"column {column[1]} has the type {column[3]}, not {column[2]}"
    return (
        f"the source file {path} cannot be read ({detail}); repair it, or put an empty file in its place to skip it, "
        f"and {_AGAIN}"
    )


def _detail(message: str, path: Path) -> str:
    """The first line of a message about a file, without its name."""
    line = re.sub(rf"(?:file:/*)?{re.escape(str(path))}(?: is)? ?", "", message.partition("\n")[0]).strip(" .:")
    return line[:_SHORT] or "it is damaged"


def _worker(causes: Sequence[Cause], config: Config) -> str | None:
    if _last(causes, r"Python worker failed to connect back") is not None:
        return f"Spark's Python workers did not start in time because the machine is busy; {_AGAIN}"
    if _last(causes, r"Python worker exited unexpectedly") is not None:
        return (
            "a Python worker of Spark was killed or crashed, perhaps because the machine ran out of memory; stop other "
            f"programs and {_AGAIN}"
        )
    return None


def _java(causes: Sequence[Cause], config: Config) -> str | None:
    pattern = (
        r"SparkContext (was|has been) (shut ?down|stopped)|stopped SparkContext|Shutdown in progress|is shutting down"
    )
    return None if _last(causes, pattern) is None else _java_ended(java_exit_code())


def _java_ended(code: int | None) -> str:
    if code == _OUT_OF_MEMORY:
        return _out_of_memory()
    if code in (-9, 137):
        how = "was killed (signal 9), perhaps because the machine ran out of memory"
    elif code is not None and code < 0:
        how = f"was ended by signal {-code}"
    elif code is not None and code > 128:
        how = f"was ended by signal {code - 128}"
    else:
        how = "ended" if code is None else f"ended with exit code {code}"
    return f"Spark's Java process {how}; {_AGAIN}"


def _kafka(causes: Sequence[Cause], config: Config) -> str | None:
    if _last(causes, r"Failed to find data source: kafka") is None:
        return None
    return (
        "Spark's Kafka connector is missing; start with PYSPARK_SUBMIT_ARGS='--packages "
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__} pyspark-shell'"
    )


_KNOWN: Sequence[Callable[[Sequence[Cause], Config], str | None]] = (
    _memory,
    _space,
    _permission,
    _kafka,
    _java,
    _worker,
    _source_file,
    _checkpoint,
)


def _last(causes: Sequence[Cause], pattern: str) -> Cause | None:
    """The innermost cause that matches a pattern."""
    return next((cause for cause in reversed(causes) if re.search(pattern, str(cause))), None)


# -- files -------------------------------------------------------------------------------------------------------------


def _folders(config: Config) -> list[Path]:
    """Where the monitor and Spark read and write."""
    return [*_own_folders(config), *_spark_folders()]


def _own_folders(config: Config) -> list[Path]:
    """The folders and files of the configuration."""
    sinks = (*config.sinks.results, *config.sinks.summaries, *config.sinks.alerts)
    paths = [config.state, config.quarantine.folder, *(sink.path for sink in sinks), folder_of(config)]
    return [path for path in dict.fromkeys(paths) if path is not None]


def _spark_folders() -> list[Path]:
    """Where Spark writes temporary files."""
    return [Path(folder) for folder in (os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()).split(",")]


def _is_full(place: Path) -> bool:
    existing = next((path for path in (place, *place.parents) if path.exists()), Path("/"))
    with suppress(OSError):
        disk = os.statvfs(existing)
        return disk.f_bavail * disk.f_frsize < _FULL or (disk.f_files > 0 and disk.f_favail == 0)
    return False


def _paths(text: str, folders: Sequence[Path]) -> Iterator[Path]:
    """The paths in a text that are in one of these folders, also as addresses such as file:/a%20b."""
    for folder in folders:
        for form in {str(folder), str(folder).replace(" ", "%20")}:
            for match in re.finditer(rf"{re.escape(form)}(?![\w-])([^\n]*)", text):
                is_address = text[: match.start()].endswith(("file:", "file://"))
                yield _file_of(folder, unquote(match[1]) if is_address else match[1])


def _file_of(folder: Path, rest: str) -> Path:
    """The file at the beginning of the rest of a line: the longest that exists, else up to a space or a quote."""
    ends = [match.start() for match in re.finditer(r"[\s'\"),;:\]]|\.(?=\s|$)", rest)] + [len(rest)]
    for end in sorted(ends, reverse=True)[:50]:
        path = Path(f"{folder}{rest[:end]}")
        with suppress(OSError):
            if end and path.exists():
                return path
    return Path(f"{folder}{rest[: min(ends)]}")
