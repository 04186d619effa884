"""Metropolis-adjusted Langevin updates of the strengths: (H7) of docs/method.md.

The signed likelihoods of all pairs are kept for the sweep over communities: a strength enters each of them
linearly, with the exposure x_ab = pi_ak pi_bk (or, of the background, 1 - sum_k pi_ak pi_bk) as coefficient.
So a community costs O(N^2), not O(N^2 K).
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_ACCEPT, DRAW_PROPOSAL
from blockmix.numerics.variates import normal, uniform
from blockmix.samplers.lmc.proposal import acceptance, adapted, log_transition, proposal_moments
from blockmix.samplers.lmc.rows import Tuning, signed_base, times
from blockmix.tables.layout import CLOSEST, Key, Network, Prior, Strengths
from blockmix.tables.observed import NOT_OBSERVED, mark_row

# Communities are numbered from here on where nodes are, so that their draws are their own.
_FIRST = np.uint32(2**31)


@kernel
def signed_likelihoods(
    network: Network, memberships: np.ndarray, value: np.ndarray, row: np.ndarray, signed: np.ndarray
) -> None:
    """The signed likelihood of every observed pair a < b, in order."""
    communities, background = memberships.shape[1], value[len(value) - 1]
    at = 0
    for a in range(len(memberships)):
        mark_row(a, network, row)
        for b in range(a + 1, len(memberships)):
            if row[b] == NOT_OBSERVED:
                continue
            s = signed_base(row[b], background)
            for k in range(communities):
                s += (value[k] - background) * memberships[a, k] * memberships[b, k]
            signed[at] = s
            at += 1


@kernel
def fill_exposure(
    k: int, network: Network, memberships: np.ndarray, row: np.ndarray, exposure: np.ndarray
) -> None:
    """The probability that both ends of a pair meet in k, or (k = K) that they do not meet, for every pair."""
    communities = memberships.shape[1]
    at = 0
    for a in range(len(memberships)):
        mark_row(a, network, row)
        for b in range(a + 1, len(memberships)):
            if row[b] == NOT_OBSERVED:
                continue
            if k < communities:
                exposure[at] = memberships[a, k] * memberships[b, k]
            else:
                met = 0.0
                for j in range(communities):
                    met += memberships[a, j] * memberships[b, j]
                exposure[at] = max(1.0 - met, 0.0)
            at += 1


@kernel
def evaluate_strength(change: float, signed: np.ndarray, exposure: np.ndarray) -> tuple[float, float]:
    """Log likelihood of all pairs and its slope in the strength where that has moved by `change`."""
    slope, log_likelihood, product = 0.0, 0.0, 1.0
    for at in range(len(signed)):
        moved = signed[at] + change * exposure[at]
        slope += exposure[at] / moved
        log_likelihood, product = times(log_likelihood, product, abs(moved))
    return log_likelihood + math.log(product), slope


@kernel
def expected_pairs(value: float, signed: np.ndarray, exposure: np.ndarray) -> float:
    """Expected number of pairs that met here: (M3) over links and non-links."""
    pairs = 0.0
    for at in range(len(signed)):
        pairs += (value if signed[at] > 0.0 else value - 1.0) * exposure[at] / signed[at]
    return pairs


@inlined_kernel
def log_theta_prior(theta_1: float, theta_0: float, link: float, non_link: float, expansion: float) -> float:
    """(H7) Gamma(eta) densities of both, times the expansion of their sum."""
    return (
        (link - 1.0) * math.log(theta_1) - theta_1 + (non_link - 1.0) * math.log(theta_0) - theta_0
        + expansion * math.log(theta_1 + theta_0)
    )  # fmt: skip


@inlined_kernel
def theta_drift(
    theta_1: float, theta_0: float, slope: float, link: float, non_link: float, expansion: float
) -> tuple[float, float]:
    """(H7) The drifts D of theta_1 and theta_0 from the slope of the log likelihood in beta."""
    beta = theta_1 / (theta_1 + theta_0)
    gain = beta * (1.0 - beta) * slope
    drift_1 = link + expansion * beta + gain - theta_1
    drift_0 = non_link + expansion * (1.0 - beta) - gain - theta_0
    return drift_1, drift_0


@kernel
def propose_theta(theta: float, drift: float, step: float, shape: float, k: int, y: int, key: Key) -> float:
    """(H2) A proposal for theta_ky, in the metric without damping."""
    mean, variance = proposal_moments(theta, drift, step, 0.0, shape)
    node, word = np.uint32(_FIRST + np.uint32(k)), stream_word(DRAW_PROPOSAL, y)
    xi = normal(key.low, key.high, node, key.sweep, word, np.uint32(0))
    return abs(mean + math.sqrt(variance) * xi)


@kernel
def log_theta_ratio(
    one: float, zero: float, new_one: float, new_zero: float, slope: float, new_slope: float, link: float,
    non_link: float, expansion: float, step: float,
) -> float:  # fmt: skip
    """(H4) All of the test but the likelihood: priors, and the proposal's density both ways."""
    drift_1, drift_0 = theta_drift(one, zero, slope, link, non_link, expansion)
    back_1, back_0 = theta_drift(new_one, new_zero, new_slope, link, non_link, expansion)
    ratio = log_theta_prior(new_one, new_zero, link, non_link, expansion)
    ratio -= log_theta_prior(one, zero, link, non_link, expansion)
    ratio += log_transition(new_one, back_1, one, step, 0.0, link)
    ratio += log_transition(new_zero, back_0, zero, step, 0.0, non_link)
    ratio -= log_transition(one, drift_1, new_one, step, 0.0, link)
    ratio -= log_transition(zero, drift_0, new_zero, step, 0.0, non_link)
    return ratio


