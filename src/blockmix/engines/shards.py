"""Dividing the nodes of a network among processes: who updates which, and what each of them reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Shard
from blockmix.graph.split import HeldOut
from blockmix.numerics.compile import kernel
from blockmix.tables.layout import Network

# What a node costs beside its links, in links: draws, sums and the copy of its row. Any value gives the same bits; this
# one is a guess between the extremes that work is links alone and nodes alone, and was not compared with others.
LINKS_A_NODE = 8


class Part(NamedTuple):
    """What one process gets: its shard, who owns each ghost, and the scored pairs that it predicts.

    `pairs` has their ends by place, and `numbers` says which pairs they are.
    """

    shard: Shard
    owners: NDArray[np.uint16]
    pairs: NDArray[np.int64]
    numbers: NDArray[np.int64]


def divide(groups: NDArray[np.int32], degrees: NDArray[np.int64], ranks: int) -> NDArray[np.uint16]:
    """Return the rank that owns each node: groups are kept together, and ranks get about the same work.

    >>> divide(np.array([1, 0, 1, 0], dtype=np.int32), np.array([2, 2, 2, 2]), 2)
    array([1, 0, 1, 0], dtype=uint16)
    """
    order = np.argsort(groups, kind="stable")
    work = np.cumsum(degrees[order] + LINKS_A_NODE)
    owner = np.empty(len(groups), dtype=np.uint16)
    # The middle of a node's work decides, so that no rank is left without nodes where work is even.
    owner[order] = (2 * work - degrees[order] - LINKS_A_NODE) * ranks // (2 * work[-1])
    return owner


class Cuts:
    """A network divided by owners of nodes and by batches; `part` makes what one rank gets."""

    def __init__(self, data: HeldOut, owner: NDArray[np.uint16], ranks: int, batches: int) -> None:
        self.data, self.owner, self.ranks, self.batches = data, owner, ranks, batches
        self.pairs = data.scored_pairs
        self.isolated = np.flatnonzero(data.training.degrees == 0)
        # A pair is predicted by the owner of its first node. Where an end is isolated, the rows of all isolated nodes
        # are read: the last rank predicts all such pairs, so that no other has to read these rows.
        self.predicted_by = owner[self.pairs[:, 0]].astype(np.int64)
        pooled = (data.training.degrees[self.pairs] == 0).any(axis=1)
        self.predicted_by[pooled] = ranks - 1
        self.pools = bool(pooled.any())

    def part(self, rank: int) -> Part:
        """Return what a rank gets."""
        graph, data = self.data.training, self.data
        own = np.flatnonzero(self.owner == rank)
        own = own[np.argsort(own % self.batches, kind="stable")]
        starts = np.searchsorted(own % self.batches, np.arange(self.batches + 1))
        offsets, neighbors = take_rows(own, graph.offsets, graph.neighbors)
        hidden_offsets, hidden = take_rows(own, data.hidden_offsets, data.hidden_neighbors)
        numbers = np.flatnonzero(self.predicted_by == rank)
        pairs = self.pairs[numbers]
        read = np.zeros(graph.n_nodes, dtype=np.bool_)
        for nodes in (neighbors, hidden, pairs):
            read[nodes] = True
        if self.pools and rank == self.ranks - 1:
            read[self.isolated] = True
        read[own] = False
        ghosts = np.flatnonzero(read)
        names = np.concatenate((own, ghosts))
        place = np.full(graph.n_nodes, -1, dtype=np.int64)
        place[names] = np.arange(len(names))
        isolated = place[self.isolated]
        network = Network(
            offsets, place[neighbors].astype(neighbors.dtype), hidden_offsets, place[hidden].astype(hidden.dtype)
        )  # fmt: skip
        shard = Shard(network, names.astype(np.uint32), starts.astype(np.int64), isolated[isolated >= 0])
        return Part(shard, self.owner[ghosts], place[pairs], numbers)


def take_rows(
    nodes: NDArray[np.int64], offsets: NDArray[np.int64], entries: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Return the rows of some nodes, one after the other: where each begins, and the entries."""
    starts = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(offsets[nodes + 1] - offsets[nodes], out=starts[1:])
    taken = np.empty(starts[-1], dtype=entries.dtype)
    copy_rows(nodes, np.asarray(offsets), np.asarray(entries), starts, taken)
    return starts, taken


@kernel
def copy_rows(
    nodes: np.ndarray, offsets: np.ndarray, entries: np.ndarray, starts: np.ndarray, taken: np.ndarray
) -> None:
    """Copy the rows of some nodes to where they begin in `taken`."""
    for i in range(len(nodes)):
        begin = offsets[nodes[i]]
        for j in range(starts[i + 1] - starts[i]):
            taken[starts[i] + j] = entries[begin + j]
