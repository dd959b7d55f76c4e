"""Keeps followers going: a step that fails is a problem that is shown, logged once, and tried again until it works."""

import logging
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

RETRY_SECONDS = 5.0
"""How long a follower that failed waits before it tries again."""
_ADVICE = f"what is shown may be old; it is tried again every {RETRY_SECONDS:.0f} s, and the server's log says more"
_LONGEST = 200
_LOG = logging.getLogger("aomg.web")


class Follows(Protocol):
    """Reads what is new in files, step by step."""

    @property
    def problem(self) -> str | None:
        """What cannot be read, and what to do; None while all is well."""

    def step(self) -> bool:
        """Read what is new; True if something was."""


class FollowerState(NamedTuple):
    """How a follower is doing.

    problem
        What is wrong, and what to do; None while all is well.
    failing
        Whether there is a problem that does not go away by waiting for the first results.
    """

    name: str
    problem: str | None = None
    failing: bool = False


class Supervised:
    """A follower whose steps never raise. Used by one thread.

    name, what
        What it is called in metrics, and what it follows, in the words of a problem: "the alerts".
    is_waiting
        Whether its problem is only that nothing has been written yet.
    clock
        Seconds that only grow.
    """

    def __init__(
        self,
        name: str,
        what: str,
        follower: Follows,
        is_waiting: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._what, self._follower = name, what, follower
        self._is_waiting, self._clock = is_waiting, clock
        self._failure: str | None = None
        self._retry_at = -float("inf")

    def step(self) -> bool:
        """Let the follower do its step, unless it has just failed; True if it read something new."""
        if self._clock() < self._retry_at:
            return False
        try:
            changed = self._follower.step()
        except Exception as error:
            if self._failure is None:
                _LOG.exception("%s cannot be read", self._what)
            self._failure = f"{self._what} cannot be read ({described(error)})"
            self._retry_at = self._clock() + RETRY_SECONDS
            return False
        if self._failure is not None:
            _LOG.warning("%s can be read again", self._what)
        self._failure = None
        return changed

    @property
    def state(self) -> FollowerState:
        """How it is doing: why its last step failed, else what it says itself."""
        if self._failure is not None:
            return FollowerState(self._name, f"{self._failure}; {_ADVICE}", failing=True)
        problem = self._follower.problem
        return FollowerState(self._name, problem, problem is not None and not self._is_waiting())


def described(error: Exception) -> str:
    """The kind of an error, and the first line of what it says.

    >>> described(KeyError("p90"))
    "KeyError: 'p90'"
    """
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:_LONGEST]}" if lines else type(error).__name__
