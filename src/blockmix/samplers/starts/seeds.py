"""A random start that uses the links: every node in the part of the nearest of K random nodes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from blockmix.graph.graph import Graph


def nearest_seeds(graph: Graph, communities: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a part in 0..K-1 for every node: that of the nearest seed, ties broken at random.

    Seeds are K nodes drawn in proportion to their degree. A component of the network that has none of them is
    in a random part as a whole.

    >>> path = Graph.from_edges([(0, 1), (1, 2), (2, 3), (4, 5)])
    >>> parts = nearest_seeds(path, 1, np.random.default_rng(0))
    >>> parts.tolist()
    [0, 0, 0, 0, 0, 0]
    """
    n, ends, others = graph.n_nodes, np.repeat(np.arange(graph.n_nodes), graph.degrees), graph.neighbors
    links = sp.csr_array((np.ones(len(others), dtype=np.int8), (ends, others)), shape=(n, n))
    count, component = connected_components(links, directed=False)
    parts: NDArray[np.int64] = rng.integers(0, communities, count)[component]
    reached = np.zeros(n, dtype=bool)
    if graph.n_edges:
        size = min(communities, int(np.count_nonzero(graph.degrees)))
        seeds = rng.choice(n, size, replace=False, p=graph.degrees / graph.degrees.sum())
        parts[seeds] = np.arange(size)
        reached[seeds] = True
    while True:
        # of several writes to one node the last stays, so that a random order breaks the tie
        front = rng.permutation(np.flatnonzero(reached[ends] & ~reached[others]))
        if not len(front):
            return parts
        parts[others[front]] = parts[ends[front]]
        reached[others[front]] = True
