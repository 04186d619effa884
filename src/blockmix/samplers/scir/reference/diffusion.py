"""The default sampler's equations (S1) to (S6) and (P2), on dense arrays and without any approximation
that the text does not name. Every fast kernel is tested against these functions.

A network is given as a dense 0/1 `adjacency` and a boolean `observed` of the same shape: pairs that are
not observed (held out, or a node with itself) belong neither to the links nor to the non-links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import exp1

from blockmix.model.reference import (
    Globals,
    Mask,
    Matrix,
    Vector,
    indicator_posterior,
    links_of,
    non_links_of,
    pair_likelihood,
    shared_posterior,
)


def local_drift(a: int, phi: Matrix, adjacency: Matrix, observed: Mask, g: Globals) -> Vector:
    """(S1) alpha + sum_links r_ab(k) + sum_nonlinks (r_ab(k) - pi_ak) - phi_ak, twice the drift of phi_a.

    It is the drift of the preconditioned Langevin diffusion whose law of pi_a is the posterior and whose
    total s_a has the prior Gamma(K alpha + degree(a), 1).
    """
    pi = phi / phi.sum(axis=1, keepdims=True)
    counts = link_count(a, pi, adjacency, observed, g) + non_link_exact(a, pi, adjacency, observed, g)
    drift: Vector = g.alpha + counts - phi[a]
    return drift


def link_count(a: int, pi: Matrix, adjacency: Matrix, observed: Mask, g: Globals) -> Vector:
    """Sum the expected number of a's links that it makes as a member of k: the sum of (M2) over its links."""
    total = np.zeros(pi.shape[1])
    for b in links_of(a, adjacency, observed):
        total += indicator_posterior(1, pi[a], pi[b], g.beta, g.delta)
    return total


def link_shape(a: int, pi: Matrix, adjacency: Matrix, observed: Mask, g: Globals) -> Vector:
    """(S4) The same count in factored form, pi_ak (W + G_k): one pass for Z and one for G a neighbour."""
    w, gain = 0.0, np.zeros(pi.shape[1])
    for b in links_of(a, adjacency, observed):
        z = pair_likelihood(1, pi[a], pi[b], g.beta, g.delta)
        w += g.delta / z
        gain += (g.beta - g.delta) * pi[b] / z
    count: Vector = pi[a] * (w + gain)
    return count


def non_link_exact(a: int, pi: Matrix, adjacency: Matrix, observed: Mask, g: Globals) -> Vector:
    """Sum r_ab(k) - pi_ak over the observed non-neighbours of a, pair by pair."""
    total = np.zeros(pi.shape[1])
    for b in non_links_of(a, adjacency, observed):
        total += indicator_posterior(0, pi[a], pi[b], g.beta, g.delta) - pi[a]
    return total


def non_link_first_order(a: int, pi: Matrix, adjacency: Matrix, observed: Mask, g: Globals) -> Vector:
    """(S3) Compute the same sum with 1/Z expanded to first order: pi_ak/(1-delta) (sum_j x_j pi_aj - x_k)."""
    x = (g.beta - g.delta) * pi[non_links_of(a, adjacency, observed)].sum(axis=0) / (1.0 - g.delta)
    net: Vector = pi[a] * (float(x @ pi[a]) - x)
    return net


def non_link_resummed(a: int, pi: Matrix, adjacency: Matrix, observed: Mask, g: Globals) -> Vector:
    """(S5) Compute the sum with 1/Z resummed inside each community, from the first two moments of its members."""
    rows = pi[non_links_of(a, adjacency, observed)]
    r1, r2 = rows.sum(axis=0), (rows**2).sum(axis=0)
    x = resummed_exposure(r1, r2, pi[a], g)
    return np.asarray(pi[a] * (float(x @ pi[a]) - x))


def resummed_exposure(r1: Vector, r2: Vector, pi_a: Vector, g: Globals) -> Vector:
    """(S5) Compute x_k = sum_b d_k t_b/(1 - delta - d_k pi_ak t_b), t_b = pi_bk, from R = sum t_b and R2 = sum t_b^2.

    Members are taken to have the law of a Dirichlet row with these sums, by Gauss's rule of two points.
    """
    d = g.beta - g.delta
    return np.asarray(d * exposure_of(r1, r2, d * pi_a, 1.0 - g.delta))


