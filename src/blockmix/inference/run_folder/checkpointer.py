"""Writes the checkpoints of a run while it goes on, and its status."""

from __future__ import annotations

import logging
import time
import warnings
from pathlib import Path

from blockmix.files import reason
from blockmix.inference.plan import Plan
from blockmix.inference.position import Position
from blockmix.inference.progress import Report
from blockmix.inference.run_folder.checkpoint import position_facts, run_arrays
from blockmix.inference.run_folder.snapshots import Snapshot, Snapshots
from blockmix.inference.run_folder.status import StatusFile
from blockmix.samplers.live import LiveChain

# Checkpoints take at most this share of the time: large ones are written less often than asked for.
MOST_SHARE = 0.02

log = logging.getLogger("blockmix")


class Checkpointer:
    """Writes a checkpoint of a run every so many seconds (0: none), and keeps its status file up to date.

    `newest` is the checkpoint that the run was resumed from, `resumed` counts how often it was, and `earlier` are the
    seconds it took in the processes before this one. `resumable` is False where no checkpoints are written.
    """

    def __init__(
        self, folder: Path, run: str, every: float, status: StatusFile, newest: Snapshot | None = None
    ) -> None:
        self.folder, self.run, self.every, self.status = folder, run, every, status
        self.resumable = every > 0
        self._snapshots = Snapshots(folder, run, None if newest is None else newest.path)
        facts = {} if newest is None else newest.facts
        self.resumed = facts["resumed"] + 1 if facts else 0
        self.earlier = facts["total_seconds"] if facts else 0.0
        self._began = time.perf_counter()
        self._last, self._cost = time.monotonic(), 0.0

    @property
    def total_seconds(self) -> float:
        """Seconds this run has taken so far, with compiling, in this process and before."""
        return self.earlier + time.perf_counter() - self._began

    def due(self) -> bool:
        """Return whether it is time for a checkpoint."""
        return self.resumable and time.monotonic() - self._last >= max(self.every, self._cost / MOST_SHARE)

    def save(self, chains: list[LiveChain], at: Position, plan: Plan) -> None:
        """Write a checkpoint now. Where that fails the run goes on, and the earlier ones are kept."""
        if not self.resumable:
            return
        began = time.monotonic()
        facts = position_facts(at) | {
            "plan": plan.limits(), "resumed": self.resumed, "total_seconds": self.total_seconds,
        }  # fmt: skip
        try:
            size = self._snapshots.write(run_arrays(chains, at, plan), facts)
        except OSError as error:
            warnings.warn(
                f"{self.folder}: no checkpoint at sweep {at.sweep:,} ({reason(error)}); {self._what_is_left()}",
                RuntimeWarning,
                stacklevel=2,
            )
            self._last = time.monotonic()
            return
        self._last = time.monotonic()
        self._cost = self._last - began
        log.info("checkpoint at sweep %d: %.1f MB in %.2f s", at.sweep, size / 1e6, self._cost)
        self.status.checkpoint(at.sweep, self._cost, size)

    def _what_is_left(self) -> str:
        """Return in words what the run can go on from, after a checkpoint could not be written."""
        if not self.folder.exists():
            return "the folder is gone with all checkpoints; the run goes on, and writes its results when it ends"
        if self._snapshots.any_whole:
            return "the run goes on, and earlier checkpoints are kept"
        return "the run goes on; there is no checkpoint yet, and blockmix resume would begin it again"

    def update(self, report: Report) -> None:
        """Write the progress to the status file."""
        self.status.update(report)

    def finished(self, interrupted: bool) -> None:
        """Note how the sweeps ended; the status file shows it when the folder is closed."""
        self.status.finished(interrupted)
