"""What the kernels see: arrays and scalars, grouped by what they mean.

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

# Sums over nodes are kept in fixed point: integer addition is associative, so a sum has the same bits
# whatever the order, the number of threads or the device. 2^-30 resolves 1e-9; 2^63 is out of reach.
FIXED_POINT = float(2**30)

# Columns of the statistics gathered for every community.
MEMBERS, MEMBERS_SQUARED, LINKS_INSIDE, EXPOSURE = 0, 1, 2, 3
STATISTICS = 4

# The purposes that random numbers are drawn for; with the slot they make the third counter word.
DRAW_JUMPS, DRAW_SIZE, DRAW_NEIGHBORS, DRAW_BIRTHS, DRAW_BIRTH_SIZE, DRAW_BIRTH_PLACE, DRAW_NON_LINKS = range(
    1, 8
)
DRAW_STRENGTH_JUMPS, DRAW_STRENGTH_SIZE, DRAW_LINK, DRAW_RETRY, DRAW_TEST, DRAW_KEEP = range(8, 14)


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


class Strengths(NamedTuple):
    """Strengths of the communities and, as entry K, of the background; `total` and `expansion` as in (S1)."""

    value: NDArray[np.float64]
    total: NDArray[np.float64]
    expansion: NDArray[np.float64]


class Prior(NamedTuple):
    """Hyperparameters: Dirichlet concentration, that of nodes without links, the two of Beta, the background's Beta."""

    alpha: float
    alpha_unlinked: float
    eta_link: float
    eta_non_link: float
    background_link: float
    background_non_link: float


class Settings(NamedTuple):
    """How a node is updated: step h, neighbours n_1, non-links n_0, smallest phi (also of a node without links),
    candidate cut, the pull.

    `non_link_weight` is what a non-link counts: below one where held-out pairs took a larger share of the links.
    """

    step: float
    neighbors: int
    non_links: int
    smallest: float
    smallest_unlinked: float
    cut: float
    pull: bool
    non_link_weight: float = 1.0


class Key(NamedTuple):
    """The part of a Philox counter and key that is the same for a whole sweep."""

    low: np.uint32
    high: np.uint32
    sweep: np.uint32


class Tilt(NamedTuple):
    """(G2) What all tilts of one node have in common: x, A, the least lambda there can be, a non-link's weight."""

    typical: float
    mass: float
    least: float
    weight: float


class Scratch(NamedTuple):
    """Work space of one worker; `place[k]` is where community k stands in the local lists, or -1."""

    place: NDArray[np.int32]
    community: NDArray[np.int32]
    phi: NDArray[np.float64]
    pi: NDArray[np.float64]
    gain: NDArray[np.float64]
    near: NDArray[np.float64]
    near_squared: NDArray[np.float64]
    exposure: NDArray[np.float64]
    tilt: NDArray[np.float64]
    count: NDArray[np.float64]  # type: ignore[assignment]  # tuple.count, which nobody calls
    inverse: NDArray[np.float64]
    old: NDArray[np.float64]
    home: NDArray[np.float64]
    excess: NDArray[np.float64]
    rest: NDArray[np.float64]
    squares: NDArray[np.float64]
    hit: NDArray[np.int32]
    seen: NDArray[np.int32]
    indicator: NDArray[np.int32]
    first: NDArray[np.int64]
    elsewhere: NDArray[np.float64]
    entry: NDArray[np.int32]
    heard: NDArray[np.float64]
    uniforms: NDArray[np.float64]


# Communities drawn in by the neighbours of one node that are looked at in one update, at most.
MAX_CANDIDATES = 48
MAX_BIRTHS = 64


def empty_rows(nodes: int, slots: int) -> Rows:
    """Rows with every slot unused, the first at the beginning of a cache line."""
    line = 64 // np.dtype(np.int32).itemsize
    memory = np.full(nodes * 2 * slots + line, -1, dtype=np.int32)
    start = -memory.ctypes.data % 64 // memory.itemsize
    words = memory[start : start + nodes * 2 * slots].reshape(nodes, 2 * slots)
    return Rows(words, words.view(np.float32), np.zeros(nodes, dtype=np.float32))


def new_scratch(communities: int, slots: int, largest_degree: int) -> Scratch:
    """Work space for one worker: room for every community that the neighbours of one node can be in."""
    size = slots + max(min(communities, largest_degree * slots), MAX_CANDIDATES) + 2 * MAX_BIRTHS
    entries = max(largest_degree * slots, 1)
    return Scratch(
        place=np.full(communities, -1, dtype=np.int32),
        community=np.zeros(size, dtype=np.int32),
        phi=np.zeros(size),
        pi=np.zeros(size),
        gain=np.zeros(size),
        near=np.zeros(size),
        near_squared=np.zeros(size),
        exposure=np.zeros(size),
        tilt=np.zeros(size),
        count=np.zeros(size),
        inverse=np.zeros(size),
        old=np.zeros(size),
        home=np.zeros(size),
        excess=np.zeros(size),
        rest=np.zeros(size),
        squares=np.zeros(size),
        hit=np.zeros(slots, dtype=np.int32),
        seen=np.full(communities, -1, dtype=np.int32),
        indicator=np.zeros(max(largest_degree, 1), dtype=np.int32),
        first=np.zeros(largest_degree + 1, dtype=np.int64),
        elsewhere=np.zeros(max(largest_degree, 1)),
        entry=np.zeros(entries, dtype=np.int32),
        heard=np.zeros(entries),
        uniforms=np.zeros((largest_degree + 1, 2)),
    )
