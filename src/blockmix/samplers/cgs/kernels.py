"""Collapsed Gibbs sampling over all pairs: equations (C1) to (C4) of docs/method.md.

Every observed pair a < b has two indicators, z_ab and z_ba. Memberships and strengths are integrated out, so
that all that is left of them are counts: n_ak, the meetings that node a attends as a member of k, and for every
community the links and non-links among the pairs that met in it. A pair is taken out of the counts, drawn
again given all others, and put back.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_MEMBERSHIP, DRAW_PAIR, DRAW_START, DRAW_STRENGTH
from blockmix.numerics.variates import log_gamma_variate, uniform53
from blockmix.tables.concentration import concentration
from blockmix.tables.layout import CLOSEST, Index, Key, Network, Prior, Rows
from blockmix.tables.observed import NOT_OBSERVED, mark_row

# What random numbers are drawn for; a chain runs one sampler, so these need only differ from each other.


class Counts(NamedTuple):
    """What the indicators add up to.

    `meetings[a, k]` is n_ak; `pairs[k, y]` the number of pairs with both ends in k that are non-links (y = 0) or
    links (y = 1), and `pairs[K]` the same for the pairs whose ends chose differently.
    """

    meetings: NDArray[np.int32]
    pairs: NDArray[np.int64]


class PairScratch(NamedTuple):
    """Work space: weights of both ends and of what is drawn, a row of pairs, L_k^(y) of (C2)."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    weight: NDArray[np.float64]
    row: NDArray[np.int8]
    predictive: NDArray[np.float64]


def new_pair_scratch(nodes: int, communities: int) -> PairScratch:
    """Work space for one chain at a time."""
    k = communities
    return PairScratch(
        np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(nodes, dtype=np.int8), np.zeros((k + 1, 2))
    )


@inlined_kernel
def pick(weight: np.ndarray, target: float) -> int:
    """The entry in which `target`, uniform below the sum of the weights, falls; never one of weight zero."""
    chosen = 0
    for k in range(len(weight)):
        if weight[k] > 0.0:
            chosen = k
            target -= weight[k]
            if target < 0.0:
                break
    return chosen


@inlined_kernel
def draw_indicators(y: int, scratch: PairScratch, u_1: float, u_2: float) -> tuple[int, int]:
    """(C3) Both indicators of a pair: z_ab from its marginal, then z_ba given it, O(K) each.

    `scratch.first`, `scratch.second` hold u_k and v_k, `scratch.predictive` the L_k and, last, that of the rest.
    """
    u, v, weight, likelihood = scratch.first, scratch.second, scratch.weight, scratch.predictive
    rest = likelihood[len(u), y]
    v_sum = 0.0
    for k in range(len(v)):
        v_sum += v[k]
    total = 0.0
    for k in range(len(u)):
        # v_sum - v_k is never negative, and exactly zero for K = 1; U V - sum u_k v_k would round to either side
        weight[k] = u[k] * (v[k] * likelihood[k, y] + rest * (v_sum - v[k]))
        total += weight[k]
    z_ab = pick(weight, u_1 * total)
    total = 0.0
    for k in range(len(v)):
        weight[k] = v[k] * (likelihood[k, y] if k == z_ab else rest)
        total += weight[k]
    return z_ab, pick(weight, u_2 * total)


@inlined_kernel
def set_predictive(k: Index, prior: Prior, learned: bool, counts: Counts, predictive: np.ndarray) -> None:
    """(C2) L_k^(y) from the pairs that met in k; a fixed background keeps the probability it has."""
    last = k == len(predictive) - 1
    if last and not learned:
        return
    link = prior.background_link if last else prior.eta_link
    non_link = prior.background_non_link if last else prior.eta_non_link
    link += counts.pairs[k, 1]
    non_link += counts.pairs[k, 0]
    predictive[k, 0] = non_link / (link + non_link)
    predictive[k, 1] = link / (link + non_link)


@inlined_kernel
def count_pair(
    a: int, b: int, z_ab: Index, z_ba: Index, y: int, change: int, prior: Prior, learned: bool, counts: Counts,
    predictive: np.ndarray,
) -> None:  # fmt: skip
    """Put a pair into the counts (change = 1) or take it out (-1)."""
    counts.meetings[a, z_ab] += change
    counts.meetings[b, z_ba] += change
    met = z_ab if z_ab == z_ba else len(predictive) - 1
    counts.pairs[met, y] += change
    set_predictive(met, prior, learned, counts, predictive)


@inlined_kernel
def two_uniforms(a: int, b: int, purpose: int, key: Key) -> tuple[float, float]:
    """The random numbers of a pair: one block a sweep."""
    word = stream_word(purpose, 0)
    w0, w1, w2, w3 = philox4x32(np.uint32(a), key.sweep, word, np.uint32(b), key.low, key.high)
    return uniform53(w0, w1), uniform53(w2, w3)


@kernel
def recount(network: Network, indicators: np.ndarray, counts: Counts, row: np.ndarray) -> None:
    """The counts from nothing but the indicators."""
    counts.meetings.fill(0)
    counts.pairs.fill(0)
    at = 0
    for a in range(len(row)):
        mark_row(a, network, row)
        for b in range(a + 1, len(row)):
            if row[b] == NOT_OBSERVED:
                continue
            z_ab, z_ba = indicators[at, 0], indicators[at, 1]
            counts.meetings[a, z_ab] += 1
            counts.meetings[b, z_ba] += 1
            counts.pairs[z_ab if z_ab == z_ba else len(counts.pairs) - 1, row[b]] += 1
            at += 1


