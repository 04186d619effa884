"""The folder of a run: locked while it runs, with its checkpoints and its status.

run/
  .lock           held while the run lives
  status.json     where it stands
  checkpoint/     start: settings and held-out pairs, graph, training, and the last two of 000001, 000002, ...
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from blockmix._version import __version__
from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.inference.plan import Plan
from blockmix.inference.run_folder.checkpoint import (
    held_out_arrays,
    held_out_facts,
    load_networks,
    save_networks,
)
from blockmix.inference.run_folder.keeper import KeptRun
from blockmix.inference.run_folder.lock import LOCK, FolderLock
from blockmix.inference.run_folder.snapshots import (
    Damaged,
    Snapshot,
    Snapshots,
    read_snapshot,
    sync_folder,
    write_snapshot,
)
from blockmix.inference.run_folder.status import STATUS, StatusFile
from blockmix.inference.task import Task

CHECKPOINTS, START = "checkpoint", "start"
DEFAULT_EVERY = 60.0
# What a run that has no result yet may have left in its folder.
OWN_FILES = {LOCK, STATUS, STATUS + ".partial", CHECKPOINTS}


class RunFolder:
    """A folder that one run writes to. Locked from here to `close`; use it in a `with` block.

    `every` is the number of seconds between checkpoints; 0 writes none. `notes` are plain values that are kept
    with the settings, for whoever resumes the run; `ended` says that a resumed run had nothing left to do.
    """

    def __init__(
        self, path: str | os.PathLike[str], every: float = DEFAULT_EVERY, notes: dict[str, Any] | None = None
    ) -> None:
        self.path = Path(path)
        self.every, self.notes = check_every(every), notes or {}
        self.status: StatusFile | None = None
        self.ended = False
        try:
            self._made = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.path)
            self._lock.acquire()
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written to ({error.strerror or error})") from error

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.path / CHECKPOINTS

    def clear(self) -> None:
        """Remove the checkpoints and the status of an earlier run."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        (self.path / STATUS).unlink(missing_ok=True)

    def begin(self, graph: Graph, data: HeldOut, task: Task, plan: Plan) -> KeptRun:
        """Write what stays the same all through a new run."""
        if has_run(self.path):
            raise InputError(
                f"{self.path}: holds the checkpoints of an earlier run; go on with it "
                f"(blockmix.resume), remove the folder, or name another"
            )
        self.clear()
        run = uuid.uuid4().hex
        if self.every:
            try:
                self._write_start(run, graph, data, task, plan)
            except OSError as error:
                raise InputError(
                    f"{self.checkpoints}: checkpoints cannot be written ({error.strerror or error})"
                ) from error
        self._show(graph, task, plan)
        return KeptRun(self.checkpoints, run, self.every, self.status)

    def _write_start(self, run: str, graph: Graph, data: HeldOut, task: Task, plan: Plan) -> None:
        self.checkpoints.mkdir()
        facts = {
            "blockmix": __version__, "task": task.to_dict(), "plan": plan.limits(), "held_out": held_out_facts(data),
            "networks": save_networks(self.checkpoints, graph, data), "notes": self.notes,
        }  # fmt: skip
        sync_folder(self.checkpoints)
        write_snapshot(self.checkpoints / START, run, held_out_arrays(data), facts)

    def earlier_run(self) -> tuple[Snapshot, Snapshot]:
        """What an earlier run here began with, and its last whole checkpoint."""
        check_run(self.path)
        try:
            start = read_snapshot(self.checkpoints / START)
        except Damaged as damage:
            raise InputError(f"{damage}; restore the folder from a copy, or fit again") from None
        newest = Snapshots(self.checkpoints, start.run).newest()
        if newest is None:
            raise InputError(f"{self.path}: the run ended before its first checkpoint; fit again")
        self.notes = start.facts["notes"] | self.notes
        return start, newest

    def networks(self, start: Snapshot) -> tuple[Graph, HeldOut]:
        """The network and the split that a run began with."""
        return load_networks(self.checkpoints, start)

    def take_up(self, graph: Graph, task: Task, plan: Plan, newest: Snapshot) -> KeptRun:
        """Keep the rest of an earlier run from its last checkpoint on."""
        self._show(graph, task, plan)
        assert self.status is not None
        size = sum(array.nbytes for array in newest.arrays.values())
        self.status.checkpoint(newest.facts["sweep"], None, size)
        return KeptRun(self.checkpoints, newest.run, self.every, self.status, newest)

    def _show(self, graph: Graph, task: Task, plan: Plan) -> None:
        facts = {
            "nodes": graph.n_nodes, "links": graph.n_edges, "communities": task.model.communities,
            "sampler": task.sampler, "chains": task.chains, "seed": task.seed, **plan.limits(),
        }  # fmt: skip
        self.status = StatusFile(self.path, facts)

    def close(self, error: BaseException | None = None) -> None:
        """Say how the run ended and give the lock back; a folder made for nothing is removed."""
        if self.status is not None:
            self.status.end(error)
        self._lock.release()
        if error is not None and self._made and not any(self.path.iterdir()):
            self.path.rmdir()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close(error)


def has_run(path: Path) -> bool:
    """Whether a run was begun in this folder that can be resumed."""
    return (path / CHECKPOINTS / START).exists()


def check_run(path: Path) -> None:
    """Refuse a folder without a run to resume."""
    if not has_run(path):
        what = (
            "there is no run to resume: it holds no checkpoint"
            if path.exists()
            else "there is no such folder"
        )
        raise InputError(f"{path}: {what}; name the folder of blockmix fit -o, or checkpoint= of fit")


def check_every(every: Any) -> float:
    """The seconds between checkpoints as a number, or an error that names it."""
    if isinstance(every, bool) or not isinstance(every, float | int) or not 0 <= every < float("inf"):
        raise InputError(
            f"checkpoint_every must be a number of seconds, or 0 for no checkpoints, not {every!r}"
        )
    return float(every)


@contextmanager
def run_folder(place: str | os.PathLike[str] | RunFolder | None, every: float) -> Iterator[RunFolder | None]:
    """The folder named, opened for as long as the block lasts; one that is open already stays so."""
    if place is None or isinstance(place, RunFolder):
        yield place
        return
    with RunFolder(place, every) as folder:
        yield folder
