"""What the kernels of `sgmc-m` read and write: the frame of an iteration, and the local lists of one node.

A node is updated on local lists: its listed communities one after the other, with `place[k]` the position of community
k among them. They are filled by `load_row` and empty again after `split_row` or `clear_places`, so that no kernel pays
for K entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.model.links import excess
from blockmix.numerics.compile import inlined_kernel, inlined_lean_kernel, lean_kernel
from blockmix.samplers.langevin.dynamics import Dynamics, StrengthState
from blockmix.samplers.sgmc_m.table import SplitRows, list_unrepresented
from blockmix.tables.layout import Key, Network

# Values of `place` for a community that is not in the local lists: in the bulk, or in the sample of the bulk.
IN_BULK, IN_SAMPLE = -1, -2


class SplitSettings(NamedTuple):
    """How a row is split and its bulk moved: the threshold, the size of the bulk's mini-batch, and choices.

    `equal`: promoted communities have the bulk's value (A8), `floor`: and as many are promoted as the paper prints.
    `everyone`: candidates come from all neighbours (A2). `means`: the one-shot update of the paper (A12). `one_noise`:
    the bulk's value moves, in the place of its total (A13). `below`: the active set is the printed one, below the
    threshold with all of its communities, which may be none (E6).
    """

    threshold: float
    bulk_batch: int
    equal: bool
    floor: bool
    everyone: bool
    means: bool
    one_noise: bool
    below: bool


class Strength(NamedTuple):
    """d_k = beta_k - delta of every community, their sum D, and delta."""

    excess: NDArray[np.float64]
    excess_sum: float
    background: float


class Pool(NamedTuple):
    """Communities that are active in no node, and in how many nodes each one is."""

    members: NDArray[np.int32]
    size: int
    represented: NDArray[np.int64]


class Frame(NamedTuple):
    """What an update of a node or of the strengths reads besides its work space; `frame_at` renews the last three."""

    network: Network
    table: SplitRows
    how: Dynamics
    settings: SplitSettings
    strength: Strength
    pool: Pool
    key: Key


class SplitScratch(NamedTuple):
    """Work space of one worker: the local lists, and pairs inside every community (A10)."""

    place: NDArray[np.int32]
    community: NDArray[np.int32]
    phi: NDArray[np.float64]
    pi: NDArray[np.float64]
    gain: NDArray[np.float64]
    near: NDArray[np.bool_]
    order: NDArray[np.int32]
    sample: NDArray[np.int32]
    links: NDArray[np.int64]
    non_links: NDArray[np.int64]
    inside: NDArray[np.float64]


def new_split_scratch(communities: int, neighbors: int, non_links: int, bulk_batch: int) -> SplitScratch:
    """Return work space for one worker."""
    return SplitScratch(
        place=np.full(communities, IN_BULK, dtype=np.int32),
        community=np.zeros(communities, dtype=np.int32),
        phi=np.zeros(communities),
        pi=np.zeros(communities),
        gain=np.zeros(communities),
        near=np.zeros(communities, dtype=np.bool_),
        order=np.zeros(communities, dtype=np.int32),
        sample=np.zeros(max(bulk_batch, 1), dtype=np.int32),
        links=np.zeros(max(neighbors, 1), dtype=np.int64),
        non_links=np.zeros(max(non_links, 1), dtype=np.int64),
        inside=np.zeros(communities),
    )


@lean_kernel
def fill_excess(value: np.ndarray, into: np.ndarray) -> float:
    """Compute d_k = beta_k - delta of every community; returns their sum D."""
    background, total = value[-1], 0.0
    for k in range(len(into)):
        into[k] = excess(value[k], background)
        total += into[k]
    return total


@inlined_lean_kernel
def frame_at(t: int, frame: Frame, strengths: StrengthState) -> Frame:
    """Return the frame of iteration t: its key, d_k of the strengths and the pool of the rows as they are now."""
    each, represented = frame.strength.excess, frame.pool.represented
    strength = Strength(each, fill_excess(strengths.value, each), strengths.value[-1])
    pool = Pool(frame.pool.members, list_unrepresented(represented, frame.pool.members), represented)
    key = Key(frame.key.low, frame.key.high, np.uint32(t))
    return Frame(frame.network, frame.table, frame.how, frame.settings, strength, pool, key)


@inlined_kernel
def add_to_lists(k: int, phi: float, near: bool, at: int, scratch: SplitScratch) -> None:
    """Append community k to the local lists."""
    scratch.place[k] = at
    scratch.community[at] = k
    scratch.phi[at] = phi
    scratch.gain[at] = 0.0
    scratch.near[at] = near


@inlined_lean_kernel
def load_row(a: int, table: SplitRows, scratch: SplitScratch) -> int:
    """Copy the listed communities of node a to the local lists; returns how many there are."""
    start, count = table.start[a], table.count[a]
    for j in range(count):
        add_to_lists(table.community[start + j], np.float64(table.phi[start + j]), False, j, scratch)
    return int(count)


@inlined_lean_kernel
def clear_places(count: int, scratch: SplitScratch) -> None:
    """Empty the local lists."""
    for at in range(count):
        scratch.place[scratch.community[at]] = IN_BULK


@inlined_lean_kernel
def normalise(
    count: int, p: float, inverse: float, strength: Strength, scratch: SplitScratch
) -> tuple[float, float]:
    """Compute pi of the listed communities; returns X_a of (A3) and the sum of their d_k."""
    mean, listed = p * strength.excess_sum, 0.0
    for at in range(count):
        pi = scratch.phi[at] * inverse
        d = strength.excess[scratch.community[at]]
        scratch.pi[at] = pi
        mean += d * (pi - p)
        listed += d
    return mean, listed
