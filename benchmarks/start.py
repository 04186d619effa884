"""How many sweeps the start takes: its time over that of a steady sweep, in one run, and its memory.

    python benchmarks/start.py --threads 2 --nodes 30000 300000 --networks com-DBLP:5000 --json start.json

Generated networks have 30 links a node on average and communities of about 100 nodes, each node in 1 to 3 of them; K is
the planted number. A named network comes from the folder named by BLOCKMIX_DATA, or is downloaded. Kernels are compiled
before anything is timed. The time of the start is that of the partition and of everything until the first sweep; a
sweep is the median of several after the first few. "memory" is what the partition takes at most beside the network,
over the arrays of the network, as the allocator of Python counts it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import tracemalloc
from typing import Any

import numpy as np

import blockmix as bm
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out
from blockmix.model import Model
from blockmix.numerics.philox import stream_key
from blockmix.numerics.workers import Workers, default_threads
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir
from blockmix.samplers.starts.choose import choose_communities
from blockmix.samplers.starts.partition import find_parts

DEGREE, MEMBERS, HELD_OUT = 30, 100, 0.01
# Sweeps before a sweep is timed, so that rows have the length that they keep.
UNTIMED = 12
# Sweeps that a start may take from 10 million links on, and below; and times the network's memory.
MOST_SWEEPS, MOST_SWEEPS_SMALL, LARGE, MOST_MEMORY = 10, 25, 10_000_000, 1.5


def measure(graph: Graph, communities: int, threads: int, sweeps: int, memory: bool) -> dict[str, Any]:
    """Time a start and the sweeps after it."""
    low, high = stream_key(np.uint64(1), 0)
    key = int(low), int(high)
    with Workers(threads) as workers:
        sampler = Scir(hold_out(graph, HELD_OUT, seed=1), Model(communities), ScirOptions(), workers)
        began, used = time.perf_counter(), time.process_time()
        state = sampler.init(key)
        start, start_used = time.perf_counter() - began, time.process_time() - used
        seconds, used_by = [], []
        for number in range(UNTIMED + sweeps):
            began, used = time.perf_counter(), time.process_time()
            sampler.step(state, key, True)
            if number >= UNTIMED:
                seconds.append(time.perf_counter() - began)
                used_by.append(time.process_time() - used)
        sweep = statistics.median(seconds)
        began = time.perf_counter()
        chosen = choose_communities(graph, 1, workers)
        choosing = time.perf_counter() - began
        found = {
            "threads": threads, "start_seconds": start, "sweep_seconds": sweep, "start_in_sweeps": start / sweep,
            "processor_time_in_sweeps": start_used / statistics.median(used_by),
            "choosing_seconds": choosing, "chosen": chosen,
        }  # fmt: skip
        if memory:
            found["memory"] = extra_memory(graph, communities, workers)
    return found


def extra_memory(graph: Graph, communities: int, workers: Workers) -> float:
    """Return what finding the parts takes at most, over the arrays of the network."""
    tracemalloc.start()
    find_parts(graph, communities, np.random.default_rng(1), workers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak / (graph.offsets.nbytes + graph.neighbors.nbytes))


def show(name: str, graph: Graph, communities: int, row: dict[str, Any]) -> None:
    """Print one measurement."""
    most = MOST_SWEEPS if graph.n_edges >= LARGE else MOST_SWEEPS_SMALL
    memory = f", memory {row['memory']:.2f} x (goal {MOST_MEMORY})" if "memory" in row else ""
    print(
        f"{name}: {graph.n_nodes:,} nodes, {graph.n_edges:,} links, K={communities}, {row['threads']} threads: start "
        f"{row['start_seconds']:.2f} s, sweep {row['sweep_seconds']:.4f} s, {row['start_in_sweeps']:.1f} sweeps (goal "
        f"{most}; by processor time {row['processor_time_in_sweeps']:.1f}){memory}; K=auto {row['chosen']} in "
        f"{row['choosing_seconds']:.2f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="*", default=[30_000, 300_000], help="generated networks")
    parser.add_argument("--networks", nargs="*", default=[], metavar="NAME:K", help="known networks")
    parser.add_argument("--threads", type=int, nargs="*", default=[default_threads()])
    parser.add_argument("--sweeps", type=int, default=5, help="sweeps to take the median of")
    parser.add_argument("--memory", action="store_true", help="measure memory too, by one more start")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    warm = bm.planted(2000, 20, seed=1).graph
    measure(warm, 20, max(options.threads), 1, False)
    rows = []
    jobs = [(f"planted {nodes}", nodes, max(nodes // MEMBERS, 2)) for nodes in options.nodes]
    jobs += [(name, 0, int(k)) for name, k in (text.split(":") for text in options.networks)]
    for name, nodes, k in jobs:
        graph = bm.planted(nodes, k, degree=DEGREE, seed=1).graph if nodes else bm.load_dataset(name)
        for threads in options.threads:
            row = measure(graph, k, threads, options.sweeps, options.memory)
            show(name, graph, k, row)
            rows.append(
                {"network": name, "nodes": graph.n_nodes, "links": graph.n_edges, "communities": k} | row
            )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
