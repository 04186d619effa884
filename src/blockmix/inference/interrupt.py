"""Signals end a run after the sweep it is in: Ctrl-C keeps the posterior so far, SIGTERM a checkpoint."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

# What a shell reports of a program that SIGTERM ended.
TERMINATED = 128 + 15


class Terminated(SystemExit):
    """Raised by a run that was asked to end (SIGTERM) once its checkpoint is written; the status is 143."""

    def __init__(self) -> None:
        super().__init__(TERMINATED)


class Interruption:
    """While active, the first SIGINT only sets `requested`; a second one interrupts at once, as usual.

    With `terminate`, SIGTERM sets `terminated` too; a program that handles SIGTERM itself goes on doing so.
    Signals reach the main thread alone: in other threads this does nothing.
    """

    def __init__(self, terminate: bool = False) -> None:
        self.requested = self.terminated = False
        self._terminate = terminate
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._install(signal.SIGINT)
            if self._terminate and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
                self._install(signal.SIGTERM)
        return self

    def _install(self, number: signal.Signals) -> None:
        self._previous[number] = signal.getsignal(number)
        signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = True
        self.terminated = self.terminated or number == signal.SIGTERM

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._previous.items():
            # None means a handler that was not installed from Python and cannot be put back.
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual if before is None else before)
        self._previous.clear()
