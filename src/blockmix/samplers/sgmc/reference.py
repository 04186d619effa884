"""Stochastic gradient Langevin dynamics, equations (L1) to (L8), and its general form, (B1) to (B3), pair by pair.

`phi` holds the unnormalised memberships, `theta` the unnormalised strengths with columns non-link, link, so that
theta[k, y] goes with y and beta_k = theta[k, 1] / (theta[k, 0] + theta[k, 1]). The network is given as in
`scir.reference`: a 0/1 `adjacency` and a boolean `observed`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.model.reference import (
    Globals,
    Mask,
    Matrix,
    Vector,
    general_indicator_posterior,
    general_shared_posterior,
    indicator_posterior,
    links_of,
    non_links_of,
    pair_likelihood,
    powered,
    shared_posterior,
)

Nodes = NDArray[np.int64]


def partners_of(a: int, y: int, adjacency: Matrix, observed: Mask) -> Nodes:
    """Return the training neighbours (y = 1) or non-neighbours (y = 0) of node a."""
    return links_of(a, adjacency, observed) if y else non_links_of(a, adjacency, observed)


def pair_scale(a: int, y: int, size: int, adjacency: Matrix, observed: Mask) -> float:
    """(L1) Compute h = N |P|/n for a mini-batch of n of the pairs P of this kind that node a has; 0 if it has none."""
    return len(adjacency) * len(partners_of(a, y, adjacency, observed)) / size if size else 0.0


def network_pair_scale(size: int, adjacency: Matrix, observed: Mask) -> float:
    """(L11) Compute h = 2 M0/n for a mini-batch of n of the M0 non-links of the network; 0 if it has none."""
    non_links = np.count_nonzero(np.triu(observed & (adjacency == 0), 1))
    return 2.0 * non_links / size if size else 0.0


def printed_pair_scale(nodes: int, y: int, size: int) -> float:
    """(L12) Compute h as printed: N for links, m N with m = N/n for n non-links (E3)."""
    return float(nodes) if y else nodes / size * nodes


def printed_partner_weight(a: int, y: int, size: int, adjacency: Matrix, observed: Mask) -> float:
    """(L12) Compute c_1 or c_0 as printed: the node itself and held-out pairs count as non-neighbours (E4)."""
    near = len(partners_of(a, 1, adjacency, observed))
    return (near if y else len(adjacency) - near) / size if size else 0.0


def partner_weight(a: int, y: int, size: int, adjacency: Matrix, observed: Mask) -> float:
    """(L2) Compute c_1 or c_0: how many partners of this kind node a has for every sampled one."""
    return len(partners_of(a, y, adjacency, observed)) / size if size else 0.0


def membership_gradient(a: int, y: int, partners: Nodes, pi: Matrix, g: Globals) -> Vector:
    """(L3) Sum r_ab(k) - pi_ak over partners: phi_ak times the gradient of their log likelihood."""
    total = np.zeros(pi.shape[1])
    for b in partners:
        total += indicator_posterior(y, pi[a], pi[b], g.beta, g.delta) - pi[a]
    return total


def factored_gradient(a: int, y: int, partners: Nodes, pi: Matrix, g: Globals) -> Vector:
    """(L4) Compute the same sum as pi_ak (W + d_k G_k): two passes of length K a partner, one of them a dot product."""
    w, gain, sign = 0.0, np.zeros(pi.shape[1]), 1.0 if y else -1.0
    for b in partners:
        z = pair_likelihood(y, pi[a], pi[b], g.beta, g.delta)
        w += float(powered(g.delta, y)) / z - 1.0
        gain += sign * pi[b] / z
    total: Vector = pi[a] * (w + (g.beta - g.delta) * gain)
    return total


def strength_gradient(y: int, pairs: Nodes, pi: Matrix, theta: Matrix, delta: float) -> Matrix:
    """(L7) Sum w_ab(k) (1[i = y] - theta_ki/theta_k) over pairs: theta_ki times the gradient."""
    share = theta / theta.sum(axis=1, keepdims=True)
    total = np.zeros_like(theta)
    for a, b in pairs:
        total += expected(y, shared_posterior(y, pi[a], pi[b], share[:, 1], delta), share)
    return total


def background_gradient(y: int, pairs: Nodes, pi: Matrix, beta: Vector, theta: Vector) -> Vector:
    """(L8) Compute the same for the background: a pair counts with the probability that its ends do not meet."""
    share = theta / theta.sum()
    total = np.zeros(2)
    for a, b in pairs:
        outside = 1.0 - shared_posterior(y, pi[a], pi[b], beta, float(share[1])).sum()
        total += expected(y, np.array([outside]), share[None])[0]
    return total


def expected(y: int, weight: Vector, share: Matrix) -> Matrix:
    """Compute weight_k (1[i = y] - share_ki)."""
    drift: Matrix = weight[:, None] * (np.eye(2)[y] - share)
    return drift


def preconditioned_step(
    phi: Vector, prior: float | Vector, gradient: Vector, eps: float, noise: Vector, expansion: float = 0.0
) -> Vector:
    """(L5) Compute |phi + eps/2 (prior - phi + M phi/s + gradient) + sqrt(eps phi) noise|, gradient as in (L3) or (L7).

    `expansion` is M of (S1): the total s has the prior Gamma(K alpha + M, 1), the law of phi/s is the same for
    every M, and M = 0 is the paper's.
    """
    drift = prior - phi + expansion * phi / phi.sum() + gradient
    return np.asarray(np.abs(phi + 0.5 * eps * drift + np.sqrt(eps * phi) * noise))


def printed_step(phi: Vector, prior: float | Vector, gradient: Vector, eps: float, noise: Vector) -> Vector:
    """(L6) Compute the update as the paper prints it: the gradient is not multiplied by phi (E2).

    Its noise is that of the preconditioned diffusion, its drift is not, and its law is not the posterior.
    """
    return np.abs(phi + 0.5 * eps * (prior - phi + gradient / phi) + np.sqrt(eps * phi) * noise)


def step_size(t: float, step: float, delay: float, decay: float) -> float:
    """(L9) Compute step (1 + t/delay)^-decay; step = 1024^-0.5, delay = 1024, decay = 0.5 is the paper's."""
    return float(step * (1.0 + t / delay) ** -decay)


