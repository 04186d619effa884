"""A hard partition of nodes that link to the same others: the start of the general model.

Nodes of a block need not be linked to each other, so that looking for dense parts finds nothing. Nodes of a
block have the same expected row of the adjacency matrix, and its leading eigenvectors separate them, those of
negative eigenvalues included (Sussman, Tang, Fishkind and Priebe 2012).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import vq
from scipy.sparse.linalg import eigsh

from blockmix.graph.graph import Graph

# Up to so many nodes all eigenvectors are found at once; the iteration for a few of them needs more nodes.
SMALL = 64
# Attempts at grouping the rows, and rounds of each; the one with the smallest distances is taken.
ATTEMPTS, ROUNDS = 5, 20


def find_profiles(graph: Graph, communities: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Find a part in 0..K-1 for every node; isolated nodes are spread at random."""
    parts = rng.integers(0, communities, graph.n_nodes)
    linked = np.flatnonzero(graph.degrees > 0)
    if len(linked) > communities > 1:
        parts[linked] = _grouped(embedding(graph, communities, rng)[linked], communities, rng)
    return parts


def embedding(graph: Graph, dimensions: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Compute the eigenvectors of the adjacency matrix with the largest |eigenvalue|, scaled by its square root."""
    adjacency = graph.to_scipy()
    if graph.n_nodes <= max(SMALL, 2 * dimensions):
        values, vectors = np.linalg.eigh(adjacency.toarray())
        leading = np.argsort(-np.abs(values))[:dimensions]
        values, vectors = values[leading], vectors[:, leading]
    else:
        values, vectors = eigsh(adjacency, dimensions, which="LM", v0=rng.uniform(0.5, 1.5, graph.n_nodes))
    return np.asarray(vectors * np.sqrt(np.abs(values)))


def _grouped(rows: NDArray[np.float64], groups: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Group rows by k-means from several starts; a group that loses all its rows stays empty."""
    best, least = np.zeros(len(rows), dtype=np.int64), np.inf
    for _ in range(ATTEMPTS):
        centers = _spread(rows, groups, rng)
        for _ in range(ROUNDS):
            labels, distances = vq(rows, centers)
            sizes = np.bincount(labels, minlength=groups)
            sums = np.zeros_like(centers)
            np.add.at(sums, labels, rows)
            centers[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
        if float(np.sum(distances**2)) < least:
            best, least = labels.astype(np.int64), float(np.sum(distances**2))
    return best


def _spread(rows: NDArray[np.float64], groups: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw rows to start at, each in proportion to its squared distance from those before (k-means++)."""
    centers = np.empty((groups, rows.shape[1]))
    centers[0] = rows[rng.integers(len(rows))]
    squares = np.full(len(rows), np.inf)
    for i in range(1, groups):
        squares = np.minimum(squares, np.sum((rows - centers[i - 1]) ** 2, axis=1))
        total = squares.sum()
        chance = squares / total if total > 0 else np.full(len(rows), 1.0 / len(rows))
        centers[i] = rows[rng.choice(len(rows), p=chance)]
    return centers
