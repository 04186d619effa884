"""Keeps one run safe: checkpoints while it goes on, and word of where it stands."""

from __future__ import annotations

import logging
import time
import warnings
from pathlib import Path

from blockmix.inference.loop import Chain, Position
from blockmix.inference.plan import Plan
from blockmix.inference.progress import Report
from blockmix.inference.run_folder.checkpoint import position_facts, run_arrays
from blockmix.inference.run_folder.snapshots import Snapshot, Snapshots
from blockmix.inference.run_folder.status import StatusFile

# Checkpoints take at most this share of the time: large ones are written less often than asked for.
MOST_SHARE = 0.02

log = logging.getLogger("blockmix")


class KeptRun:
    """The `Keeper` of a run in a folder: a checkpoint every so many seconds (0: none), and its status.

    `newest` is the checkpoint that the run was resumed from, `resumed` counts how often it was, and `earlier` are the
    seconds it took in the processes before this one.
    """

    def __init__(
        self, folder: Path, run: str, every: float, status: StatusFile | None, newest: Snapshot | None = None
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

    def offer(self, chains: list[Chain], at: Position, plan: Plan) -> None:
        """Write a checkpoint if it is time for one."""
        if time.monotonic() - self._last >= max(self.every, self._cost / MOST_SHARE):
            self.save(chains, at, plan)

    def save(self, chains: list[Chain], at: Position, plan: Plan) -> None:
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
                f"{self.folder}: no checkpoint at sweep {at.sweep:,} ({error.strerror or error}); "
                "the run goes on, and earlier checkpoints are kept",
                RuntimeWarning,
                stacklevel=2,
            )
            self._last = time.monotonic()
            return
        self._last = time.monotonic()
        self._cost = self._last - began
        log.info("checkpoint at sweep %d: %.1f MB in %.2f s", at.sweep, size / 1e6, self._cost)
        if self.status is not None:
            self.status.checkpoint(at.sweep, self._cost, size)

    def report(self, report: Report) -> None:
        """Tell others where the run stands."""
        if self.status is not None:
            self.status.report(report)

    def finished(self, interrupted: bool) -> None:
        """Note how the sweeps ended; others are told when the folder is closed."""
        if self.status is not None:
            self.status.finished(interrupted)