@kernel
def draw_all_given(
    network: Network, memberships: np.ndarray, value: np.ndarray, key: Key, indicators: np.ndarray,
    scratch: PairScratch,
) -> None:  # fmt: skip
    """Every pair's indicators given memberships and strengths: (C3) with pi in place of counts, beta of L."""
    for k in range(len(value)):
        scratch.predictive[k, 1] = value[k]
        scratch.predictive[k, 0] = 1.0 - value[k]
    at = 0
    for a in range(len(memberships)):
        mark_row(a, network, scratch.row)
        for b in range(a + 1, len(memberships)):
            if scratch.row[b] == NOT_OBSERVED:
                continue
            for k in range(len(scratch.first)):
                scratch.first[k] = memberships[a, k]
                scratch.second[k] = memberships[b, k]
            u_1, u_2 = two_uniforms(a, b, DRAW_START, key)
            z_ab, z_ba = draw_indicators(scratch.row[b], scratch, u_1, u_2)
            indicators[at, 0] = z_ab
            indicators[at, 1] = z_ba
            at += 1


@kernel
def collapsed_sweep(
    network: Network, prior: Prior, background: float, key: Key, indicators: np.ndarray, counts: Counts,
    scratch: PairScratch,
) -> int:  # fmt: skip
    """(C3) Every observed pair once, in the order of its nodes; returns how many pairs changed.

    `background` is the probability of the background where it is fixed, and NaN where it is learned.
    """
    learned = math.isnan(background)
    predictive, communities = scratch.predictive, len(scratch.first)
    predictive[communities, 0] = 1.0 - background
    predictive[communities, 1] = background
    for k in range(communities + 1):
        set_predictive(k, prior, learned, counts, predictive)
    at, changed = 0, 0
    for a in range(len(counts.meetings)):
        mark_row(a, network, scratch.row)
        alpha_a = concentration(a, network, prior.alpha, prior.alpha_unlinked)
        for b in range(a + 1, len(counts.meetings)):
            y = scratch.row[b]
            if y == NOT_OBSERVED:
                continue
            old_ab, old_ba = np.int64(indicators[at, 0]), np.int64(indicators[at, 1])
            count_pair(a, b, old_ab, old_ba, y, -1, prior, learned, counts, predictive)
            alpha_b = concentration(b, network, prior.alpha, prior.alpha_unlinked)
            for k in range(communities):
                scratch.first[k] = counts.meetings[a, k] + alpha_a
                scratch.second[k] = counts.meetings[b, k] + alpha_b
            u_1, u_2 = two_uniforms(a, b, DRAW_PAIR, key)
            z_ab, z_ba = draw_indicators(y, scratch, u_1, u_2)
            count_pair(a, b, z_ab, z_ba, y, 1, prior, learned, counts, predictive)
            indicators[at, 0] = z_ab
            indicators[at, 1] = z_ba
            changed += z_ab != old_ab or z_ba != old_ba
            at += 1
    return changed


@kernel
def draw_memberships(
    network: Network, prior: Prior, key: Key, meetings: np.ndarray, rows: Rows, log_phi: np.ndarray
) -> None:
    """(C4) pi_a ~ Dirichlet(alpha + n_a) for every node, in logarithms: small Gamma draws underflow."""
    for a in range(len(meetings)):
        alpha, largest = concentration(a, network, prior.alpha, prior.alpha_unlinked), -math.inf
        for k in range(len(log_phi)):
            word = stream_word(DRAW_MEMBERSHIP, k)
            log_phi[k] = log_gamma_variate(
                alpha + meetings[a, k], key.low, key.high, np.uint32(a), key.sweep, word, np.uint32(0)
            )
            largest = max(largest, log_phi[k])
        total = 0.0
        for k in range(len(log_phi)):
            log_phi[k] = math.exp(log_phi[k] - largest)
            total += log_phi[k]
        for k in range(len(log_phi)):
            rows.words[a, 2 * k] = k
            rows.weights[a, 2 * k + 1] = log_phi[k] / total


@kernel
def draw_strengths(prior: Prior, background: float, key: Key, pairs: np.ndarray, value: np.ndarray) -> None:
    """(C4) beta_k ~ Beta(eta + pairs that met in k), and the background likewise where it is learned."""
    last = len(pairs) - 1
    for k in range(len(pairs)):
        if k == last and not math.isnan(background):
            value[k] = background
            continue
        link = prior.background_link if k == last else prior.eta_link
        non_link = prior.background_non_link if k == last else prior.eta_non_link
        node = np.uint32(k)
        log_1 = log_gamma_variate(
            link + pairs[k, 1],
            key.low,
            key.high,
            node,
            key.sweep,
            stream_word(DRAW_STRENGTH, 1),
            np.uint32(0),
        )
        log_0 = log_gamma_variate(
            non_link + pairs[k, 0],
            key.low,
            key.high,
            node,
            key.sweep,
            stream_word(DRAW_STRENGTH, 0),
            np.uint32(0),
        )
        value[k] = min(max(1.0 / (1.0 + math.exp(log_0 - log_1)), CLOSEST), 1.0 - CLOSEST)
