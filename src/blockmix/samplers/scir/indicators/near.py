"""The communities of a node's neighbours, as the link indicators need them: which they are, and with what weight.

Most of what the neighbours are in has next to no chance of mattering to the node: births of a sweep ago, with a
weight of a thousandth. So the local lists take in only the node's own communities and those that weigh something
for a neighbour. The pull of a neighbour's other communities is kept as one number, `unlisted_weight`, and looked into
in the rare case that a draw falls there; `seen` marks the communities that would have to be looked up.
"""

from __future__ import annotations

import numpy as np

from blockmix.model.links import excess
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.samplers.scir.constants import LEAST_LISTED
from blockmix.samplers.scir.frame import Frame, Node, Scratch
from blockmix.samplers.scir.rows import add_local, weight_in
from blockmix.tables.layout import Index


@inlined_lean_kernel
def list_neighbors(node: Node, own: int, frame: Frame, scratch: Scratch) -> int:
    """Append the communities in which neighbours have weight to the local lists; returns their number.

    `listed_weight` sums these weights. Which communities are taken in besides the node's own depends on the neighbours
    alone, as an exact step needs. Rows begin with their largest communities, so that reading one can stop at the first
    small weight.
    """
    words, weights, listed_weight = frame.rows.words, frame.rows.weights, scratch.listed_weight
    network, slots = frame.network, frame.rows.words.shape[1] // 2
    least = max(LEAST_LISTED, frame.settings.cut)
    count = own
    for at in range(own):
        listed_weight[at] = 0.0
    for i in range(network.offsets[node.place], network.offsets[node.place + 1]):
        b = network.neighbors[i]
        for j in range(slots):
            k = words[b, 2 * j]
            pi_b = np.float64(weights[b, 2 * j + 1])
            if k < 0 or pi_b <= least:
                break
            at = scratch.position[k]
            if at < 0:
                at = count
                add_local(k, 0.0, 0.0, at, scratch)
                listed_weight[at] = 0.0
                count += 1
            listed_weight[at] += pi_b
    return count


@inlined_lean_kernel
def read_neighbors(node: Node, count: int, frame: Frame, scratch: Scratch) -> None:
    """List for every link what its neighbour weighs in the local communities, and sum that up for each of them.

    Link i has entries first[i] to first[i + 1] of (`entry`, `link_weight`): a position in the local lists and pi_bk
    there. What the neighbour weighs elsewhere, where pi_bk is above the cut, is `unlisted_weight[i]`: the sum of
    max(d_k, 0) pi_bk.
    """
    position, near, near_squared, seen = scratch.position, scratch.near, scratch.near_squared, scratch.seen
    entry, link_weight, first = scratch.entry, scratch.link_weight, scratch.first
    network, value, cut = frame.network, frame.strengths.value, frame.settings.cut
    words, weights = frame.rows.words, frame.rows.weights
    background = value[-1]
    slots = words.shape[1] // 2
    begin = network.offsets[node.place]
    for at in range(count):
        near[at], near_squared[at] = 0.0, 0.0
        scratch.excess[at] = excess(value[scratch.community[at]], background)
    end = 0
    first[0] = 0
    for i in range(node.degree):
        b = network.neighbors[begin + i]
        unlisted = 0.0
        for j in range(slots):
            k = words[b, 2 * j]
            if k < 0:
                break
            pi_b = np.float64(weights[b, 2 * j + 1])
            at = position[k]
            if at >= 0:
                near[at] += pi_b
                near_squared[at] += pi_b * pi_b
                entry[end] = at
                link_weight[end] = pi_b
                end += 1
            else:
                seen[k] = node.place
                if pi_b > cut:
                    unlisted += max(excess(value[k], background), 0.0) * pi_b
        first[i + 1] = end
        scratch.unlisted_weight[i] = unlisted
    for i in range(network.hidden_offsets[node.place], network.hidden_offsets[node.place + 1]):
        b = network.hidden_neighbors[i]
        for j in range(slots):
            k = words[b, 2 * j]
            if k < 0:
                break
            at = position[k]
            if at >= 0:
                pi_b = np.float64(weights[b, 2 * j + 1])
                near[at] += pi_b
                near_squared[at] += pi_b * pi_b
            else:
                seen[k] = node.place


@lean_kernel
def near_in(node: Node, k: Index, frame: Frame) -> tuple[float, float]:
    """Sum pi_bk and its square over neighbours and held-out partners, for a community not in the local lists."""
    network = frame.network
    near, squared = 0.0, 0.0
    for i in range(network.offsets[node.place], network.offsets[node.place + 1]):
        pi_b = weight_in(network.neighbors[i], k, frame.rows)
        near += pi_b
        squared += pi_b * pi_b
    for i in range(network.hidden_offsets[node.place], network.hidden_offsets[node.place + 1]):
        pi_b = weight_in(network.hidden_neighbors[i], k, frame.rows)
        near += pi_b
        squared += pi_b * pi_b
    return near, squared
