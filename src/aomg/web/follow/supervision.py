"""Supervises followers: a failed step becomes a problem on the page, is logged once, and retried until it works."""

import logging
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

RETRY_SECONDS = 5.0
"""How long a follower waits after a failure before it retries."""
_ADVICE = f"the page may show old data; it retries every {RETRY_SECONDS:.0f} s; the server's log has the details"
_LONGEST = 200
_LOG = logging.getLogger("aomg.web")


class Follower(Protocol):
    """Reads new data from files, step by step."""

    @property
    def problem(self) -> str | None:
        """What cannot be read, and what to do; None without a problem."""

    def step(self) -> bool:
        """Read what is new; True if there was something."""


class FollowerState(NamedTuple):
    """The state of a follower.

    problem
        What is wrong, and what to do; None without a problem.
    failing
        Whether there is a problem other than waiting for the first results.
    """

    name: str
    problem: str | None = None
    failing: bool = False


class SupervisedFollower:
    """A follower whose steps never raise. Used by one thread.

    name, subject
        Its name in metrics, and what it reads, for messages: "the alerts".
    is_waiting
        Whether its only problem is that nothing has been written yet.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        name: str,
        subject: str,
        follower: Follower,
        is_waiting: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._subject, self._follower = name, subject, follower
        self._is_waiting, self._clock = is_waiting, clock
        self._failure: str | None = None
        self._retry_at = -float("inf")

    def step(self) -> bool:
        """Run the follower's step, unless it failed a moment ago; True if it read something new."""
        if self._clock() < self._retry_at:
            return False
        try:
            changed = self._follower.step()
        except Exception as error:
            if self._failure is None:
                _LOG.exception("%s cannot be read", self._subject)
            self._failure = f"{self._subject} cannot be read ({describe(error)})"
            self._retry_at = self._clock() + RETRY_SECONDS
            return False
        if self._failure is not None:
            _LOG.warning("%s can be read again", self._subject)
        self._failure = None
        return changed

    @property
    def state(self) -> FollowerState:
        """Why its last step failed, or else the follower's own problem."""
        if self._failure is not None:
            return FollowerState(self._name, f"{self._failure}; {_ADVICE}", failing=True)
        problem = self._follower.problem
        return FollowerState(self._name, problem, problem is not None and not self._is_waiting())


def describe(error: Exception) -> str:
    """Return an error's class and the first line of its message.

    >>> describe(KeyError("p90"))
    "KeyError: 'p90'"
    """
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:_LONGEST]}" if lines else type(error).__name__
