"""`resume`: go on with a run that was stopped, from its last checkpoint, to the bits of one that never was."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

from blockmix._version import __version__
from blockmix.errors import InputError
from blockmix.files import Damaged
from blockmix.inference.choices.sides import for_sides
from blockmix.inference.choices.weights import for_weights
from blockmix.inference.execute import RunContext, execute
from blockmix.inference.interrupt import terminable
from blockmix.inference.plan import Plan
from blockmix.inference.progress import Callback, choose_progress
from blockmix.inference.request import FitRequest
from blockmix.inference.run_folder.checks import check_checkpoint
from blockmix.inference.run_folder.folder import RunFolder, check_run, open_folder
from blockmix.inference.run_folder.snapshots import Snapshot
from blockmix.posterior.posterior import Posterior


def resume(
    folder: str | os.PathLike[str] | RunFolder,
    *,
    sweeps: int | None = None,
    time_limit: float | None = None,
    checkpoint_every: float | None = None,
    threads: int | None = None,
    device: str | None = None,
    progress: bool | None = None,
    callback: Callback | None = None,
) -> Posterior:
    """Go on with a run that was stopped, killed or interrupted, from its last checkpoint.

    Where it was stopped before its first checkpoint it begins again with the same settings, network and split.
    The result has the same bits as that of a run that was never stopped, on any number of threads; only where a
    time limit ends it does the clock decide. A run that had come to its end is not continued unless it is given
    more sweeps or more time: its posterior comes back as it was.

    Arguments:
        folder: the folder of the run, `checkpoint` of `fit` or `-o` of `blockmix fit`.
        sweeps: stop after this many sweeps, those already made included.
        time_limit: stop after this many seconds of sampling, those already spent included. Either takes the
            place of all limits that the run had.
        checkpoint_every: seconds between checkpoints, 60 by default; 0 writes none.
        device: where to compute from here on, as for `fit`; by default as the run was begun. On another device the
            chain goes on from the same state, and rounding makes it another chain of the same law.
        threads, progress, callback: as for `fit`.

    >>> import tempfile, blockmix as bm
    >>> ring = bm.Graph.from_edges([(a, (a + 1) % 30) for a in range(30)])
    >>> with tempfile.TemporaryDirectory() as run:
    ...     short = bm.fit(ring, 2, sweeps=20, warm_up=10, chains=1, checkpoint=run)
    ...     longer = resume(run, sweeps=40)
    >>> short.provenance["samples"], longer.provenance["samples"]
    (10, 30)
    """
    began = time.perf_counter()
    if not isinstance(folder, RunFolder):
        check_run(Path(folder))
    with terminable(checkpoint_every != 0), open_folder(folder) as place:
        assert place is not None
        start, newest = place.earlier_run()
        facts = start.facts if newest is None else _checked_facts(start, newest)
        limits = _resumed_limits(facts, sweeps, time_limit)
        watched = limits.pop("watched")
        others: dict[str, Any] = {
            "threads": threads,
            "checkpoint": place,
            "checkpoint_every": checkpoint_every,
        }
        if device is not None:
            others |= {"device": device, "device_chosen": ""}
        request = _request(start, others | limits)
        _compare_versions(start)
        graph, data = place.networks(start)
        request = for_weights(for_sides(request.on_device(graph), graph), graph)
        plan = request.plan(graph, watched)
        if newest is not None:
            plan.remember(newest.arrays["plan"])
        if watched != (data.n_pairs > 0):
            raise InputError(f"{place.path}: the plan of this run is not that of its split; fit again")
        if newest is not None:
            place.ended = newest.facts["over"] = ended(newest, plan)
        display = choose_progress(progress)
        try:
            checkpointer = place.continue_run(graph, request, plan, start, newest)
            context = RunContext(display, callback, began, checkpointer)
            return execute(request, graph, data, plan, context, newest)
        finally:
            display.close()


def _checked_facts(start: Snapshot, newest: Snapshot) -> dict[str, Any]:
    """Return how far the run had come; a checkpoint that no run of these settings wrote is refused."""
    task = start.facts["task"]
    try:
        check_checkpoint(newest, task["chains"], task["model"].get("communities"))
    except Damaged as damage:
        raise InputError(f"{newest.path}: {damage}; restore the folder from a copy, or fit again") from None
    return newest.facts


def _request(start: Snapshot, others: dict[str, Any]) -> FitRequest:
    """Return the request of the run, with other limits; settings that are none are an error that names the file."""
    try:
        return FitRequest.from_manifest(start.facts["task"], **others)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{start.path}: the settings of the run cannot be read ({error}); restore the folder from a copy, "
            "or fit again"
        ) from None


def _resumed_limits(facts: dict[str, Any], sweeps: int | None, time_limit: float | None) -> dict[str, Any]:
    """Return the limits of the run as they were, or new ones in their place.

    `facts` are those of the last checkpoint, or of the start of a run that has none.
    """
    limits: dict[str, Any] = dict(facts["plan"])
    if sweeps is not None or time_limit is not None:
        _refuse_past("sweeps", sweeps, facts.get("sweep", 0))
        _refuse_past("time_limit", time_limit, facts.get("seconds", 0.0))
        limits |= {"sweeps": sweeps, "time_limit": time_limit}
        if not facts.get("warm_up", True):
            # The warm-up is over whatever was asked for.
            limits["warm_up"] = None
    return limits


def _refuse_past(name: str, asked: Any, done: float) -> None:
    if isinstance(asked, int | float) and asked <= done:
        raise InputError(
            f"{name} is {asked:g}, and this run has {done:,.6g} behind it already; give more than that"
        )


def ended(newest: Snapshot, plan: Plan) -> bool:
    """Return whether the run has nothing left to do: it had come to its end, and was given no new limits."""
    return bool(newest.facts["over"]) and plan.limits() == newest.facts["plan"]


def _compare_versions(start: Snapshot) -> None:
    wrote = start.facts["blockmix"]
    if wrote != __version__:
        warnings.warn(
            f"this run was begun with blockmix {wrote:.40}, and goes on with {__version__}: its result can differ "
            "from that of a run that was never stopped",
            RuntimeWarning,
            stacklevel=3,
        )
