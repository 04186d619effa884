"""Langevin dynamics on mini-batches: what the kernels of `sgmc` see, and the moves of single numbers, (L4) to (L9).

Memberships are dense: `phi[a, k]` in single precision and their sum in `total[a]`. Every partner of a node costs two
passes of length K, one dot product for Z_ab and one sum (L4). The two models differ in what stands before and
after them: a link has the probability base + u . pi_b, with base = delta and u_k = d_k pi_ak in the assortative
model, base = 0 and u = B pi_a in the general one (`kernels.blocks`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import exact_kernel, inlined_kernel, kernel
from blockmix.numerics.philox import Word, philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_MEMBERSHIPS, DRAW_NON_PARTNERS, DRAW_STRENGTHS, DRAW_SUBSET
from blockmix.numerics.special import normal_quantile
from blockmix.numerics.variates import uniform, uniform53
from blockmix.tables.concentration import concentration
from blockmix.tables.layout import Key, Network
from blockmix.tables.minibatch import sample_neighbors, sample_non_neighbors

# A total is divided by: where all of a row underflows, it stays here. A likelihood next to 0 is rounding.
LEAST_TOTAL, LEAST_LIKELIHOOD = 1e-30, 1e-12
# A strength is kept this far from 0 and 1, where a link, or its absence, would be impossible.
LEAST_STRENGTH = 1e-9


class Dense(NamedTuple):
    """Memberships of all nodes, or of some: phi and its sums over the communities."""

    phi: NDArray[np.float32]
    total: NDArray[np.float64]


class Links(NamedTuple):
    """What decides on links: theta (columns non-link, link), its expansions M (S1), its prior, and its values.

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
    """How things move: n_1, n_0, alpha and that of nodes without links, the form of the update, and what of the
    strengths moves with a mini-batch: how many of them, and whether the background does.

    `preconditioned` chooses (L5) or (L6); `expand` gives s_a the prior Gamma(K alpha + degree, 1) of (S1).
    """

    neighbors: int
    non_neighbors: int
    alpha: float
    alpha_unlinked: float
    preconditioned: bool
    expand: bool
    run: int
    learn_background: bool


class Work(NamedTuple):
    """Work space of one worker: u, the sums G, their answer, a normal a community, and the partners."""

    slope: NDArray[np.float64]
    gain: NDArray[np.float64]
    answer: NDArray[np.float64]
    noise: NDArray[np.float64]
    partners: NDArray[np.int64]


def new_work(communities: int, partners: int) -> Work:
    """Work space for nodes in so many communities with at most so many partners."""
    slope, gain, answer = np.zeros((3, communities))
    noise = np.zeros(communities + 1)
    return Work(slope, gain, answer, noise, np.zeros(max(partners, 1), dtype=np.int64))


@kernel
def step_size(t: float, step: float, delay: float, decay: float) -> float:
    """(L9) eps_t = step (1 + t/delay)^-decay.

    >>> round(step_size(3072.0, 1.0, 1024.0, 0.5), 12)
    0.5
    """
    return float(step * (1.0 + t / delay) ** -decay)


@kernel
def local_step(eps: float, expansion: float, communities: int, alpha: float, how: Dynamics) -> float:
    """(L10) The step of a node: smaller where it has fewer links than there are communities.

    A reflected step leaves about a third of its length in each of the K communities, which must stay small
    next to the node's total; and the fewer its links, the more of its gradient is noise from sampled non-links.
    """
    if not how.expand:
        return eps
    share = min((expansion + communities * alpha) / communities, 1.0)
    return eps * share * share


@inlined_kernel
def dot(u: np.ndarray, phi: np.ndarray, b: int) -> float:
    """u . phi_b in four sums, which a processor adds side by side."""
    communities = len(u)
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    even = communities - communities % 4
    for k in range(0, even, 4):
        s0 += u[k] * np.float64(phi[b, k])
        s1 += u[k + 1] * np.float64(phi[b, k + 1])
        s2 += u[k + 2] * np.float64(phi[b, k + 2])
        s3 += u[k + 3] * np.float64(phi[b, k + 3])
    for k in range(even, communities):
        s0 += u[k] * np.float64(phi[b, k])
    return (s0 + s1) + (s2 + s3)


@inlined_kernel
def meet(b: int, y: int, weight: float, base: float, dense: Dense, work: Work) -> float:
    """(L4) Add partner b to the sums G, with the sign of y; returns weight / Z_ab."""
    inverse = 1.0 / dense.total[b]
    z = base + inverse * dot(work.slope, dense.phi, b)
    if y == 0:
        z = 1.0 - z
    scaled = weight / max(z, LEAST_LIKELIHOOD)
    factor = scaled * inverse if y else -scaled * inverse
    for k in range(len(work.gain)):
        work.gain[k] += factor * np.float64(dense.phi[b, k])
    return float(scaled)


@kernel
def meet_partners(
    a: int, base: float, network: Network, dense: Dense, how: Dynamics, key: Key, work: Work
) -> float:
    """(L2), (L4) Sample partners of a and sum over them: G into `work.gain`; returns W."""
    work.gain[:] = 0.0
    w = 0.0
    count, weight = sample_neighbors(a, how.neighbors, network, key, work.partners)
    for i in range(count):
        w += base * meet(work.partners[i], 1, weight, base, dense, work) - weight
    count, weight = sample_non_neighbors(a, how.non_neighbors, DRAW_NON_PARTNERS, network, key, work.partners)
    for i in range(count):
        w += (1.0 - base) * meet(work.partners[i], 0, weight, base, dense, work) - weight
    return w


