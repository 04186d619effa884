"""What the kernels of `scir` see: the frame of a batch, the node at work, and the work space of a worker.

The groups are NamedTuples, which numba takes as they are. `Frame` is the same for all nodes of a batch and only read;
`Node` is the one that is updated; `Work` belongs to one worker and is written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Shard
from blockmix.numerics.compile import inlined_lean_kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.samplers.scir.non_links import Bounds
from blockmix.tables.layout import Key, Network, Rows, Strengths

# Columns of the statistics gathered for every community.
MEMBERS, MEMBERS_SQUARED, LINKS_INSIDE, EXPOSURE = 0, 1, 2, 3
# The exact move of strengths counts the links made inside, and sums pi_ak pi_bk and pi_ak pi_bk m_k over non-links.
OVERLAP, CURVED = 3, 4
STATISTICS = 5
# Communities drawn in by the neighbours of one node that are looked at in one update, at most.
MAX_CANDIDATES = 48
MAX_BIRTHS = 64
# Rows that hold all communities are drawn whole where the smallest phi is at most this: there is nothing to cut off.
EVERYWHERE = 1e-9


class NodePriors(NamedTuple):
    """What is believed of a node, first of one without links, then of one with links: its Dirichlet concentration, and
    the smallest phi that is kept (P3)."""

    alpha: NDArray[np.float64]
    smallest: NDArray[np.float64]


class Settings(NamedTuple):
    """How a node is updated: step h, neighbours n_1, non-links n_0, candidate cut, the pull of (P1).

    `non_link_weight` is what a non-link counts: below one where held-out pairs took a larger share of the links. With
    `exact` non-links are summed member by member.
    """

    step: float
    neighbors: int
    non_links: int
    cut: float
    pull: bool
    non_link_weight: float = 1.0
    exact: bool = False


class MemberLists(NamedTuple):
    """The members of every community: a place and its weight, listed by community and by batch of nodes.

    Those of k in batch b are the entries begin[k, b], begin[k, b] + 1, ..., size[k, b] of them.
    """

    place: NDArray[np.int32]
    weight: NDArray[np.float32]
    begin: NDArray[np.int64]
    size: NDArray[np.int32]


class Frame(NamedTuple):
    """All that an update reads. `names[place]` is the global number of the node in that row of the tables.

    Rows, links and priors are found by place; random numbers are keyed by name, so that it does not matter where a node
    is stored. `members` holds S_k and Q_k, the sums of pi_ak and of its square over all nodes. Where sums are exact,
    `lists` names the members and `bounds` bounds the likelihood of non-links.
    """

    network: Network
    names: NDArray[np.uint32]
    rows: Rows
    members: NDArray[np.float64]
    lists: MemberLists
    strengths: Strengths
    bounds: Bounds
    priors: NodePriors
    settings: Settings
    key: Key


class Node(NamedTuple):
    """The node at work: its row in the tables, its name, number of links, prior and smallest phi."""

    place: int
    name: np.uint32
    degree: int
    alpha: float
    smallest: float


class Batch(NamedTuple):
    """The nodes of a batch: places first, first + stride, ..."""

    first: int
    stride: int


def batch_of(shard: Shard, number: int, batches: int) -> tuple[Batch, int]:
    """Return a batch, every so many-th node of the network, as places of a shard, and how many nodes it has there."""
    if shard.starts is None:
        return Batch(number, batches), (shard.own - number + batches - 1) // batches
    first, end = int(shard.starts[number]), int(shard.starts[number + 1])
    return Batch(first, 1), end - first


class Tilt(NamedTuple):
    """(G2) What all tilts of one node have in common: x, A, the least lambda there can be, a non-link's weight."""

    typical: float
    mass: float
    least: float
    weight: float


class Scratch(NamedTuple):
    """Work space of one worker: local lists of the communities that one update looks at, and of the node's links.

    `position[k]` is the position of community k in the local lists, or -1. Link i has the entries first[i] to
    first[i + 1] of (`entry`, `link_weight`): a position in the local lists, and the neighbour's weight there.
    """

    position: NDArray[np.int32]
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
    listed_weight: NDArray[np.float64]
    excess: NDArray[np.float64]
    rest: NDArray[np.float64]
    squares: NDArray[np.float64]
    hit: NDArray[np.int32]
    seen: NDArray[np.int32]
    indicator: NDArray[np.int32]
    first: NDArray[np.int64]
    unlisted_weight: NDArray[np.float64]
    entry: NDArray[np.int32]
    link_weight: NDArray[np.float64]
    uniforms: NDArray[np.float64]
    at_node: NDArray[np.int8]
    touched: NDArray[np.int32]
    v_old: NDArray[np.float64]
    v_new: NDArray[np.float64]


class Work(NamedTuple):
    """What one worker writes to: local lists, its changes of the sums by community, and its sums over nodes.

    The sums are fixed-point: links inside communities, share of phi dropped, accepted moves.
    """

    scratch: Scratch
    statistics: NDArray[np.int64]
    sums: NDArray[np.int64]


def new_scratch(communities: int, slots: int, largest_degree: int, nodes: int = 0) -> Scratch:
    """Allocate the work space of one worker: a place for every community that a node's neighbours can be in.

    `nodes` is the number of nodes where non-links are summed exactly, and 0 where they are not.
    """
    size = slots + max(min(communities, largest_degree * slots), MAX_CANDIDATES) + 2 * MAX_BIRTHS
    entries = max(largest_degree * slots, 1)
    return Scratch(
        position=np.full(communities, -1, dtype=np.int32),
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
        listed_weight=np.zeros(size),
        excess=np.zeros(size),
        rest=np.zeros(size),
        squares=np.zeros(size),
        hit=np.zeros(slots, dtype=np.int32),
        seen=np.full(communities, -1, dtype=np.int32),
        indicator=np.zeros(max(largest_degree, 1), dtype=np.int32),
        first=np.zeros(largest_degree + 1, dtype=np.int64),
        unlisted_weight=np.zeros(max(largest_degree, 1)),
        entry=np.zeros(entries, dtype=np.int32),
        link_weight=np.zeros(entries),
        uniforms=np.zeros((largest_degree + 1, 2)),
        at_node=np.zeros(nodes, dtype=np.int8),
        touched=np.zeros(nodes, dtype=np.int32),
        v_old=np.zeros(nodes),
        v_new=np.zeros(nodes),
    )


@inlined_lean_kernel
def node_at(place: int, frame: Frame) -> Node:
    """Return the node in this row of the tables."""
    degree = frame.network.offsets[place + 1] - frame.network.offsets[place]
    linked, priors = min(degree, 1), frame.priors
    return Node(place, frame.names[place], degree, priors.alpha[linked], priors.smallest[linked])


@inlined_lean_kernel
def random_words(
    node: Node, purpose: int, slot: int, block: int, key: Key
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Return four random words of a node: keyed by its name, never by its place."""
    return philox4x32(node.name, key.sweep, stream_word(purpose, slot), np.uint32(block), key.low, key.high)
