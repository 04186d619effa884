"""From a checked request and a network to a posterior: what a new run and a resumed one have in common."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blockmix.errors import InputError
from blockmix.files import Damaged
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.graph.storage import Saved, saved_at
from blockmix.inference.choices.weights import weights_of
from blockmix.inference.compile import compile_kernels
from blockmix.inference.loop import Run, RunResult
from blockmix.inference.plan import Plan
from blockmix.inference.position import Position
from blockmix.inference.progress import Callback, Progress
from blockmix.inference.request import FitRequest
from blockmix.inference.result import build_posterior
from blockmix.inference.run_folder.checkpoint import chain_arrays, restore_position
from blockmix.inference.run_folder.checkpointer import Checkpointer
from blockmix.inference.run_folder.snapshots import Snapshot
from blockmix.numerics.compiling import announce_compiling
from blockmix.numerics.workers import Workers
from blockmix.posterior.agreement import Agreement
from blockmix.posterior.posterior import Posterior
from blockmix.samplers.contract import ChainKey, Sampler
from blockmix.samplers.live import HostChain, LiveChain, chain_of
from blockmix.samplers.ranks.divided import take_over
from blockmix.samplers.ranks.hosted import host_chains
from blockmix.samplers.ranks.job import team
from blockmix.samplers.ranks.team import Team

# On networks of at most so many links each of several chains runs on a thread, or on a rank, of its own.
SIDE_BY_SIDE = 150_000

log = logging.getLogger("blockmix")


@dataclass(frozen=True)
class RunContext:
    """What surrounds a run: its display, the user's callback, its start on the clock, its checkpoints.

    `clock` is what the seconds of the run and its time limit are read from; `began` is read from the wall clock.
    `spent` are seconds of the run that were spent before, on the choice of the link model.
    """

    display: Progress
    callback: Callback | None
    began: float
    checkpointer: Checkpointer | None = None
    clock: Callable[[], float] = time.perf_counter
    spent: float = 0.0


def execute(
    request: FitRequest,
    graph: Graph,
    data: HeldOut,
    plan: Plan,
    context: RunContext,
    newest: Snapshot | None = None,
    given: Any = None,
) -> Posterior:
    """Run a request to its end, from its start, from memberships `given`, or from a checkpoint."""
    ranks = team()
    with Workers(request.threads or (None if ranks is None else ranks.comm.threads)) as workers:
        log.info("%r, %d held-out pairs; %s", graph, data.n_pairs, request.prior)
        log.info("%s; %s; %d threads", request.options, plan.limits(), workers.threads)
        samplers = make_samplers(request, data, workers)
        with announce_compiling(context.display.waiting):
            compile_kernels(samplers[0], request)
        began = context.clock() - context.spent
        if newest is None:
            context.display.waiting("finding a start")
        started = _chains(samplers, request, data, newest, given)
        chains: list[LiveChain] = list(started)
        side_by_side = workers if samplers[0] is not samplers[-1] else None
        if ranks is not None:
            chains, side_by_side = share_chains(started, data, request, ranks, saved_at(graph)), None
            context.display.waiting(ranks.describe(request.threads))
        context.display.waiting(_what_comes(newest))
        run = Run(
            chains, data, plan, context.display, context.callback, context.checkpointer, side_by_side,
            agreement=Agreement(graph, data, request.prior.communities), clock=context.clock,
        )  # fmt: skip
        result = _run_from(run, newest, began)
    checkpointer = context.checkpointer
    seconds = time.perf_counter() - context.began
    facts: dict[str, Any] = {"run": None, "resumed": 0}
    if ranks is not None:
        facts["ranks"] = ranks.comm.size
    if checkpointer is not None:
        checkpointer.finished(result.interrupted)
        seconds += checkpointer.earlier
        facts |= {"run": checkpointer.run, "resumed": checkpointer.resumed}
    post = build_posterior(graph, data, request, result, seconds, workers.threads)
    post.provenance.update(facts)
    return post


def _what_comes(newest: Snapshot | None) -> str:
    """Say what a run does after its start, or after its last checkpoint was read."""
    if newest is None:
        return "making the first sweep"
    ended = "this run had ended: making its result from the checkpoint"
    return ended if newest.facts["over"] else "going on from the checkpoint"


def _run_from(run: Run, newest: Snapshot | None, began: float) -> RunResult:
    """Make the sweeps of a new run, whose clock started at `began`, or the rest of one from its checkpoint."""
    if newest is not None:
        position = restore_position(newest)
        return run.execute(position, run.clock() - position.seconds)
    position = Position()
    if run.checkpointer is not None:
        run.checkpointer.save(run.chains, position, run.plan)
    return run.execute(position, began)


def make_samplers(request: FitRequest, data: HeldOut, workers: Workers) -> list[Sampler]:
    """Return a sampler for each chain.

    On a small network each chain has its own: chains side by side do not wait for each other. On a large one all share
    a single sampler, which gives all threads to one chain after the other.
    """
    chains = request.chains or 1
    if chains > 1 and data.training.n_edges <= SIDE_BY_SIDE:
        return [request.make_sampler(data, Workers(1)) for _ in range(chains)]
    return [request.make_sampler(data, workers)] * chains


def _chains(
    samplers: list[Sampler], request: FitRequest, data: HeldOut, newest: Snapshot | None, given: Any
) -> list[HostChain]:
    """Start the chains, or restore them from a checkpoint."""
    found: list[HostChain] = []
    more = weights_of(request, data)
    for number, sampler in enumerate(samplers):
        key = request.chain_key(number)
        if newest is None:
            found.append(chain_of(sampler).start(sampler, key, data.scored_pairs, given, **more))
        else:
            found.append(_restored(sampler, key, data, newest, number, more))
    return found


def _restored(
    sampler: Sampler, key: ChainKey, data: HeldOut, newest: Snapshot, number: int, more: dict[str, Any]
) -> HostChain:
    """Restore a chain from a checkpoint; one that no run wrote is an error that names it."""
    try:
        pairs, arrays = data.scored_pairs, chain_arrays(newest, number)
        return chain_of(sampler).restore(sampler, key, pairs, arrays, **more)
    except Damaged as damage:
        raise InputError(
            f"{newest.path}: chain {number} cannot be restored ({damage}); restore the folder from a copy, or fit again"
        ) from None


def share_chains(
    chains: Sequence[HostChain], data: HeldOut, request: FitRequest, ranks: Team, saved: Saved | None
) -> list[LiveChain]:
    """Share out chains that were started or restored here among the ranks; `saved` is where the network is saved.

    Where there are at least as many chains as ranks, and the network is small, whole chains are spread: they need not
    wait for each other. Else their nodes are divided, where the sampler can do that.
    """
    if request.device != "cpu":
        raise InputError(
            f"ranks of an MPI job compute on the CPU, not with device={request.device!r}: give --device cpu, or leave "
            "out mpiexec"
        )
    if request.prior.weights is not None:
        raise InputError(
            "weights of links are used by the threads of one process, not by ranks: leave out mpiexec or the weights"
        )
    divisible = getattr(chains[0].sampler, "divisible", False)
    spread = 1 < len(chains) >= ranks.comm.size and data.training.n_edges <= SIDE_BY_SIDE
    if divisible and not spread:
        return list(take_over(ranks, chains, data, request.threads, saved))
    if len(chains) > 1:
        return list(host_chains(ranks, chains, data, Maker(request), request.threads))
    raise InputError(
        f"one chain of this run cannot be divided among {ranks.comm.size} ranks: the nodes of a small network, and of "
        "samplers other than scir, are not updated in parts; give several chains, which ranks share out "
        f"(--chains {ranks.comm.size}), or leave out mpiexec"
    )


class Maker:
    """Makes the sampler of a request, on any rank."""

    def __init__(self, request: FitRequest) -> None:
        # What may be large or belong to rank 0 alone is left behind.
        self.request = replace(request, init=None, held_out=None, checkpoint=None, checkpoint_every=None)

    def __call__(self, data: HeldOut, workers: Workers) -> Sampler:
        """Make the sampler."""
        return self.request.make_sampler(data, workers)
