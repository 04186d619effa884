"""The surroundings of a node as the link indicators see them: which communities its neighbours are in, and how much.

Most of what the neighbours are in has next to no chance of mattering to the node: births of a sweep ago, with a
weight of a thousandth. So the local lists take in only the node's own communities and those that weigh something
for a neighbour. The pull of a neighbour's other communities is kept as one number, `elsewhere`, and looked into in
the rare case that a draw falls there; `seen` tells which communities would have to be looked up.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.samplers.scir.frame import Scratch
from blockmix.samplers.scir.rows import add_local, weight_in
from blockmix.tables.layout import Index, Network, Rows, Strengths

# A neighbour's community is in the local lists from this weight on.
LEAST_LISTED = 0.03


@inlined_lean_kernel
def meet_neighbors(a: int, own: int, network: Network, rows: Rows, cut: float, scratch: Scratch) -> int:
    """Append the communities in which neighbours have weight to the local lists; returns their number.

    `home` sums these weights. Which communities are taken in besides the node's own depends on the neighbours alone, as
    an exact step needs. Rows begin with their largest communities, so reading one can stop at the first small weight.
    """
    words, weights, place, home = rows.words, rows.weights, scratch.place, scratch.home
    slots = words.shape[1] // 2
    least = max(LEAST_LISTED, cut)
    count = own
    for at in range(own):
        home[at] = 0.0
    for i in range(network.offsets[a], network.offsets[a + 1]):
        b = network.neighbors[i]
        for j in range(slots):
            k = words[b, 2 * j]
            pi_b = np.float64(weights[b, 2 * j + 1])
            if k < 0 or pi_b <= least:
                break
            at = place[k]
            if at < 0:
                at = count
                add_local(k, 0.0, 0.0, at, scratch)
                home[at] = 0.0
                count += 1
            home[at] += pi_b
    return count


@inlined_lean_kernel
def read_neighbors(
    a: int, count: int, network: Network, rows: Rows, strengths: Strengths, cut: float, scratch: Scratch
) -> None:
    """List for every link what its neighbour weighs in the local communities, and sum that up for each of them.

    Link i has entries first[i] to first[i + 1] of (`entry`, `heard`): a place in the local lists and pi_bk there. What
    has to say elsewhere, where pi_bk is above the cut, is `elsewhere[i]`: the sum of max(d_k, 0) pi_bk.
    """
    place, near, near_squared, seen = scratch.place, scratch.near, scratch.near_squared, scratch.seen
    entry, heard, first = scratch.entry, scratch.heard, scratch.first
    words, weights, value = rows.words, rows.weights, strengths.value
    background = value[-1]
    slots = words.shape[1] // 2
    begin = network.offsets[a]
    for at in range(count):
        near[at], near_squared[at] = 0.0, 0.0
        scratch.excess[at] = value[scratch.community[at]] - background
    end = 0
    first[0] = 0
    for i in range(network.offsets[a + 1] - begin):
        b = network.neighbors[begin + i]
        elsewhere = 0.0
        for j in range(slots):
            k = words[b, 2 * j]
            if k < 0:
                break
            pi_b = np.float64(weights[b, 2 * j + 1])
            at = place[k]
            if at >= 0:
                near[at] += pi_b
                near_squared[at] += pi_b * pi_b
                entry[end] = at
                heard[end] = pi_b
                end += 1
            else:
                seen[k] = a
                if pi_b > cut:
                    elsewhere += max(value[k] - background, 0.0) * pi_b
        first[i + 1] = end
        scratch.elsewhere[i] = elsewhere
    for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
        b = network.hidden_neighbors[i]
        for j in range(slots):
            k = words[b, 2 * j]
            if k < 0:
                break
            at = place[k]
            if at >= 0:
                pi_b = np.float64(weights[b, 2 * j + 1])
                near[at] += pi_b
                near_squared[at] += pi_b * pi_b
            else:
                seen[k] = a


@lean_kernel
def near_in(a: int, k: Index, network: Network, rows: Rows) -> tuple[float, float]:
    """Sums of pi_bk and of its square over neighbours and held-out partners, for a community not in the local lists."""
    near, squared = 0.0, 0.0
    for i in range(network.offsets[a], network.offsets[a + 1]):
        pi_b = weight_in(network.neighbors[i], k, rows)
        near += pi_b
        squared += pi_b * pi_b
    for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
        pi_b = weight_in(network.hidden_neighbors[i], k, rows)
        near += pi_b
        squared += pi_b * pi_b
    return near, squared
