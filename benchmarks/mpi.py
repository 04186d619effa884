"""Ranks of one machine: seconds a sweep, share of them in exchange, bytes sent and peak memory, for 1, 2, 4, ... ranks.

    mpiexec -n 16 python benchmarks/mpi.py [--nodes 3000000] [--links 45000000] [--ranks 16 4 1] [--json FILE]

One start serves all numbers of ranks: each is a communicator of its own, and the ranks left over sleep. Each rank has
one thread; the last line is one process with as many threads. Chains start at the planted communities, so that no time
goes to the search for a start. With Open MPI add --bind-to none: the threads of the last line need all processors.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import blockmix as bm
from blockmix.engines.host import CpuEngine
from blockmix.engines.mpi import MpiComm
from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.live import HostChain
from blockmix.samplers.ranks.divided import Divided, take_over
from blockmix.samplers.ranks.job import run_on_ranks, team
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir
from blockmix.samplers.starts.memberships import start_rows, start_strengths

KEY = (1, 2)
COMMUNITY_SIZE = 100


def network(nodes: int, links: int):
    """Draw nodes in disjoint communities, two thirds of whose links are inside; their numbers are shuffled."""
    rng, groups = np.random.default_rng(0), max(nodes // COMMUNITY_SIZE, 1)
    home, inside = rng.integers(0, groups, nodes), 2 * links // 3
    order = np.argsort(home, kind="stable")
    begin = np.searchsorted(home[order], np.arange(groups + 1))
    first = rng.integers(0, nodes, links)
    second = rng.integers(0, nodes, links)
    group = home[first[:inside]]
    size = begin[group + 1] - begin[group]
    second[:inside] = order[begin[group] + (rng.random(inside) * size).astype(np.int64)]
    apart = first != second
    graph = bm.Graph.from_edges(np.column_stack((first[apart], second[apart])), nodes=range(nodes))
    return graph, home, groups


def started(graph, home, groups, workers):
    """A chain on this process that starts at the planted communities."""
    data = no_hold_out(graph)
    sampler = Scir(data, Model(groups), ScirOptions(exact=False), workers, CpuEngine(workers))
    rows = start_rows(graph, home, sampler.model, sampler.slots, np.random.default_rng(0))
    state = sampler.start_at(rows, start_strengths(graph, home, sampler.model))
    return data, HostChain(sampler, state, KEY, data.scored_pairs)


def measured(chain, sweeps: int) -> float:
    """Seconds a sweep, after one that is not counted."""
    chain.advance(True, 1)
    began = time.perf_counter()
    for sweep in range(sweeps):
        chain.advance(True, sweep + 2)
    return (time.perf_counter() - began) / sweeps


def traffic(work: Divided):
    """What each rank sent and waited since the last call, and the most memory that it ever had."""
    comm = work.comm
    found = comm.sent, comm.waited, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    comm.sent, comm.waited = 0, 0.0
    found += (len(work.sampler.problem.shard.names) - work.sampler.nodes, work.sampler.nodes)
    return comm.gather(found)


Divided.traffic = traffic  # an order like the others


def on_ranks(problem, sweeps: int) -> dict:
    """What this number of ranks does with the chain."""
    lead, began = team(), time.perf_counter()
    with Workers(1) as one:
        data, chain = started(*problem, one)
        chains = [chain]
        del chain
        (divided,) = take_over(lead, chains, data, 1)
    chains.clear()
    setup = time.perf_counter() - began
    divided.advance(True, 1)
    lead.order("traffic")
    seconds = measured(divided, sweeps)
    ranks = np.array(lead.order("traffic"))
    sent, waited, memory, ghosts, own = ranks.T
    return {
        "ranks": len(ranks), "seconds": seconds, "setup": setup,
        "MB_sent_a_sweep": float(sent.sum() / (sweeps + 1) / 1e6),
        "waiting": float(waited.mean() / (sweeps + 1) / seconds),
        "GiB_a_rank": [round(float(x), 2) for x in (memory[0], memory[1:].max(initial=0))],
        "ghosts_a_node": float(ghosts.sum() / own.sum()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=3_000_000)
    parser.add_argument("--links", type=int, default=45_000_000)
    parser.add_argument("--sweeps", type=int, default=2)
    parser.add_argument("--ranks", type=int, nargs="+", help="numbers of ranks; by default all powers of two")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    everybody, world, found = MpiComm(), MPI.COMM_WORLD, []
    problem = network(options.nodes, options.links) if world.rank == 0 else None
    counts = options.ranks or [2**i for i in range(20)]
    everybody.decide(None)
    for ranks in sorted((count for count in counts if count <= world.size), reverse=True):
        group = world.Split(int(world.rank < ranks))

        def run() -> None:
            found.append(on_ranks(problem, options.sweeps))
            print(json.dumps(found[-1]), flush=True)

        if world.rank < ranks:
            run_on_ranks(run, MpiComm(group))
        everybody.decide(None)
    if world.rank == 0:
        with Workers(world.size) as workers:
            _, chain = started(*problem, workers)
            found.append({"threads": world.size, "seconds": measured(chain, options.sweeps)})
        print(json.dumps(found[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))
    everybody.decide(None)


if __name__ == "__main__":
    main()
