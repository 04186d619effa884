"""The equations of `sgmc-m`, (A1) to (A13): active, candidate and bulk communities, on dense arrays.

A node's row is a `Split`: its listed communities with their phi, and one value that all the others share. Every sum
over communities is taken here over the row written out, K numbers long; the kernels never do that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockmix.model.reference import Globals, indicator_posterior, pair_likelihood, shared_posterior

Vector = NDArray[np.float64]
Members = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """A node's phi: `phi` for the communities in `listed`, and `bulk` for each of the others of K."""

    listed: Members
    phi: Vector
    bulk: float
    communities: int

    @property
    def bulk_size(self) -> int:
        """Return |B(a)|, the number of communities that share one value."""
        return self.communities - len(self.listed)

    @property
    def bulk_total(self) -> float:
        """Return T_a = |B(a)| times the shared value."""
        return self.bulk_size * self.bulk

    def written_out(self) -> Vector:
        """Return all K values of phi."""
        dense = np.full(self.communities, float(self.bulk))
        dense[self.listed] = self.phi
        return dense

    def memberships(self) -> Vector:
        """Return all K values of pi."""
        dense = self.written_out()
        return np.asarray(dense / dense.sum())

    def in_bulk(self) -> NDArray[np.bool_]:
        """Return which communities are in the bulk."""
        mask = np.ones(self.communities, dtype=bool)
        mask[self.listed] = False
        return mask


@dataclass(frozen=True)
class Met:
    """A sampled node b: its row, whether it is a neighbour (y), and its weight c_b."""

    row: Split
    y: int
    scale: float


def active_set(pi: Vector, threshold: float, printed: bool = False) -> Members:
    """(A1) Return the communities, largest first, with a sum below the threshold before them; as printed, with them.

    >>> active_set(np.array([0.05, 0.95]), 0.9), active_set(np.array([0.3, 0.6, 0.1]), 1.0)
    (array([1]), array([1, 0, 2]))
    >>> active_set(np.array([0.3, 0.6, 0.1]), 0.8, printed=True), len(active_set(np.array([0.05, 0.95]), 0.9, True))
    (array([1]), 0)
    """
    order = np.argsort(-pi, kind="stable")
    if threshold >= 1.0:
        return order
    reached = np.cumsum(pi[order])
    before = np.concatenate(([0.0], reached[:-1]))
    return order[(reached if printed else before) < threshold]


def candidate_set(active: Members, neighbors: Sequence[Members]) -> Members:
    """(A2) Return the communities that are active in a sampled neighbour and not in the node itself."""
    near = np.concatenate([np.empty(0, dtype=np.int64), *neighbors])
    return np.setdiff1d(near, active)


def mean_excess(row: Split, beta: Vector, delta: float) -> float:
    """(A3) Compute X_a = sum_k d_k pi_ak from the listed communities and D = sum_k d_k alone."""
    d, s = beta - delta, row.written_out().sum()
    p = row.bulk / s
    return float(np.sum(d[row.listed] * (row.phi / s - p)) + p * d.sum())


def shared_excess(a: Split, b: Split, beta: Vector, delta: float) -> float:
    """(A4) Compute sum_k d_k pi_ak pi_bk from the communities that b lists and X_a alone."""
    d = beta - delta
    p = b.bulk / b.written_out().sum()
    pi_a, pi_b = a.memberships(), b.memberships()
    k = b.listed
    return float(np.sum(d[k] * pi_a[k] * (pi_b[k] - p)) + p * mean_excess(a, beta, delta))


def listed_drift(a: Split, met: Sequence[Met], g: Globals) -> Vector:
    """(A5) Compute alpha + sum_b c_b (r_ab(k) - pi_ak) - phi_ak of each listed community, twice its drift."""
    return _all_drifts(a, met, g)[a.listed]


def bulk_drift(a: Split, met: Sequence[Met], g: Globals) -> float:
    """(A6) Compute |B| alpha + sum_b c_b sum_{k in B} (r_ab(k) - pi_ak) - T_a, twice the drift of the bulk's total."""
    return float(_all_drifts(a, met, g)[a.in_bulk()].sum())


def _all_drifts(a: Split, met: Sequence[Met], g: Globals) -> Vector:
    pi_a = a.memberships()
    drift = g.alpha - a.written_out()
    for b in met:
        drift = drift + b.scale * (
            indicator_posterior(b.y, pi_a, b.row.memberships(), g.beta, g.delta) - pi_a
        )
    return np.asarray(drift)


