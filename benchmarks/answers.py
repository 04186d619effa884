"""How long answers about a result take, on a planted network with many nodes.

    python benchmarks/answers.py [--nodes 1000000] [--communities 1000] [--degree 10] [--sweeps 12]

The network is made and fitted first, for a few sweeps only: an answer takes as long on a poor fit. Each question is
asked twice, and the second time counts, so that nothing is compiled or imported.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import blockmix as bm


def questions(post: bm.Posterior, other: bm.Posterior) -> dict[str, Callable[[], Any]]:
    node = post.graph.labels[5]
    rng = np.random.default_rng(1)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, post.graph.n_nodes, (1000, 2)) if a != b]
    links = [tuple(link) for link in post.graph.edges()[:1000].tolist()]
    return {
        "node": lambda: post.node(node),
        "members, all of a community": lambda: post.members(0),
        "bridges": lambda: post.bridges(),
        "similar_nodes": lambda: post.similar_nodes(node),
        "nodes_in_none": lambda: post.nodes_in_none(),
        "link_intervals, 1,000 pairs": lambda: post.link_intervals(pairs),
        "share_probability, 1,000 pairs": lambda: post.share_probability(pairs),
        "link_communities, 1,000 links": lambda: post.link_communities(links),
        "missing_links of a node": lambda: post.missing_links(node),
        "missing_links of the network": lambda: post.missing_links(),
        "surprising_links": lambda: post.surprising_links(),
        "overlap": lambda: post.overlap(),
        "roles": lambda: post.roles(0),
        "quality": lambda: post.quality(),
        "names": lambda: post.names(),
        "subgraph": lambda: post.subgraph(0),
        "compare": lambda: post.compare(other),
        "transform, 100 new nodes": lambda: post.transform(
            {i: post.graph.neighbors_of(i).tolist() for i in range(100)}
        ),
        "attribute_test, 5 values": lambda: post.attribute_test("group"),
    }


def main() -> None:
    options = argparse.ArgumentParser(description="Measure how long answers take.")
    options.add_argument("--nodes", type=int, default=1_000_000)
    options.add_argument("--communities", type=int, default=1_000)
    options.add_argument("--degree", type=float, default=10.0)
    options.add_argument("--sweeps", type=int, default=12)
    chosen = options.parse_args()
    graph = bm.planted(chosen.nodes, chosen.communities, degree=chosen.degree, overlap=(1, 2), seed=1).graph
    groups = np.random.default_rng(2).integers(0, 5, graph.n_nodes)
    nodes = {"id": np.arange(graph.n_nodes), "group": [f"g{group}" for group in groups.tolist()]}
    settings = {"sweeps": chosen.sweeps, "warm_up": chosen.sweeps // 2, "chains": 1, "progress": False}
    post = bm.fit(graph, chosen.communities, nodes=nodes, seed=1, **settings)
    other = bm.fit(graph, chosen.communities, seed=2, **settings)
    samples = sum(len(chain) for chain in post.draws)
    print(f"{post.graph}, {chosen.communities} communities, {samples} samples; {platform.machine()}, Python "
          f"{platform.python_version()}")  # fmt: skip
    for name, ask in questions(post, other).items():
        ask()
        began = time.perf_counter()
        ask()
        print(f"{name:34} {time.perf_counter() - began:8.3f} s", flush=True)


if __name__ == "__main__":
    main()
