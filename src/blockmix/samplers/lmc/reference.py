"""Metropolis-adjusted Langevin dynamics in NumPy: equations (H1) to (H7).

A network is given as a dense 0/1 `adjacency` and a boolean `observed`, as in `model.reference`. `phi` holds the
expanded memberships of all nodes, a row each, and pi = phi / sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from blockmix.model.reference import Globals, indicator_posterior, pair_likelihood, shared_posterior

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


def shares(phi: Matrix) -> Matrix:
    """Compute pi = phi / sum, row by row."""
    return np.asarray(phi / phi.sum(axis=-1, keepdims=True))


def row_log_likelihood(a: int, pi: Matrix, adjacency: Matrix, observed: Mask, g: Globals) -> float:
    """Sum log Z_ab (M1) over the observed pairs of node a."""
    total = 0.0
    for b in np.flatnonzero(observed[a]):
        total += float(np.log(pair_likelihood(int(adjacency[a, b]), pi[a], pi[b], g.beta, g.delta)))
    return total


def row_log_target(
    a: int, phi: Matrix, adjacency: Matrix, observed: Mask, g: Globals, expansion: float
) -> float:
    """(H1) Compute sum_k ((alpha - 1) log phi_k - phi_k) + M log s + sum_b log Z_ab, up to a constant."""
    log_prior = float(np.sum((g.alpha - 1.0) * np.log(phi[a]) - phi[a]) + expansion * np.log(phi[a].sum()))
    return log_prior + row_log_likelihood(a, shares(phi), adjacency, observed, g)


def row_drift(a: int, phi: Matrix, adjacency: Matrix, observed: Mask, g: Globals, expansion: float) -> Vector:
    """(H1) Compute D_k = alpha + M pi_ak + sum_b (r_ab(k) - pi_ak) - phi_ak, the sum over all observed pairs."""
    pi = shares(phi)
    drift: Vector = g.alpha + expansion * pi[a] - phi[a]
    for b in np.flatnonzero(observed[a]):
        drift += indicator_posterior(int(adjacency[a, b]), pi[a], pi[b], g.beta, g.delta) - pi[a]
    return drift


def proposal(
    x: Vector, drift: Vector, step: float, damping: float, shape: float = 0.0
) -> tuple[Vector, Vector]:
    """(H2) Compute mean x + h/2 w^2 (D + 2 - 2w) and variance h x w^2 + shape h^2/4 of the normal to be folded."""
    w = x / (x + damping)
    return x + step / 2.0 * w**2 * (drift + 2.0 - 2.0 * w), step * x * w**2 + shape * step**2 / 4.0


def log_folded(to: Vector, mean: Vector, variance: Vector) -> Vector:
    """(H3) Compute log( N(to; mean, variance) + N(-to; mean, variance) )."""
    branches = [-((side * to - mean) ** 2) / (2.0 * variance) for side in (1.0, -1.0)]
    return np.asarray(logsumexp(branches, axis=0) - 0.5 * np.log(2.0 * np.pi * variance))


def row_log_ratio(
    a: int, phi: Matrix, proposed: Vector, adjacency: Matrix, observed: Mask, g: Globals, expansion: float,
    metric: tuple[float, float],
) -> float:  # fmt: skip
    """(H4) Compute the log Metropolis-Hastings ratio of moving phi_a to `proposed`; `metric` is (step, damping)."""
    moved = phi.copy()
    moved[a] = proposed
    ends = []
    for here, there in ((phi, moved), (moved, phi)):
        drift = row_drift(a, here, adjacency, observed, g, expansion)
        density = log_folded(there[a], *proposal(here[a], drift, *metric)).sum()
        ends.append(row_log_target(a, here, adjacency, observed, g, expansion) + float(density))
    return ends[1] - ends[0]


def refresh_log_ratio(
    a: int, k: int, fresh: float, phi: Matrix, adjacency: Matrix, observed: Mask, g: Globals,
    expansion: float,
) -> float:  # fmt: skip
    """(H5) Compute the same for a new phi_ak drawn from its prior: M log(s'/s) + the change of sum_b log Z_ab."""
    moved = phi.copy()
    moved[a, k] = fresh
    new = row_log_likelihood(a, shares(moved), adjacency, observed, g)
    old = row_log_likelihood(a, shares(phi), adjacency, observed, g)
    return new - old + float(expansion * np.log(moved[a].sum() / phi[a].sum()))


def adapted_log_step(log_step: float, probability: float, target: float, sweep: int) -> float:
    """(H6) Compute log h + (1 + t)^-0.6 (acceptance probability - target)."""
    return float(log_step + (1.0 + sweep) ** -0.6 * (probability - target))


def theta_log_prior(theta: Vector, eta: tuple[float, float], expansion: float) -> float:
    """(H7) Compute the log Gamma(eta) densities of theta = (theta_1, theta_0), expanded by M, up to a constant."""
    return float(np.sum((np.array(eta) - 1.0) * np.log(theta) - theta) + expansion * np.log(theta.sum()))


def theta_drift(
    k: int, theta: Vector, pi: Matrix, adjacency: Matrix, observed: Mask, g: Globals,
    eta: tuple[float, float], expansion: float,
) -> Vector:  # fmt: skip
    """(H7) Compute eta_1 + L_k + (M - L_k - L0_k) beta_k - theta_1 and its mirror, by (M3) pair by pair.

    k = K is the background: its part of a pair is the rest of all communities.
    """
    counts = np.zeros(2)
    for a, b in np.argwhere(np.triu(observed, 1)):
        y = int(adjacency[a, b])
        shared = shared_posterior(y, pi[a], pi[b], g.beta, g.delta)
        counts[1 - y] += shared[k] if k < len(shared) else 1.0 - shared.sum()
    beta = theta[0] / theta.sum()
    spare = expansion - counts.sum()
    return np.asarray(np.array(eta) + counts + spare * np.array([beta, 1.0 - beta]) - theta)
