"""graph-tool's degree-corrected blockmodel, for benchmarks/peers.py: run by the Python that graph-tool is installed in.

    /usr/bin/python3 benchmarks/peers_graph_tool.py IN.npz OUT.npz SEED

Distributions install graph-tool (Debian: python3-graph-tool) for the system's Python and not for others, so that it
runs in a process of its own: this file imports nothing but NumPy and graph-tool. IN holds `nodes`, the training
`links` and the `pairs` to predict; OUT gets the group of every node and the probability of every pair. The partition
is the one of least description length after `minimize_blockmodel_dl`; the probability of a pair is that of at least
one link at the plug-in rate M_rs d_a d_b/(d_r d_s), with M_rs the links between both groups (twice those inside one)
and d_r the degrees of a group together.
"""

from __future__ import annotations

import sys

import numpy as np


def groups_of(nodes: int, links: np.ndarray, seed: int) -> np.ndarray:
    """Return the group of every node, 0..B-1."""
    import graph_tool.all as gt

    np.random.seed(seed)  # noqa: NPY002 - what graph-tool does not seed itself
    gt.seed_rng(seed + 1)
    gt.openmp_set_num_threads(1)
    graph = gt.Graph(directed=False)
    graph.add_vertex(nodes)
    graph.add_edge_list(links)
    state = gt.minimize_blockmodel_dl(graph, state_args={"deg_corr": True})
    return np.unique(np.array(state.get_blocks().a), return_inverse=True)[1]


def plug_in(groups: np.ndarray, links: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return 1 - exp(-M_rs d_a d_b/(d_r d_s)) of every pair."""
    count = int(groups.max()) + 1
    degrees = np.bincount(links.ravel(), minlength=len(groups)).astype(np.float64)
    between = np.zeros((count, count))
    np.add.at(between, (groups[links[:, 0]], groups[links[:, 1]]), 1.0)
    between += between.T
    of_group = np.maximum(np.bincount(groups, weights=degrees, minlength=count), 1.0)
    a, b = pairs.T
    r, s = groups[a], groups[b]
    return -np.expm1(-between[r, s] * degrees[a] * degrees[b] / (of_group[r] * of_group[s]))


def main() -> None:
    """Read the network, run, write groups and probabilities."""
    source, target, seed = sys.argv[1:]
    given = np.load(source, allow_pickle=False)
    links = given["links"].astype(np.int64)
    groups = groups_of(int(given["nodes"]), links, int(seed))
    np.savez(target, groups=groups, probability=plug_in(groups, links, given["pairs"]))


if __name__ == "__main__":
    main()
