"""Says that kernels are being compiled: their first call on a machine takes seconds, later ones load the result.

The first kernel that a process compiles logs a message at INFO to the logger `aomg`. An interactive Python and a
notebook print it to standard error instead, because somebody waits there; commands show it in their own way
(`report_to`). Loading a compiled kernel says nothing. Costs some microseconds a kernel.
"""

import logging
import sys
from collections.abc import Callable

from numba.core import event

NOTICE = "compiling, which takes some seconds at the first use on this machine; `aomg warm` does it ahead"
_LOG = logging.getLogger("aomg")


class _Listener(event.Listener):
    """Reports the first compilation of a function of this package."""

    def __init__(self) -> None:
        self.is_done = False
        self.report: Callable[[str], None] | None = None

    def on_start(self, event: event.Event) -> None:
        """Called when Numba begins to compile; not when it loads from its cache."""
        if self.is_done or not _is_ours(event):
            return
        self.is_done = True
        if self.report is not None:
            self.report(NOTICE)
        elif hasattr(sys, "ps1"):
            print(f"aomg: {NOTICE}", file=sys.stderr, flush=True)
        else:
            _LOG.info(NOTICE)

    def on_end(self, event: event.Event) -> None:
        """Called when Numba has compiled."""


def _is_ours(event: event.Event) -> bool:
    function = getattr((event.data or {}).get("dispatcher"), "py_func", None)
    return str(getattr(function, "__module__", "")).startswith("aomg.")


_LISTENER = _Listener()
event.register("numba:compile", _LISTENER)  # type: ignore[no-untyped-call]


def report_to(report: Callable[[str], None]) -> None:
    """Let the first compilation of this process be reported by `report` from now on."""
    _LISTENER.report = report
