"""Births of the diffusion (P2): communities at zero that come back."""

from __future__ import annotations

import math

import numpy as np

from blockmix.model.links import excess
from blockmix.numerics.cir import cir_scale
from blockmix.numerics.compile import lean_kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_BIRTH_PLACE, DRAW_BIRTH_SIZE, DRAW_BIRTHS
from blockmix.numerics.special import expint_e1
from blockmix.numerics.variates import levy_jump, poisson, uniform32
from blockmix.samplers.scir.diffusion.drift import Pull
from blockmix.samplers.scir.diffusion.links import sample_neighbors, sampled_neighbor
from blockmix.samplers.scir.frame import MAX_BIRTHS, MEMBERS, Frame, Node, Scratch, random_words
from blockmix.samplers.scir.rows import add_local, weight_in


@lean_kernel
def near_in(node: Node, k: int, frame: Frame) -> float:
    """Sum pi_bk over neighbours and held-out partners, for a community that is not in the local lists."""
    network = frame.network
    begin = network.offsets[node.place]
    sample = sample_neighbors(node, frame)
    near = 0.0
    for i in range(sample.reads):
        b = network.neighbors[begin + sampled_neighbor(i, sample, node.degree)]
        near += sample.weight * weight_in(b, k, frame.rows)
    for i in range(network.hidden_offsets[node.place], network.hidden_offsets[node.place + 1]):
        near += weight_in(network.hidden_neighbors[i], k, frame.rows)
    return near


@lean_kernel
def birth_survives(node: Node, k: int, size: float, u: float, pull: Pull, frame: Frame) -> bool:
    """(P2) Decide whether a birth proposed at rate one happens at the rate b_k of its community, with the uniform u.

    Non-links make b_k = 1 + loss/total and c_k larger: a birth of this size is kept with probability
    e^(-(c_k - c) size). Neighbours in k are no non-links; they are looked up only where that could matter.
    """
    settings, value = frame.settings, frame.strengths.value
    per_member = settings.non_link_weight * excess(value[k], value[-1]) / (1.0 - value[-1])
    loss = per_member * frame.members[k, MEMBERS] - pull.mean
    survives = loss <= 0.0 or u <= kept_share(loss / pull.total, size, settings.step)
    if survives == (per_member > 0.0):
        return survives
    loss -= per_member * near_in(node, k, frame)
    return loss <= 0.0 or u <= kept_share(loss / pull.total, size, settings.step)


@lean_kernel
def kept_share(loss: float, size: float, step: float) -> float:
    """Compute e^(-(c_k - c) size), c_k being that of the rate 1 + loss."""
    return math.exp(-(cir_scale(1.0 + loss, step) - cir_scale(1.0, step)) * size)


@lean_kernel
def draw_births(node: Node, count: int, pull: Pull, frame: Frame, scratch: Scratch) -> int:
    """(P2) Let communities at zero be reborn above the smallest phi that is kept; returns the new local count.

    Births are proposed over all communities as if no non-link opposed them, then thinned: those in the
    local lists are no births, and a community more exposed to non-links than the node's own has fewer. Two
    that fall on one community add up, as the jumps of a Gamma process do.
    """
    known = count
    communities, key = len(frame.members), frame.key
    scale = cir_scale(1.0, frame.settings.step)
    floor = node.smallest * scale
    low, high, name, sweep = key.low, key.high, node.name, key.sweep
    expected = communities * node.alpha * expint_e1(floor)
    births = poisson(expected, low, high, name, sweep, stream_word(DRAW_BIRTHS, 0), np.uint32(0))
    for i in range(min(int(births), MAX_BIRTHS)):
        word, other, _, _ = random_words(node, DRAW_BIRTH_PLACE, i, 0, key)
        k = int(np.int64((np.uint64(word) * np.uint64(communities)) >> np.uint64(32)))
        at = scratch.position[k]
        if 0 <= at < known:
            continue
        size = levy_jump(floor, low, high, name, sweep, stream_word(DRAW_BIRTH_SIZE, i), np.uint32(0)) / scale
        if not birth_survives(node, k, size, uniform32(other), pull, frame):
            continue
        if at < 0:
            add_local(k, 0.0, 0.0, count, scratch)
            at = count
            count += 1
        scratch.phi[at] += size
    return count
