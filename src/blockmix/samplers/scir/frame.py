"""What the kernels of `scir` see besides the tables: settings of a sweep, the tilts of a node, work space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Columns of the statistics gathered for every community.
MEMBERS, MEMBERS_SQUARED, LINKS_INSIDE, EXPOSURE = 0, 1, 2, 3
STATISTICS = 4


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
