"""Runs on the ranks of an MPI job: rank 0 runs the program, and the others serve it.

Rank 0 alone reads, writes, prints and decides, so that a run leaves the same files whatever it ran on. Signals are its
too: the others leave them to it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace

from blockmix.errors import InputError
from blockmix.graph.split import HeldOut
from blockmix.inference.interrupt import ENDING
from blockmix.inference.request import FitRequest
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Sampler
from blockmix.samplers.live import HostChain, LiveChain
from blockmix.samplers.ranks.divided import take_over
from blockmix.samplers.ranks.hosted import host_chains
from blockmix.samplers.ranks.team import RankComm, Team, serve

# On networks of at most so many links each of several chains runs on a thread, or on a rank, of its own.
SIDE_BY_SIDE = 150_000

# The ranks that this process leads: none, or one team.
_led: list[Team] = []


def run_on_ranks(program: Callable[[], object], comm: RankComm) -> None:
    """Run a program on rank 0, and let the other ranks serve it until it ends, however it ends."""
    if comm.rank:
        _follow(comm)
        return
    team = Team(comm)
    _led[:] = [team]
    status = 1
    try:
        program()
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        raise
    except BaseException:
        # Ending all ranks leaves no time for it later.
        traceback.print_exc()
        raise
    finally:
        if team.under_way:
            # The others wait in the middle of a step that will not be finished.
            comm.abort(status)
        _led.clear()
        team.end()


def _follow(comm: RankComm) -> None:
    """Serve rank 0. What fails here ends all ranks: they would wait for this one."""
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)
    try:
        serve(comm)
    except Exception as error:
        if os.environ.get("BLOCKMIX_DEBUG"):
            traceback.print_exc()
        what = str(error) or type(error).__name__
        print(
            f"blockmix: rank {comm.rank} on {socket.gethostname()} failed, and all others end: {what}",
            file=sys.stderr,
        )
        comm.abort(1)


def team() -> Team | None:
    """Return the ranks that this process leads, if there are any."""
    return _led[0] if _led else None


def share_chains(
    chains: Sequence[HostChain], data: HeldOut, request: FitRequest, ranks: Team
) -> list[LiveChain]:
    """Share out chains that were started or restored here among the ranks.

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
        return list(take_over(ranks, chains, data, request.threads))
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
