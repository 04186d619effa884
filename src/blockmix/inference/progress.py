"""What the user sees while a fit runs: a bar on a terminal or in a notebook, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from blockmix.evaluate import Scores
from blockmix.notebook import escaped, notebook_shell
from blockmix.posterior.structure import duration

# Seconds between plain lines, so that a log of a long run stays readable.
PLAIN_EVERY = 5.0
# Seconds between two updates in a notebook: more of them than a browser shows would make it slow.
NOTEBOOK_EVERY = 0.2
# Evaluations looked back at, and what must lie between the first and the last of them before an estimate is made: the
# first sweeps of a run wait for caches, for the start and for other threads.
LOOK_BACK = 30
LEAST_SECONDS, LEAST_SWEEPS = 1.0, 5
# Times left whose ratio is above this are given as one.
CLOSE = 0.8
# A run that may end within so many seconds has no least time left that is worth reading.
SOON = 10.0
# On narrower terminals the scores are left out of the live line.
WIDE = 110


@dataclass(frozen=True)
class Report:
    """The progress of a run after a sweep. `share` is None where the end is not known in advance.

    `missing` names what must still happen before the run ends by itself; `seconds_left` is then an estimate from the
    last comparison of the chains, and `seconds_left_least` the seconds until the run may end if all is well.
    """

    sweep: int
    warm_up: bool
    seconds: float
    updates_per_second: float
    share: float | None
    seconds_left: float | None
    scores: Scores | None
    missing: str = ""
    seconds_left_least: float | None = None


Callback = Callable[[Report], Any]


class Pace:
    """Seconds a sweep over the last evaluations of a run; None until they tell."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, float]] = deque(maxlen=LOOK_BACK)

    def add(self, sweep: int, seconds: float) -> None:
        """Note when a sweep had ended."""
        self._seen.append((sweep, seconds))

    @property
    def seconds_a_sweep(self) -> float | None:
        """Seconds a sweep; None while too little was seen."""
        if len(self._seen) < 2:
            return None
        (first, began), (last, ended) = self._seen[0], self._seen[-1]
        sweeps, seconds = last - first, ended - began
        enough = len(self._seen) == LOOK_BACK or (sweeps >= LEAST_SWEEPS and seconds >= LEAST_SECONDS)
        return seconds / sweeps if enough else None


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


def time_left(report: Report) -> str:
    """Return how long the run still takes, and what is missing until it ends.

    >>> time_left(Report(50, False, 3.0, 1e6, None, 12.3, None, "R-hat above 1.05 for 34%"))
    'about 12 s left; missing: R-hat above 1.05 for 34%'
    """
    left = seconds_in_words(report.seconds_left_least, report.seconds_left, bool(report.missing))
    return "; ".join(part for part in (left, report.missing and f"missing: {report.missing}") if part)


def seconds_in_words(least: float | None, most: float | None, estimate: bool) -> str:
    """Return the time left in words: one time, or two where the run may end much before the latter.

    >>> seconds_in_words(11.9, 12.3, True), seconds_in_words(20.0, 540.0, True), seconds_in_words(12.0, 12.0, False)
    ('about 12 s left', '20 s to 9 min left', '12 s left')
    >>> seconds_in_words(0.3, 540.0, True)
    'up to 9 min left'
    """
    if most is None:
        return ""
    if estimate and least is not None and least < CLOSE * most and duration(least) != duration(most):
        return f"{f'{duration(least)} ' if least >= SOON else 'up '}to {duration(most)} left"
    return f"{'about ' if estimate else ''}{duration(most)} left"


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
            left = time_left(report)
            line = f"{report.seconds:7.1f} s  {describe(report)}{'  ' if left else ''}{left}"
            print(line, file=self._stream, flush=True)

    def close(self) -> None:
        """Do nothing."""


class Bar:
    """A live bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        console = Console(stderr=True)
        self._wide = console.width >= WIDE
        self._bar = RichProgress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn(),
            console=console,
        )  # fmt: skip
        self._task = self._bar.add_task("starting", total=None)
        # A line of its own: beside the bar it would be cut, and what is missing with it.
        self._left = Text(no_wrap=True, overflow="ellipsis")
        self._live = Live(
            Group(self._bar, self._left), console=console, transient=True, refresh_per_second=10
        )
        self._live.start()
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
        left = time_left(report)
        self._left.plain = f"  {left}" if left else ""
        done = {} if report.share is None else {"total": 1.0, "completed": report.share}
        line = describe(report if self._wide else replace(report, scores=None))
        self._bar.update(self._task, description=line, **done)  # type: ignore[arg-type]

    def close(self) -> None:
        """Remove the bar."""
        self._live.stop()


class NotebookBar:
    """A bar and a line below the cell; the line stays when the run has ended."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._began = time.monotonic()
        self._shown, self._last = 0.0, "starting"
        self._share: float | None = None
        self._handle: Any = display(HTML(self._markup("starting")), display_id=True)

    def waiting(self, text: str) -> None:
        """Show what the run does; at once, since it may take long."""
        self._last = text
        self._show(text)

    def update(self, report: Report) -> None:
        """Move the bar, a few times a second."""
        left = time_left(report)
        self._last = describe(report)
        self._share = report.share
        now = time.monotonic()
        if now - self._shown >= NOTEBOOK_EVERY:
            self._shown = now
            self._show(f"{self._last}{'  ' if left else ''}{left}")

    def close(self) -> None:
        """Leave one line with what was last done and how long all of it took."""
        took = duration(time.monotonic() - self._began)
        self._handle.update(self._html(f"<div>{escaped(self._last)}; {escaped(took)} in all</div>"))

    def _show(self, text: str) -> None:
        self._handle.update(self._html(self._markup(text)))

    def _markup(self, text: str) -> str:
        # Without a value the browser shows that something is going on.
        value = "" if self._share is None else f' value="{self._share:.4f}"'
        spent = duration(time.monotonic() - self._began)
        return f"<div><progress{value}></progress> {escaped(spent)} &nbsp; {escaped(text)}</div>"


def choose_progress(wanted: bool | None) -> Progress:
    """Return the display: none if not wanted, a bar on a terminal or in a notebook, else plain lines.

    None, the default of programs, shows a bar on a terminal or in a notebook and is silent elsewhere.
    """
    if wanted is False:
        return Silent()
    if notebook_shell() is not None:
        return NotebookBar()
    if sys.stderr is not None and sys.stderr.isatty():
        return Bar()
    return Plain() if wanted else Silent()
