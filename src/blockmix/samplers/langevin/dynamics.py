"""Langevin dynamics on mini-batches: the step of one number and of one strength, equations (L5) to (L10).

`sgmc` and `sgmc-m` store memberships differently and share everything in this file. Functions that are compiled into
kernels of both are exact kernels, so that the two samplers agree number by number where no community is in the bulk.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import exact_kernel, inlined_kernel, kernel
from blockmix.numerics.philox import Word, philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_STRENGTHS, DRAW_SUBSET
from blockmix.numerics.special import normal_quantile
from blockmix.numerics.variates import uniform, uniform53
from blockmix.tables.layout import Key
from blockmix.tables.minibatch import Strata

# Totals are divisors: a row that underflows is set to the first. A likelihood below the second is rounding error.
LEAST_TOTAL, LEAST_LIKELIHOOD = 1e-30, 1e-12
# Distance of a strength from 0 and 1, where a link, or a non-link, would be impossible.
LEAST_STRENGTH = 1e-9


class StrengthState(NamedTuple):
    """Strengths with their theta (columns non-link, link), the expansions M of (S1), their prior and their values.

    In the assortative model `value` holds the strengths and, last, the background, and `blocks` is empty. In the
    general one `blocks` is B, `value` is a single 0, and theta number k K + l, k <= l, belongs to B_kl.
    """

    theta: NDArray[np.float64]
    expansion: NDArray[np.float64]
    prior: NDArray[np.float64]
    value: NDArray[np.float64]
    blocks: NDArray[np.float64]


class Schedule(NamedTuple):
    """(L9) The steps of memberships and strengths, their delay and decay, and the rate at which M adapts."""

    step: float
    strength_step: float
    delay: float
    decay: float
    adapt: float


class Dynamics(NamedTuple):
    """The settings of an update.

    Partners n_1 and n_0 of (L2), how pairs are drawn, alpha of every node, the form of the update (`preconditioned`
    chooses (L5) or (L6), `expand` gives s_a the prior Gamma(K alpha + degree, 1) of (S1)), how many strengths move with
    a mini-batch, and whether the background does.
    """

    neighbors: int
    non_neighbors: int
    strata: Strata
    alpha: NDArray[np.float64]
    preconditioned: bool
    expand: bool
    subset: int
    learn_background: bool


@kernel
def step_size(t: float, step: float, delay: float, decay: float) -> float:
    """(L9) Compute eps_t = step (1 + t/delay)^-decay.

    >>> round(step_size(3072.0, 1.0, 1024.0, 0.5), 12)
    0.5
    """
    return float(step * (1.0 + t / delay) ** -decay)


@kernel
def local_step(eps: float, expansion: float, communities: int, alpha: float, how: Dynamics) -> float:
    """(L10) Compute the step of a node: smaller where it has fewer links than there are communities.

    A reflected step leaves about a third of its length in each of the K communities, which must stay small
    next to the node's total; and the fewer its links, the more of its gradient is noise from sampled non-links.
    """
    if not how.expand:
        return eps
    share = min((expansion + communities * alpha) / communities, 1.0)
    return eps * share * share


@inlined_kernel
def two_normals(purpose: Word, a: int, block: int, key: Key) -> tuple[float, float]:
    """Draw two standard normals from one block of random words."""
    w0, w1, w2, w3 = philox4x32(
        np.uint32(a), key.sweep, stream_word(purpose, 0), np.uint32(block), key.low, key.high
    )
    return normal_quantile(uniform53(w0, w1)), normal_quantile(uniform53(w2, w3))


@exact_kernel
def moved(value: float, prior: float, pull: float, gradient: float, eps: float, noise: float) -> float:
    """(L5), (L6) Compute |x + eps/2 (prior - x + pull + gradient) + sqrt(eps x) noise|; pull is M x/s of (S1)."""
    return abs(value + 0.5 * eps * (prior - value + pull + gradient) + math.sqrt(eps * value) * noise)


@exact_kernel
def strength_drift(
    i: int, s: int, y: int, inside: float, preconditioned: bool, strengths: StrengthState
) -> float:
    """(L7) Compute inside (1[i = y] - theta_i/theta), for (L6) divided by theta_i."""
    theta = strengths.theta
    gradient = inside * (np.float64(i == y) - theta[s, i] / (theta[s, 0] + theta[s, 1]))
    return float(gradient if preconditioned else gradient / max(theta[s, i], LEAST_TOTAL))


@exact_kernel
def move_strength(
    s: int, y: int, inside: float, eps: float, rate: float, preconditioned: bool, key: Key,
    strengths: StrengthState,
) -> float:  # fmt: skip
    """(L5) to (L8) Move strength number s, given the estimated number of pairs of kind y inside; returns it.

    `rate` above 0 lets the expansion M adapt to that number (warm-up); 0 keeps it.
    """
    theta, prior = strengths.theta, strengths.prior
    if rate > 0.0:
        strengths.expansion[s] += rate * (inside - strengths.expansion[s])
    per_theta = strengths.expansion[s] / (theta[s, 0] + theta[s, 1])
    first, second = two_normals(DRAW_STRENGTHS, s, 0, key)
    drift_0 = strength_drift(0, s, y, inside, preconditioned, strengths)
    drift_1 = strength_drift(1, s, y, inside, preconditioned, strengths)
    new_0 = moved(theta[s, 0], prior[s, 0], per_theta * theta[s, 0], drift_0, eps, first)
    new_1 = moved(theta[s, 1], prior[s, 1], per_theta * theta[s, 1], drift_1, eps, second)
    total = max(new_0 + new_1, LEAST_TOTAL)
    link = min(max(new_1 / total, LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
    theta[s, 0] = (1.0 - link) * total
    theta[s, 1] = link * total
    return link


@inlined_kernel
def in_subset(k: int, count: int, left: int, key: Key) -> bool:
    """(L13) Tell whether number k of `count` is in the random subset that this mini-batch moves.

    `left` counts the members that are still to be found among k, k + 1, ..., count - 1: number k is one of them with
    probability left/(count - k), which gives every subset of its size the same probability.
    """
    if left >= count - k:
        return True
    if left <= 0:
        return False
    word = stream_word(DRAW_SUBSET, 0)
    u = uniform(key.low, key.high, np.uint32(k), key.sweep, word, np.uint32(0))
    return u * (count - k) < left
