"""From a task and a network to a posterior: what a new run and a resumed one have in common."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.inference.loop import Run
from blockmix.inference.plan import Plan
from blockmix.inference.progress import Callback, Progress
from blockmix.inference.result import build_posterior
from blockmix.inference.run_folder.checkpoint import restore_chains, restore_position
from blockmix.inference.run_folder.keeper import KeptRun
from blockmix.inference.run_folder.snapshots import Snapshot
from blockmix.inference.task import Task
from blockmix.numerics.workers import Workers
from blockmix.posterior.posterior import Posterior

log = logging.getLogger("blockmix")


@dataclass(frozen=True)
class Surroundings:
    """Where a run takes place: threads, who is shown its progress, since when it is under way on the clock."""

    threads: int | None
    display: Progress
    callback: Callback | None
    began: float


def conduct(
    graph: Graph,
    data: HeldOut,
    task: Task,
    plan: Plan,
    around: Surroundings,
    kept: KeptRun | None = None,
    newest: Snapshot | None = None,
    given: Any = None,
) -> Posterior:
    """Run a task, from its start (its own, or memberships `given`) or from a checkpoint, to its end."""
    with Workers(around.threads) as workers:
        log.info("%r, %d held-out pairs; %s", graph, data.n_pairs, task.model)
        log.info("%s; %s; %d threads", task.options, plan.limits(), workers.threads)
        samplers = task.samplers(data, workers)
        run = Run(samplers, workers, data, plan, task.seed, around.display, around.callback, kept, given)
        if newest is None:
            result = run.execute()
        else:
            chains = restore_chains(newest, samplers, task.seed, data.n_pairs)
            result = run.go_on(chains, restore_position(newest))
    seconds = time.perf_counter() - around.began
    facts: dict[str, Any] = {"run": None, "resumed": 0}
    if kept is not None:
        kept.finished(result.interrupted)
        seconds += kept.earlier
        facts = {"run": kept.run, "resumed": kept.resumed}
    post = build_posterior(graph, data, task, result, seconds, workers.threads)
    post.provenance.update(facts)
    return post
