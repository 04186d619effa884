"""Posterior samples of the memberships, packed: used slots only, weights in 16 bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.tables.layout import Rows

# A weight in (0, 1] becomes 1..65535: an error of at most 1.6e-5 in a membership.
WEIGHT_SCALE = 65535.0
# Weights below this are left out of a packed sample, and the others of the row make up for them.
LEAST_WEIGHT = 1e-3


class Packed(NamedTuple):
    """Rows of all nodes one after the other: row a is the entries from offsets[a] to offsets[a + 1].

    Weights are integers in proportion to the memberships; divided by the sum of their row they sum to one.
    """

    offsets: NDArray[np.int64]
    communities: NDArray[np.unsignedinteger]
    weights: NDArray[np.uint16]


@kernel
def count_used(rows: Rows, counts: np.ndarray) -> int:
    """Count the slots of every node that are stored; return their sum."""
    total = 0
    for a in range(len(rows.total)):
        used = 0
        for j in range(rows.words.shape[1] // 2):
            if rows.words[a, 2 * j] < 0:
                break
            if rows.weights[a, 2 * j + 1] >= LEAST_WEIGHT:
                used += 1
        counts[a] = used
        total += used
    return total


@kernel
def pack(rows: Rows, communities: np.ndarray, weights: np.ndarray) -> None:
    """Write the slots that `count_used` counted, node after node."""
    at = 0
    for a in range(len(rows.total)):
        for j in range(rows.words.shape[1] // 2):
            k = rows.words[a, 2 * j]
            if k < 0:
                break
            weight = rows.weights[a, 2 * j + 1]
            if weight >= LEAST_WEIGHT:
                communities[at] = k
                weights[at] = max(1, round(np.float64(weight) * WEIGHT_SCALE))
                at += 1


@inlined_kernel
def row_sum(a: int, packed: Packed) -> float:
    """Return the sum of the weights of node a."""
    total = 0.0
    for s in range(packed.offsets[a], packed.offsets[a + 1]):
        total += packed.weights[s]
    return total