def bulk_drift_from_sample(a: Split, met: Sequence[Met], sample: Members, g: Globals) -> float:
    """(A7) Compute the same with sum_{k in B} d_k pi_bk estimated from a mini-batch of the bulk, Z_ab exact."""
    size, pi_a = a.bulk_size, a.memberships()
    p = a.bulk / a.written_out().sum()
    drift = size * g.alpha - a.bulk_total
    for b in met:
        pi_b, sign = b.row.memberships(), 1.0 if b.y else -1.0
        background = g.delta if b.y else 1.0 - g.delta
        excess = size / len(sample) * float(np.sum((g.beta - g.delta)[sample] * pi_b[sample]))
        z = pair_likelihood(b.y, pi_a, pi_b, g.beta, g.delta)
        drift += b.scale * p * ((size * background + sign * excess) / z - size)
    return float(drift)


def printed_drifts(a: Split, met: Sequence[Met], sample: Members, g: Globals) -> tuple[Vector, float]:
    """(A12) Compute the drifts of the listed communities and of the bulk's value, f and Z as the paper prints them.

    f of a bulk community has the means of beta and of pi_b over the sample, and Z is |B| f + the f of listed ones.
    """
    pi_a, p = a.memberships(), a.bulk / a.written_out().sum()
    listed, bulk = g.alpha - a.phi, g.alpha - a.bulk
    beta_mean = float(g.beta[sample].mean())
    for b in met:
        pi_b = b.row.memberships()
        pi_mean = float(pi_b[sample].mean())
        delta = g.delta if b.y else 1.0 - g.delta
        beta = g.beta if b.y else 1.0 - g.beta
        f = pi_a * (beta * pi_b + delta * (1.0 - pi_b))
        f_bulk = p * ((beta_mean if b.y else 1.0 - beta_mean) * pi_mean + delta * (1.0 - pi_mean))
        z = a.bulk_size * f_bulk + f[a.listed].sum()
        listed = listed + b.scale * (f[a.listed] / z - pi_a[a.listed])
        bulk += b.scale * (f_bulk / z - p)
    return np.asarray(listed), float(bulk)


def without_metric(value: Vector | float, drift: Vector | float, prior: float) -> Vector:
    """(L6) Return the drift as printed: what is beyond prior - phi divided by phi, for components or for the bulk."""
    value = np.asarray(value, dtype=np.float64)
    return np.asarray(prior - value + (np.asarray(drift) - prior + value) / value)


def langevin_step(value: Vector | float, drift: Vector | float, step: float, noise: Vector | float) -> Vector:
    """(L5) Compute |phi + eps/2 drift + sqrt(eps phi) xi|, for listed communities and for the bulk's total alike."""
    value = np.asarray(value, dtype=np.float64)
    moved: Vector = np.abs(value + 0.5 * step * np.asarray(drift) + np.sqrt(step * value) * np.asarray(noise))
    return moved


def promotion_count(missing: float, bulk: float, size: int) -> int:
    """(A8) Return how many bulk communities of equal value hold together what is missing, at most |B|.

    >>> promotion_count(0.25, 0.1, 5), promotion_count(0.25, 0.1, 2), promotion_count(0.0, 0.1, 5)
    (3, 2, 0)
    """
    if missing <= 0.0 or size == 0:
        return 0
    return size if missing >= size * bulk else math.ceil(missing / bulk)


def printed_promotion_count(missing: float, bulk: float, size: int) -> int:
    """(A8) Return int(missing/bulk), the number that the paper prints, at most |B| (E7).

    >>> printed_promotion_count(0.25, 0.1, 5), printed_promotion_count(0.09, 0.1, 5)
    (2, 0)
    """
    return 0 if missing <= 0.0 or size == 0 else min(size, int(missing / bulk))


def promoted_share(alpha: float, size: int) -> tuple[float, float]:
    """(A8) Return the two parameters of the Beta law of a promoted community's share of the bulk."""
    return 1.0 + alpha, (size - 1) * alpha


def demote(row: Split, keep: Members) -> Split:
    """(A9) List only the communities in `keep`; the others join the bulk with their phi."""
    kept = np.isin(row.listed, keep)
    size = row.communities - int(kept.sum())
    total = row.bulk_total + float(row.phi[~kept].sum())
    return Split(row.listed[kept], row.phi[kept], total / size if size else 0.0, row.communities)


def pair_counts(y: int, pairs: Sequence[tuple[Split, Split]], g: Globals) -> Vector:
    """(A10) Sum w_ab(k), (M3), over pairs for every community, listed or not."""
    total = np.zeros(len(g.beta))
    for a, b in pairs:
        total += shared_posterior(y, a.memberships(), b.memberships(), g.beta, g.delta)
    return total


def memory_ratio(rows: Sequence[Split]) -> float:
    """(A11) Return (|A| + |C| + 1)/K, the mean over nodes: values stored over the values a full row has."""
    return float(np.mean([(len(row.listed) + 1) / row.communities for row in rows]))