def block_membership_gradient(a: int, y: int, partners: Nodes, pi: Matrix, strengths: Matrix) -> Vector:
    """(B1) Compute the sum of (L3) in the general model, r_ab(k) = pi_ak (B^(y) pi_b)_k / Z_ab."""
    total = np.zeros(pi.shape[1])
    for b in partners:
        total += general_indicator_posterior(y, pi[a], pi[b], strengths) - pi[a]
    return total


def block_factored_gradient(a: int, y: int, partners: Nodes, pi: Matrix, strengths: Matrix) -> Vector:
    """(B2) Compute the same sum as pi_ak (W + (B G)_k), Z_ab from q = B pi_a: O(K) a partner and O(K^2) a node."""
    q = strengths @ pi[a]
    w, gain = 0.0, np.zeros(pi.shape[1])
    for b in partners:
        z = float(powered(q @ pi[b], y))
        w += -1.0 if y else 1.0 / z - 1.0
        gain += (1.0 if y else -1.0) * pi[b] / z
    total: Vector = pi[a] * (w + strengths @ gain)
    return total


def block_strength_gradient(y: int, pairs: Nodes, pi: Matrix, theta: Matrix) -> Matrix:
    """(B3) Sum v_ab(k,l) (1[i = y] - theta_kli/theta_kl) over pairs for the symmetric K x K x 2 theta.

    v(k,l) = w(k,l) + w(l,k) for k != l and v(k,k) = w(k,k): B_kl = B_lk is one strength, for either order of the ends.
    """
    share = theta / theta.sum(axis=2, keepdims=True)
    total = np.zeros_like(theta)
    for a, b in pairs:
        w = general_shared_posterior(y, pi[a], pi[b], share[:, :, 1])
        either = w + w.T - np.diag(np.diag(w))
        total += either[:, :, None] * (np.eye(2)[y] - share)
    return total
