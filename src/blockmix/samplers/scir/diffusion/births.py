"""Births of the diffusion (P2): communities at zero that come back."""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.cir import cir_scale
from blockmix.numerics.compile import kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_BIRTH_PLACE, DRAW_BIRTH_SIZE, DRAW_BIRTHS
from blockmix.numerics.special import expint_e1
from blockmix.numerics.variates import levy_jump, poisson, uniform32
from blockmix.samplers.scir.diffusion.links import sampled_place, systematic_sample
from blockmix.samplers.scir.frame import MAX_BIRTHS, MEMBERS, Scratch, Settings
from blockmix.samplers.scir.rows import add_local, weight_in
from blockmix.tables.layout import Key, Network, Rows, Strengths


@kernel
def near_in(a: int, k: int, network: Network, rows: Rows, settings: Settings, key: Key) -> float:
    """Sum of pi_bk over neighbours and held-out partners, for a community that is not in the local lists."""
    begin = network.offsets[a]
    degree = network.offsets[a + 1] - begin
    reads, weight, offset = systematic_sample(a, degree, settings, key)
    near = 0.0
    for i in range(reads):
        near += weight * weight_in(
            network.neighbors[begin + sampled_place(i, offset, weight, degree)], k, rows
        )
    for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
        near += weight_in(network.hidden_neighbors[i], k, rows)
    return near


@kernel
def birth_survives(
    a: int, k: int, size: float, u: float, mean: float, total: float, network: Network, rows: Rows,
    members: np.ndarray, strengths: Strengths, settings: Settings, key: Key,
) -> bool:  # fmt: skip
    """(P2) Whether a birth proposed at rate one happens at the rate b_k of its community, with the uniform u.

    Non-links make b_k = 1 + loss/total and c_k larger: a birth of this size is kept with probability
    e^(-(c_k - c) size). Neighbours in k are no non-links; they are looked up only where that could matter.
    """
    background = strengths.value[-1]
    per_member = settings.non_link_weight * (strengths.value[k] - background) / (1.0 - background)
    loss = per_member * members[k, MEMBERS] - mean
    scale = cir_scale(1.0, settings.step)
    survives = loss <= 0.0 or u <= math.exp(-(cir_scale(1.0 + loss / total, settings.step) - scale) * size)
    if survives == (per_member > 0.0):
        return survives
    loss -= per_member * near_in(a, k, network, rows, settings, key)
    return loss <= 0.0 or u <= math.exp(-(cir_scale(1.0 + loss / total, settings.step) - scale) * size)


@kernel
def give_birth(
    a: int, count: int, network: Network, rows: Rows, members: np.ndarray, mean: float, total: float,
    strengths: Strengths, alpha: float, settings: Settings, key: Key, scratch: Scratch,
) -> int:  # fmt: skip
    """(P2) Communities at zero reborn above the smallest phi that is kept; returns the new local count.

    Births are proposed over all communities as if no non-link spoke against them, then thinned: those in the
    local lists are no births, and a community more exposed to non-links than the node's own has fewer. Two
    that fall on one community add up, as the jumps of a Gamma process do.
    """
    known = count
    communities = len(members)
    scale = cir_scale(1.0, settings.step)
    floor = settings.smallest * scale
    c0, low, high = np.uint32(a), key.low, key.high
    expected = communities * alpha * expint_e1(floor)
    births = poisson(expected, low, high, c0, key.sweep, stream_word(DRAW_BIRTHS, 0), np.uint32(0))
    for i in range(min(int(births), MAX_BIRTHS)):
        word, other, _, _ = philox4x32(
            c0, key.sweep, stream_word(DRAW_BIRTH_PLACE, i), np.uint32(0), low, high
        )
        k = int(np.int64((np.uint64(word) * np.uint64(communities)) >> np.uint64(32)))
        at = scratch.place[k]
        if 0 <= at < known:
            continue
        size = (
            levy_jump(floor, low, high, c0, key.sweep, stream_word(DRAW_BIRTH_SIZE, i), np.uint32(0)) / scale
        )
        if not birth_survives(
            a, k, size, uniform32(other), mean, total, network, rows, members, strengths, settings, key
        ):
            continue
        if at < 0:
            add_local(k, 0.0, 0.0, count, scratch)
            at = count
            count += 1
        scratch.phi[at] += size
    return count
