"""The communities of a node's neighbours, and the exposure (DC4) of the node in every community.

As in the move of the assortative model, the local lists take in the node's own communities and those that weigh
something for a neighbour; what a neighbour weighs elsewhere is one number, `unlisted_weight`, and looked into in the
rare case that a draw falls there.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.samplers.scir.constants import LEAST_LISTED
from blockmix.samplers.scir.frame import Node
from blockmix.samplers.scir.popularity.frame import MEMBERS, Exposure, Frame, Scratch, append, side_of
from blockmix.samplers.scir.rows import weight_in
from blockmix.tables.layout import Index


@inlined_lean_kernel
def list_neighbors(node: Node, own: int, frame: Frame, scratch: Scratch) -> int:
    """Append the communities in which neighbours have weight to the local lists; returns their number.

    Which communities are taken in besides the node's own depends on the neighbours alone, as an exact step needs.
    Rows begin with their largest communities.
    """
    words, weights, network = frame.rows.words, frame.rows.weights, frame.network
    count = own
    for i in range(network.offsets[node.place], network.offsets[node.place + 1]):
        b = network.neighbors[i]
        for j in range(words.shape[1] // 2):
            k = words[b, 2 * j]
            if k < 0 or weights[b, 2 * j + 1] <= LEAST_LISTED:
                break
            if scratch.position[k] < 0:
                append(k, 0.0, count, scratch)
                count += 1
    return count


@inlined_lean_kernel
def read_neighbors(node: Node, count: int, frame: Frame, scratch: Scratch) -> tuple[float, float]:
    """List for every link what its neighbour adds to the rate in the local communities (DC3).

    Sums theta_bk over neighbours and over held-out partners in every local community (`near`, `hidden`), and returns
    the sums of r_b over both.
    """
    network, words, weights, total = frame.network, frame.rows.words, frame.rows.weights, frame.rows.total
    rates, background = frame.rates, frame.rates[-1]
    slots = words.shape[1] // 2
    begin = network.offsets[node.place]
    for at in range(count):
        scratch.near[at], scratch.hidden[at] = 0.0, 0.0
    end, near, hidden = 0, 0.0, 0.0
    scratch.first[0] = 0
    for i in range(node.degree):
        b = network.neighbors[begin + i]
        r = np.float64(total[b])
        near += r
        unlisted = 0.0
        for j in range(slots):
            k = words[b, 2 * j]
            if k < 0:
                break
            theta = np.float64(weights[b, 2 * j + 1]) * r
            at = scratch.position[k]
            if at >= 0:
                scratch.near[at] += theta
                scratch.entry[end] = at
                scratch.link_weight[end] = rates[k] * theta
                end += 1
            else:
                scratch.seen[k] = node.place
                unlisted += rates[k] * theta
        scratch.first[i + 1] = end
        scratch.pull[i] = background * r
        scratch.unlisted_weight[i] = unlisted
    for i in range(network.hidden_offsets[node.place], network.hidden_offsets[node.place + 1]):
        b = network.hidden_neighbors[i]
        r = np.float64(total[b])
        hidden += r
        for j in range(slots):
            k = words[b, 2 * j]
            if k < 0:
                break
            at = scratch.position[k]
            if at >= 0:
                scratch.hidden[at] += np.float64(weights[b, 2 * j + 1]) * r
            else:
                scratch.seen[k] = node.place
    return near, hidden


@inlined_lean_kernel
def observed_sum(members: float, own: float, near: float, hidden: float, weight: float) -> float:
    """(DC4) Sum over observed partners, links counting one and non-links `weight`, from the sum over all nodes."""
    return weight * max(members - own - near - hidden, 0.0) + near


@inlined_lean_kernel
def common_exposure(node: Node, near: float, hidden: float, frame: Frame) -> Exposure:
    """(DC4), (DC15) Compute rho + eps R_a, which the exposures of all communities have in common."""
    settings = frame.settings
    side = side_of(node.place, settings.first)
    partners: int = MEMBERS
    own = np.float64(frame.rows.total[node.place])
    if settings.first > 0:
        partners, own = 1 - side, np.float64(0.0)
    rest = observed_sum(frame.members[-1, partners], own, near, hidden, settings.non_link_weight)
    rho = settings.rho[side]
    return Exposure(own, rho + frame.rates[-1] * rest, partners, rho)


@inlined_lean_kernel
def set_exposures(count: int, common: Exposure, frame: Frame, scratch: Scratch) -> None:
    """(DC4) Set lambda_k = rho + eps R_a + w_k T_ak of every local community."""
    for at in range(count):
        k = scratch.community[at]
        rest = observed_sum(
            frame.members[k, common.partners], scratch.pi[at] * common.own, scratch.near[at], scratch.hidden[at],
            frame.settings.non_link_weight,
        )  # fmt: skip
        scratch.exposure[at] = common.least + frame.rates[k] * rest
        scratch.inverse[at] = 1.0 / scratch.exposure[at]


@lean_kernel
def near_in(node: Node, k: Index, frame: Frame) -> tuple[float, float]:
    """Sum theta_bk over neighbours and over held-out partners, for a community not in the local lists."""
    network, total = frame.network, frame.rows.total
    near, hidden = 0.0, 0.0
    for i in range(network.offsets[node.place], network.offsets[node.place + 1]):
        b = network.neighbors[i]
        near += weight_in(b, k, frame.rows) * np.float64(total[b])
    for i in range(network.hidden_offsets[node.place], network.hidden_offsets[node.place + 1]):
        b = network.hidden_neighbors[i]
        hidden += weight_in(b, k, frame.rows) * np.float64(total[b])
    return near, hidden


@inlined_lean_kernel
def outside_exposure(node: Node, k: Index, common: Exposure, frame: Frame, scratch: Scratch) -> float:
    """(DC4) Compute lambda_k of a community that is not in the local lists, and so not one of the node's own."""
    near, hidden = 0.0, 0.0
    if scratch.seen[k] == node.place:
        near, hidden = near_in(node, k, frame)
    rest = observed_sum(frame.members[k, common.partners], 0.0, near, hidden, frame.settings.non_link_weight)
    exposure: float = common.least + frame.rates[k] * rest
    return exposure


@inlined_lean_kernel
def append_outsider(k: Index, exposure: float, at: int, scratch: Scratch) -> None:
    """Append a community to the local lists, with its exposure and no units yet."""
    append(k, 0.0, at, scratch)
    scratch.exposure[at], scratch.inverse[at], scratch.count[at] = exposure, 1.0 / exposure, 0.0
