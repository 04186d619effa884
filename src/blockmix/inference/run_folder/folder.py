"""The folder of a run: locked while it runs, with its checkpoints and its status.

run/
  .lock           held while the run is under way
  status.json     the state of the run
  checkpoint/     start: settings and held-out pairs, graph, training, and the last two of 000001, 000002, ...
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any

from blockmix._version import __version__
from blockmix.errors import InputError
from blockmix.files import Damaged, check_own, reason
from blockmix.folders import remove_arrays, remove_temporary, sync_folder
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.inference.plan import Plan
from blockmix.inference.request import FitRequest
from blockmix.inference.run_folder.checkpoint import (
    held_out_arrays,
    held_out_facts,
    load_networks,
    map_training,
    save_networks,
)
from blockmix.inference.run_folder.checkpointer import Checkpointer
from blockmix.inference.run_folder.checks import check_split, check_start
from blockmix.inference.run_folder.lock import LOCK, FolderLock
from blockmix.inference.run_folder.snapshots import Snapshot, Snapshots, read_snapshot, write_snapshot
from blockmix.inference.run_folder.status import STATUS, StatusFile
from blockmix.posterior.export.files import POPULARITY, TEXT_FILES
from blockmix.posterior.storage import MANIFEST as RESULT

CHECKPOINTS, START, REPORT = "checkpoint", "start", "report.html"
# What a run that has no result yet may have left in its folder.
OWN_FILES = {LOCK, STATUS, CHECKPOINTS}


class RunFolder:
    """A folder that one run writes to. Locked from here to `close`; use it in a `with` block.

    `notes` are plain values that are kept with the settings, for a command that resumes the run. `resumable` is
    True if the run here writes checkpoints, `ended` if a resumed run had nothing left to do.
    """

    def __init__(self, path: str | os.PathLike[str], notes: dict[str, Any] | None = None) -> None:
        self.path = Path(path)
        self.notes = notes or {}
        self.status: StatusFile | None = None
        self.resumable = self.ended = False
        try:
            self._made = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.path)
            check_places(self.path)
            self._lock.acquire()
        except OSError as error:
            raise self._not_writable(error) from error
        for place in (self.path, self.checkpoints):
            remove_temporary(place)

    def _not_writable(self, error: OSError) -> InputError:
        return InputError(
            f"{self.path}: cannot be written to ({reason(error)}); remove the cause or choose another folder"
        )

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / CHECKPOINTS

    def clear(self) -> None:
        """Remove the checkpoints and the status of an earlier run."""
        remove_arrays(self.checkpoints)
        try:
            (self.path / STATUS).unlink(missing_ok=True)
        except OSError as error:
            raise self._not_writable(error) from error

    def begin(self, graph: Graph, data: HeldOut, request: FitRequest, plan: Plan) -> Checkpointer:
        """Write what stays the same all through a new run."""
        if has_run(self.path):
            raise InputError(
                f"{self.path}: holds the checkpoints of an earlier run; go on with it "
                f"(blockmix.resume), remove the folder, or name another"
            )
        self.clear()
        run = uuid.uuid4().hex
        if request.every:
            try:
                self._write_start(run, graph, data, request, plan)
            except OSError as error:
                raise InputError(
                    f"{self.checkpoints}: checkpoints cannot be written ({reason(error)}); remove the cause, "
                    "choose another folder, or leave them out with checkpoint_every=0 (--checkpoint-every 0)"
                ) from error
        return self._checkpointer(run, graph, request, plan)

    def _write_start(self, run: str, graph: Graph, data: HeldOut, request: FitRequest, plan: Plan) -> None:
        self.checkpoints.mkdir()
        facts = {
            "blockmix": __version__, "task": request.manifest(), "plan": plan.limits(),
            "held_out": held_out_facts(data), "networks": save_networks(self.checkpoints, graph, data),
            "notes": self.notes, "init": request.init is not None,
        }  # fmt: skip
        sync_folder(self.checkpoints)
        write_snapshot(self.checkpoints / START, run, held_out_arrays(data), facts)

    def map_training(self, data: HeldOut) -> HeldOut:
        """Return the split of a run that has begun here with its training network mapped from its checkpoints."""
        return map_training(self.checkpoints, data)

    def earlier_run(self) -> tuple[Snapshot, Snapshot | None]:
        """Return what an earlier run here began with, and its last whole checkpoint; None before its first."""
        check_run(self.path)
        try:
            start = read_snapshot(self.checkpoints / START)
            check_start(start)
        except Damaged as damage:
            raise InputError(f"{damage}; restore the folder from a copy, or fit again") from None
        newest = Snapshots(self.checkpoints, start.run).newest()
        if newest is None and start.facts.get("init"):
            raise InputError(
                f"{self.path}: the run ended before its first checkpoint, and it began at communities that were given "
                "(init), which are not kept; fit again"
            )
        self.notes = start.facts["notes"] | self.notes
        return start, newest

    def networks(self, start: Snapshot) -> tuple[Graph, HeldOut]:
        """Return the network and the split that a run began with."""
        graph, data = load_networks(self.checkpoints, start)
        try:
            check_split(graph, data)
        except Damaged as damage:
            raise InputError(
                f"{start.path}: {damage}; restore the folder from a copy, or fit again"
            ) from None
        return graph, data

    def continue_run(
        self, graph: Graph, request: FitRequest, plan: Plan, start: Snapshot, newest: Snapshot | None
    ) -> Checkpointer:
        """Return what writes the checkpoints of the rest of an earlier run, from its last checkpoint or its start."""
        checkpointer = self._checkpointer(start.run, graph, request, plan, newest)
        if newest is None:
            return checkpointer
        size = sum(array.nbytes for array in newest.arrays.values())
        checkpointer.status.checkpoint(newest.facts["sweep"], None, size)
        return checkpointer

    def _checkpointer(
        self, run: str, graph: Graph, request: FitRequest, plan: Plan, newest: Snapshot | None = None
    ) -> Checkpointer:
        facts = {
            "nodes": graph.n_nodes, "links": graph.n_edges, "communities": request.communities,
            "sampler": request.sampler, "chains": request.chains, "seed": request.seed, **plan.limits(),
        }  # fmt: skip
        self.status = StatusFile(self.path, facts)
        self.resumable = request.every > 0
        return Checkpointer(self.checkpoints, run, request.every, self.status, newest)

    def close(self, error: BaseException | None = None) -> None:
        """Record how the run ended and release the lock; a folder made for nothing is removed."""
        if self.status is not None:
            self.status.end(error)
        self._lock.release()
        if error is not None and self._made:
            # Only an empty folder can be removed like this.
            with suppress(OSError):
                self.path.rmdir()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close(error)


def check_places(path: Path) -> None:
    """Refuse links, pipes and devices under the names that a run writes to, before anything is written."""
    for name in (LOCK, STATUS, RESULT, REPORT, *TEXT_FILES, POPULARITY):
        check_own(path / name)
    for name in ("graph", "posterior", CHECKPOINTS):
        check_own(path / name, folder=True)
    for name in (START, "graph", "training"):
        check_own(path / CHECKPOINTS / name, folder=True)


def has_run(path: Path) -> bool:
    """Return whether a run was begun in this folder that can be resumed."""
    return (path / CHECKPOINTS / START).exists()


def what_is_kept(path: Path) -> str:
    """Return in words what a run that was stopped has left in its folder, and what to do."""
    place = quote(str(path))
    if not path.exists():
        return f"the folder {place} is gone, and the run with it: fit again"
    if not has_run(path):
        return "nothing was kept: fit again"
    if any((path / CHECKPOINTS).glob("[0-9]*")):
        return f"the run is kept up to its last checkpoint: go on with blockmix resume {place}"
    return f"its settings, network and split are kept: begin again with blockmix resume {place}"


def check_run(path: Path) -> None:
    """Refuse a folder without a run to resume."""
    check_own(path / CHECKPOINTS, folder=True)
    if not has_run(path):
        what = (
            "there is no run to resume: it holds no checkpoint"
            if path.exists()
            else "there is no such folder"
        )
        raise InputError(f"{path}: {what}; name the folder of blockmix fit -o, or checkpoint= of fit")


@contextmanager
def open_folder(place: str | os.PathLike[str] | RunFolder | None) -> Iterator[RunFolder | None]:
    """Open the folder named for as long as the block lasts; one that is open already stays open."""
    if place is None or isinstance(place, RunFolder):
        yield place
        return
    with RunFolder(place) as folder:
        yield folder
