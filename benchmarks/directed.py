"""What directions and kinds of nodes add: the popularity model with them, and on the same links without.

    python benchmarks/directed.py                                   # generated networks with known communities
    python benchmarks/directed.py --splits 101,102 --sweeps 150 --only directed

A tenth of the links is held out, with as many pairs without a link (ordered ones, or across kinds). The network is
fitted with its sides, and as an ordinary one: with directions merged, where a pair is held out unless a training link
joins it, or with all nodes of one kind. Printed are means over the splits: AUC of the held-out pairs, against uniform
and against degree-matched ones, and the log loss over that of the density. The probability of a merged link counts
for both directions: it is multiplied by the links a merged link stands for, divided by two. ONMI is that of senders
and of receivers, or of either kind; a node of a merged network has one community for both roles. `seconds` is
processor time of a fit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import blockmix as bm
from blockmix.evaluate import onmi, score
from blockmix.generators import Planted
from blockmix.graph.split import HeldOut, hidden_rows

COMMUNITIES = 8
Cover = list[NDArray[np.int64]]


def networks() -> Iterator[tuple[str, Planted]]:
    """Yield planted networks; half of the nodes of directed ones have the same community in both roles."""
    common = {"degree": 10, "overlap": (1, 1), "mixing": 0.2, "rho": 2.0, "seed": 1}
    for degrees in ("equal", "gamma"):
        made = bm.planted(400, COMMUNITIES, degrees=degrees, directed=True, **common)
        yield f"directed, {degrees} degrees", made
    for second in (400, 80):
        made = bm.planted(400, COMMUNITIES, degrees="gamma", bipartite=True, second_nodes=second, **common)
        yield f"bipartite, 400 and {second}", made


def without_sides(graph: bm.Graph, data: HeldOut) -> tuple[bm.Graph, HeldOut, float]:
    """Return the ordinary network, the same split of it, and how many links one of its links stands for."""
    first = graph.sides.first
    if not graph.directed:
        training = data.training.without_sides()
        split = replace(data, training=training, density=training.density / (1.0 - data.fraction))
        return graph.without_sides(), split, 1.0
    whole, training = (
        bm.Graph.from_edges(part.edges() % first, nodes=np.arange(first)) for part in (graph, data.training)
    )
    pairs = np.sort(data.pairs % first, axis=1)
    left = ~training.has_edges(pairs)
    pairs, place = np.unique(pairs[left], axis=0, return_index=True)
    split = HeldOut(
        training, pairs, data.links[left][place], "balanced", data.fraction, whole.density, 0,
        *hidden_rows(pairs, training),
    )  # fmt: skip
    return whole, split, graph.n_edges / (2.0 * whole.n_edges)


def fitted(graph: bm.Graph, data: HeldOut, seed: int, sweeps: int) -> tuple[bm.Posterior, float]:
    """Fit with this split, and return the processor time."""
    began = time.process_time()
    post = bm.fit(
        graph, COMMUNITIES, model="popularity", held_out=data, seed=seed, sweeps=sweeps, chains=2, threads=1,
        progress=False,
    )  # fmt: skip
    return post, time.process_time() - began


def figures(made: Planted, data: HeldOut, probability: NDArray[np.float64], covers: Cover) -> list[float]:
    """Return both AUCs, the log loss over the density, and the ONMI of both sides."""
    count, first, nodes = data.n_pairs, made.graph.sides.first, made.graph.n_nodes
    found = score(np.clip(probability[:count], 1e-9, 1 - 1e-9), data.links, data.density, probability[count:])
    by_side = []
    for side, size in ((0, first), (1, nodes - first)):
        parts = [
            [part[(part >= first) == bool(side)] - side * first for part in cover]
            for cover in (covers, made.covers)
        ]
        by_side.append(onmi(*parts, size))
    return [found.auc, found.auc_matched, found.log_loss / data.density, *by_side]


def one(made: Planted, seed: int, sweeps: int) -> tuple[list[float], list[float]]:
    """Fit with sides and without; return a row for each."""
    graph, first = made.graph, made.graph.sides.first
    data = bm.hold_out(graph, 0.1, seed=seed)
    post, seconds = fitted(graph, data, seed, sweeps)
    used = figures(made, data, post.node_link_probability(data.scored_pairs), list(post.covers().values()))
    whole, split, share = without_sides(graph, data)
    other, other_seconds = fitted(whole, split, seed, sweeps)
    covers = list(other.covers().values())
    pairs = data.scored_pairs
    if graph.directed:
        covers, pairs = [np.concatenate((part, part + first)) for part in covers], pairs % first
    ignored = figures(made, data, share * other.node_link_probability(pairs), covers)
    return [*used, seconds], [*ignored, other_seconds]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", default="101,102,103", help="seeds of splits and fits")
    parser.add_argument("--sweeps", type=int, default=150)
    parser.add_argument("--only", default="", help="part of the names of the networks to run")
    options = parser.parse_args()
    head = ("sides", "AUC", "matched", "log loss", "ONMI 1st", "ONMI 2nd", "seconds")
    print(f"{'network':28}{head[0]:>11}" + "".join(f"{name:>10}" for name in head[1:]))
    for name, made in networks():
        if options.only not in name:
            continue
        rows = [one(made, int(seed), options.sweeps) for seed in options.splits.split(",")]
        for kind, row in zip(("used", "ignored"), np.mean(rows, axis=0), strict=True):
            print(f"{name:28}{kind:>11}" + "".join(f"{value:10.3f}" for value in row), flush=True)


if __name__ == "__main__":
    main()
