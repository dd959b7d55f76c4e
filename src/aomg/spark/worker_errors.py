"""Reports errors of this package that Python workers raise: the message first, without the worker's traceback.

Spark puts the text of a worker's exception into an exception of its own. By default that text is a traceback of some
thousand characters, and the message is its last line. An error of this package says what to do, so its traceback helps
nobody. Other exceptions keep theirs.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, ParamSpec, TypeVar

from pyspark import TaskContext

from aomg import errors
from aomg.errors import AomgError

P = ParamSpec("P")
R = TypeVar("R")

_OWN = re.compile(r"\baomg(?:\.\w+)*\.(?P<kind>\w+): (?P<message>[^\n]*?)(?:\s*SQLSTATE: \w{5})?\s*(?:\n|$)")


def message_first(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function that a worker calls, or a generator, fail with its message alone."""
    if isgeneratorfunction(function):

        @wraps(function)
        def generate(*arguments: P.args, **options: P.kwargs) -> Any:
            with _without_traceback():
                yield from function(*arguments, **options)

        return generate

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        with _without_traceback():
            return function(*arguments, **options)

    return call


@contextmanager
def _without_traceback() -> Iterator[None]:
    try:
        yield
    except AomgError as error:
        if TaskContext.get() is not None:
            sys.tracebacklimit = 0  # of this worker, which ends with its error
        raise error from None


def cause(error: BaseException | None) -> AomgError | None:
    """Return the error of this package because of which Spark raised another one; None if there is none.

    error
        What an action raised, such as `windows.collect()`, or what `StreamingQuery.exception()` returned.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, AomgError):
            return error
        if (own := _last_own(str(error))) is not None:
            return own
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def _last_own(text: str) -> AomgError | None:
    """The last error of this package in a text, without what Spark has written around it."""
    for match in reversed(list(_OWN.finditer(text))):
        kind = getattr(errors, match["kind"], None)
        if isinstance(kind, type) and issubclass(kind, AomgError):
            return kind.__new__(kind, match["message"])  # some take other arguments than their message
    return None
