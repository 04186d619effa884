"""Statistics of the links of some nodes, for the network observed and for those drawn from the posterior (M17).

Degrees and clustering are means over nodes drawn at random, all of them in networks of up to `NODES`; the largest
degree is that of these and of the nodes with the most links, because a random few would miss them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.posterior.predictive.replicate import Ego

# Nodes drawn at random, nodes with the most links, and pairs of neighbours looked at in all.
NODES, HUBS, NEIGHBOR_PAIRS = 2000, 200, 10_000
NAMES = ("average degree", "spread of degrees", "largest degree", "nodes without links", "clustering")

Pairs = NDArray[np.int64]


class Chosen(NamedTuple):
    """Nodes whose links are looked at, in increasing order, and which of them were drawn at random."""

    nodes: NDArray[np.int64]
    random: NDArray[np.bool_]


def choose_nodes(graph: Graph, rng: np.random.Generator) -> Chosen:
    """Draw nodes at random and add those with the most links."""
    drawn = rng.choice(graph.n_nodes, min(NODES, graph.n_nodes), replace=False)
    hubs = np.argsort(-graph.degrees, kind="stable")[:HUBS]
    nodes = np.union1d(drawn, hubs).astype(np.int64)
    return Chosen(nodes, np.isin(nodes, drawn))


def statistics(
    ego: Ego, chosen: Chosen, linked: Callable[[Pairs], NDArray[np.bool_]], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the statistics in the order of `NAMES`; `linked` tells which pairs a < b of neighbours are links.

    Clustering is the mean, over nodes with two links or more, of the share of pairs of neighbours that are linked. It
    is estimated from pairs drawn at random, as many for each node. NaN where no node has two links.
    """
    owner = np.searchsorted(chosen.nodes, ego.owner)
    degrees = np.bincount(owner, minlength=len(chosen.nodes))
    some = degrees[chosen.random]
    return np.array(
        [
            some.mean(), some.std(), degrees.max(), (some == 0).mean(),
            _clustering(ego, owner, degrees * chosen.random, linked, rng),
        ]
    )  # fmt: skip


def _clustering(
    ego: Ego,
    owner: NDArray[np.int64],
    degrees: NDArray[np.int64],
    linked: Callable[[Pairs], NDArray[np.bool_]],
    rng: np.random.Generator,
) -> float:
    """Draw pairs of neighbours of each node with two links or more, and return the share that is linked."""
    order = np.argsort(owner, kind="stable")
    begins = np.searchsorted(owner[order], np.arange(len(degrees)))
    centres = np.flatnonzero(degrees >= 2)
    if not len(centres):
        return float("nan")
    each = -(-NEIGHBOR_PAIRS // len(centres))
    size = degrees[centres][:, None]
    first = rng.integers(0, size, (len(centres), each))
    second = rng.integers(0, size - 1, (len(centres), each))
    second += second >= first
    place = begins[centres][:, None]
    ends = np.stack((ego.other[order[place + first]], ego.other[order[place + second]]), axis=-1)
    return float(linked(np.sort(ends.reshape(-1, 2), axis=1)).mean())
