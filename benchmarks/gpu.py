"""The default sampler on one GPU: sweeps of planted networks, com-DBLP beside the CPU, and what the memory can do.

    python benchmarks/gpu.py [--nodes 1000000 10000000] [--communities 10000] [--dblp edges.txt.gz] [--threads 2]

Prints JSON. Every network is planted in groups of a hundred: 70% of the links are within a group, others anywhere, 27
links a node are drawn. A sweep is a whole one: all links twice, births, test, strengths, concentration; the median of
several, after a warm-up from the planted groups. The ceilings are a copy, and a gather of rows of 128 bytes in random
order, of the same GPU in the same run.
"""

import argparse
import json
import statistics
import time

import cupy
import numpy as np

import blockmix as bm
from blockmix.engines.cuda import CudaEngine
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.cuda.memory import needed_bytes
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir
from blockmix.tables.layout import Strengths, empty_rows

KEY = (5, 6)
GROUP, LINKS_A_NODE, INSIDE = 100, 27, 0.7
WARM_UP, SWEEPS = 5, 7

GATHER = r"""
extern "C" __global__ void gather(const int4 *rows, const int *order, long long count, int *out) {
    long long at = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    long long step = gridDim.x * (long long)blockDim.x / 8;
    int sum = 0;
    for (; at < count; at += step) {
        int4 part = rows[order[at] * 8ll + lane];
        sum += part.x ^ part.y ^ part.z ^ part.w;
    }
    if (sum == 123456789) *out = sum;
}
"""


def seconds_of(work, times: int = 5) -> float:
    """The least time of a few runs of work on the GPU."""
    found = []
    for _ in range(times):
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        found.append(time.perf_counter() - began)
    return min(found)


def ceilings() -> dict:
    """Bytes a second of a copy, and rows of 128 bytes a second in random order, of 2**26 rows."""
    rows = 2**26
    table = cupy.zeros((rows, 32), dtype=cupy.int32)
    other = cupy.empty_like(table)
    order = cupy.random.randint(0, rows, rows, dtype=cupy.int32)
    kernel, out = cupy.RawKernel(GATHER, "gather"), cupy.zeros(1, dtype=cupy.int32)
    copy = seconds_of(lambda: cupy.copyto(other, table))
    gather = seconds_of(lambda: kernel((132 * 16,), (256,), (table, order, np.int64(rows), out)))
    return {"copy_bytes_a_second": 2 * table.nbytes / copy, "gathered_rows_a_second": rows / gather}


def planted(nodes: int, seed: int = 1) -> Graph:
    """A network whose node a is in group a // GROUP."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, nodes, LINKS_A_NODE * nodes, dtype=np.int32)
    near = first // GROUP * GROUP + rng.integers(0, GROUP, len(first), dtype=np.int32)
    anywhere = rng.integers(0, nodes, len(first), dtype=np.int32)
    second = np.where(
        rng.random(len(first), dtype=np.float32) < INSIDE, np.minimum(near, nodes - 1), anywhere
    )
    ends = np.stack([first, second], axis=1)
    return Graph.from_edges(ends[first != second], nodes=range(nodes))


def groups_state(sampler: Scir, graph: Graph, communities: int):
    """The state in which every node is in its group."""
    rows = empty_rows(graph.n_nodes, sampler.slots)
    rows.words[:, 0] = np.arange(graph.n_nodes) // GROUP % communities
    rows.weights[:, 1] = 1.0
    rows.total[:] = graph.degrees + 0.3
    value = np.full(communities + 1, 0.5)
    value[-1] = 1.0 / graph.n_nodes
    return sampler.start_at(rows, Strengths(value, np.full_like(value, 100.0), np.full_like(value, 100.0)))


def sweep_seconds(sampler: Scir, state, warm_up: int = WARM_UP, sweeps: int = SWEEPS) -> float:
    """The median time of a sweep; its measures are read, so that it has ended."""
    for _ in range(warm_up):
        sampler.step(state, KEY, True)
    found = []
    for _ in range(sweeps):
        began = time.perf_counter()
        sampler.step(state, KEY, False)
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def sweeps_at(nodes: int, communities: int, workers: Workers) -> dict:
    """Sweeps of one planted network."""
    graph = planted(nodes)
    sampler = Scir(no_hold_out(graph), Model(communities), ScirOptions(), workers, CudaEngine(workers))
    seconds = sweep_seconds(sampler, groups_state(sampler, graph, communities))
    ends = 2 * graph.n_edges
    return {
        "nodes": nodes, "links": graph.n_edges, "communities": communities, "seconds_a_sweep": seconds,
        "node_updates_a_second": nodes / seconds, "link_ends_a_second": ends / seconds,
        "indicators_a_second": 2 * ends / seconds,
        "estimated_bytes_a_node": needed_bytes(sampler.problem, sampler.slots) / nodes,
    }  # fmt: skip


def beside_the_cpu(path: str, threads: int) -> dict:
    """com-DBLP with 5,000 communities on both devices, from the same start."""
    data, model, options = hold_out(bm.read_graph(path), 0.05, seed=1), Model(5000), ScirOptions()
    with Workers(threads) as workers:
        here = Scir(data, model, options, workers)
        there = Scir(data, model, options, workers, CudaEngine(workers))
        start = here.arrays(here.init(KEY))
        cpu = sweep_seconds(here, here.restore(start), 2, 3)
        gpu = sweep_seconds(there, there.restore(start))
    return {
        "cpu_threads": threads,
        "cpu_seconds_a_sweep": cpu,
        "gpu_seconds_a_sweep": gpu,
        "ratio": cpu / gpu,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--communities", type=int, nargs="*", default=[10_000])
    parser.add_argument("--dblp", help="the links of com-DBLP; left out without it")
    parser.add_argument("--threads", type=int, default=2, help="of the CPU that com-DBLP is compared with")
    asked = parser.parse_args()
    with Workers() as workers:
        found = {"gpu": CudaEngine(workers).device.name, "ceilings": ceilings()}
        cupy.get_default_memory_pool().free_all_blocks()
        found["sweeps"] = [sweeps_at(n, k, workers) for n in asked.nodes for k in asked.communities]
    if asked.dblp:
        found["com-DBLP"] = beside_the_cpu(asked.dblp, asked.threads)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
