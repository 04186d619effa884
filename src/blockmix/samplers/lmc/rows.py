"""Metropolis-adjusted Langevin updates of a node's memberships: equations (H1) to (H5), derived in README.md.

For a pair the kernels store the signed likelihood s_ab = Z_ab(1) for a link and -Z_ab(0) = Z_ab(1) - 1 for a
non-link. Both are linear in pi_a and in every strength with the same coefficients, so that log|s| is the
log likelihood and 1/s the factor of every gradient, without a branch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.model.links import excess
from blockmix.numerics.compile import inlined_kernel, lean_kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_ACCEPT, DRAW_COMPONENT, DRAW_PROPOSAL, DRAW_REFRESH
from blockmix.numerics.variates import gamma, normal, uniform, uniform53
from blockmix.samplers.lmc.proposal import acceptance, adapted, log_transition, proposal_moments
from blockmix.tables.layout import Index, Key, Network
from blockmix.tables.observed import LINK, NOT_OBSERVED, mark_row

# Components below this multiple of the damping are fixed in a Langevin move, which would change them by less than a
# hundredth of their value. Refreshing moves them.
FIXED_BELOW = 1e-4
# The logarithm of a product of likelihoods is taken only when it leaves this range: a logarithm costs as much as
# several communities.
_LEAST_PRODUCT, _MOST_PRODUCT = 1e-100, 1e100


class Tuning(NamedTuple):
    """How proposals are made: the damping c of the metric, refreshed components a row, target acceptance, warm-up.

    `expand` lets the expansions of the strengths adapt in warm-up (H7). `widen` is 1 where the variance of their
    proposals has its second term (H2), otherwise 0.
    """

    damping: float
    refresh: int
    target: float
    adapt: bool
    expand: bool
    widen: float


class Frame(NamedTuple):
    """What the update of a row reads: network, pi of all nodes, strengths with the background last, tuning, key."""

    network: Network
    memberships: NDArray[np.float64]
    value: NDArray[np.float64]
    tuning: Tuning
    key: Key


class Node(NamedTuple):
    """A node: its number, alpha, M_a of (H1), and the step of its row."""

    a: int
    alpha: float
    expansion: float
    step: float


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
    """Return work space for one chain at a time."""
    row = np.zeros(nodes, dtype=np.int8)
    return RowScratch(row, *np.zeros((5, communities)), *np.zeros((2, nodes)))


@inlined_kernel
def times(log_total: float, product: float, factor: float) -> tuple[float, float]:
    """Multiply a running product, part of which is in log_total already, by a positive factor."""
    product *= factor
    if product < _LEAST_PRODUCT or product > _MOST_PRODUCT:
        return log_total + math.log(product), 1.0
    return log_total, product


@inlined_kernel
def copy_to(target: np.ndarray, source: np.ndarray) -> None:
    """Copy source to target; as a slice this takes numba ten seconds to compile."""
    for i in range(len(target)):
        target[i] = source[i]


@inlined_kernel
def signed_base(kind: int, background: float) -> float:
    """Return the signed likelihood of a pair that does not meet: delta for a link, delta - 1 for a non-link."""
    return background if kind == LINK else background - 1.0


@lean_kernel
def evaluate_row(
    phi: np.ndarray, node: Node, frame: Frame, scratch: RowScratch, signed: np.ndarray, drift: np.ndarray
) -> float:
    """(H1) Compute the log target of a row, its drift D and the signed likelihoods of the node's pairs.

    `scratch.row` has the kind of every pair, `frame.memberships` pi_b of all other nodes. The prior of fixed components
    is left out: it cancels in the test, and it may be infinite.
    """
    memberships, value = frame.memberships, frame.value
    communities, background = len(phi), value[len(phi)]
    fixed = FIXED_BELOW * frame.tuning.damping
    total, log_prior = 0.0, 0.0
    for k in range(communities):
        total += phi[k]
        if phi[k] > fixed:
            log_prior += (node.alpha - 1.0) * math.log(phi[k]) - phi[k]
        scratch.slope[k] = 0.0
    for k in range(communities):
        scratch.weighted[k] = phi[k] / total * excess(value[k], background)
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
        gradient = pi * (excess(value[k], background) * scratch.slope[k] - mean)
        drift[k] = node.alpha + node.expansion * pi + gradient - phi[k]
    return log_prior + node.expansion * math.log(total) + log_likelihood + math.log(product)


@lean_kernel
def draw_proposal(phi: np.ndarray, node: Node, frame: Frame, scratch: RowScratch) -> float:
    """(H2) Draw a proposal for the row; returns its log density (H3), infinite where the reverse is impossible."""
    damping, key = frame.tuning.damping, frame.key
    fixed = FIXED_BELOW * damping
    forward = 0.0
    for k in range(len(phi)):
        scratch.proposal[k] = phi[k]
        if phi[k] > fixed:
            mean, variance = proposal_moments(phi[k], scratch.drift[k], node.step, damping, 0.0)
            word = stream_word(DRAW_PROPOSAL, k)
            xi = normal(key.low, key.high, np.uint32(node.a), key.sweep, word, np.uint32(0))
            scratch.proposal[k] = abs(mean + math.sqrt(variance) * xi)
            if not scratch.proposal[k] > fixed:
                return math.inf
            to = scratch.proposal[k]
            forward += log_transition(phi[k], scratch.drift[k], to, node.step, damping, 0.0)
    return forward


@lean_kernel
def log_reverse_density(phi: np.ndarray, step: float, damping: float, scratch: RowScratch) -> float:
    """(H3) Compute the log density of proposing the present row from the proposal."""
    reverse = 0.0
    for k in range(len(phi)):
        if phi[k] > FIXED_BELOW * damping:
            reverse += log_transition(scratch.proposal[k], scratch.drift_back[k], phi[k], step, damping, 0.0)
    return reverse


@lean_kernel
def move_row(phi: np.ndarray, node: Node, frame: Frame, scratch: RowScratch) -> tuple[float, bool]:
    """(H4) Make the Langevin move of a row; returns its acceptance probability and whether it was accepted.

    Afterwards `scratch.signed` has the signed likelihoods of the row as it is then.
    """
    old = evaluate_row(phi, node, frame, scratch, scratch.signed, scratch.drift)
    forward = draw_proposal(phi, node, frame, scratch)
    if forward == math.inf:
        return 0.0, False
    new = evaluate_row(scratch.proposal, node, frame, scratch, scratch.signed_proposal, scratch.drift_back)
    reverse = log_reverse_density(phi, node.step, frame.tuning.damping, scratch)
    probability = acceptance(new - old + reverse - forward)
    key, word = frame.key, stream_word(DRAW_ACCEPT, 0)
    if uniform(key.low, key.high, np.uint32(node.a), key.sweep, word, np.uint32(0)) >= probability:
        return probability, False
    copy_to(phi, scratch.proposal)
    copy_to(scratch.signed, scratch.signed_proposal)
    return probability, True


@lean_kernel
def log_refresh_ratio(
    k: Index, fresh: float, phi: np.ndarray, expansion: float, frame: Frame, scratch: RowScratch
) -> float:
    """(H5) Compute the log ratio of a new phi_k from its prior, and the new signed likelihoods, in O(N)."""
    background = frame.value[len(phi)]
    others = 0.0
    for j in range(len(phi)):
        if j != k:
            others += phi[j]
    total, new_total = others + phi[k], others + fresh
    slope = excess(frame.value[k], background) * (fresh - phi[k])
    log_ratio, product = expansion * math.log(new_total / total), 1.0
    for b in range(len(scratch.row)):
        if scratch.row[b] != NOT_OBSERVED:
            base, s = signed_base(scratch.row[b], background), scratch.signed[b]
            moved = base + ((s - base) * total + slope * frame.memberships[b, k]) / new_total
            scratch.signed_proposal[b] = moved
            log_ratio, product = times(log_ratio, product, moved / s)
    return log_ratio + math.log(product)


@lean_kernel
def refresh_component(draw: int, phi: np.ndarray, node: Node, frame: Frame, scratch: RowScratch) -> None:
    """(H5) Draw one component of a row, chosen at random, from its prior, and test it by the rest."""
    a, communities, key = np.uint32(node.a), len(phi), frame.key
    word = stream_word(DRAW_COMPONENT, draw)
    w0, w1, w2, w3 = philox4x32(a, key.sweep, word, np.uint32(0), key.low, key.high)
    k = min(int(uniform53(w0, w1) * communities), communities - 1)
    word = stream_word(DRAW_REFRESH, draw)
    fresh = gamma(node.alpha, key.low, key.high, a, key.sweep, word, np.uint32(0))
    log_ratio = log_refresh_ratio(k, fresh, phi, node.expansion, frame, scratch)
    if uniform53(w2, w3) < acceptance(log_ratio):
        phi[k] = fresh
        copy_to(scratch.signed, scratch.signed_proposal)


@lean_kernel
def update_rows(
    phi: np.ndarray, alpha: np.ndarray, expansion: np.ndarray, log_steps: np.ndarray, frame: Frame,
    scratch: RowScratch,
) -> int:  # fmt: skip
    """Update every node's row given all others, one after the other; returns how many moves were accepted.

    The order in a node matters: the test of refreshed components needs the signed likelihoods that `move_row` leaves,
    and the next node reads the new `frame.memberships`.
    """
    tuning, accepted = frame.tuning, 0
    for a in range(len(phi)):
        mark_row(a, frame.network, scratch.row)
        node = Node(a, alpha[a], expansion[a], math.exp(log_steps[a]))
        probability, made = move_row(phi[a], node, frame, scratch)
        accepted += made
        if tuning.adapt:
            log_steps[a] = adapted(log_steps[a], probability, tuning.target, float(frame.key.sweep))
        for draw in range(tuning.refresh):
            refresh_component(draw, phi[a], node, frame, scratch)
        total = 0.0
        for k in range(phi.shape[1]):
            total += phi[a, k]
        for k in range(phi.shape[1]):
            frame.memberships[a, k] = phi[a, k] / total
    return accepted
