"""Bounds the log of the page: a fault that repeats is logged a few times a minute, and the rest is counted."""

import logging
import time
from collections.abc import Callable

MOST = 60
SECONDS = 60.0
LOGGERS = ("aomg.web", "uvicorn.error", "asyncio")


class LogLimit(logging.Filter):
    """Passes `most` messages in `seconds`, and leaves the others out; the next one that passes has their number."""

    def __init__(self, most: int = MOST, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most, self._seconds, self._clock = most, seconds, clock
        self._began, self._passed, self._left_out = clock(), 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message is logged."""
        if self._clock() - self._began >= self._seconds:
            self._began, self._passed = self._clock(), 0
        if self._passed >= self._most:
            self._left_out += 1
            return False
        self._passed += 1
        if self._left_out:
            record.msg = f"({self._left_out:,} messages before this one were left out) {record.msg}"
            self._left_out = 0
        return True


def limit_logs() -> None:
    """Bound the messages of the page and its server, in this process."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(known, LogLimit) for known in logger.filters):
            logger.addFilter(LogLimit())