@kernel
def move_strength(
    k: int, link: float, non_link: float, step: float, key: Key, strengths: Strengths, signed: np.ndarray,
    exposure: np.ndarray,
) -> tuple[float, bool]:  # fmt: skip
    """(H7) The Langevin move of (theta_k1, theta_k0); returns its probability and whether it was made."""
    value, total, expansion = strengths.value[k], strengths.total[k], strengths.expansion[k]
    one, zero = value * total, (1.0 - value) * total
    old, slope = evaluate_strength(0.0, signed, exposure)
    drift_1, drift_0 = theta_drift(one, zero, slope, link, non_link, expansion)
    new_one = propose_theta(one, drift_1, step, link, k, 1, key)
    new_zero = propose_theta(zero, drift_0, step, non_link, k, 0, key)
    new_value = new_one / (new_one + new_zero)
    if not CLOSEST <= new_value <= 1.0 - CLOSEST:
        return 0.0, False
    new, new_slope = evaluate_strength(new_value - value, signed, exposure)
    ratio = log_theta_ratio(one, zero, new_one, new_zero, slope, new_slope, link, non_link, expansion, step)
    probability = acceptance(new - old + ratio)
    node, word = np.uint32(_FIRST + np.uint32(k)), stream_word(DRAW_ACCEPT, 0)
    if uniform(key.low, key.high, node, key.sweep, word, np.uint32(0)) >= probability:
        return probability, False
    strengths.value[k] = new_value
    strengths.total[k] = new_one + new_zero
    for at in range(len(signed)):
        signed[at] += (new_value - value) * exposure[at]
    return probability, True


@kernel
def update_all_strengths(
    network: Network, memberships: np.ndarray, prior: Prior, blocks: int, log_steps: np.ndarray, tuning: Tuning,
    key: Key, strengths: Strengths, row: np.ndarray, signed: np.ndarray, exposure: np.ndarray,
) -> int:  # fmt: skip
    """The first `blocks` strengths in turn; the background is the last of K + 1. Returns how many moved.

    In warm-up the expansion M_k follows the expected number of pairs, and the total its mean given that.
    """
    signed_likelihoods(network, memberships, strengths.value, row, signed)
    communities, accepted = memberships.shape[1], 0
    for k in range(blocks):
        link = prior.eta_link if k < communities else prior.background_link
        non_link = prior.eta_non_link if k < communities else prior.background_non_link
        fill_exposure(k, network, memberships, row, exposure)
        if tuning.adapt:
            strengths.expansion[k] = expected_pairs(strengths.value[k], signed, exposure)
            strengths.total[k] = strengths.expansion[k] + link + non_link
        probability, made = move_strength(
            k, link, non_link, math.exp(log_steps[k]), key, strengths, signed, exposure
        )
        accepted += made
        if tuning.adapt:
            log_steps[k] = adapted(log_steps[k], probability, tuning.target, float(key.sweep))
    return accepted
