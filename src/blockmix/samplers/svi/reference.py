"""Variational inference, equations (V1) to (V10): the factors, the bound they raise, and the steps that raise it.

A network is a dense 0/1 `adjacency` and a boolean `observed`, as in `model.reference`. Strengths are arrays of K + 1
rows, the background last, with columns [non-link, link]: column y belongs to y. The indicators of a pair have a K x K
table of probabilities q(z_ab = k, z_ba = l), in the order a < b; factors q(z_ab) q(z_ba) are the tables of rank one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln, softmax, xlogy

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Pairs = dict[tuple[int, int], Matrix]
LocalStep = Callable[[int, Vector, Vector, Matrix], Matrix]


@dataclass(frozen=True)
class Prior:
    """Concentration, Beta prior of the strengths [non-link, link], the background where it is fixed."""

    alpha: float
    eta: tuple[float, float] = (1.0, 1.0)
    background: float | None = None
    background_eta: tuple[float, float] = (1.0, 1.0)

    def strengths(self, communities: int) -> Matrix:
        """Return the prior of every strength, the background last."""
        return np.array([self.eta] * communities + [self.background_eta], dtype=np.float64)


def expected_log_memberships(gamma: Matrix) -> Matrix:
    """(V1) Compute E[log pi_ak] = psi(gamma_ak) - psi(sum_j gamma_aj)."""
    return np.asarray(digamma(gamma) - digamma(gamma.sum(axis=-1, keepdims=True)))


def expected_log_strengths(strengths: Matrix, background: float | None) -> Matrix:
    """(V1) Compute E[log beta_k^(y)] in column y, the background last: its logarithm itself where it is fixed."""
    logs = np.asarray(digamma(strengths) - digamma(strengths.sum(axis=1, keepdims=True)))
    if background is not None:
        logs[-1] = np.log1p(-background), np.log(background)
    return logs


def pair_energy(y: int, log_a: Vector, log_b: Vector, log_strengths: Matrix) -> Matrix:
    """Compute E[log p(z_ab = k, z_ba = l, y)] for every k and l, given the factors of both nodes and strengths."""
    energy = log_a[:, None] + log_b[None, :] + log_strengths[-1, y]
    np.fill_diagonal(energy, log_a + log_b + log_strengths[:-1, y])
    return np.asarray(energy)


def joint_indicators(y: int, log_a: Vector, log_b: Vector, log_strengths: Matrix) -> Matrix:
    """(V2) Compute the best table of a pair: proportional to exp(energy), entry by entry."""
    return np.asarray(softmax(pair_energy(y, log_a, log_b, log_strengths)))


def coupled_round(y: int, log_a: Vector, facing: Vector, log_strengths: Matrix) -> Vector:
    """(V3) Compute q(z_ab = k) from q(z_ba): the exponent is E[log pi_ak] + E[log p(y)] averaged over z_ba."""
    inside, outside = log_strengths[:-1, y], log_strengths[-1, y]
    return np.asarray(softmax(log_a + facing * inside + (1.0 - facing) * outside))


def coupled_indicators(
    y: int, log_a: Vector, log_b: Vector, log_strengths: Matrix, begin: Matrix | None = None,
    tolerance: float = 1e-12, most: int = 10_000,
) -> Matrix:  # fmt: skip
    """(V3) Iterate the coupled updates from softmax(E[log pi]), or from `begin`; returns the product table."""
    q_a, q_b = softmax(log_a), softmax(log_b)
    if begin is not None:
        q_a, q_b = begin.sum(axis=1), begin.sum(axis=0)
    for _ in range(most):
        old_a, old_b = q_a, q_b
        q_a = coupled_round(y, log_a, q_b, log_strengths)
        q_b = coupled_round(y, log_b, q_a, log_strengths)
        if np.abs(q_a - old_a).sum() + np.abs(q_b - old_b).sum() < tolerance:
            break
    return np.outer(q_a, q_b)


def observed_pairs(observed: Mask) -> list[tuple[int, int]]:
    """Return the pairs a < b that are not held out."""
    return [(int(a), int(b)) for a, b in np.argwhere(np.triu(observed, 1))]


def all_indicators(
    gamma: Matrix, strengths: Matrix, adjacency: Matrix, observed: Mask, prior: Prior, local: LocalStep
) -> Pairs:
    """Compute the tables of all observed pairs by (V2) or (V3)."""
    logs = expected_log_memberships(gamma)
    levels = expected_log_strengths(strengths, prior.background)
    return {
        (a, b): local(int(adjacency[a, b]), logs[a], logs[b], levels) for a, b in observed_pairs(observed)
    }


def bound(
    gamma: Matrix, strengths: Matrix, tables: Pairs, adjacency: Matrix, prior: Prior,
    non_link_weight: float = 1.0,
) -> float:  # fmt: skip
    """(V4) Compute E_q[log p(y, z, pi, beta, delta)] - E_q[log q], at most log p(y), with weighted non-links."""
    n, k = gamma.shape
    logs = expected_log_memberships(gamma)
    levels = expected_log_strengths(strengths, prior.background)
    total = n * float(gammaln(k * prior.alpha) - k * gammaln(prior.alpha))
    total -= float(np.sum(gammaln(gamma.sum(axis=1)) - gammaln(gamma).sum(axis=1)))
    total += float(np.sum((prior.alpha - gamma) * logs))
    eta = prior.strengths(k)
    free = slice(None) if prior.background is None else slice(-1)
    total += float(np.sum((betaln(*strengths.T) - betaln(*eta.T))[free]))
    total += float(np.sum(((eta - strengths) * levels)[free]))
    for (a, b), q in tables.items():
        y = int(adjacency[a, b])
        energy = pair_energy(y, logs[a], logs[b], levels)
        total += (1.0 if y else non_link_weight) * float(np.sum(q * energy - xlogy(q, q)))
    return float(total)


def membership_targets(
    nodes: int, tables: Pairs, adjacency: Matrix, prior: Prior, non_link_weight: float = 1.0
) -> Matrix:
    """(V5) Compute the best gamma given the tables, alpha + sum_b q(z_ab = k); less gamma, the natural gradient."""
    communities = len(next(iter(tables.values())))
    target = np.full((nodes, communities), prior.alpha)
    for (a, b), q in tables.items():
        weight = 1.0 if adjacency[a, b] else non_link_weight
        target[a] += weight * q.sum(axis=1)
        target[b] += weight * q.sum(axis=0)
    return target


def strength_targets(
    communities: int, tables: Pairs, adjacency: Matrix, prior: Prior, non_link_weight: float = 1.0
) -> Matrix:
    """(V6) Compute the best Beta factors given the tables, eta + sum over pairs of q(z_ab = z_ba = k), by y.

    The rest of every pair belongs to the background.
    """
    target = prior.strengths(communities)
    for (a, b), q in tables.items():
        y = int(adjacency[a, b])
        weight = 1.0 if y else non_link_weight
        inside = np.diagonal(q)
        target[:-1, y] += weight * inside
        target[-1, y] += weight * (1.0 - inside.sum())
    return target


def batch_targets(
    gamma: Matrix, strengths: Matrix, pairs: list[tuple[int, int]], y: int, scale: float, prior: Prior,
    local: LocalStep,
) -> tuple[Matrix, Matrix]:  # fmt: skip
    """(V10) Compute the targets of all nodes and of the strengths from the pairs of a mini-batch alone, times h.

    A node that no pair has gets alpha. Pairs may be in either order; tables belong to (first, second).
    """
    nodes, communities = gamma.shape
    logs = expected_log_memberships(gamma)
    levels = expected_log_strengths(strengths, prior.background)
    target, inside = np.full((nodes, communities), prior.alpha), prior.strengths(communities)
    for a, b in pairs:
        q = local(y, logs[a], logs[b], levels)
        target[a] += scale * q.sum(axis=1)
        target[b] += scale * q.sum(axis=0)
        shared = np.diagonal(q)
        inside[:-1, y] += scale * shared
        inside[-1, y] += scale * (1.0 - shared.sum())
    return target, inside


def step_size(t: float, step: float, delay: float, decay: float) -> float:
    """(V7) Compute rho_t = step (1 + t/delay)^-decay; with step = delay^-decay it is (delay + t)^-decay."""
    return float(step * (1.0 + t / delay) ** -decay)


def natural_step(factor: Matrix, target: Matrix, rho: float) -> Matrix:
    """(V7) Make a natural-gradient step of size rho: (1 - rho) factor + rho target."""
    return (1.0 - rho) * factor + rho * target


def chances(adjacency: Matrix, observed: Mask, batch_non_links: int) -> Vector:
    """(V8) Compute the probability that a node is in a mini-batch (L1): drawn itself, or as a partner."""
    n = len(adjacency)
    links = (adjacency == 1) & observed
    non_links = (adjacency == 0) & observed
    free = non_links.sum(axis=1)
    share = np.divide(np.minimum(free, batch_non_links), free, out=np.zeros(n), where=free > 0)
    return np.asarray((1.0 + 0.5 * links.sum(axis=1) + 0.5 * non_links @ share) / n)


def membership_moments(gamma: Matrix) -> tuple[Matrix, Matrix]:
    """(V9) Compute means gamma_ak/s_a and variances m (1 - m)/(s_a + 1), s_a = sum_k gamma_ak."""
    total = gamma.sum(axis=1, keepdims=True)
    mean = gamma / total
    return mean, mean * (1.0 - mean) / (total + 1.0)


def strength_moments(strengths: Matrix, background: float | None) -> tuple[Vector, Vector]:
    """(V9) Compute means and variances of the Beta factors; a fixed background has no variance."""
    total = strengths.sum(axis=1)
    mean = strengths[:, 1] / total
    variance = mean * (1.0 - mean) / (total + 1.0)
    if background is not None:
        mean[-1], variance[-1] = background, 0.0
    return mean, variance


def expected_probability(mean_a: Vector, mean_b: Vector, strength_mean: Vector) -> float:
    """(V9) Compute E_q[p_ab]: (M1) at the means, exact because the factors are independent."""
    return float(strength_mean[-1] + np.sum((strength_mean[:-1] - strength_mean[-1]) * mean_a * mean_b))
