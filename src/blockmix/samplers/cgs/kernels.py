"""Collapsed Gibbs sampling over all pairs: equations (C1) to (C4), derived in README.md.

Every observed pair a < b has two indicators, z_ab and z_ba. Memberships and strengths are integrated out, so that only
counts remain of them: n_ak, the pairs in which node a chose community k, and for every community the links and
non-links among the pairs whose two ends both chose it. A pair is subtracted from the counts, drawn again given all
others, and added again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, inlined_lean_kernel, kernel, lean_kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_MEMBERSHIP, DRAW_PAIR, DRAW_START, DRAW_STRENGTH
from blockmix.numerics.variates import log_gamma_variate, uniform53
from blockmix.tables.layout import CLOSEST, Index, Key, Network, Prior, Rows
from blockmix.tables.observed import NOT_OBSERVED, mark_row


class Counts(NamedTuple):
    """What the indicators add up to.

    `meetings[a, k]` is n_ak; `pairs[k, y]` the number of pairs with both ends in k that are non-links (y = 0) or
    links (y = 1), and `pairs[K]` the same for the pairs whose ends chose differently.
    """

    meetings: NDArray[np.int32]
    pairs: NDArray[np.int64]


class Frame(NamedTuple):
    """What a sweep reads: network, alpha of every node, prior, the background (NaN where it is learned), key."""

    network: Network
    alpha: NDArray[np.float64]
    prior: Prior
    background: float
    key: Key


class Pair(NamedTuple):
    """An observed pair and its kind: link (y = 1) or non-link (y = 0)."""

    a: int
    b: int
    y: int


class PairScratch(NamedTuple):
    """Work space: weights of both ends and of what is drawn, a row of pairs, L_k^(y) of (C2)."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    weight: NDArray[np.float64]
    row: NDArray[np.int8]
    predictive: NDArray[np.float64]


def new_pair_scratch(nodes: int, communities: int) -> PairScratch:
    """Return work space for one chain at a time."""
    k = communities
    return PairScratch(
        np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(nodes, dtype=np.int8), np.zeros((k + 1, 2))
    )


@inlined_kernel
def pick(weight: np.ndarray, target: float) -> int:
    """Return the entry that contains `target`, uniform below the sum of the weights; never one of weight zero."""
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
    """(C3) Draw both indicators of a pair: z_ab from its marginal, then z_ba given it, O(K) each.

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


@inlined_lean_kernel
def set_predictive(k: Index, frame: Frame, counts: Counts, predictive: np.ndarray) -> None:
    """(C2) Compute L_k^(y) from the pairs that met in k; a fixed background keeps its probability."""
    prior, last = frame.prior, k == len(predictive) - 1
    if last and not math.isnan(frame.background):
        return
    link = prior.background_link if last else prior.eta_link
    non_link = prior.background_non_link if last else prior.eta_non_link
    link += counts.pairs[k, 1]
    non_link += counts.pairs[k, 0]
    predictive[k, 0] = non_link / (link + non_link)
    predictive[k, 1] = link / (link + non_link)


@inlined_lean_kernel
def count_pair(
    pair: Pair, z_ab: Index, z_ba: Index, change: int, frame: Frame, counts: Counts, predictive: np.ndarray
) -> None:
    """Add a pair to the counts (change = 1) or subtract it (-1)."""
    counts.meetings[pair.a, z_ab] += change
    counts.meetings[pair.b, z_ba] += change
    met = z_ab if z_ab == z_ba else len(predictive) - 1
    counts.pairs[met, pair.y] += change
    set_predictive(met, frame, counts, predictive)


@inlined_kernel
def two_uniforms(a: int, b: int, purpose: int, key: Key) -> tuple[float, float]:
    """Draw the random numbers of a pair: one block a sweep."""
    word = stream_word(purpose, 0)
    w0, w1, w2, w3 = philox4x32(np.uint32(a), key.sweep, word, np.uint32(b), key.low, key.high)
    return uniform53(w0, w1), uniform53(w2, w3)


@kernel
def recount(network: Network, indicators: np.ndarray, counts: Counts, row: np.ndarray) -> None:
    """Compute the counts from the indicators alone."""
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


@lean_kernel
def draw_all_given(
    network: Network, memberships: np.ndarray, value: np.ndarray, key: Key, indicators: np.ndarray,
    scratch: PairScratch,
) -> None:  # fmt: skip
    """Draw every pair's indicators given memberships and strengths: (C3) with pi for counts and beta for L."""
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


