"""Metropolis-adjusted Langevin updates of the strengths: equation (H7), derived in README.md.

The signed likelihoods of all pairs are stored while the communities are updated one after the other: a strength enters
each of them linearly, with the exposure x_ab = pi_ak pi_bk (for the background 1 - sum_k pi_ak pi_bk) as coefficient.
So a community costs O(N^2), not O(N^2 K).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.model.links import excess, shared_term
from blockmix.numerics.compile import inlined_kernel, lean_kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_ACCEPT, DRAW_PROPOSAL
from blockmix.numerics.variates import normal, uniform
from blockmix.samplers.lmc.proposal import acceptance, adapted, log_transition, proposal_moments
from blockmix.samplers.lmc.rows import Frame, signed_base, times
from blockmix.tables.layout import CLOSEST, Key, Network, Prior, Strengths
from blockmix.tables.observed import NOT_OBSERVED, mark_row

# Added to the number of a community where a node's number would be, so that the random numbers of the two differ.
_FIRST = np.uint32(2**31)


class PairSums(NamedTuple):
    """Work space: the kinds of a node's pairs; signed likelihood and exposure of every observed pair a < b."""

    row: NDArray[np.int8]
    signed: NDArray[np.float64]
    exposure: NDArray[np.float64]


class Theta(NamedTuple):
    """A point (theta_1, theta_0), and the slope of the log likelihood in beta there."""

    link: float
    non_link: float
    slope: float


class ThetaPrior(NamedTuple):
    """Gamma(eta) priors of theta_1 and theta_0, the expansion M_k, and `widen` of `Tuning`."""

    link: float
    non_link: float
    expansion: float
    widen: float


@lean_kernel
def signed_likelihoods(network: Network, memberships: np.ndarray, value: np.ndarray, pairs: PairSums) -> None:
    """Compute the signed likelihood of every observed pair a < b, in order."""
    communities, background = memberships.shape[1], value[len(value) - 1]
    at = 0
    for a in range(len(memberships)):
        mark_row(a, network, pairs.row)
        for b in range(a + 1, len(memberships)):
            if pairs.row[b] == NOT_OBSERVED:
                continue
            s = signed_base(pairs.row[b], background)
            for k in range(communities):
                s += shared_term(excess(value[k], background), memberships[a, k], memberships[b, k])
            pairs.signed[at] = s
            at += 1


@lean_kernel
def fill_exposure(k: int, network: Network, memberships: np.ndarray, pairs: PairSums) -> None:
    """Compute for every pair the probability that its ends meet in k, or (k = K) that they do not meet."""
    communities = memberships.shape[1]
    at = 0
    for a in range(len(memberships)):
        mark_row(a, network, pairs.row)
        for b in range(a + 1, len(memberships)):
            if pairs.row[b] == NOT_OBSERVED:
                continue
            if k < communities:
                pairs.exposure[at] = memberships[a, k] * memberships[b, k]
            else:
                met = 0.0
                for j in range(communities):
                    met += memberships[a, j] * memberships[b, j]
                pairs.exposure[at] = max(1.0 - met, 0.0)
            at += 1


@lean_kernel
def evaluate_strength(change: float, pairs: PairSums) -> tuple[float, float]:
    """Compute log likelihood of all pairs and its slope in the strength after a `change` of the strength."""
    slope, log_likelihood, product = 0.0, 0.0, 1.0
    for at in range(len(pairs.signed)):
        moved = pairs.signed[at] + change * pairs.exposure[at]
        slope += pairs.exposure[at] / moved
        log_likelihood, product = times(log_likelihood, product, abs(moved))
    return log_likelihood + math.log(product), slope


@lean_kernel
def expected_pairs(value: float, pairs: PairSums) -> float:
    """Compute the expected number of pairs that met here: (M3) over links and non-links."""
    total = 0.0
    for at in range(len(pairs.signed)):
        s = pairs.signed[at]
        total += (value if s > 0.0 else value - 1.0) * pairs.exposure[at] / s
    return total


@inlined_kernel
def log_theta_prior(theta: Theta, prior: ThetaPrior) -> float:
    """(H7) Compute the log Gamma(eta) densities of both, with the expansion of their sum."""
    one, zero = theta.link, theta.non_link
    return (
        (prior.link - 1.0) * math.log(one) - one + (prior.non_link - 1.0) * math.log(zero) - zero
        + prior.expansion * math.log(one + zero)
    )  # fmt: skip


