"""The update of one node in `sgmc`: sums over sampled partners and a Langevin step, (L2) to (L6).

Memberships are dense: `phi[a, k]` in single precision and their sum in `total[a]`. Every partner of a node costs two
passes of length K, one dot product for Z_ab and one sum (L4). The two models differ only before and after these
passes: a link has the probability base + u . pi_b, with base = delta and u_k = d_k pi_ak in the assortative
model, base = 0 and u = B pi_a in the general one (`blocks.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.model.links import link_probability, outcome_probability
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.purposes import DRAW_MEMBERSHIPS
from blockmix.samplers.langevin.dynamics import (
    LEAST_LIKELIHOOD,
    LEAST_TOTAL,
    Dynamics,
    StrengthState,
    local_step,
    moved,
    two_normals,
)
from blockmix.samplers.minibatch import PairBatch
from blockmix.tables.layout import Key, Network
from blockmix.tables.minibatch import sample_neighbors, sample_partners


class Dense(NamedTuple):
    """Memberships of all nodes, or of some: phi and its sums over the communities."""

    phi: NDArray[np.float32]
    total: NDArray[np.float64]


class Frame(NamedTuple):
    """What an update of a node or of the strengths reads besides its own work space; the key is an iteration's."""

    network: Network
    dense: Dense
    strengths: StrengthState
    how: Dynamics
    key: Key


class Work(NamedTuple):
    """Work space of one worker: u, the sums G, what they give for each community, a normal each, the partners."""

    slope: NDArray[np.float64]
    gain: NDArray[np.float64]
    result: NDArray[np.float64]
    noise: NDArray[np.float64]
    partners: NDArray[np.int64]


def new_work(communities: int, partners: int) -> Work:
    """Return work space for nodes in so many communities with at most so many partners."""
    slope, gain, result = np.zeros((3, communities))
    noise = np.zeros(communities + 1)
    return Work(slope, gain, result, noise, np.zeros(max(partners, 1), dtype=np.int64))


@inlined_lean_kernel
def dot(u: np.ndarray, phi: np.ndarray, b: int) -> float:
    """Compute u . phi_b in four sums, which a processor adds in parallel."""
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


@inlined_lean_kernel
def add_partner(b: int, y: int, weight: float, base: float, dense: Dense, work: Work) -> float:
    """(L4) Add partner b to the sums G, with the sign of y; returns weight / Z_ab."""
    inverse = 1.0 / dense.total[b]
    z = outcome_probability(y, link_probability(base, inverse * dot(work.slope, dense.phi, b)))
    scaled = weight / max(z, LEAST_LIKELIHOOD)
    factor = scaled * inverse if y else -scaled * inverse
    for k in range(len(work.gain)):
        work.gain[k] += factor * np.float64(dense.phi[b, k])
    return float(scaled)


@lean_kernel
def sum_partners(a: int, base: float, frame: Frame, work: Work) -> float:
    """(L2), (L4) Sample partners of a and sum over them: G into `work.gain`; returns W."""
    how, key = frame.how, frame.key
    work.gain[:] = 0.0
    w = 0.0
    count, weight = sample_neighbors(a, how.neighbors, frame.network, key, work.partners)
    for i in range(count):
        w += base * add_partner(work.partners[i], 1, weight, base, frame.dense, work) - weight
    count, weight = sample_partners(
        a, how.non_neighbors, how.strata.printed, frame.network, key, work.partners
    )
    for i in range(count):
        w += (1.0 - base) * add_partner(work.partners[i], 0, weight, base, frame.dense, work) - weight
    return w


@inlined_lean_kernel
def end_of_group(begin: int, batch: PairBatch) -> int:
    """Return where the pairs end that have the same first node as pair `begin`."""
    end = begin + 1
    while end < len(batch.first) and batch.first[end] == batch.first[begin]:
        end += 1
    return end


@lean_kernel
def sum_pairs(begin: int, end: int, batch: PairBatch, base: float, dense: Dense, work: Work) -> float:
    """(L7) Sum over pairs of one node a: V_k = sum_b h pi_bk/Z_ab into `work.gain`; returns sum_b h/Z_ab.

    The expected number of these pairs inside k is beta_k^(y) pi_ak V_k.
    """
    work.gain[:] = 0.0
    total = 0.0
    for i in range(begin, end):
        total += add_partner(batch.second[i], batch.y, batch.scale, base, dense, work)
    if batch.y == 0:
        for k in range(len(work.gain)):
            work.gain[k] = -work.gain[k]
    return total


@lean_kernel
def move_memberships(a: int, at: int, w: float, eps: float, frame: Frame, fresh: Dense, work: Work) -> None:
    """(L5), (L6) Write new memberships of node a to row `at` of `fresh`, from W and `work.result`."""
    dense, how, alpha = frame.dense, frame.how, frame.how.alpha[a]
    communities = len(work.result)
    for block in range((communities + 1) // 2):
        work.noise[2 * block], work.noise[2 * block + 1] = two_normals(DRAW_MEMBERSHIPS, a, block, frame.key)
    inverse = 1.0 / dense.total[a]
    offsets = frame.network.offsets
    expansion = np.float64(offsets[a + 1] - offsets[a]) if how.expand else 0.0
    eps = local_step(eps, expansion, communities, alpha, how)
    total = 0.0
    for k in range(communities):
        phi = np.float64(dense.phi[a, k])
        scale = phi * inverse if how.preconditioned else inverse
        gradient = scale * (w + work.result[k])
        new = np.float32(moved(phi, alpha, expansion * phi * inverse, gradient, eps, work.noise[k]))
        fresh.phi[at, k] = new
        total += np.float64(new)
    if total < LEAST_TOTAL:
        fresh.phi[at, :] = np.float32(LEAST_TOTAL)
        total = communities * LEAST_TOTAL
    fresh.total[at] = total