@lean_kernel
def collapsed_sweep(frame: Frame, indicators: np.ndarray, counts: Counts, scratch: PairScratch) -> int:
    """(C3) Draw every observed pair once, in the order of its nodes; returns how many pairs changed."""
    alpha, predictive, communities = frame.alpha, scratch.predictive, len(scratch.first)
    predictive[communities, 0] = 1.0 - frame.background
    predictive[communities, 1] = frame.background
    for k in range(communities + 1):
        set_predictive(k, frame, counts, predictive)
    at, changed = 0, 0
    for a in range(len(counts.meetings)):
        mark_row(a, frame.network, scratch.row)
        for b in range(a + 1, len(counts.meetings)):
            pair = Pair(a, b, scratch.row[b])
            if pair.y == NOT_OBSERVED:
                continue
            old_ab, old_ba = np.int64(indicators[at, 0]), np.int64(indicators[at, 1])
            count_pair(pair, old_ab, old_ba, -1, frame, counts, predictive)
            for k in range(communities):
                scratch.first[k] = counts.meetings[a, k] + alpha[a]
                scratch.second[k] = counts.meetings[b, k] + alpha[b]
            u_1, u_2 = two_uniforms(a, b, DRAW_PAIR, frame.key)
            z_ab, z_ba = draw_indicators(pair.y, scratch, u_1, u_2)
            count_pair(pair, z_ab, z_ba, 1, frame, counts, predictive)
            indicators[at, 0] = z_ab
            indicators[at, 1] = z_ba
            changed += z_ab != old_ab or z_ba != old_ba
            at += 1
    return changed


@kernel
def draw_memberships(
    alpha: np.ndarray, key: Key, meetings: np.ndarray, rows: Rows, log_phi: np.ndarray
) -> None:
    """(C4) Draw pi_a ~ Dirichlet(alpha + n_a) for every node, in logarithms: small Gamma variates underflow."""
    for a in range(len(meetings)):
        largest = -math.inf
        for k in range(len(log_phi)):
            word = stream_word(DRAW_MEMBERSHIP, k)
            log_phi[k] = log_gamma_variate(
                alpha[a] + meetings[a, k], key.low, key.high, np.uint32(a), key.sweep, word, np.uint32(0)
            )
            largest = max(largest, log_phi[k])
        total = 0.0
        for k in range(len(log_phi)):
            log_phi[k] = math.exp(log_phi[k] - largest)
            total += log_phi[k]
        for k in range(len(log_phi)):
            rows.words[a, 2 * k] = k
            rows.weights[a, 2 * k + 1] = log_phi[k] / total


@inlined_kernel
def log_strength_variate(shape: float, k: int, y: int, key: Key) -> float:
    """Draw the logarithm of a Gamma(shape) variate for theta_ky."""
    word = stream_word(DRAW_STRENGTH, y)
    return log_gamma_variate(shape, key.low, key.high, np.uint32(k), key.sweep, word, np.uint32(0))


@lean_kernel
def draw_strengths(frame: Frame, pairs: np.ndarray, value: np.ndarray) -> None:
    """(C4) Draw beta_k ~ Beta(eta + pairs that met in k), and the background likewise where it is learned."""
    prior, last = frame.prior, len(pairs) - 1
    for k in range(len(pairs)):
        if k == last and not math.isnan(frame.background):
            value[k] = frame.background
            continue
        link = prior.background_link if k == last else prior.eta_link
        non_link = prior.background_non_link if k == last else prior.eta_non_link
        log_1 = log_strength_variate(link + pairs[k, 1], k, 1, frame.key)
        log_0 = log_strength_variate(non_link + pairs[k, 0], k, 0, frame.key)
        value[k] = min(max(1.0 / (1.0 + math.exp(log_0 - log_1)), CLOSEST), 1.0 - CLOSEST)
