"""Pairs of nodes under rows with a bulk: link probabilities, (M1) by (A4), and what the strengths learn, (A10)."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.samplers.langevin.dynamics import LEAST_LIKELIHOOD, Dynamics, Links, first_of_run, move_strength
from blockmix.samplers.sgmc_m.nodes import SplitScratch, Strength, clear_places, load_row, normalise
from blockmix.samplers.sgmc_m.table import SplitRows
from blockmix.tables.layout import Key


@kernel
def fill_excess(value: np.ndarray, excess: np.ndarray) -> float:
    """d_k = beta_k - delta of every community; returns their sum D."""
    background, total = value[-1], 0.0
    for k in range(len(excess)):
        excess[k] = value[k] - background
        total += excess[k]
    return total


@inlined_kernel
def shared_sums(
    b: int, p: float, mean: float, table: SplitRows, strength: Strength, scratch: SplitScratch
) -> tuple[float, float]:
    """(A4) sum_k d_k pi_ak pi_bk and sum_k pi_ak pi_bk, row a being in the local lists."""
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


@kernel
def add_split_probabilities(
    pairs: np.ndarray, keep: float, share: float, table: SplitRows, strength: Strength, scratch: SplitScratch,
    out: np.ndarray,
) -> None:  # fmt: skip
    """Set out = keep * out + share * (M1) for every pair, the bulk's part included."""
    loaded, count, p, mean = np.int64(-1), 0, 0.0, 0.0
    for i in range(len(pairs)):
        a = pairs[i, 0]
        if a != loaded:
            clear_places(count, scratch)
            count, loaded = load_row(a, table, scratch), a
            inverse = 1.0 / table.total[a]
            p = table.bulk[a] * inverse
            mean, _ = normalise(count, p, inverse, strength, scratch)
        excess, _ = shared_sums(pairs[i, 1], p, mean, table, strength, scratch)
        out[i] = keep * out[i] + share * (strength.background + excess)
    clear_places(count, scratch)


@kernel
def count_pairs(
    a: int, y: int, others: np.ndarray, count: int, scale: float, table: SplitRows, strength: Strength,
    scratch: SplitScratch, inside: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """(A10) inside[k] = sum_b h pi_ak pi_bk/Z_ab less a constant, over the pairs (a, others[i]).

    Returns that constant, which is all there is for communities that no row in sight follows, and the same sum over
    pairs of sum_{j != k} pi_aj pi_bk/Z_ab, what the background learns from.
    """
    inside[:] = 0.0
    followed = load_row(a, table, scratch)
    inverse = 1.0 / table.total[a]
    p = table.bulk[a] * inverse
    mean, _ = normalise(followed, p, inverse, strength, scratch)
    even, apart = 0.0, 0.0
    for i in range(count):
        b = others[i]
        excess, overlap = shared_sums(b, p, mean, table, strength, scratch)
        link = strength.background + excess
        q = scale / max(link if y else 1.0 - link, LEAST_LIKELIHOOD)
        inverse_b = q / table.total[b]
        p_b = table.bulk[b] * inverse_b
        for j in range(table.start[b], table.start[b] + table.count[b]):
            k = table.community[j]
            at = scratch.place[k]
            inside[k] += (scratch.pi[at] if at >= 0 else p) * (np.float64(table.phi[j]) * inverse_b - p_b)
        even += p_b
        apart += q * (1.0 - overlap)
    for at in range(followed):
        inside[scratch.community[at]] += (scratch.pi[at] - p) * even
    clear_places(followed, scratch)
    return p * even, apart


@kernel
def update_split_strengths(
    a: int, y: int, others: np.ndarray, count: int, scale: float, eps: float, rate: float, how: Dynamics,
    key: Key, table: SplitRows, strength: Strength, links: Links, scratch: SplitScratch, inside: np.ndarray,
) -> None:  # fmt: skip
    """(A10), (L7), (L8) Move a random run of the strengths and, where it is learned, the background."""
    communities, value = len(inside), links.value
    background = value[communities]
    base, apart = count_pairs(a, y, others, count, scale, table, strength, scratch, inside)
    first = first_of_run(communities, key)
    for i in range(how.run):
        k = (first + i) % communities
        pairs = (value[k] if y else 1.0 - value[k]) * max(base + inside[k], 0.0)
        value[k] = move_strength(k, y, pairs, eps, rate, True, key, links)
    if how.learn_background:
        outside = max(apart, 0.0) * (background if y else 1.0 - background)
        value[communities] = move_strength(communities, y, outside, eps, rate, True, key, links)
