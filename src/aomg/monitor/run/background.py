"""Repeats an action in a thread while something else runs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 10.0


@contextmanager
def repeating(action: Callable[[], None], seconds: float, name: str) -> Iterator[None]:
    """Run an action every so many seconds meanwhile, in a thread of this name."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            action()

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_PATIENCE)
