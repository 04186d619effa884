"""Metropolis-adjusted Langevin updates of a node's memberships: (H1) to (H5) of docs/method.md.

Of a pair the kernels keep the signed likelihood s_ab = Z_ab(1) for a link and -Z_ab(0) = Z_ab(1) - 1 for a
non-link. Both are linear in pi_a and in every strength with the same coefficients, so that log|s| is the
log likelihood and 1/s the factor of every gradient, without a branch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_ACCEPT, DRAW_COMPONENT, DRAW_PROPOSAL, DRAW_REFRESH
from blockmix.numerics.variates import gamma, normal, uniform, uniform53
from blockmix.samplers.lmc.proposal import acceptance, adapted, log_transition, proposal_moments
from blockmix.tables.concentration import concentration
from blockmix.tables.layout import Index, Key, Network, Prior
from blockmix.tables.observed import LINK, NOT_OBSERVED, mark_row

# What random numbers are drawn for; a chain runs one sampler, so these need only differ from each other.
# Components below this multiple of the damping stand still in a Langevin move: they would move by less than a
# hundredth of themselves. Refreshing moves them.
STANDING = 1e-4
# A product of likelihoods is turned into a logarithm when it leaves this range: a logarithm costs as much as
# several communities.
_LEAST_PRODUCT, _MOST_PRODUCT = 1e-100, 1e100


class Tuning(NamedTuple):
    """How proposals are made: the damping c of the metric, refreshed components a row, target acceptance."""

    damping: float
    refresh: int
    target: float
    adapt: bool


class RowScratch(NamedTuple):
    """Work space of a row's update: a point and its proposal, each with drift and signed likelihoods."""

    row: NDArray[np.int8]
    proposal: NDArray[np.float64]
    weighted: NDArray[np.float64]
    slope: NDArray[np.float64]
    drift: NDArray[np.float64]
    drift_back: NDArray[np.float64]
    signed: NDArray[np.float64]
    signed_proposal: NDArray[np.float64]


def new_row_scratch(nodes: int, communities: int) -> RowScratch:
    """Work space for one chain at a time."""
    row = np.zeros(nodes, dtype=np.int8)
    return RowScratch(row, *np.zeros((5, communities)), *np.zeros((2, nodes)))


@inlined_kernel
def times(log_total: float, product: float, factor: float) -> tuple[float, float]:
    """Multiply a running product, of which log_total has been set aside, by a positive factor."""
    product *= factor
    if product < _LEAST_PRODUCT or product > _MOST_PRODUCT:
        return log_total + math.log(product), 1.0
    return log_total, product


@inlined_kernel
def copy_to(target: np.ndarray, source: np.ndarray) -> None:
    """target[:] = source, which as a slice takes numba ten seconds to compile."""
    for i in range(len(target)):
        target[i] = source[i]


@inlined_kernel
def signed_base(kind: int, background: float) -> float:
    """The signed likelihood of a pair that does not meet: delta for a link, delta - 1 for a non-link."""
    return background if kind == LINK else background - 1.0


@kernel
def evaluate_row(
    phi: np.ndarray, memberships: np.ndarray, value: np.ndarray, alpha: float, expansion: float,
    standing: float, scratch: RowScratch, signed: np.ndarray, drift: np.ndarray,
) -> float:  # fmt: skip
    """(H1) The log target of a row, its drift D and the signed likelihoods of the node's pairs.

    `scratch.row` says what pairs are; `memberships` holds pi_b of all other nodes. The prior of components that
    stand still is left out: it cancels in the test, and it may be infinite.
    """
    communities, background = len(phi), value[len(phi)]
    total, log_prior = 0.0, 0.0
    for k in range(communities):
        total += phi[k]
        if phi[k] > standing:
            log_prior += (alpha - 1.0) * math.log(phi[k]) - phi[k]
        scratch.slope[k] = 0.0
    for k in range(communities):
        scratch.weighted[k] = phi[k] / total * (value[k] - background)
    log_likelihood, product = 0.0, 1.0
    for b in range(len(scratch.row)):
        if scratch.row[b] == NOT_OBSERVED:
            continue
        s = signed_base(scratch.row[b], background)
        for k in range(communities):
            s += scratch.weighted[k] * memberships[b, k]
        signed[b] = s
        inverse = 1.0 / s
        for k in range(communities):
            scratch.slope[k] += memberships[b, k] * inverse
        log_likelihood, product = times(log_likelihood, product, abs(s))
    mean = 0.0
    for k in range(communities):
        mean += scratch.weighted[k] * scratch.slope[k]
    for k in range(communities):
        pi = phi[k] / total
        gradient = pi * ((value[k] - background) * scratch.slope[k] - mean)
        drift[k] = alpha + expansion * pi + gradient - phi[k]
    return log_prior + expansion * math.log(total) + log_likelihood + math.log(product)


@kernel
def draw_proposal(
    a: Index, phi: np.ndarray, step: float, damping: float, key: Key, scratch: RowScratch
) -> float:
    """(H2) A proposal for the row; returns its log density (H3), infinite where there is no way back."""
    standing = STANDING * damping
    forward = 0.0
    for k in range(len(phi)):
        scratch.proposal[k] = phi[k]
        if phi[k] > standing:
            mean, variance = proposal_moments(phi[k], scratch.drift[k], step, damping, 0.0)
            word = stream_word(DRAW_PROPOSAL, k)
            xi = normal(key.low, key.high, np.uint32(a), key.sweep, word, np.uint32(0))
            scratch.proposal[k] = abs(mean + math.sqrt(variance) * xi)
            if not scratch.proposal[k] > standing:
                return math.inf
            forward += log_transition(phi[k], scratch.drift[k], scratch.proposal[k], step, damping, 0.0)
    return forward


