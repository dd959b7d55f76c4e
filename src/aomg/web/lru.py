"""What was worked out before and is asked again: the newest so many answers."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """Answers by question, at most `most`; the one that was not asked for longest goes first.

    Safe from several threads. Two that ask the same at once may both work it out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, question: Hashable, work_out: Callable[[], T]) -> T:
        """The answer; worked out if it is not remembered. What cannot be worked out is not remembered."""
        with self._lock:
            if question in self._answers:
                self._answers.move_to_end(question)
                return self._answers[question]
        answer = work_out()
        with self._lock:
            self._answers[question] = answer
            if len(self._answers) > self._most:
                self._answers.popitem(last=False)
        return answer

    def __len__(self) -> int:
        return len(self._answers)
