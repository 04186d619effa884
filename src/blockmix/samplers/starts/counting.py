"""What is counted of the parts of a partition: links inside, nodes, and what their nodes weigh."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.numerics.compile import kernel
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.sharing import Loads, share_by_load

Counts = NDArray[np.signedinteger]
Parts = NDArray[np.int32]


class PartCounts(NamedTuple):
    """Of every part the links inside, the nodes, and sum and sum of squares of what its nodes weigh.

    Where every node weighs one, the last three are the same array.
    """

    inside: Counts
    nodes: Counts
    weight: Counts
    squares: Counts

    def those(self, chosen: NDArray[Any] | slice) -> PartCounts:
        """Return the counts of some parts."""
        nodes = self.nodes[chosen]
        if self.weight is self.nodes:
            return PartCounts(self.inside[chosen], nodes, nodes, nodes)
        return PartCounts(self.inside[chosen], nodes, self.weight[chosen], self.squares[chosen])


def joined(counts: PartCounts, parents: Parts, inside: Counts, weight: Counts) -> PartCounts:
    """Return the counts of parts that are made of others, where links inside and weights are known."""
    if counts.weight is counts.nodes:
        return PartCounts(inside, weight, weight, weight)
    # Sums of whole numbers below 2^53: exact.
    nodes = np.bincount(parents, counts.nodes, len(weight)).astype(np.int32)
    squares = np.bincount(parents, counts.squares, len(weight)).astype(np.int64)
    return PartCounts(inside, nodes, weight, squares)


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
    graph: Graph,
    parts: NDArray[Any],
    communities: int,
    workers: Workers,
    weights: NDArray[np.signedinteger] | None = None,
) -> PartCounts:
    """Count the links inside every part, its nodes, and what they weigh: one each unless `weights` are given."""
    found = np.empty(graph.n_nodes, dtype=np.int32)

    def task(_: int, begin: int, end: int) -> None:
        count_inside_range(begin, end, graph.offsets, graph.neighbors, parts, found)

    share_by_load(workers, 0, graph.n_nodes, Loads(graph.offsets), task)
    inside, sizes = np.zeros((2, communities), dtype=np.int64)
    add_by_part(parts, found, inside, sizes)
    if weights is None:
        return PartCounts(inside // 2, sizes, sizes, sizes)
    # Sums of whole numbers below 2^53: exact.
    wide = weights.astype(np.int64)
    sums = [np.bincount(parts, of, communities).astype(np.int64) for of in (wide, wide * wide)]
    return PartCounts(inside // 2, sizes, *sums)


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
    """Return the pairs of nodes inside parts of these sizes."""
    nodes = sizes.astype(np.float64)
    return np.asarray(nodes * (nodes - 1) / 2)
