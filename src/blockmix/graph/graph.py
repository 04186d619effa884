"""The network: a frozen, undirected, simple graph in compressed sparse rows (CSR)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.labels import Labels


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected network without self-loops or repeated links.

    `neighbors[offsets[a]:offsets[a + 1]]` are the neighbours of node `a`, in increasing order, every link
    standing in both rows. Offsets are int64; neighbours are int32 while the number of nodes allows it.
    Build one with `read_graph`, `Graph.from_edges` or a converter, not by hand.
    """

    offsets: NDArray[np.int64]
    neighbors: NDArray[Any]
    labels: Labels

    @property
    def n_nodes(self) -> int:
        """Number of nodes N, isolated ones included."""
        return len(self.offsets) - 1

    @property
    def n_edges(self) -> int:
        """Number of links, each counted once."""
        return len(self.neighbors) // 2

    @property
    def n_pairs(self) -> int:
        """Number of unordered pairs of nodes, N(N-1)/2."""
        return self.n_nodes * (self.n_nodes - 1) // 2

    @property
    def density(self) -> float:
        """Share of pairs that are links; 0 for fewer than two nodes."""
        return self.n_edges / self.n_pairs if self.n_pairs else 0.0

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbours of every node."""
        return np.diff(self.offsets)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the structure and the labels: the same network gives the same text."""
        digest = hashlib.sha256()
        for array in (self.offsets, self.neighbors.astype(np.int64, copy=False)):
            digest.update(memoryview(np.ascontiguousarray(array)).cast("B"))
        for part in (self.labels.integers, self.labels.text, self.labels.text_offsets):
            if part is not None:
                digest.update(memoryview(np.ascontiguousarray(part)).cast("B"))
        return digest.hexdigest()

    def neighbors_of(self, node: int) -> NDArray[Any]:
        """The neighbours of a node (by number, not label), as a read-only view."""
        return self.neighbors[self.offsets[node] : self.offsets[node + 1]]