def exposure_of(r1: Vector, r2: Vector, slope: Vector, free: float) -> Vector:
    """(S5) Compute sum_b t_b/(1 - delta - slope t_b), each t_b one of the two points of `gauss_rule`."""
    points, weights = gauss_rule(np.divide(r2, r1, out=np.zeros_like(r1), where=r1 > 0))
    return np.asarray(r1 * (weights / (free - slope * points)).sum(axis=0))


def gauss_rule(share: Vector) -> tuple[Matrix, Matrix]:
    """(S5) Return points and weights of Gauss's rule for Beta(1, 1/share - 1), which has the mean `share`.

    The points are the zeros of t^2 - 4 m/(1 + 2m) t + 2 m^2/((1 + m)(1 + 2m)), m the mean, and the weights give it.
    """
    root = np.sqrt(2.0 / (1.0 + share))
    points = np.stack([2.0 + root, 2.0 - root]) * share / (1.0 + 2.0 * share)
    first = 0.5 + (2.0 * share - 1.0) / (2.0 * root)
    return points, np.stack([first, 1.0 - first])


def split_drift(phi_a: Vector, link: Vector, x: Vector, alpha: float) -> tuple[Vector, Vector]:
    """(S2) Write the drift as A_k - b_k phi_ak with A_k >= 0 and b_k > 0.

    Non-links contribute pi_ak (X - x_k), X = sum_j x_j pi_aj. Positive and negative parts of every x_j are
    kept apart, because beta_j may lie below delta: what raises phi_ak goes to A, what lowers it to b.
    """
    s = phi_a.sum()
    pi_a = phi_a / s
    gain = float(np.maximum(x, 0.0) @ pi_a) + np.maximum(-x, 0.0)
    loss = float(np.maximum(-x, 0.0) @ pi_a) + np.maximum(x, 0.0)
    return alpha + link + pi_a * gain, 1.0 + loss / s


def cir_moments(phi: Vector, shape: Vector, rate: Vector, step: float) -> tuple[Vector, Vector]:
    """(S2) Compute mean and variance after a step h of dphi = (A - b phi)/2 dt + sqrt(phi) dW, in closed form."""
    decay = np.exp(-rate * step / 2.0)
    mean = phi * decay + shape / rate * (1.0 - decay)
    variance = phi * decay * 2.0 * (1.0 - decay) / rate + shape * ((1.0 - decay) / rate) ** 2
    return mean, variance


def birth_rate(bulk: int, alpha: float, scale: float, eps: float) -> float:
    """(P2) Compute the expected number of communities reborn above eps: |B| alpha E1(eps c)."""
    return float(bulk * alpha * exp1(eps * scale))


@dataclass(frozen=True)
class PairCounts:
    """Expected pairs inside each community, by kind, and outside all of them."""

    links: Vector
    non_links: Vector
    background_links: float
    background_non_links: float


def pair_counts(pi: Matrix, adjacency: Matrix, observed: Mask, g: Globals) -> PairCounts:
    """(S6) Sum (M3) over links and non-links, and what is left to the background, pair by pair."""
    counts = [np.zeros(pi.shape[1]), np.zeros(pi.shape[1])]
    outside = [0.0, 0.0]
    for a in range(len(pi)):
        for b in range(a + 1, len(pi)):
            if observed[a, b]:
                y = int(adjacency[a, b])
                shared = shared_posterior(y, pi[a], pi[b], g.beta, g.delta)
                counts[y] += shared
                outside[y] += 1.0 - float(shared.sum())
    return PairCounts(counts[1], counts[0], outside[1], outside[0])


def non_link_pairs_resummed(pi: Matrix, exposure: Matrix, g: Globals) -> Vector:
    """(S6) The non-links of `pair_counts` from the exposures x_ak of all nodes, (S5): every pair is seen twice.

    (1 - beta_k)/d_k sum_a pi_ak x_ak / 2.
    """
    return np.asarray((1.0 - g.beta) / (g.beta - g.delta) * (pi * exposure).sum(axis=0) / 2.0)
