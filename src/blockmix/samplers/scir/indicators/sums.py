"""log T of (G4) exactly: the non-links of a node, summed over the members of its communities.

Its cost grows with the number of members, so it is for small networks. Most tests are decided by bounds of the sum.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel
from blockmix.samplers.scir.frame import Frame, Node, Scratch
from blockmix.samplers.scir.non_links import curved_rest

# Factors 1 - v that are multiplied before a logarithm is taken: each is at least 1e-12, so that they do not underflow.
FACTORS_A_LOGARITHM = 16


@inlined_lean_kernel
def add_members(k: int, old: float, new: float, touched: int, frame: Frame, scratch: Scratch) -> int:
    """Add c_k pi_k pi_bk of old and new memberships for every member b; returns how many nodes are touched so far."""
    lists, v_old, v_new = frame.lists, scratch.v_old, scratch.v_new
    for part in range(lists.size.shape[1]):
        begin = lists.begin[k, part]
        for entry in range(begin, begin + lists.size[k, part]):
            b, weight = lists.place[entry], np.float64(lists.weight[entry])
            if scratch.at_node[b] == 0:
                scratch.at_node[b] = 1
                scratch.touched[touched] = b
                v_old[b], v_new[b] = 0.0, 0.0
                touched += 1
            v_old[b] += old * weight
            v_new[b] += new * weight
    return touched


@inlined_lean_kernel
def leave_out_pairs(node: Node, frame: Frame, scratch: Scratch) -> None:
    """Forget the node itself, its neighbours and held-out partners: they are no non-links."""
    network, v_old, v_new = frame.network, scratch.v_old, scratch.v_new
    v_old[node.place], v_new[node.place] = 0.0, 0.0
    for i in range(network.offsets[node.place], network.offsets[node.place + 1]):
        v_old[network.neighbors[i]], v_new[network.neighbors[i]] = 0.0, 0.0
    for i in range(network.hidden_offsets[node.place], network.hidden_offsets[node.place + 1]):
        v_old[network.hidden_neighbors[i]], v_new[network.hidden_neighbors[i]] = 0.0, 0.0


@inlined_lean_kernel
def bracket(count: int, own: int, total: float, frame: Frame, scratch: Scratch) -> tuple[float, float]:
    """(N7) Compute bounds of log T, new memberships less old, from R_k and R2_k: most tests are decided by them.

    log(1 - v) is at least the bound (N2) and at most -v - v^2/2, where no c_k is negative, or -v.
    """
    bounds = frame.bounds
    curved_new, curved_old, least_new, least_old, linear = 0.0, 0.0, 0.0, 0.0, 0.0
    positive = True
    for at in range(count):
        old, new = scratch.pi[at] if at < own else 0.0, scratch.phi[at] / total
        if old > 0.0 or new > 0.0:
            k, rest, squares = scratch.community[at], scratch.rest[at], scratch.squares[at]
            c, g = bounds.slope[k], bounds.curve[k]
            linear += c * rest * (new - old)
            curved_new += g * new * curved_rest(new, rest, squares)
            curved_old += g * old * curved_rest(old, rest, squares)
            least_new += 0.5 * (c * new) ** 2 * squares
            least_old += 0.5 * (c * old) ** 2 * squares
            positive = positive and c >= 0.0
    if not positive:
        least_new, least_old = 0.0, 0.0
    weight = frame.settings.non_link_weight
    return weight * (least_old - curved_new - linear), weight * (curved_old - least_new - linear)


@inlined_lean_kernel
def exact_gain(node: Node, count: int, own: int, total: float, frame: Frame, scratch: Scratch) -> float:
    """(G4) Compute log T, the sum of log(1 - v_b) over the node's non-links, new memberships less old."""
    free, touched = 1.0 - frame.strengths.value[-1], 0
    for at in range(count):
        slope = scratch.excess[at] / free
        old = scratch.pi[at] if at < own else 0.0
        if old > 0.0 or scratch.phi[at] > 0.0:
            touched = add_members(
                scratch.community[at], slope * old, slope * scratch.phi[at] / total, touched, frame, scratch
            )
    leave_out_pairs(node, frame, scratch)
    result, ratio_new, ratio_old = 0.0, 1.0, 1.0
    for i in range(touched):
        b = scratch.touched[i]
        scratch.at_node[b] = 0
        ratio_new *= 1.0 - scratch.v_new[b]
        ratio_old *= 1.0 - scratch.v_old[b]
        if i % FACTORS_A_LOGARITHM == FACTORS_A_LOGARITHM - 1:
            result += math.log(ratio_new / ratio_old)
            ratio_new, ratio_old = 1.0, 1.0
    return frame.settings.non_link_weight * (result + math.log(ratio_new / ratio_old))