@kernel
def log_way_back(phi: np.ndarray, step: float, damping: float, scratch: RowScratch) -> float:
    """(H3) Log density of proposing the row as it is from the proposal."""
    backward = 0.0
    for k in range(len(phi)):
        if phi[k] > STANDING * damping:
            backward += log_transition(scratch.proposal[k], scratch.drift_back[k], phi[k], step, damping, 0.0)
    return backward


@kernel
def move_row(
    a: Index, phi: np.ndarray, memberships: np.ndarray, value: np.ndarray, alpha: float, expansion: float,
    step: float, damping: float, key: Key, scratch: RowScratch,
) -> tuple[float, bool]:  # fmt: skip
    """(H4) The Langevin move of a row; returns its acceptance probability and whether it was made.

    `scratch.signed` is left at the signed likelihoods of the row as it now is.
    """
    standing = STANDING * damping
    old = evaluate_row(
        phi, memberships, value, alpha, expansion, standing, scratch, scratch.signed, scratch.drift
    )
    forward = draw_proposal(a, phi, step, damping, key, scratch)
    if forward == math.inf:
        return 0.0, False
    new = evaluate_row(
        scratch.proposal, memberships, value, alpha, expansion, standing, scratch, scratch.signed_proposal,
        scratch.drift_back,
    )  # fmt: skip
    backward = log_way_back(phi, step, damping, scratch)
    probability = acceptance(new - old + backward - forward)
    u = uniform(key.low, key.high, np.uint32(a), key.sweep, stream_word(DRAW_ACCEPT, 0), np.uint32(0))
    if u >= probability:
        return probability, False
    copy_to(phi, scratch.proposal)
    copy_to(scratch.signed, scratch.signed_proposal)
    return probability, True


@kernel
def log_refresh_ratio(
    k: Index, fresh: float, phi: np.ndarray, memberships: np.ndarray, value: np.ndarray, expansion: float,
    scratch: RowScratch,
) -> float:  # fmt: skip
    """(H5) What the test of a new phi_k from its prior compares, and the signed likelihoods it leads to, in O(N)."""
    background = value[len(phi)]
    others = 0.0
    for j in range(len(phi)):
        if j != k:
            others += phi[j]
    total, new_total = others + phi[k], others + fresh
    slope = (value[k] - background) * (fresh - phi[k])
    log_ratio, product = expansion * math.log(new_total / total), 1.0
    for b in range(len(scratch.row)):
        if scratch.row[b] != NOT_OBSERVED:
            base, s = signed_base(scratch.row[b], background), scratch.signed[b]
            moved = base + ((s - base) * total + slope * memberships[b, k]) / new_total
            scratch.signed_proposal[b] = moved
            log_ratio, product = times(log_ratio, product, moved / s)
    return log_ratio + math.log(product)


@kernel
def refresh_component(
    a: Index, draw: int, phi: np.ndarray, memberships: np.ndarray, value: np.ndarray, alpha: float,
    expansion: float, key: Key, scratch: RowScratch,
) -> None:  # fmt: skip
    """(H5) Draw one component of a row, chosen at random, anew from its prior, and test it by the rest."""
    node, communities = np.uint32(a), len(phi)
    word = stream_word(DRAW_COMPONENT, draw)
    w0, w1, w2, w3 = philox4x32(node, key.sweep, word, np.uint32(0), key.low, key.high)
    k = min(int(uniform53(w0, w1) * communities), communities - 1)
    word = stream_word(DRAW_REFRESH, draw)
    fresh = gamma(alpha, key.low, key.high, node, key.sweep, word, np.uint32(0))
    log_ratio = log_refresh_ratio(k, fresh, phi, memberships, value, expansion, scratch)
    if uniform53(w2, w3) < acceptance(log_ratio):
        phi[k] = fresh
        copy_to(scratch.signed, scratch.signed_proposal)


@kernel
def update_rows(
    network: Network, phi: np.ndarray, memberships: np.ndarray, value: np.ndarray, prior: Prior,
    expansion: np.ndarray, log_steps: np.ndarray, tuning: Tuning, key: Key, scratch: RowScratch,
) -> int:  # fmt: skip
    """Every node's row in turn, given all others; returns how many Langevin moves were made."""
    accepted = 0
    for a in range(len(phi)):
        mark_row(a, network, scratch.row)
        alpha, step = concentration(a, network, prior.alpha, prior.alpha_unlinked), math.exp(log_steps[a])
        probability, made = move_row(
            a, phi[a], memberships, value, alpha, expansion[a], step, tuning.damping, key, scratch
        )
        accepted += made
        if tuning.adapt:
            log_steps[a] = adapted(log_steps[a], probability, tuning.target, float(key.sweep))
        for draw in range(tuning.refresh):
            refresh_component(a, draw, phi[a], memberships, value, alpha, expansion[a], key, scratch)
        total = 0.0
        for k in range(phi.shape[1]):
            total += phi[a, k]
        for k in range(phi.shape[1]):
            memberships[a, k] = phi[a, k] / total
    return accepted
