"""Signals end a run after the sweep it is in: Ctrl-C keeps the posterior so far, SIGTERM and SIGHUP a checkpoint."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn

# Signals that ask a program to end: from `kill`, `timeout` and batch systems, and from a terminal that is closed.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Terminated(SystemExit):
    """Raised by a run that a signal asked to end, once its checkpoint is written.

    The status is what a shell reports of a program that the signal ended: 143 after SIGTERM, 129 after SIGHUP.
    """

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__(128 + number)


def _raise_terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated(number)


@contextmanager
def terminable(active: bool = True) -> Iterator[None]:
    """Let a signal that asks the program to end raise `Terminated` at once: for what comes before the sweeps.

    A program that handles such a signal itself goes on doing so. In other threads than the main one, and where
    `active` is False, this does nothing.
    """
    installed = []
    if active and threading.current_thread() is threading.main_thread():
        installed = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]
        for number in installed:
            signal.signal(number, _raise_terminated)
    try:
        yield
    finally:
        for number in installed:
            signal.signal(number, signal.SIG_DFL)


class Interruption:
    """While active, the first SIGINT only sets `requested`; a second one interrupts at once, as usual.

    With `terminate`, SIGTERM and SIGHUP do the same and set `terminated` to their number; a program that handles them
    itself goes on doing so. Signals reach the main thread alone: in other threads this does nothing.
    """

    def __init__(self, terminate: bool = False) -> None:
        self.requested, self.terminated = False, 0
        self._terminate = terminate
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._install(signal.SIGINT)
            for number in ENDING if self._terminate else ():
                if signal.getsignal(number) in (signal.SIG_DFL, _raise_terminated):
                    self._install(number)
        return self

    def _install(self, number: int) -> None:
        self._previous[number] = signal.getsignal(number)
        signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = True
        if number in ENDING:
            self.terminated = self.terminated or number

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._previous.items():
            # None means a handler that was not installed from Python and cannot be put back.
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual if before is None else before)
        self._previous.clear()
