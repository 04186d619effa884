"""Mini-batches for the samplers of the paper: the network as kernels read it, and how many make a sweep.

    batches = MiniBatches(data, non_links=32)
    batch = batches.draw(key, iteration)
    batch.scale * sum(f(batch.node, b, batch.y) for b in batch.others)      # unbiased for the sum over all pairs

A sampler that runs whole iterations in compiled code calls `tables.minibatch.draw_pairs` itself, with
`batches.network` and a buffer of `batches.room` nodes: the mini-batches are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.samplers.contract import ChainKey
from blockmix.samplers.data import network_of
from blockmix.tables.layout import Key
from blockmix.tables.minibatch import draw_pairs

# The counter word that numbers iterations has 32 bits.
MOST_ITERATIONS = 2**32


class PairBatch(NamedTuple):
    """The pairs (node, others[i]): all links of the node (y = 1), or some of its non-links (y = 0).

    `scale` is h of (L1). There may be no pairs, for a node without links or without non-links.
    """

    node: int
    y: int
    others: NDArray[np.int64]
    scale: float

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Every node of the mini-batch once, the drawn one first."""
        return np.concatenate(([self.node], self.others))


def iteration_key(key: ChainKey, iteration: int) -> Key:
    """Return the part of a Philox stream that an iteration fixes."""
    return Key(np.uint32(key[0]), np.uint32(key[1]), np.uint32(iteration % MOST_ITERATIONS))


class MiniBatches:
    """Stratified mini-batches of the training pairs of a network.

    `non_links` is the number of non-links in a mini-batch of them: the N/m of the paper, whose m is a number of
    strata there and something else for the bulk (E10).
    """

    def __init__(self, data: HeldOut, non_links: int) -> None:
        graph = data.training
        self.network = network_of(data)
        self.nodes, self.non_links = graph.n_nodes, non_links
        degrees = graph.degrees
        free = self.nodes - 1 - degrees - np.diff(data.hidden_offsets)
        self.room = max(int(degrees.max(initial=0)), non_links, 1)
        drawn = 1.0 + 0.5 * (degrees + np.minimum(free, non_links))
        self.mean_nodes = float(drawn.mean())

    @property
    def per_sweep(self) -> int:
        """How many mini-batches update about as many nodes as there are."""
        return max(1, round(self.nodes / self.mean_nodes))

    def draw(self, key: ChainKey, iteration: int) -> PairBatch:
        """Draw the mini-batch of this iteration."""
        out = np.empty(self.room, dtype=np.int64)
        word = iteration_key(key, iteration)
        node, y, count, scale = draw_pairs(self.network, self.non_links, word, out)
        return PairBatch(int(node), int(y), out[:count], float(scale))
