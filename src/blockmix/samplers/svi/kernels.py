"""Stochastic variational inference: the factors of a pair, and natural-gradient targets of the nodes of a mini-batch.

A pair depends on a node only through its *geometric weights* e_ak, exp(E[log pi_ak]) scaled to add up to one: the scale
cancels in the factors of the pair. They are stored beside gamma and renewed with it, because a pair would otherwise
cost 2 K digammas.

Equations (V1) to (V9) are derived in README.md; `reference.py` has them in NumPy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel, lean_kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_MEMBERSHIP_FACTOR, DRAW_NON_PARTNERS, DRAW_STRENGTH_FACTOR
from blockmix.numerics.special import digamma
from blockmix.numerics.variates import log_gamma_variate
from blockmix.tables.layout import Key, Network, Rows
from blockmix.tables.minibatch import sample_neighbors, sample_non_neighbors

Table = NDArray[np.float64]


class Factors(NamedTuple):
    """q(pi_a) = Dirichlet(gamma_a) of all nodes, the geometric weights that go with it, and updates of each node."""

    gamma: Table
    weights: Table
    updates: NDArray[np.int64]


class Local(NamedTuple):
    """How a node is updated: partners n_1 and n_0, alpha of each node, weight of a non-link, (V7), and (V2) or (V3)."""

    neighbors: int
    non_neighbors: int
    alpha: Table
    non_link_weight: float
    step: float
    delay: float
    decay: float
    joint: bool
    tolerance: float
    most_rounds: int


class Frame(NamedTuple):
    """What an update reads: network, factors, strengths, settings, key; all as they were before the mini-batch.

    `level` holds exp(E[log strength]) of non-links (column 0) and links (column 1), the background last, and `tilt` the
    logarithms of communities less that of the background.
    """

    network: Network
    factors: Factors
    level: Table
    tilt: Table
    how: Local
    key: Key


class Batch(NamedTuple):
    """What a mini-batch writes: for every node in it the new gamma, pairs inside (column y) and pairs and rounds."""

    gamma: Table
    inside: Table
    effort: NDArray[np.int64]


class Work(NamedTuple):
    """Work space of one worker."""

    partners: NDArray[np.int64]
    own: Table
    other: Table
    shared: Table


def new_batch(nodes: int, communities: int) -> Batch:
    """Allocate arrays for the results of a mini-batch of at most so many nodes."""
    return Batch(
        np.zeros((nodes, communities)),
        np.zeros((nodes, communities + 1, 2)),
        np.zeros((nodes, 2), dtype=np.int64),
    )


def new_work(communities: int, partners: int) -> Work:
    """Return work space for nodes of at most so many partners of a kind."""
    return Work(
        np.zeros(partners, dtype=np.int64),
        np.zeros(communities),
        np.zeros(communities),
        np.zeros(communities),
    )


@inlined_kernel
def schedule(t: float, step: float, delay: float, decay: float) -> float:
    """(V7) Compute rho_t = step (1 + t/delay)^-decay."""
    return float(step * (1.0 + t / delay) ** -decay)


@lean_kernel
def geometric_weights(gamma: np.ndarray, out: np.ndarray) -> None:
    """(V1) Compute exp(E[log pi_ak]) for one node, scaled to add up to one."""
    largest = -math.inf
    for k in range(len(gamma)):
        out[k] = digamma(gamma[k])
        largest = max(largest, out[k])
    total = 0.0
    for k in range(len(gamma)):
        out[k] = math.exp(out[k] - largest)
        total += out[k]
    for k in range(len(gamma)):
        out[k] /= total


@kernel
def renew_weights(begin: int, end: int, factors: Factors) -> None:
    """Compute the geometric weights of the nodes [begin, end) from their gamma."""
    for a in range(begin, end):
        geometric_weights(factors.gamma[a], factors.weights[a])


@inlined_kernel
def joint_factors(
    e_a: np.ndarray, e_b: np.ndarray, level: np.ndarray, y: int, own: np.ndarray, shared: np.ndarray
) -> int:
    """(V2) Compute q(z_ab, z_ba) of a pair in O(K): `own` is its marginal of z_ab, `shared` that of z_ab = z_ba = k."""
    communities = len(e_a)
    outside = level[communities, y]
    total = 0.0
    for k in range(communities):
        both = e_a[k] * e_b[k] * level[k, y]
        shared[k] = both
        own[k] = both + e_a[k] * (1.0 - e_b[k]) * outside
        total += own[k]
    scale = 1.0 / total
    for k in range(communities):
        own[k] *= scale
        shared[k] *= scale
    return 1


@inlined_kernel
def half_round(
    e: np.ndarray, facing: np.ndarray, tilt: np.ndarray, y: int, fresh: np.ndarray, out: np.ndarray
) -> float:
    """(V3) Compute q(z_ab = k), proportional to e_ak exp(q(z_ba = k) tilt_k); returns the total change.

    `fresh` has space for K numbers.
    """
    total = 0.0
    change = 0.0
    for k in range(len(e)):
        fresh[k] = e[k] * math.exp(facing[k] * tilt[k, y])
        total += fresh[k]
    scale = 1.0 / total
    for k in range(len(e)):
        change += abs(fresh[k] * scale - out[k])
        out[k] = fresh[k] * scale
    return change


@lean_kernel
def coupled_factors(
    e_a: np.ndarray, e_b: np.ndarray, tilt: np.ndarray, y: int, tolerance: float, most: int, work: Work
) -> int:
    """(V3) Compute q(z_ab) q(z_ba) by coupled updates, until a round changes them by less than `tolerance`.

    They begin at the geometric weights. The results are written to `work.own`, `work.other` and, as their product,
    `work.shared`; returns the number of rounds.
    """
    for k in range(len(e_a)):
        work.own[k] = e_a[k]
        work.other[k] = e_b[k]
    rounds = 0
    change = math.inf
    while rounds < most and change >= tolerance:
        change = half_round(e_a, work.other, tilt, y, work.shared, work.own)
        change += half_round(e_b, work.own, tilt, y, work.shared, work.other)
        rounds += 1
    for k in range(len(e_a)):
        work.shared[k] = work.own[k] * work.other[k]
    return rounds


@lean_kernel
def add_pairs(
    a: int, count: int, y: int, weight: float, frame: Frame, work: Work, at: int, out: Batch
) -> None:
    """Add `weight` times the factors of a with its first `count` partners to row `at` of `out`, (V5) and (V6)."""
    how, weights = frame.how, frame.factors.weights
    target, inside, effort = out.gamma[at], out.inside[at], out.effort[at]
    communities = len(target)
    for i in range(count):
        b = work.partners[i]
        if how.joint:
            effort[1] += joint_factors(weights[a], weights[b], frame.level, y, work.own, work.shared)
        else:
            effort[1] += coupled_factors(
                weights[a], weights[b], frame.tilt, y, how.tolerance, how.most_rounds, work
            )
        met = 0.0
        for k in range(communities):
            target[k] += weight * work.own[k]
            inside[k, y] += weight * work.shared[k]
            met += work.shared[k]
        inside[communities, y] += weight * max(1.0 - met, 0.0)
    effort[0] += count


@lean_kernel
def update_nodes(begin: int, end: int, nodes: np.ndarray, frame: Frame, work: Work, out: Batch) -> None:
    """(V7) Compute new gamma of the nodes nodes[begin:end], and their pairs inside communities, into `out`."""
    network, factors, how, key = frame.network, frame.factors, frame.how, frame.key
    for i in range(begin, end):
        a = nodes[i]
        target = out.gamma[i]
        target[:] = how.alpha[a]
        out.inside[i, :, :] = 0.0
        out.effort[i, :] = 0
        count, weight = sample_neighbors(a, how.neighbors, network, key, work.partners)
        add_pairs(a, count, 1, weight, frame, work, i, out)
        count, weight = sample_non_neighbors(
            a, how.non_neighbors, DRAW_NON_PARTNERS, network, key, work.partners
        )
        add_pairs(a, count, 0, weight * how.non_link_weight, frame, work, i, out)
        rho = schedule(float(factors.updates[a]), how.step, how.delay, how.decay)
        for k in range(len(target)):
            target[k] = (1.0 - rho) * factors.gamma[a, k] + rho * target[k]


@kernel
def commit_nodes(begin: int, end: int, nodes: np.ndarray, out: Batch, factors: Factors) -> None:
    """Copy the results of a mini-batch to the factors that the next one reads."""
    for i in range(begin, end):
        a = nodes[i]
        factors.gamma[a] = out.gamma[i]
        factors.updates[a] += 1
        geometric_weights(factors.gamma[a], factors.weights[a])


@kernel
def add_inside(nodes: np.ndarray, chance: np.ndarray, out: Batch, total: np.ndarray) -> None:
    """(V8) Estimate pairs inside communities of the whole network: half the sum over nodes, each over its chance."""
    total[:] = 0.0
    for i in range(len(nodes)):
        share = 0.5 / chance[nodes[i]]
        for k in range(total.shape[0]):
            total[k, 0] += share * out.inside[i, k, 0]
            total[k, 1] += share * out.inside[i, k, 1]


@kernel
def draw_memberships(begin: int, end: int, gamma: np.ndarray, key: Key, rows: Rows) -> None:
    """Draw memberships of the nodes [begin, end) from their Dirichlet factors, into rows of K slots.

    In logarithms: with a gamma of 0.006 half of all Gamma variates are too small for float64.
    """
    communities = gamma.shape[1]
    logs = np.empty(communities)
    for a in range(begin, end):
        largest = -math.inf
        for k in range(communities):
            logs[k] = log_gamma_variate(
                gamma[a, k], key.low, key.high, np.uint32(a), key.sweep,
                stream_word(DRAW_MEMBERSHIP_FACTOR, k), np.uint32(0),
            )  # fmt: skip
            largest = max(largest, logs[k])
        total = 0.0
        for k in range(communities):
            logs[k] = math.exp(logs[k] - largest)
            total += logs[k]
        for k in range(communities):
            rows.words[a, 2 * k] = k
            rows.weights[a, 2 * k + 1] = logs[k] / total


@kernel
def draw_strengths(strengths: np.ndarray, key: Key, out: np.ndarray) -> None:
    """Draw strengths from their Beta factors."""
    for k in range(len(out)):
        link = log_gamma_variate(
            strengths[k, 1], key.low, key.high, np.uint32(k), key.sweep,
            stream_word(DRAW_STRENGTH_FACTOR, 1), np.uint32(0),
        )  # fmt: skip
        non_link = log_gamma_variate(
            strengths[k, 0], key.low, key.high, np.uint32(k), key.sweep,
            stream_word(DRAW_STRENGTH_FACTOR, 0), np.uint32(0),
        )  # fmt: skip
        out[k] = 1.0 / (1.0 + math.exp(non_link - link))
