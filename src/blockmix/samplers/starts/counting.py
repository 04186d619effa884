"""Links inside the parts of a partition, and the likelihood that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from blockmix.graph.graph import Graph
from blockmix.numerics.compile import kernel
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.sharing import Loads, share_by_load

Counts = NDArray[np.signedinteger]
Parts = NDArray[np.int32]
# Functions of the sizes of parts are computed for so many at once.
AT_ONCE = 1 << 14


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

    share_by_load(workers, 0, graph.n_nodes, Loads(graph.offsets), task)
    inside, sizes = np.zeros((2, communities), dtype=np.int64)
    add_by_part(parts, found, inside, sizes)
    return inside // 2, sizes


@kernel
def add_nodes(parts: np.ndarray, sizes: np.ndarray) -> None:
    """Count the nodes of every part."""
    for a in range(parts.shape[0]):
        sizes[parts[a]] += 1


def count_nodes(parts: Parts) -> Counts:
    """Return the number of nodes in every part."""
    sizes = np.zeros(int(parts.max(initial=-1)) + 1, dtype=np.int32)
    add_nodes(parts, sizes)
    return sizes


def pairs_of(sizes: Counts) -> NDArray[np.float64]:
    """Return the pairs inside parts of these sizes."""
    nodes = sizes.astype(np.float64)
    return np.asarray(nodes * (nodes - 1) / 2)


def log_evidence(inside: Counts, sizes: Counts, workers: Workers) -> NDArray[np.float64]:
    """Compute the log probability of the links inside every part, its strength integrated out under Beta(1, 1)."""

    def evidence(begin: int, end: int) -> NDArray[np.float64]:
        pairs, links = pairs_of(sizes[begin:end]), inside[begin:end].astype(np.float64)
        return np.asarray(betaln(1 + links, 1 + pairs - links))

    return _piecewise(len(sizes), evidence, workers)


def _piecewise(
    count: int, values: Callable[[int, int], NDArray[np.float64]], workers: Workers
) -> NDArray[np.float64]:
    """Return the values of [0, count), computed on all workers in pieces small enough for the cache."""
    found = np.empty(count)

    def task(_: int, begin: int, end: int) -> None:
        for first in range(begin, end, AT_ONCE):
            last = min(first + AT_ONCE, end)
            found[first:last] = values(first, last)

    workers.share(count, task)
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
    shares = _piecewise(len(sizes), lambda a, b: gammaln(sizes[a:b] + alpha) - gammaln(alpha), workers)
    return total + float(shares.sum())


def background_of(graph: Graph, inside: Counts, sizes: Counts) -> float:
    """Return the share of linked pairs between parts, one link and one non-link added."""
    links, pairs = graph.n_edges - int(inside.sum()), graph.n_pairs - pairs_of(sizes).sum()
    return float((links + 1) / (pairs + 2))
