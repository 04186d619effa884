"""What the user sees while a fit runs: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from blockmix.evaluate import Scores

# Seconds between plain lines, so that a log of a long run stays readable.
PLAIN_EVERY = 5.0


@dataclass(frozen=True)
class Report:
    """The progress of a run after a sweep. `share` is None where the end is not known in advance."""

    sweep: int
    warm_up: bool
    seconds: float
    updates_per_second: float
    share: float | None
    seconds_left: float | None
    scores: Scores | None


Callback = Callable[[Report], Any]


class Progress(Protocol):
    """Anything that shows the progress of a run."""

    def waiting(self, text: str) -> None:
        """Show what the run does before its first sweep."""

    def update(self, report: Report) -> None:
        """Show the progress."""

    def close(self) -> None:
        """End the display."""


class Silent:
    """Shows nothing."""

    def waiting(self, text: str) -> None:
        """Show nothing."""

    def update(self, report: Report) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Do nothing."""


def describe(report: Report) -> str:
    """Return one line: phase, sweep, speed, scores.

    >>> describe(Report(12, True, 3.0, 1.5e6, None, None, None))
    'warm-up   sweep 12  1.50 M updates/s'
    """
    speed = report.updates_per_second
    text = f"{'warm-up ' if report.warm_up else 'sampling'}  sweep {report.sweep:,}  "
    text += f"{speed / 1e6:.2f} M updates/s" if speed >= 1e6 else f"{speed / 1e3:.0f} k updates/s"
    if report.scores is not None:
        text += f"  perplexity {report.scores.perplexity:.3f}  AUC {report.scores.auc:.3f}"
    return text


class Plain:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, stream: Any = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._last = -PLAIN_EVERY

    def waiting(self, text: str) -> None:
        """Print what the run does."""
        print(text, file=self._stream, flush=True)

    def update(self, report: Report) -> None:
        """Print a line if the last is old enough."""
        if report.seconds - self._last >= PLAIN_EVERY or (report.share is not None and report.share >= 1):
            self._last = report.seconds
            left = "" if report.seconds_left is None else f"  {report.seconds_left:.0f} s left"
            print(f"{report.seconds:7.1f} s  {describe(report)}{left}", file=self._stream, flush=True)

    def close(self) -> None:
        """Do nothing."""


class Bar:
    """A live bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("starting", total=None, left="")
        self._bar.start()
        self._shown = 0.0

    def waiting(self, text: str) -> None:
        """Show what the run does."""
        self._bar.update(self._task, description=text)

    def update(self, report: Report) -> None:
        """Move the bar, at most ten times a second."""
        now = time.monotonic()
        if now - self._shown < 0.1:
            return
        self._shown = now
        left = "" if report.seconds_left is None else f"{report.seconds_left:.0f} s left"
        done = {} if report.share is None else {"total": 1.0, "completed": report.share}
        self._bar.update(self._task, description=describe(report), left=left, **done)  # type: ignore[arg-type]

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()


def choose_progress(wanted: bool | None) -> Progress:
    """Return the display: none if not wanted, a bar on a terminal, else plain lines.

    None, the default of programs, shows a bar on a terminal and is silent elsewhere.
    """
    if wanted is False:
        return Silent()
    if sys.stderr is not None and sys.stderr.isatty():
        return Bar()
    return Plain() if wanted else Silent()
