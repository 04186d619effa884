"""Networks whose nodes differ in popularity: how popularities are drawn, and links given them, (DC1).

The rates of all pairs are those of one Poisson process for each community, whose points have both ends drawn in
proportion to theta_ak = r_a pi_ak, and of one for the background, with ends in proportion to r_a. A pair with at least
one point is a link: nothing is thinned, and every pair is independent (D3).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.generators.draw import (
    STREAM_COUNTS,
    STREAM_INSIDE,
    STREAM_POPULARITY,
    CommunityCandidates,
    check_candidates,
    draw_blocks,
    stream,
)

Degrees = Literal["equal", "gamma", "powerlaw"]
WeightLaw = Literal["counts", "amounts"]
# The degrees of many networks fall roughly as degree^-2.5; the ratio of the largest to the smallest popularity.
POWERLAW_EXPONENT, POWERLAW_RATIO = 2.5, 200.0
# Pairs on which the share of links among points is estimated, to meet an average degree: an error below 1%.
_SAMPLED_PAIRS = 40_000


def check_degrees(degrees: str, rho: float) -> None:
    """Refuse a law of popularities that does not exist."""
    if degrees not in ("equal", "gamma", "powerlaw"):
        raise InputError(f"degrees={degrees!r}: use 'equal', 'gamma' or 'powerlaw'")
    if not (np.isfinite(rho) and rho > 0):
        raise InputError(f"rho={rho!r}: the shape of the popularities is a positive number")


def check_weights(weights: str | None, unit_shape: float, degrees: str) -> None:
    """Refuse a law of weights that does not exist, or one for a model without rates."""
    if weights is None:
        return
    if weights not in ("counts", "amounts"):
        raise InputError(f"weights={weights!r}: use 'counts' or 'amounts', or leave them out")
    if degrees == "equal":
        raise InputError(
            f"weights={weights!r} need degrees='gamma' or 'powerlaw': only links of the popularity model have weights"
        )
    if not (np.isfinite(unit_shape) and unit_shape > 0):
        raise InputError(f"unit_shape={unit_shape!r}: the shape of the size of a unit is a positive number")


def draw_sizes(points: int, weights: WeightLaw, unit_shape: float, seed: int) -> NDArray[np.float64]:
    """Draw the sizes of the points of the process (DC12), (DC13): those of a pair add up to its weight."""
    if weights == "counts":
        return np.ones(points)
    return stream(seed, STREAM_POPULARITY, 2).gamma(unit_shape, 1.0 / unit_shape, points)


def draw_popularity(nodes: int, degrees: Degrees, rho: float, seed: int) -> NDArray[np.float64] | None:
    """Draw r_a of every node, one on average; None where all are equal.

    "gamma" is the prior (DC2), Gamma(rho, rho). "powerlaw" has a density that falls as r^-2.5 over a range of 200,
    scaled to a mean of one.
    """
    rng = stream(seed, STREAM_POPULARITY)
    if degrees == "equal":
        return None
    if degrees == "gamma":
        return np.asarray(rng.gamma(rho, 1.0 / rho, nodes))
    return powerlaw(rng, nodes, POWERLAW_EXPONENT, POWERLAW_RATIO)


def powerlaw(rng: np.random.Generator, size: int, exponent: float, ratio: float) -> NDArray[np.float64]:
    """Draw from a density that falls as r^-exponent over a range of `ratio`, with an expected value of one."""
    tail = 1.0 - exponent
    drawn = (1.0 - rng.random(size) * (1.0 - ratio**tail)) ** (1.0 / tail)
    mean = tail / (tail + 1.0) * (ratio ** (tail + 1.0) - 1.0) / (ratio**tail - 1.0)
    return np.asarray(drawn / mean)


def with_popularity(memberships: Any, popularity: NDArray[np.float64]) -> Any:
    """Return theta_ak = r_a pi_ak as a sparse matrix, with a last column r_a for the background."""
    import scipy.sparse as sp

    theta = sp.diags_array(popularity) @ sp.csr_array(memberships, dtype=np.float64)
    return sp.csr_matrix(sp.hstack([theta, popularity[:, None]], format="csr"))


def rates_for_degree(
    theta: Any, rates: NDArray[np.float64], nodes: int, degree: float, seed: int
) -> NDArray[np.float64]:
    """Scale all rates by one factor so that the expected average degree is this one, to about a percent.

    The expected number of links is the total rate times the mean of (1 - e^(-rate))/rate over pairs drawn in
    proportion to their rate, which a sample of pairs gives for every factor at once.
    """
    candidates = CommunityCandidates(theta, rates)
    rng = stream(seed, STREAM_POPULARITY, 1)
    total = float(candidates.expected.sum())
    candidates.set_counts(rng.multinomial(_SAMPLED_PAIRS, candidates.expected / total))
    a, b = candidates.ends(rng, 0)
    rate = np.asarray(theta[a].multiply(theta[b]).multiply(rates).sum(axis=1)).ravel()[a != b]
    inside = total * len(rate) / _SAMPLED_PAIRS
    wanted, low, high = nodes * degree / 2.0, -60.0, 60.0

    def links(log_factor: float) -> float:
        return float(inside * np.mean(-np.expm1(-np.exp(log_factor) * rate) / rate))

    if links(high) < wanted:
        raise InputError(
            f"an average degree of {degree:g} is out of reach: these communities and popularities give at most "
            f"{2.0 * links(high) / nodes:.4g}; use fewer communities, more nodes or a smaller degree"
        )
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if links(middle) < wanted else (low, middle)
    return np.asarray(rates * np.exp(high))


def draw_popular_links(
    theta: Any, rates: NDArray[np.float64], *, seed: int, threads: int | None = None
) -> NDArray[np.int64]:
    """Draw links y_ab ~ Bernoulli(1 - e^(-rate_ab)) by (DC1) as pairs a < b; one may be listed more than once (D3)."""
    candidates = CommunityCandidates(theta, rates)
    check_candidates(float(candidates.expected.sum()))
    candidates.set_counts(stream(seed, STREAM_COUNTS).poisson(candidates.expected))

    def block(index: int) -> NDArray[np.int64]:
        a, b = candidates.ends(stream(seed, STREAM_INSIDE, index), index)
        pairs = np.column_stack((np.minimum(a, b), np.maximum(a, b)))
        return np.asarray(pairs[a != b], dtype=np.int64)

    return draw_blocks(block, candidates.total, threads)
