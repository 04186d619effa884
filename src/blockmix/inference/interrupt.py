"""Ctrl-C ends a run after the sweep it is in, and keeps the posterior so far."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """While active, the first SIGINT only sets `requested`; a second one interrupts at once, as usual.

    Signals reach the main thread alone: elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None
        self._active = False

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, self._handle)
            self._active = True
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._active:
            # None stands for a handler that was not installed from Python and cannot be put back.
            before = signal.default_int_handler if self._previous is None else self._previous
            signal.signal(signal.SIGINT, before)
            self._active = False