@inlined_kernel
def theta_drift(theta: Theta, prior: ThetaPrior) -> tuple[float, float]:
    """(H7) Compute the drifts D of theta_1 and theta_0 from the slope of the log likelihood in beta."""
    beta = theta.link / (theta.link + theta.non_link)
    gain = beta * (1.0 - beta) * theta.slope
    drift_1 = prior.link + prior.expansion * beta + gain - theta.link
    drift_0 = prior.non_link + prior.expansion * (1.0 - beta) - gain - theta.non_link
    return drift_1, drift_0


@lean_kernel
def propose_theta(theta: float, drift: float, step: float, shape: float, k: int, y: int, key: Key) -> float:
    """(H2) Draw a proposal for theta_ky, in the metric without damping."""
    mean, variance = proposal_moments(theta, drift, step, 0.0, shape)
    node, word = np.uint32(_FIRST + np.uint32(k)), stream_word(DRAW_PROPOSAL, y)
    xi = normal(key.low, key.high, node, key.sweep, word, np.uint32(0))
    return abs(mean + math.sqrt(variance) * xi)


@lean_kernel
def log_theta_ratio(here: Theta, there: Theta, prior: ThetaPrior, step: float) -> float:
    """(H4) Compute the log ratio without the likelihood: priors, and the proposal's density in both directions."""
    drift_1, drift_0 = theta_drift(here, prior)
    back_1, back_0 = theta_drift(there, prior)
    ratio = log_theta_prior(there, prior)
    ratio -= log_theta_prior(here, prior)
    shape_1, shape_0 = prior.widen * prior.link, prior.widen * prior.non_link
    ratio += log_transition(there.link, back_1, here.link, step, 0.0, shape_1)
    ratio += log_transition(there.non_link, back_0, here.non_link, step, 0.0, shape_0)
    ratio -= log_transition(here.link, drift_1, there.link, step, 0.0, shape_1)
    ratio -= log_transition(here.non_link, drift_0, there.non_link, step, 0.0, shape_0)
    return ratio


@lean_kernel
def move_strength(
    k: int, prior: ThetaPrior, step: float, key: Key, strengths: Strengths, pairs: PairSums
) -> tuple[float, bool]:
    """(H7) Make the Langevin move of (theta_k1, theta_k0); returns its probability and whether it was accepted."""
    value, total = strengths.value[k], strengths.total[k]
    old, slope = evaluate_strength(0.0, pairs)
    here = Theta(value * total, (1.0 - value) * total, slope)
    drift_1, drift_0 = theta_drift(here, prior)
    new_one = propose_theta(here.link, drift_1, step, prior.widen * prior.link, k, 1, key)
    new_zero = propose_theta(here.non_link, drift_0, step, prior.widen * prior.non_link, k, 0, key)
    new_value = new_one / (new_one + new_zero)
    if not CLOSEST <= new_value <= 1.0 - CLOSEST:
        return 0.0, False
    new, new_slope = evaluate_strength(new_value - value, pairs)
    ratio = log_theta_ratio(here, Theta(new_one, new_zero, new_slope), prior, step)
    probability = acceptance(new - old + ratio)
    node, word = np.uint32(_FIRST + np.uint32(k)), stream_word(DRAW_ACCEPT, 0)
    if uniform(key.low, key.high, node, key.sweep, word, np.uint32(0)) >= probability:
        return probability, False
    strengths.value[k] = new_value
    strengths.total[k] = new_one + new_zero
    for at in range(len(pairs.signed)):
        pairs.signed[at] += (new_value - value) * pairs.exposure[at]
    return probability, True


@lean_kernel
def update_all_strengths(
    blocks: int, prior: Prior, log_steps: np.ndarray, frame: Frame, strengths: Strengths, pairs: PairSums
) -> int:
    """Update the first `blocks` strengths one after the other; returns how many moves were accepted.

    The background is the last of K + 1. In warm-up the expansion M_k is set to the expected number of pairs, and the
    total to its mean given that.
    """
    network, memberships, tuning = frame.network, frame.memberships, frame.tuning
    signed_likelihoods(network, memberships, strengths.value, pairs)
    communities, accepted = memberships.shape[1], 0
    for k in range(blocks):
        link = prior.eta_link if k < communities else prior.background_link
        non_link = prior.eta_non_link if k < communities else prior.background_non_link
        fill_exposure(k, network, memberships, pairs)
        if tuning.adapt and tuning.expand:
            strengths.expansion[k] = expected_pairs(strengths.value[k], pairs)
            strengths.total[k] = strengths.expansion[k] + link + non_link
        theta_prior = ThetaPrior(link, non_link, strengths.expansion[k], tuning.widen)
        probability, made = move_strength(k, theta_prior, math.exp(log_steps[k]), frame.key, strengths, pairs)
        accepted += made
        if tuning.adapt:
            log_steps[k] = adapted(log_steps[k], probability, tuning.target, float(frame.key.sweep))
    return accepted
