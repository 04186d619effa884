"""What kernels read: arrays and scalars, grouped by what they mean.

The groups are NamedTuples because numba takes them as they are: a kernel then reads `rows.weights[b, j]`
instead of its seventeenth argument.

A node's membership is a row of L slots. Slot j of node a is the pair (community, weight) at
`words[a, 2j]` and `weights[a, 2j + 1]`, two views of one memory: a row of 16 slots is one 128-byte line,
and a node with few communities is read with a single cache miss. Used slots come first; a community of
-1 ends the row. Weights are pi_ak and sum to one; `total` is s_a, so phi_ak = weight * total.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Sums over nodes are kept in fixed point (P4): integer addition is associative, so a sum has the same bits
# whatever the order, the number of threads or the device. 2^-30 resolves 1e-9; 2^63 is out of reach.
FIXED_POINT = float(2**30)

# A strength is a probability strictly inside (0, 1), whatever float64 rounds a Gamma's share to.
CLOSEST = 1e-12

# A node, community or place as Python has it and as it comes out of integer arithmetic.
Index: TypeAlias = int | np.integer[Any]


class Network(NamedTuple):
    """Training links, and the pairs that are neither link nor non-link because they are held out."""

    offsets: NDArray[np.int64]
    neighbors: NDArray[Any]
    hidden_offsets: NDArray[np.int64]
    hidden_neighbors: NDArray[Any]


class Rows(NamedTuple):
    """Memberships of all nodes (or of a batch of them), see the module's text."""

    words: NDArray[np.int32]
    weights: NDArray[np.float32]
    total: NDArray[np.float32]


def first_rows(rows: Rows, count: int) -> Rows:
    """Return the rows in the first so many places, as views."""
    return Rows(rows.words[:count], rows.weights[:count], rows.total[:count])


class Strengths(NamedTuple):
    """Strengths of the communities and, as entry K, of the background; `total` and `expansion` as in (S1)."""

    value: NDArray[np.float64]
    total: NDArray[np.float64]
    expansion: NDArray[np.float64]


class Prior(NamedTuple):
    """Beta priors: of every strength, and of the background where it is learned."""

    eta_link: float
    eta_non_link: float
    background_link: float
    background_non_link: float


class Key(NamedTuple):
    """The part of a Philox counter and key that is the same for a whole sweep."""

    low: np.uint32
    high: np.uint32
    sweep: np.uint32


def empty_rows(nodes: int, slots: int) -> Rows:
    """Return rows with every slot unused, the first at the beginning of a cache line."""
    line = 64 // np.dtype(np.int32).itemsize
    memory = np.full(nodes * 2 * slots + line, -1, dtype=np.int32)
    start = -memory.ctypes.data % 64 // memory.itemsize
    words = memory[start : start + nodes * 2 * slots].reshape(nodes, 2 * slots)
    return Rows(words, words.view(np.float32), np.zeros(nodes, dtype=np.float32))
