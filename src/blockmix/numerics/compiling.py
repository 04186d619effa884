"""Says when kernels are compiled, how many and for how long. One that is loaded from the cache is not compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Seconds between two messages.
EVERY = 5.0
_EVENT = "numba:compile"


class CompileLog:
    """Counts compilations from the events of numba, and reports the first one and then one every few seconds.

    `what` says what the kernels are for, and `how_long` how long it takes if none of them is in the cache.
    """

    def __init__(self, report: Callable[[str], None], what: str, how_long: str) -> None:
        self._report, self._what, self._how_long = report, what, how_long
        self._depth, self._began, self._told = 0, 0.0, 0.0
        self.kernels, self.seconds = 0, 0.0

    def on_start(self, event: Any) -> None:
        """Note that a compilation begins; it may begin inside of another one."""
        now = time.monotonic()
        if self._depth == 0:
            self._began = now
        self._depth += 1
        if self.kernels == 0 and self._told == 0.0:
            self._report(f"compiling kernels {self._what}: once on a new machine, {self._how_long} for all")
            self._told = now
        elif now - self._told >= EVERY:
            spent = self.seconds + now - self._began
            self._report(
                f"compiling kernels {self._what}: {self.kernels} compiled in {spent:.0f} s{_now(event)}"
            )
            self._told = now

    def on_end(self, event: Any) -> None:
        """Note that a compilation has ended."""
        self._depth -= 1
        self.kernels += 1
        if self._depth == 0:
            self.seconds += time.monotonic() - self._began


def _now(event: Any) -> str:
    """Name the kernel that is compiled now, where the event tells."""
    function = getattr((getattr(event, "data", None) or {}).get("dispatcher"), "py_func", None)
    return "" if function is None else f", now {function.__name__}"


@contextmanager
def announce_compiling(
    report: Callable[[str], None], what: str = "of the sampler", how_long: str = "about half a minute"
) -> Iterator[CompileLog]:
    """Report what is compiled inside the block, in sentences; nothing is said where all of it is in the cache."""
    from numba.core import event

    log = CompileLog(report, what, how_long)

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            log.on_start(event)

        def on_end(self, event: Any) -> None:
            log.on_end(event)

    with event.install_listener(_EVENT, Listener()):
        yield log
    if log.kernels:
        count = f"{log.kernels} kernel{'' if log.kernels == 1 else 's'}"
        report(f"compiled {count} {what} in {log.seconds:.0f} s")
