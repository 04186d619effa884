"""Posterior samples of the memberships, packed: used slots only, weights in 16 bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.tables.layout import Rows

# A weight in (0, 1] becomes 1..65535: an error of at most 1.6e-5 in a membership.
WEIGHT_SCALE = 65535.0
# Weights below this are left out of a packed sample, and the others of the row make up for them. In rows with a rest
# those are left out that differ by less from the value that all communities outside of the row have.
LEAST_WEIGHT = 1e-3


class Packed(NamedTuple):
    """Rows of all nodes one after the other: row a is the entries from offsets[a] to offsets[a + 1].

    Weights are integers in proportion to the memberships; divided by the sum of their row they sum to one.
    """

    offsets: NDArray[np.int64]
    communities: NDArray[np.unsignedinteger]
    weights: NDArray[np.uint16]


@inlined_kernel
def even_part(a: int, rows: Rows, communities: int) -> float:
    """Return what each community has that row a does not list: an equal part of what the row lacks to one.

    `communities` is K, or 0 for rows without a rest, where it is 0.
    """
    if communities == 0:
        return 0.0
    total, others = 0.0, communities
    for j in range(rows.words.shape[1] // 2):
        if rows.words[a, 2 * j] < 0:
            break
        total += np.float64(rows.weights[a, 2 * j + 1])
        others -= 1
    return max(1.0 - total, 0.0) / others if others > 0 else 0.0


@kernel
def count_used(rows: Rows, communities: int, counts: np.ndarray) -> int:
    """Count the slots of every node that are stored; return their sum. `communities` as in `even_part`."""
    total = 0
    for a in range(len(rows.total)):
        used, even = 0, even_part(a, rows, communities)
        for j in range(rows.words.shape[1] // 2):
            if rows.words[a, 2 * j] < 0:
                break
            if abs(rows.weights[a, 2 * j + 1] - even) >= LEAST_WEIGHT:
                used += 1
        counts[a] = used
        total += used
    return total


@kernel
def pack(rows: Rows, communities: int, numbers: np.ndarray, weights: np.ndarray, rest: np.ndarray) -> None:
    """Write the slots that `count_used` counted, node after node, and what each row of them lacks to one as its rest.

    `rest` is empty where rows have none. What is left out of a row is part of its rest.
    """
    at = 0
    for a in range(len(rows.total)):
        even, total, first = even_part(a, rows, communities), 0.0, at
        for j in range(rows.words.shape[1] // 2):
            k = rows.words[a, 2 * j]
            if k < 0:
                break
            weight = rows.weights[a, 2 * j + 1]
            if abs(weight - even) >= LEAST_WEIGHT:
                numbers[at] = k
                weights[at] = max(1, round(np.float64(weight) * WEIGHT_SCALE))
                total += np.float64(weight)
                at += 1
        if len(rest):
            rest[a] = round(max(1.0 - total, 0.0) * WEIGHT_SCALE) if at - first < communities else 0


@inlined_kernel
def row_sum(a: int, packed: Packed) -> float:
    """Return the sum of the weights of node a."""
    total = 0.0
    for s in range(packed.offsets[a], packed.offsets[a + 1]):
        total += packed.weights[s]
    return total