@kernel
def meet_pairs(
    y: int, others: np.ndarray, count: int, scale: float, base: float, dense: Dense, work: Work
) -> float:
    """(L7) Sums over a mini-batch of pairs: V_k = sum_b h pi_bk/Z_ab into `work.gain`; returns sum_b h/Z_ab.

    All pairs share a node a, so that the expected number of pairs inside k is beta_k^(y) pi_ak V_k.
    """
    work.gain[:] = 0.0
    total = 0.0
    for i in range(count):
        total += meet(others[i], y, scale, base, dense, work)
    if y == 0:
        for k in range(len(work.gain)):
            work.gain[k] = -work.gain[k]
    return total


@inlined_kernel
def two_normals(purpose: Word, a: int, block: int, key: Key) -> tuple[float, float]:
    """Two standard normals from one block of random words."""
    w0, w1, w2, w3 = philox4x32(
        np.uint32(a), key.sweep, stream_word(purpose, 0), np.uint32(block), key.low, key.high
    )
    return normal_quantile(uniform53(w0, w1)), normal_quantile(uniform53(w2, w3))


@exact_kernel
def moved(value: float, prior: float, pull: float, gradient: float, eps: float, noise: float) -> float:
    """(L5), (L6) |x + eps/2 (prior - x + pull + gradient) + sqrt(eps x) noise|; pull is M x/s of (S1)."""
    return abs(value + 0.5 * eps * (prior - value + pull + gradient) + math.sqrt(eps * value) * noise)


@kernel
def move_memberships(
    a: int, at: int, w: float, eps: float, network: Network, dense: Dense, fresh: Dense, how: Dynamics,
    key: Key, work: Work,
) -> None:  # fmt: skip
    """(L5), (L6) New memberships of node a into row `at` of `fresh`, from W and the answers in `work`."""
    communities = len(work.answer)
    for block in range((communities + 1) // 2):
        work.noise[2 * block], work.noise[2 * block + 1] = two_normals(DRAW_MEMBERSHIPS, a, block, key)
    inverse = 1.0 / dense.total[a]
    expansion = np.float64(network.offsets[a + 1] - network.offsets[a]) if how.expand else 0.0
    alpha = concentration(a, network, how.alpha, how.alpha_unlinked)
    eps = local_step(eps, expansion, communities, alpha, how)
    total = 0.0
    for k in range(communities):
        phi = np.float64(dense.phi[a, k])
        scale = phi * inverse if how.preconditioned else inverse
        gradient = scale * (w + work.answer[k])
        new = np.float32(moved(phi, alpha, expansion * phi * inverse, gradient, eps, work.noise[k]))
        fresh.phi[at, k] = new
        total += np.float64(new)
    if total < LEAST_TOTAL:
        fresh.phi[at, :] = np.float32(LEAST_TOTAL)
        total = communities * LEAST_TOTAL
    fresh.total[at] = total


@exact_kernel
def strength_drift(i: int, s: int, y: int, inside: float, preconditioned: bool, links: Links) -> float:
    """(L7) inside (1[i = y] - theta_i/theta), for (L6) divided by theta_i."""
    theta = links.theta
    gradient = inside * (np.float64(i == y) - theta[s, i] / (theta[s, 0] + theta[s, 1]))
    return float(gradient if preconditioned else gradient / max(theta[s, i], LEAST_TOTAL))


@exact_kernel
def move_strength(
    s: int, y: int, inside: float, eps: float, rate: float, preconditioned: bool, key: Key, links: Links
) -> float:
    """(L5) to (L8) Move strength number s, given the estimated number of pairs of kind y inside; returns it.

    `rate` above 0 lets the expansion M follow that number (warm-up); 0 holds it.
    """
    theta, prior = links.theta, links.prior
    if rate > 0.0:
        links.expansion[s] += rate * (inside - links.expansion[s])
    per_theta = links.expansion[s] / (theta[s, 0] + theta[s, 1])
    first, second = two_normals(DRAW_STRENGTHS, s, 0, key)
    drift_0 = strength_drift(0, s, y, inside, preconditioned, links)
    drift_1 = strength_drift(1, s, y, inside, preconditioned, links)
    new_0 = moved(theta[s, 0], prior[s, 0], per_theta * theta[s, 0], drift_0, eps, first)
    new_1 = moved(theta[s, 1], prior[s, 1], per_theta * theta[s, 1], drift_1, eps, second)
    total = max(new_0 + new_1, LEAST_TOTAL)
    link = min(max(new_1 / total, LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
    theta[s, 0] = (1.0 - link) * total
    theta[s, 1] = link * total
    return link


@kernel
def first_of_run(count: int, key: Key) -> int:
    """Where the random run of strengths begins that this mini-batch moves; a run goes on behind the end."""
    u = uniform(key.low, key.high, np.uint32(0), key.sweep, stream_word(DRAW_SUBSET, 0), np.uint32(0))
    return int(u * count)
