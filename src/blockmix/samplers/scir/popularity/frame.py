"""What the kernels of the popularity model see: the frame of a batch, and the work space of a worker.

A row holds pi_ak in its slots, and its `total` is the popularity r_a: theta_ak = weight * total. The background is kept
as community K, in which every node has theta_aK = r_a: `rates` and `members` have an entry for it at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_lean_kernel
from blockmix.samplers.scir.frame import MAX_BIRTHS, Node
from blockmix.tables.layout import Index, Key, Network, Rows

# Columns of `members`, and of the changes that workers gather: sums of theta_ak and of its square over all nodes. In a
# network of two sides (DC15) they are the sums of theta_ak over the first and over the second side.
MEMBERS, MEMBERS_SQUARED = 0, 1
# Columns of the sums over nodes: share of phi dropped, accepted moves, and log r_a of the nodes of each side.
DROPPED, ACCEPTED, LOGS = 0, 1, 2
# Columns of the pair counts: units of links, sums of theta_ak theta_bk over links and over held-out pairs.
UNITS, LINKED, HIDDEN = 0, 1, 2
# Units of one link, at most. A link has 1 to 3 on real networks; 64 of them need a rate of 30 or more.
MOST_UNITS = 64


class Settings(NamedTuple):
    """What all nodes share: alpha, the shapes rho of popularities, what a non-link counts, and how births are cut.

    `rho` has one shape for each side, twice the same where a network has no sides. `first` is the number of nodes of
    the first side, which come first (DC15), and 0 where there are no sides. `smallest` is the smallest size x of a
    birth (DC7) of a node with links and of one without, `births` the expected number of larger ones. Where rows are
    `whole`, nothing is cut off instead.
    """

    alpha: float
    rho: tuple[float, float]
    non_link_weight: float
    smallest: tuple[float, float]
    births: tuple[float, float]
    whole: bool
    first: int


class Weights(NamedTuple):
    """The weights of links in a sweep, see `weights.LinkLaw`: their law, and shape and log rate of a unit's size.

    `entries` has one for each neighbour, and none where links have no weights. `terms[m]` is the part of the log weight
    of m units (DC13) that no link changes.
    """

    law: int
    entries: NDArray[np.float64]
    shape: float
    log_rate: float
    terms: NDArray[np.float64]


class Frame(NamedTuple):
    """All that an update reads. `names[place]` is the global number of the node in that row of the tables."""

    network: Network
    names: NDArray[np.uint32]
    rows: Rows
    members: NDArray[np.float64]
    rates: NDArray[np.float64]
    settings: Settings
    key: Key
    weights: Weights


class Exposure(NamedTuple):
    """(DC4) What the exposures of one node have in common: the part of them that no community changes, `least`.

    `partners` is the column of the sums over all nodes that it may be linked to, of which `own` is its r_a where it is
    among them, else 0; `rho` is the shape of its popularity.
    """

    own: float
    least: float
    partners: int
    rho: float


class Scratch(NamedTuple):
    """Work space of one worker: local lists of communities, of a node's links, and of the units of these.

    `position[k]` is the position of community k in the local lists, or -1. Link i has the entries first[i] to
    first[i + 1] of (`entry`, `link_weight`): a position in the local lists, and w_k theta_bk there. Its background
    weight is `pull[i]`, eps r_b. Unit u belongs to link `unit_link[u]`, and is made in the community at `unit_at[u]`.
    """

    position: NDArray[np.int32]
    community: NDArray[np.int32]
    phi: NDArray[np.float64]
    pi: NDArray[np.float64]
    near: NDArray[np.float64]
    hidden: NDArray[np.float64]
    exposure: NDArray[np.float64]
    inverse: NDArray[np.float64]
    count: NDArray[np.float64]  # type: ignore[assignment]  # tuple.count, which nobody calls
    seen: NDArray[np.int32]
    first: NDArray[np.int64]
    entry: NDArray[np.int32]
    link_weight: NDArray[np.float64]
    pull: NDArray[np.float64]
    unlisted_weight: NDArray[np.float64]
    spare: NDArray[np.uint32]
    unit_link: NDArray[np.int32]
    unit_at: NDArray[np.int32]


class Work(NamedTuple):
    """What one worker writes to: local lists, changes of `members`, pair counts, and sums over nodes.

    All sums are fixed-point integers. The columns of `sums` are DROPPED, ACCEPTED and LOGS. `tally` has the
    number of links of m units, and first the sum of m log x over them (DC14); it is empty but for amounts.
    """

    scratch: Scratch
    changes: NDArray[np.int64]
    pairs: NDArray[np.int64]
    sums: NDArray[np.int64]
    tally: NDArray[np.int64]


def new_scratch(communities: int, slots: int, largest_degree: int, most_units: int = 0) -> Scratch:
    """Allocate the work space of one worker; a node has at most so many units where they are given."""
    size = slots + min(communities, largest_degree * slots) + 2 * MAX_BIRTHS
    entries, links = max(largest_degree * slots, 1), max(largest_degree, 1)
    units = max(16 * largest_degree + 4 * MOST_UNITS, most_units)
    return Scratch(
        position=np.full(communities, -1, dtype=np.int32),
        community=np.zeros(size, dtype=np.int32),
        phi=np.zeros(size),
        pi=np.zeros(size),
        near=np.zeros(size),
        hidden=np.zeros(size),
        exposure=np.zeros(size),
        inverse=np.zeros(size),
        count=np.zeros(size),
        seen=np.full(communities, -1, dtype=np.int32),
        first=np.zeros(links + 1, dtype=np.int64),
        entry=np.zeros(entries, dtype=np.int32),
        link_weight=np.zeros(entries),
        pull=np.zeros(links),
        unlisted_weight=np.zeros(links),
        spare=np.zeros(links, dtype=np.uint32),
        unit_link=np.zeros(units, dtype=np.int32),
        unit_at=np.zeros(units, dtype=np.int32),
    )


@inlined_lean_kernel
def node_at(place: int, frame: Frame) -> Node:
    """Return the node in this row of the tables."""
    degree = frame.network.offsets[place + 1] - frame.network.offsets[place]
    smallest = frame.settings.smallest[0] if degree > 0 else frame.settings.smallest[1]
    return Node(place, frame.names[place], degree, frame.settings.alpha, smallest)


@inlined_lean_kernel
def side_of(place: int, first: int) -> int:
    """(DC15) Return the side of a node: 1 on the second side, else 0, as in a network without sides."""
    return 1 if 0 < first <= place else 0


@inlined_lean_kernel
def append(k: Index, pi: float, at: int, scratch: Scratch) -> None:
    """Append community k to the local lists."""
    scratch.position[k] = at
    scratch.community[at] = k
    scratch.phi[at] = 0.0
    scratch.pi[at] = pi
    scratch.near[at] = 0.0
    scratch.hidden[at] = 0.0


@inlined_lean_kernel
def load_row(rows: Rows, place: int, scratch: Scratch) -> int:
    """Copy the node's memberships to the local lists; returns how many there are."""
    count = 0
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[place, 2 * j]
        if k < 0:
            break
        append(k, np.float64(rows.weights[place, 2 * j + 1]), count, scratch)
        count += 1
    return count
