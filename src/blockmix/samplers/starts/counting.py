"""Links inside the parts of a partition, and the likelihood that follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from blockmix.graph.graph import Graph
from blockmix.numerics.compile import kernel
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.sharing import share_by_load

Counts = NDArray[np.int64]
Parts = NDArray[np.int32]


@kernel
def count_inside_range(
    begin: int, end: int, offsets: np.ndarray, neighbors: np.ndarray, parts: np.ndarray, found: np.ndarray
) -> None:
    """Set found[a] to the number of neighbours of node a that are in its part."""
    for a in range(begin, end):
        count, part = 0, parts[a]
        for i in range(offsets[a], offsets[a + 1]):
            count += parts[neighbors[i]] == part
        found[a] = count


@kernel
def add_by_part(parts: np.ndarray, found: np.ndarray, inside: np.ndarray, sizes: np.ndarray) -> None:
    """Add up over the nodes of every part."""
    for a in range(parts.shape[0]):
        inside[parts[a]] += found[a]
        sizes[parts[a]] += 1


def count_inside(
    graph: Graph, parts: NDArray[Any], communities: int, workers: Workers
) -> tuple[Counts, Counts]:
    """Count the links inside every part, and its nodes."""
    found = np.empty(graph.n_nodes, dtype=np.int32)

    def task(_: int, begin: int, end: int) -> None:
        count_inside_range(begin, end, graph.offsets, graph.neighbors, parts, found)

    share_by_load(workers, 0, graph.n_nodes, graph.offsets, task)
    inside, sizes = np.zeros((2, communities), dtype=np.int64)
    add_by_part(parts, found, inside, sizes)
    return inside // 2, sizes


def pairs_of(sizes: Counts) -> NDArray[np.float64]:
    """Return the pairs inside parts of these sizes."""
    nodes = sizes.astype(np.float64)
    return np.asarray(nodes * (nodes - 1) / 2)


def log_evidence(inside: Counts, sizes: Counts, workers: Workers) -> NDArray[np.float64]:
    """Compute the log probability of the links inside every part, its strength integrated out under Beta(1, 1)."""
    found = np.empty(len(sizes))

    def task(_: int, begin: int, end: int) -> None:
        pairs, links = pairs_of(sizes[begin:end]), inside[begin:end]
        found[begin:end] = betaln(1 + links, 1 + pairs - links)

    workers.share(len(sizes), task)
    return found


def integrated_likelihood(
    graph: Graph, inside: Counts, sizes: Counts, communities: int, workers: Workers
) -> float:
    """Compute log p(links, parts) of the hard-partition model with every strength integrated out under Beta(1, 1).

    `inside` and `sizes` are links and nodes of parts; of the `communities` that are allowed the others are empty.
    """
    between_links = graph.n_edges - int(inside.sum())
    between_pairs = graph.n_pairs - pairs_of(sizes).sum()
    total = float(log_evidence(inside, sizes, workers).sum())
    total += float(betaln(1 + between_links, 1 + between_pairs - between_links))
    alpha = 1.0 / communities
    return total + float(np.sum(gammaln(sizes + alpha) - gammaln(alpha)))


def background_of(graph: Graph, inside: Counts, sizes: Counts) -> float:
    """Return the share of linked pairs between parts, one link and one non-link added."""
    links, pairs = graph.n_edges - int(inside.sum()), graph.n_pairs - pairs_of(sizes).sum()
    return float((links + 1) / (pairs + 2))
