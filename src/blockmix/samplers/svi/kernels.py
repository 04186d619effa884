"""Stochastic variational inference: the factors of a pair, and natural-gradient targets of the nodes of a mini-batch.

A node enters a pair only through its *geometric weights* e_ak, exp(E[log pi_ak]) scaled to add up to one: the scale
cancels in the factors of the pair. They are kept beside gamma and renewed with it, because a pair would otherwise
cost 2 K digammas.

Equations (V1) to (V9) are those of docs/method.md; `reference.py` has them in NumPy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.digamma import digamma
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_MEMBERSHIP_FACTOR, DRAW_NON_PARTNERS, DRAW_STRENGTH_FACTOR
from blockmix.numerics.variates import log_gamma_variate
from blockmix.tables.concentration import concentration
from blockmix.tables.layout import Key, Network, Rows
from blockmix.tables.minibatch import sample_neighbors, sample_non_neighbors

Table = NDArray[np.float64]


class Factors(NamedTuple):
    """q(pi_a) = Dirichlet(gamma_a) of all nodes, the geometric weights that go with it, and updates of each node."""

    gamma: Table
    weights: Table
    updates: NDArray[np.int64]


class Local(NamedTuple):
    """How a node is updated: partners n_1 and n_0, the prior, what a non-link counts, steps (V7), local rounds (V3)."""

    neighbors: int
    non_neighbors: int
    alpha: float
    alpha_unlinked: float
    non_link_weight: float
    step: float
    delay: float
    decay: float
    joint: bool
    tolerance: float
    most_rounds: int


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
    """Room for the results of a mini-batch of at most so many nodes."""
    return Batch(
        np.zeros((nodes, communities)),
        np.zeros((nodes, communities + 1, 2)),
        np.zeros((nodes, 2), dtype=np.int64),
    )


def new_work(communities: int, partners: int) -> Work:
    """Work space for nodes of at most so many partners of a kind."""
    return Work(
        np.zeros(partners, dtype=np.int64),
        np.zeros(communities),
        np.zeros(communities),
        np.zeros(communities),
    )


@inlined_kernel
def schedule(t: float, step: float, delay: float, decay: float) -> float:
    """(V7) rho_t = step (1 + t/delay)^-decay."""
    return float(step * (1.0 + t / delay) ** -decay)


@kernel
def geometric_weights(gamma: np.ndarray, out: np.ndarray) -> None:
    """(V1) exp(E[log pi_ak]) for one node, scaled to add up to one."""
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
    """Geometric weights of the nodes [begin, end) from their gamma."""
    for a in range(begin, end):
        geometric_weights(factors.gamma[a], factors.weights[a])


@inlined_kernel
def joint_factors(
    e_a: np.ndarray, e_b: np.ndarray, level: np.ndarray, y: int, own: np.ndarray, shared: np.ndarray
) -> int:
    """(V2) q(z_ab, z_ba) of a pair in O(K): `own` is its marginal of z_ab, `shared` the mass of z_ab = z_ba = k.

    `level` holds exp(E[log strength]) of links (column 1) and non-links (column 0), the background last.
    """
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
    """(V3) q(z_ab = k) proportional to e_ak exp(q(z_ba = k) tilt_k), into `out`; returns the total change.

    `fresh` is room for K numbers.
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


@kernel
def coupled_factors(
    e_a: np.ndarray, e_b: np.ndarray, tilt: np.ndarray, y: int, tolerance: float, most: int, work: Work
) -> int:
    """(V3) q(z_ab) q(z_ba) of a pair by its coupled updates, until a round changes them by less than `tolerance`.

    They begin at the geometric weights. The results stand in `work.own`, `work.other` and, as their product,
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


@kernel
def add_pairs(
    a: int, count: int, y: int, weight: float, weights: np.ndarray, level: np.ndarray, tilt: np.ndarray,
    how: Local, work: Work, target: np.ndarray, inside: np.ndarray, effort: np.ndarray,
) -> None:  # fmt: skip
    """Add `weight` times the factors of a with its first `count` partners to target (V5) and inside (V6)."""
    communities = len(target)
    for i in range(count):
        b = work.partners[i]
        if how.joint:
            effort[1] += joint_factors(weights[a], weights[b], level, y, work.own, work.shared)
        else:
            effort[1] += coupled_factors(
                weights[a], weights[b], tilt, y, how.tolerance, how.most_rounds, work
            )
        met = 0.0
        for k in range(communities):
            target[k] += weight * work.own[k]
            inside[k, y] += weight * work.shared[k]
            met += work.shared[k]
        inside[communities, y] += weight * max(1.0 - met, 0.0)
    effort[0] += count


@kernel
def update_nodes(
    begin: int, end: int, nodes: np.ndarray, network: Network, factors: Factors, level: np.ndarray,
    tilt: np.ndarray, how: Local, key: Key, work: Work, out: Batch,
) -> None:  # fmt: skip
    """(V7) New gamma of the nodes nodes[begin:end], and the pairs inside communities that they see.

    Reads the factors as they were before the mini-batch and writes to `out` alone.
    """
    for i in range(begin, end):
        a = nodes[i]
        target, inside, effort = out.gamma[i], out.inside[i], out.effort[i]
        target[:] = concentration(a, network, how.alpha, how.alpha_unlinked)
        inside[:] = 0.0
        effort[:] = 0
        count, weight = sample_neighbors(a, how.neighbors, network, key, work.partners)
        add_pairs(a, count, 1, weight, factors.weights, level, tilt, how, work, target, inside, effort)
        count, weight = sample_non_neighbors(
            a, how.non_neighbors, DRAW_NON_PARTNERS, network, key, work.partners
        )
        weight *= how.non_link_weight
        add_pairs(a, count, 0, weight, factors.weights, level, tilt, how, work, target, inside, effort)
        rho = schedule(float(factors.updates[a]), how.step, how.delay, how.decay)
        for k in range(len(target)):
            target[k] = (1.0 - rho) * factors.gamma[a, k] + rho * target[k]


@kernel
def commit_nodes(begin: int, end: int, nodes: np.ndarray, out: Batch, factors: Factors) -> None:
    """Put the results of a mini-batch where the next one reads them."""
    for i in range(begin, end):
        a = nodes[i]
        factors.gamma[a] = out.gamma[i]
        factors.updates[a] += 1
        geometric_weights(factors.gamma[a], factors.weights[a])


@kernel
def add_inside(nodes: np.ndarray, chance: np.ndarray, out: Batch, total: np.ndarray) -> None:
    """(V8) Pairs inside communities over the whole network: half the sum over the nodes, each over its chance."""
    total[:] = 0.0
    for i in range(len(nodes)):
        share = 0.5 / chance[nodes[i]]
        for k in range(total.shape[0]):
            total[k, 0] += share * out.inside[i, k, 0]
            total[k, 1] += share * out.inside[i, k, 1]


@kernel
def draw_memberships(begin: int, end: int, gamma: np.ndarray, key: Key, rows: Rows) -> None:
    """Memberships of the nodes [begin, end) drawn from their Dirichlet factors, into rows of K slots.

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
    """Strengths drawn from their Beta factors."""
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
