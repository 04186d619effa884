"""Dividing the nodes of a network among processes: who updates which, and what each of them reads."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

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


class Layout(NamedTuple):
    """How a network is divided: the owner of each node, the pairs that are predicted, and by whom.

    `isolated` are nodes without training links. Where a predicted pair has one of them, the rows of all are read: the
    last rank predicts all such pairs (`pools`), so that no other has to read these rows.
    """

    owner: NDArray[np.uint16]
    ranks: int
    batches: int
    pairs: NDArray[np.int64]
    predicted_by: NDArray[np.uint16]
    isolated: NDArray[np.int64]
    pools: bool

    @classmethod
    def of(cls, data: HeldOut, owner: NDArray[np.uint16], ranks: int, batches: int) -> Layout:
        """Divide the scored pairs as the nodes are: a pair is predicted by the owner of its first node."""
        pairs, degrees = data.scored_pairs, data.training.degrees
        predicted_by = owner[pairs[:, 0]]
        pooled = (degrees[pairs] == 0).any(axis=1)
        predicted_by[pooled] = ranks - 1
        return cls(
            owner, ranks, batches, pairs, predicted_by, np.flatnonzero(degrees == 0), bool(pooled.any())
        )

    def own(self, rank: int) -> NDArray[np.int64]:
        """Return the nodes of a rank, by batch and then by number."""
        own = np.flatnonzero(self.owner == rank)
        return own[np.argsort(own % self.batches, kind="stable")]

    def numbers(self, rank: int) -> NDArray[np.int64]:
        """Return which of the scored pairs a rank predicts."""
        return np.flatnonzero(self.predicted_by == rank)


class Source(Protocol):
    """Where the rows of a network are."""

    def training(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the training links of some nodes: where each row begins, and the neighbours."""

    def hidden(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the held-out partners of some nodes."""


class InMemory:
    """The rows of a network that this process holds."""

    def __init__(self, data: HeldOut) -> None:
        self.data = data

    def training(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the training links of some nodes."""
        return take_rows(nodes, self.data.training.offsets, self.data.training.neighbors)

    def hidden(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the held-out partners of some nodes."""
        return take_rows(nodes, self.data.hidden_offsets, self.data.hidden_neighbors)


def cut(layout: Layout, source: Source, rank: int) -> Part:
    """Return what a rank gets.

    Beside its part this takes seven bytes for each node of the whole network, for as long as it runs.
    """
    own, numbers = layout.own(rank), layout.numbers(rank)
    starts = np.searchsorted(own % layout.batches, np.arange(layout.batches + 1))
    offsets, neighbors = source.training(own)
    hidden_offsets, hidden = source.hidden(own)
    pairs = layout.pairs[numbers]
    read = np.zeros(len(layout.owner), dtype=np.bool_)
    for nodes in (neighbors, hidden, pairs):
        read[nodes] = True
    if layout.pools and rank == layout.ranks - 1:
        read[layout.isolated] = True
    read[own] = False
    ghosts = np.flatnonzero(read)
    names = np.concatenate((own, ghosts))
    place = np.full(len(layout.owner), -1, dtype=np.int32)
    place[names] = np.arange(len(names), dtype=np.int32)
    isolated = place[layout.isolated]
    network = Network(
        offsets, place[neighbors].astype(neighbors.dtype), hidden_offsets, place[hidden].astype(hidden.dtype)
    )  # fmt: skip
    placed = isolated[isolated >= 0].astype(np.int64)
    shard = Shard(network, names.astype(np.uint32), starts.astype(np.int64), placed)
    return Part(shard, layout.owner[ghosts], place[pairs].astype(np.int64), numbers)


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
