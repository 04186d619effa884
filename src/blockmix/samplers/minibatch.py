"""Mini-batches for the samplers of the paper: the network as kernels read it, and how many make a sweep.

    batches = MiniBatches(data, non_links=32)
    batch = batches.draw(key, iteration)
    batch.scale * sum(f(a, b, batch.y) for a, b in zip(batch.first, batch.second))    # unbiased for all pairs

A sampler that runs whole iterations in compiled code calls `tables.minibatch.draw_pairs` itself, with
`batches.network`, `batches.strata` and `batches.new_buffer()`: the mini-batches are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.samplers.contract import ChainKey
from blockmix.samplers.data import network_of
from blockmix.tables.layout import Key
from blockmix.tables.minibatch import PairBuffer, Strata, draw_pairs

# The counter word that numbers iterations has 32 bits.
MOST_ITERATIONS = 2**32


class PairBatch(NamedTuple):
    """The pairs (first[i], second[i]): all links of a node (y = 1), or non-links of it or of the network (y = 0).

    `scale` is h of (L1), (L11) or (L12). Pairs with the same first node are next to each other. There may be none, for
    a node without links or without non-links. `nodes` has every node of the mini-batch once.
    """

    y: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    scale: float
    nodes: NDArray[np.int64]


def iteration_key(key: ChainKey, iteration: int) -> Key:
    """Return the part of a Philox stream that an iteration fixes."""
    return Key(np.uint32(key[0]), np.uint32(key[1]), np.uint32(iteration % MOST_ITERATIONS))


class MiniBatches:
    """Stratified mini-batches of the training pairs of a network.

    `non_links` is the number of non-links in a mini-batch of them: the N/m of the paper, whose m is a number of
    strata there and something else for the bulk (E10). They are those of one node, or with `network` drawn from all of
    the network as in the paper; `printed` gives them the scales of the paper.
    """

    def __init__(self, data: HeldOut, non_links: int, network: bool = False, printed: bool = False) -> None:
        graph = data.training
        self.network = network_of(data)
        self.nodes = n = graph.n_nodes
        degrees = graph.degrees
        free = n - 1 - degrees - np.diff(data.hidden_offsets)
        above = np.zeros(0, dtype=np.int64)
        in_batch = 1.0 + np.minimum(free, non_links)
        most = max(int(degrees.max(initial=0)), non_links, 1)
        self.capacity = most + 1
        if network:
            above = non_links_above(data)
            # The chance of a node to be in a mini-batch, as if its non-links were drawn with replacement.
            chance = 1.0 - (1.0 - min(non_links / max(above[-1], 1), 1.0)) ** free
            in_batch = np.full(n, chance.sum())
            self.capacity = max(most + 1, 2 * non_links)
        self.strata = Strata(non_links, above, printed)
        self.mean_nodes = max(float((0.5 * (1.0 + degrees) + 0.5 * in_batch).mean()), 1.0)
        self.most_pairs = most

    @property
    def per_sweep(self) -> int:
        """How many mini-batches update about as many nodes as there are."""
        return max(1, round(self.nodes / self.mean_nodes))

    def new_buffer(self) -> PairBuffer:
        """Allocate arrays for any mini-batch."""
        first, second = np.zeros((2, self.most_pairs), dtype=np.int64)
        return PairBuffer(first, second, np.zeros(self.capacity, dtype=np.int64))

    def draw(self, key: ChainKey, iteration: int, buffer: PairBuffer | None = None) -> PairBatch:
        """Draw the mini-batch of this iteration, into new arrays or into those given."""
        buffer = buffer or self.new_buffer()
        y, count, nodes, scale = draw_pairs(self.network, self.strata, iteration_key(key, iteration), buffer)
        return PairBatch(
            int(y), buffer.first[:count], buffer.second[:count], float(scale), buffer.nodes[:nodes]
        )


def non_links_above(data: HeldOut) -> NDArray[np.int64]:
    """Return how many training non-links (c, d), c < d, have c below each node, and last their number."""
    n = data.training.n_nodes
    above = np.arange(n - 1, -1, -1, dtype=np.int64)
    for offsets, partners in (
        (data.training.offsets, data.training.neighbors),
        (data.hidden_offsets, data.hidden_neighbors),
    ):
        rows = np.repeat(np.arange(n), np.diff(offsets))
        above -= np.bincount(rows[partners > rows], minlength=n)
    return np.append(0, np.cumsum(above))
