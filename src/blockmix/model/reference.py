"""The plain form of the likelihood: (M1) to (M3), (M8) of the assortative model, (M9) to (M11) of the general, (DC1).

Arguments everywhere: `pi_a`, `pi_b` are memberships, arrays of length K that sum to one; `beta` the K
strengths; `delta` the background probability; `y` is 1 for a link and 0 for a non-link. A network is a dense 0/1
`adjacency` and a boolean `observed` of the same shape: pairs that are not observed (held out, or a node with itself)
belong neither to the links nor to the non-links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Globals:
    """Strengths, background probability and the Dirichlet concentration."""

    beta: Vector
    delta: float
    alpha: float


def links_of(a: int, adjacency: Matrix, observed: Mask) -> NDArray[np.int64]:
    """Return the observed neighbours of node a."""
    return np.flatnonzero((adjacency[a] == 1) & observed[a])


def non_links_of(a: int, adjacency: Matrix, observed: Mask) -> NDArray[np.int64]:
    """Return the observed non-neighbours of node a."""
    return np.flatnonzero((adjacency[a] == 0) & observed[a])


def powered(probability: Vector | float, y: int) -> Vector:
    """Compute p^(y): p for a link, 1 - p for a non-link."""
    p = np.asarray(probability, dtype=np.float64)
    return p if y else 1.0 - p


def pair_likelihood(y: int, pi_a: Vector, pi_b: Vector, beta: Vector, delta: float) -> float:
    """(M1) Compute Z_ab = delta^(y) + sum_k (beta_k^(y) - delta^(y)) pi_ak pi_bk.

    >>> float(pair_likelihood(1, np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([0.9, 0.4]), 0.05))
    0.9
    """
    background = powered(delta, y)
    return float(background + np.sum((powered(beta, y) - background) * pi_a * pi_b))


def indicator_posterior(y: int, pi_a: Vector, pi_b: Vector, beta: Vector, delta: float) -> Vector:
    """(M2) Compute r_ab(k) = p(z_ab = k | y_ab), the community in which a meets b."""
    background = powered(delta, y)
    weight = pi_a * (powered(beta, y) * pi_b + background * (1.0 - pi_b))
    return weight / pair_likelihood(y, pi_a, pi_b, beta, delta)


def shared_posterior(y: int, pi_a: Vector, pi_b: Vector, beta: Vector, delta: float) -> Vector:
    """(M3) Compute w_ab(k) = p(z_ab = z_ba = k | y_ab), both ends in community k."""
    return powered(beta, y) * pi_a * pi_b / pair_likelihood(y, pi_a, pi_b, beta, delta)


def log_joint(
    adjacency: Matrix,
    observed: NDArray[np.bool_],
    pi: Matrix,
    beta: Vector,
    delta: float,
    alpha: float,
    eta: tuple[float, float],
) -> float:
    """(M8) Compute log p(y, pi, beta), a sum of logs over the observed pairs and the priors."""
    n, k = len(pi), len(beta)
    total = float(np.sum(xlogy(alpha - 1.0, pi)) + n * (gammaln(k * alpha) - k * gammaln(alpha)))
    total += float(np.sum(xlogy(eta[0] - 1.0, beta) + xlogy(eta[1] - 1.0, 1.0 - beta)))
    total += k * float(gammaln(sum(eta)) - gammaln(eta[0]) - gammaln(eta[1]))
    for a in range(n):
        for b in range(a + 1, n):
            if observed[a, b]:
                total += float(np.log(pair_likelihood(int(adjacency[a, b]), pi[a], pi[b], beta, delta)))
    return total


def general_pair_likelihood(y: int, pi_a: Vector, pi_b: Vector, strengths: Matrix) -> float:
    """(M9) Compute Z_ab = pi_a' B^(y) pi_b for a full K x K matrix of strengths B."""
    return float(pi_a @ powered(strengths, y) @ pi_b)


def general_indicator_posterior(y: int, pi_a: Vector, pi_b: Vector, strengths: Matrix) -> Vector:
    """(M10) Compute r_ab(k) = pi_ak (B^(y) pi_b)_k / Z_ab."""
    weight: Vector = pi_a * (powered(strengths, y) @ pi_b)
    return weight / general_pair_likelihood(y, pi_a, pi_b, strengths)


def general_shared_posterior(y: int, pi_a: Vector, pi_b: Vector, strengths: Matrix) -> Matrix:
    """(M11) Compute w_ab(k, l) = pi_ak B_kl^(y) pi_bl / Z_ab."""
    weight: Matrix = np.outer(pi_a, pi_b) * powered(strengths, y)
    return weight / general_pair_likelihood(y, pi_a, pi_b, strengths)


def popularity_rate(
    r_a: float, r_b: float, pi_a: Vector, pi_b: Vector, rates: Vector, background: float
) -> float:
    """(DC1) Compute rate_ab = r_a r_b (eps + sum_k w_k pi_ak pi_bk).

    >>> float(popularity_rate(2.0, 0.5, np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([0.3, 9.0]), 0.1))
    0.4
    """
    return float(r_a * r_b * (background + np.sum(rates * pi_a * pi_b)))


def popularity_likelihood(y: int, rate: float) -> float:
    """(DC1) Compute p(y_ab): 1 - e^(-rate) for a link, e^(-rate) for a non-link."""
    return float(-np.expm1(-rate)) if y else float(np.exp(-rate))
