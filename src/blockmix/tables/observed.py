"""The observed pairs of a node: links, non-links, and those that are neither because they are held out."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.tables.layout import Network

NOT_OBSERVED, NON_LINK, LINK = -1, 0, 1


@inlined_kernel
def mark_row(a: int, network: Network, row: np.ndarray) -> None:
    """Set row[b] = 1 for a link of a, 0 for a non-link, -1 for a held-out pair and for a itself (E5)."""
    for b in range(len(row)):
        row[b] = NON_LINK
    row[a] = NOT_OBSERVED
    for i in range(network.offsets[a], network.offsets[a + 1]):
        row[network.neighbors[i]] = LINK
    for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
        row[network.hidden_neighbors[i]] = NOT_OBSERVED


@kernel
def count_pairs(network: Network, row: np.ndarray) -> int:
    """Count the observed pairs, each once."""
    pairs = 0
    for a in range(len(row)):
        mark_row(a, network, row)
        for b in range(a + 1, len(row)):
            if row[b] != NOT_OBSERVED:
                pairs += 1
    return pairs
