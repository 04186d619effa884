"""How long answers about a result take, on a planted network with many nodes.

    python benchmarks/answers.py [--nodes 1000000] [--communities 1000] [--degree 10] [--only overlap,compare]

The posterior is made from the planted communities, without a fit: every node has its true communities and some others
with small memberships, as a fit gives them, and eight posterior samples around these. Each question is asked twice, and
the second time counts, so that nothing is compiled or imported; what a posterior keeps for later questions is thrown
away before. Seconds of processor time are given too: on a shared machine they say more.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockmix as bm
from blockmix.posterior.posterior import Posterior
from blockmix.tables.samples import PosteriorSample

SAMPLES = 8
# Other communities that a node may be in, with small memberships, and the scale of these.
OTHERS, SMALL = 2, 0.08


def _entries(made: Any, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return node, community and mean membership of every entry: the planted ones and some small ones."""
    nodes, communities = made.graph.n_nodes, len(made.covers)
    true_nodes = np.concatenate(made.covers)
    true_numbers = np.repeat(np.arange(communities), [len(cover) for cover in made.covers])
    other_nodes = np.repeat(np.arange(nodes), OTHERS)
    other_numbers = rng.integers(0, communities, len(other_nodes))
    weight = np.concatenate(
        (rng.gamma(8.0, 1.0 / 8.0, len(true_nodes)), rng.uniform(0.01, SMALL, len(other_nodes)))
    )
    node, number = np.concatenate((true_nodes, other_nodes)), np.concatenate((true_numbers, other_numbers))
    _, first = np.unique(node * communities + number, return_index=True)
    node, number, weight = node[first], number[first], weight[first]
    return node, number, weight / np.bincount(node, weight, nodes)[node]


def made_posterior(made: Any, graph: bm.Graph, seed: int) -> Posterior:
    """Return a posterior whose memberships are those of the planted network, with noise."""
    rng = np.random.default_rng(seed)
    nodes, communities = graph.n_nodes, len(made.covers)
    node, number, mean = _entries(made, rng)
    order = np.lexsort((-mean, node))
    node, number, mean = node[order], number[order], mean[order]
    counts = np.bincount(node, minlength=nodes)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    sizes = np.bincount(number, mean, communities)
    strength = np.full(communities, 0.5 * graph.n_edges * 2 / np.square(sizes).sum())
    background = 0.1 * graph.density
    samples, values = [], []
    for sweep in range(SAMPLES):
        drawn = np.maximum(mean * rng.gamma(10.0, 0.1, len(mean)), 1e-4)
        drawn /= np.bincount(node, drawn, nodes)[node]
        values.append(drawn.astype(np.float32))
        packed = np.maximum(np.round(drawn * 65535), 1).astype(np.uint16)
        strengths = np.append(strength * rng.gamma(100.0, 0.01, communities), background).astype(np.float32)
        samples.append(
            PosteriorSample(sweep, counts.astype(np.uint8), number.astype(np.uint16), packed, strengths)
        )
    return Posterior(
        graph=graph, offsets=offsets, community=number.astype(np.int32), mean=mean.astype(np.float32),
        sd=np.std(values, axis=0), sizes=sizes, strength_mean=strength, strength_sd=0.1 * strength,
        background_mean=background, background_sd=0.1 * background, numbers=np.arange(communities)[None],
        draws=(tuple(samples),), trace={}, held_out=None, provenance={},
    )  # fmt: skip


def questions(post: Posterior, other: Posterior) -> dict[str, Callable[[], Any]]:
    """Return the questions by name."""
    node = post.graph.labels[5]
    rng = np.random.default_rng(1)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, post.graph.n_nodes, (1000, 2)) if a != b]
    links = [tuple(link) for link in post.graph.edges()[:1000].tolist()]
    new = {i: post.graph.neighbors_of(i).tolist() for i in range(200) if post.graph.degrees[i]}
    return {
        "node": lambda: post.node(node),
        "members, all of a community": lambda: post.members(0),
        "communities, with labels": lambda: post.communities(),
        "bridges": lambda: post.bridges(),
        "similar_nodes": lambda: post.similar_nodes(node),
        "nodes_in_none": lambda: post.nodes_in_none(),
        "link_probability, 1,000 pairs": lambda: post.link_probability(pairs),
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
        "names by an attribute": lambda: post.names(by="group"),
        "subgraph": lambda: post.subgraph(0),
        "compare": lambda: post.compare(other),
        f"transform, {len(new)} new nodes": lambda: post.transform(new),
        "attribute_test, 5 values": lambda: post.attribute_test("group"),
        "plot_network": lambda: post.plot_network(),
        "plot_memberships": lambda: post.plot_memberships(),
        "plot_blocks": lambda: post.plot_blocks(),
        "bm.partition": lambda: bm.partition(post.graph),
    }


def forget(post: Posterior) -> None:
    """Throw away what a posterior keeps for later questions, as if it had just been loaded."""
    fields = post.__dataclass_fields__
    for name in [name for name in post.__dict__ if name not in fields]:
        del post.__dict__[name]


def main() -> None:
    """Make the network, ask every question, print the seconds."""
    options = argparse.ArgumentParser(description="Measure how long answers take.")
    options.add_argument("--nodes", type=int, default=1_000_000)
    options.add_argument("--communities", type=int, default=1_000)
    options.add_argument("--degree", type=float, default=10.0)
    options.add_argument(
        "--only", default="", help="words, separated by commas, that the questions asked contain"
    )
    chosen = options.parse_args()
    made = bm.planted(chosen.nodes, chosen.communities, degree=chosen.degree, overlap=(1, 2), seed=1)
    groups = np.random.default_rng(2).integers(0, 5, chosen.nodes)
    nodes = {"id": np.arange(chosen.nodes), "group": [f"g{group}" for group in groups.tolist()]}
    graph = bm.as_graph(made.graph, nodes=nodes)
    post, other = made_posterior(made, graph, 1), made_posterior(made, graph, 2)
    print(f"{post.graph}, {chosen.communities} communities, {SAMPLES} samples; {platform.machine()}, Python "
          f"{platform.python_version()}")  # fmt: skip
    words = [word for word in chosen.only.split(",") if word]
    for name, ask in questions(post, other).items():
        if words and not any(word in name for word in words):
            continue
        times = []
        for _ in range(2):
            forget(post)
            began, busy = time.perf_counter(), time.process_time()
            ask()
            times.append((time.perf_counter() - began, time.process_time() - busy))
        (first, _), (wall, processor) = times
        print(f"{name:34} {wall:8.3f} s, processor {processor:8.3f} s (first {first:.3f})", flush=True)


if __name__ == "__main__":
    main()
