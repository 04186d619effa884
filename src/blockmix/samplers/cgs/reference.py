"""Collapsed Gibbs sampling in NumPy: equations (C1) to (C4).

`pairs` lists the observed pairs, a row (a, b) each, `links` marks those that are links, and `indicators` has for every
pair (z_ab, z_ba). `Prior` holds the prior; its background is a probability, or None where it is learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Prior:
    """Nodes, communities and the prior."""

    nodes: int
    communities: int
    alpha: float | Matrix
    eta: tuple[float, float] = (1.0, 1.0)
    background: float | None = None
    background_prior: tuple[float, float] = (1.0, 1.0)


def count(pairs: Integers, links: NDArray[np.bool_], indicators: Integers, p: Prior) -> tuple[Matrix, Matrix]:
    """Count n_ak, and for every community (last: for the pairs that did not meet) the non-links and links, m_k^(y)."""
    meetings = np.zeros((p.nodes, p.communities))
    met = np.zeros((p.communities + 1, 2))
    for (a, b), link, (z_ab, z_ba) in zip(pairs, links, indicators, strict=True):
        meetings[a, z_ab] += 1
        meetings[b, z_ba] += 1
        met[z_ab if z_ab == z_ba else p.communities, int(link)] += 1
    return meetings, met


def log_collapsed(pairs: Integers, links: NDArray[np.bool_], indicators: Integers, p: Prior) -> float:
    """(C1) Compute log p(y, z): memberships and strengths integrated out."""
    meetings, met = count(pairs, links, indicators, p)
    alpha = np.broadcast_to(p.alpha, meetings.shape)
    total = float(np.sum(gammaln(meetings + alpha) - gammaln(alpha)))
    total -= float(np.sum(gammaln((meetings + alpha).sum(axis=1)) - gammaln(alpha.sum(axis=1))))
    total += float(np.sum(betaln(p.eta[0] + met[:-1, 1], p.eta[1] + met[:-1, 0]) - betaln(*p.eta)))
    rest_0, rest_1 = met[-1]
    if p.background is not None:
        return total + float(rest_1 * np.log(p.background) + rest_0 * np.log1p(-p.background))
    one, zero = p.background_prior
    return total + float(betaln(one + rest_1, zero + rest_0) - betaln(one, zero))


def predictive(y: int, met: Matrix, p: Prior) -> Vector:
    """(C2) Compute L_k^(y) of every community and, last, of the pairs that do not meet."""
    link = np.append(np.full(p.communities, p.eta[0]), p.background_prior[0]) + met[:, 1]
    non_link = np.append(np.full(p.communities, p.eta[1]), p.background_prior[1]) + met[:, 0]
    value: Vector = (link if y else non_link) / (link + non_link)
    if p.background is not None:
        value[-1] = p.background if y else 1.0 - p.background
    return value


def joint_weights(u: Vector, v: Vector, likelihood: Vector) -> Matrix:
    """(C3) Compute the weight of every (z_ab, z_ba): u_k v_l L_k on the diagonal, u_k v_l L_rest elsewhere."""
    weights: Matrix = np.outer(u, v) * likelihood[-1]
    np.fill_diagonal(weights, u * v * likelihood[:-1])
    return weights


def split_weights(u: Vector, v: Vector, likelihood: Vector) -> tuple[Vector, float]:
    """(C3) Compute the same in O(K): the diagonal u_k v_k L_k, and the rest L_rest (U V - sum_k u_k v_k) as one."""
    return u * v * likelihood[:-1], float(likelihood[-1] * (u.sum() * v.sum() - u @ v))


def membership_moments(meetings: Matrix, alpha: float | Matrix) -> tuple[Matrix, NDArray[np.float64]]:
    """(C4) Compute E[pi_a] and E[pi_a pi_a'] of Dirichlet(alpha + n_a), for every node."""
    shape = meetings + alpha
    total = shape.sum(axis=1, keepdims=True)
    mean = shape / total
    second = (shape[:, :, None] * shape[:, None, :] + np.eye(shape.shape[1]) * shape[:, None, :]) / (
        total * (total + 1.0)
    )[:, :, None]
    return mean, second


def strength_moments(met: Matrix, p: Prior) -> tuple[Vector, Vector]:
    """(C4) Compute E[beta_k] and E[beta_k^2] of Beta(eta + m_k), the background last."""
    link = np.append(np.full(p.communities, p.eta[0]), p.background_prior[0]) + met[:, 1]
    both = np.append(np.full(p.communities, sum(p.eta)), sum(p.background_prior)) + met.sum(axis=1)
    mean, second = link / both, link * (link + 1.0) / (both * (both + 1.0))
    if p.background is not None:
        mean[-1], second[-1] = p.background, p.background**2
    return mean, second
