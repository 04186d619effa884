"""Pairs of nodes under rows with a bulk: their sums over communities, (A4), and the update of the strengths, (A10)."""

from __future__ import annotations

import numpy as np

from blockmix.model.links import link_probability, outcome_probability
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.samplers.langevin.dynamics import LEAST_LIKELIHOOD, StrengthState, in_subset, move_strength
from blockmix.samplers.minibatch import PairBatch
from blockmix.samplers.sgmc_m.frame import Frame, SplitScratch, Strength, clear_places, load_row, normalise
from blockmix.samplers.sgmc_m.table import SplitRows


@inlined_lean_kernel
def shared_sums(
    b: int, p: float, mean: float, table: SplitRows, strength: Strength, scratch: SplitScratch
) -> tuple[float, float]:
    """(A4) Compute sum_k d_k pi_ak pi_bk and sum_k pi_ak pi_bk, row a being in the local lists."""
    inverse = 1.0 / table.total[b]
    p_b = table.bulk[b] * inverse
    excess, overlap = p_b * mean, p_b
    for i in range(table.start[b], table.start[b] + table.count[b]):
        k = table.community[i]
        at = scratch.place[k]
        both = (scratch.pi[at] if at >= 0 else p) * (np.float64(table.phi[i]) * inverse - p_b)
        excess += strength.excess[k] * both
        overlap += both
    return excess, overlap


@lean_kernel
def count_pairs(
    batch: PairBatch, table: SplitRows, strength: Strength, scratch: SplitScratch
) -> tuple[float, float]:
    """(A10) Compute scratch.inside[k] = sum_b h pi_ak pi_bk/Z_ab less a constant, over the pairs of a mini-batch.

    Returns that constant, which is the whole sum for communities that none of these rows lists, and the same sum over
    pairs of sum_{j != k} pi_aj pi_bk/Z_ab, from which the background is learned.
    """
    inside = scratch.inside
    inside[:] = 0.0
    base, apart, begin = 0.0, 0.0, 0
    while begin < len(batch.first):
        a, end = batch.first[begin], begin + 1
        while end < len(batch.first) and batch.first[end] == a:
            end += 1
        more, more_apart = count_pairs_of(begin, end, batch, table, strength, scratch)
        base += more
        apart += more_apart
        begin = end
    return base, apart


@inlined_lean_kernel
def count_pairs_of(
    begin: int, end: int, batch: PairBatch, table: SplitRows, strength: Strength, scratch: SplitScratch
) -> tuple[float, float]:
    """(A10) Add the pairs [begin, end) of a mini-batch, which share their first node, to the sums of `count_pairs`."""
    a, inside = batch.first[begin], scratch.inside
    listed = load_row(a, table, scratch)
    inverse = 1.0 / table.total[a]
    p = table.bulk[a] * inverse
    mean, _ = normalise(listed, p, inverse, strength, scratch)
    even, apart = 0.0, 0.0
    for i in range(begin, end):
        b = batch.second[i]
        excess, overlap = shared_sums(b, p, mean, table, strength, scratch)
        z = outcome_probability(batch.y, link_probability(strength.background, excess))
        q = batch.scale / max(z, LEAST_LIKELIHOOD)
        inverse_b = q / table.total[b]
        p_b = table.bulk[b] * inverse_b
        for j in range(table.start[b], table.start[b] + table.count[b]):
            k = table.community[j]
            at = scratch.place[k]
            inside[k] += (scratch.pi[at] if at >= 0 else p) * (np.float64(table.phi[j]) * inverse_b - p_b)
        even += p_b
        apart += q * (1.0 - overlap)
    for at in range(listed):
        inside[scratch.community[at]] += (scratch.pi[at] - p) * even
    clear_places(listed, scratch)
    return p * even, apart


@lean_kernel
def update_strengths(
    batch: PairBatch, eps: float, rate: float, frame: Frame, strengths: StrengthState, scratch: SplitScratch
) -> None:
    """(A10), (L7), (L8), (L13) Move a random subset of the strengths and, where it is learned, the background."""
    y, value, inside, key = batch.y, strengths.value, scratch.inside, frame.key
    form = frame.how.preconditioned
    communities = len(inside)
    background = value[communities]
    base, apart = count_pairs(batch, frame.table, frame.strength, scratch)
    left = frame.how.subset
    for k in range(communities):
        if not in_subset(k, communities, left, key):
            continue
        left -= 1
        pairs = outcome_probability(y, value[k]) * max(base + inside[k], 0.0)
        value[k] = move_strength(k, y, pairs, eps, rate, form, key, strengths)
    if frame.how.learn_background:
        outside = max(apart, 0.0) * outcome_probability(y, background)
        value[communities] = move_strength(communities, y, outside, eps, rate, form, key, strengths)
