"""The local lists of the communities that one update looks at, as far as both link models use them alike.

Their work spaces differ, and both have these arrays: a draw from the row, sizes given counts, and what is kept of them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_lean_kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_SIZE
from blockmix.numerics.variates import gamma
from blockmix.samplers.scir.frame import Node
from blockmix.tables.layout import Key


class Lists(Protocol):
    """The arrays, by position in the lists; `position` itself is by community."""

    @property
    def position(self) -> NDArray[Any]:
        """Where a community is in the lists, or -1."""

    @property
    def community(self) -> NDArray[Any]:
        """The communities."""

    @property
    def phi(self) -> NDArray[Any]:
        """Their sizes."""

    @property
    def pi(self) -> NDArray[Any]:
        """The node's memberships."""

    @property
    def count(self) -> NDArray[Any]:
        """Its links or units in each."""

    @property
    def inverse(self) -> NDArray[Any]:
        """1/lambda_k."""


@inlined_lean_kernel
def walk_row(v: float, own: int, lists: Lists) -> int:
    """Draw a community from pi_a by inversion of the uniform v."""
    chosen = 0
    for at in range(own):
        chosen = at
        v -= lists.pi[at]
        if v < 0.0:
            break
    return chosen


@inlined_lean_kernel
def draw_sizes(node: Node, count: int, key: Key, lists: Lists) -> None:
    """(G4), (DC7) Draw phi_k ~ Gamma(alpha + n_k)/lambda_k where k has links or units; it is 0 elsewhere."""
    for at in range(count):
        phi = 0.0
        if lists.count[at] > 0.0:
            # the counter's slot is 16 bits wide: the rest of the position goes to the draw block
            word, block = stream_word(DRAW_SIZE, at & 0xFFFF), np.uint32((at >> 16) << 16)
            shape = node.alpha + lists.count[at]
            phi = gamma(shape, key.low, key.high, node.name, key.sweep, word, block) * lists.inverse[at]
        lists.phi[at] = phi


@inlined_lean_kernel
def keep_largest(count: int, slots: int, smallest: float, scratch: Lists) -> tuple[int, float]:
    """(P3) Move what is kept to the front of the local lists; returns how many and the phi dropped.

    Everything below the smallest phi goes, then the smallest of more than L. The largest stays; they end in
    decreasing order.
    """
    phis, communities = scratch.phi, scratch.community
    best = 0
    for at in range(count):
        scratch.position[communities[at]] = -1
        if phis[at] > phis[best]:
            best = at
    phis[0], phis[best] = phis[best], phis[0]
    communities[0], communities[best] = communities[best], communities[0]
    dropped = 0.0
    kept = 1
    for at in range(1, count):
        phi = phis[at]
        if phi < smallest:
            dropped += phi
            continue
        to = kept
        if kept == slots:
            to = 0
            for other in range(1, slots):
                if phis[other] < phis[to]:
                    to = other
            if phi <= phis[to]:
                dropped += phi
                continue
            dropped += phis[to]
        else:
            kept += 1
        phis[to], communities[to] = phi, communities[at]
    # Where everything fell below the smallest phi, as it can for a node without links, the largest stays.
    phis[0] = max(phis[0], smallest)
    sort_largest_first(kept, phis, communities)
    return kept, dropped


@inlined_lean_kernel
def sort_largest_first(count: int, phis: np.ndarray, communities: np.ndarray) -> None:
    """Sort by insertion: there are few."""
    for at in range(2, count):
        phi, k = phis[at], communities[at]
        to = at
        while phis[to - 1] < phi:
            phis[to], communities[to] = phis[to - 1], communities[to - 1]
            to -= 1
        phis[to], communities[to] = phi, k
