"""The Markov chain that places a new node: its memberships given its links and non-links, everything else fixed.

It is the move of the samplers for a single node: (G1) to (G4) of samplers/scir/README.md, and (DC5) to (DC9) of the
popularity model. Given pi every link is made in a community, z; these are drawn once more with pi integrated out, under
the law nu(pi) ∝ prod_c pi_c^(alpha_c + n_c - 1) Lambda(pi)^-(A + n), with Lambda(pi) = sum_c lambda_c pi_c and A
= sum_c alpha_c; pi' is drawn from nu, as gamma variates by lambda_c, and accepted with the ratio of the target to nu.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from blockmix.numerics.compile import kernel

# Units a link can have; more have no chance at any rate that occurs.
MOST_UNITS = 64
# The least probability that there is no link: pairs that are sure to be linked do not occur as non-links.
_LEAST = 1e-12


class Evidence(NamedTuple):
    """What the links and non-links of a new node say of its memberships in the candidate communities.

    `links` is links x communities: the probability of each link (M1), or its rate per popularity (DC3), were the node
    wholly in that community. `alpha` are the concentrations, `scales` lambda. Non-links have the log likelihood
    - linear . pi - pi quadratic pi / 2 + sum log(1 - near pi), without popularity; with it, -r (scales - rho) . pi
    together with the links, and nothing else.
    """

    links: np.ndarray
    alpha: np.ndarray
    scales: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray
    near: np.ndarray


class Scratch(NamedTuple):
    """Arrays that a chain writes: memberships, those proposed, counts, weights of a choice, units (link, community)."""

    pi: np.ndarray
    proposed: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    units: np.ndarray


@kernel
def _choose(weights: Any, rng: Any) -> int:
    """Draw a place in proportion to the weights."""
    total = 0.0
    for c in range(len(weights)):
        total += weights[c]
    u = rng.random() * total
    for c in range(len(weights)):
        u -= weights[c]
        if u < 0.0:
            return c
    return int(np.argmax(weights))


@kernel
def _product(first: Any, second: Any) -> float:
    found = 0.0
    for c in range(len(first)):
        found += first[c] * second[c]
    return found


@kernel
def _units_of(rate: float, rng: Any) -> int:
    """(DC5) Draw m ~ Poisson(rate) given m >= 1, by inversion."""
    u = rng.random() * -math.expm1(-rate)
    term = rate * math.exp(-rate)
    m = 1
    while u > term and m < MOST_UNITS:
        u -= term
        m += 1
        term *= rate / m
    return m


@kernel
def _make_units(evidence: Evidence, scratch: Scratch, popularity: float, rng: Any) -> int:
    """Draw the units of every link and their communities given pi; without popularity (NaN) a link is one unit."""
    count = 0
    scratch.counts[:] = 0.0
    for b in range(len(evidence.links)):
        m = 1
        if popularity == popularity:
            m = _units_of(popularity * _product(evidence.links[b], scratch.pi), rng)
        for c in range(len(scratch.pi)):
            scratch.weights[c] = scratch.pi[c] * evidence.links[b, c]
        for _ in range(m):
            c = _choose(scratch.weights, rng)
            scratch.units[count, 0] = b
            scratch.units[count, 1] = c
            scratch.counts[c] += 1.0
            count += 1
    return count


@kernel
def _redraw_units(evidence: Evidence, scratch: Scratch, count: int, rng: Any) -> None:
    """(DC6) Draw the community of each unit given the others: p(c) ∝ (n_c + alpha_c)/lambda_c g_bc."""
    backwards = rng.random() < 0.5
    for step in range(count):
        i = count - 1 - step if backwards else step
        b = scratch.units[i, 0]
        scratch.counts[scratch.units[i, 1]] -= 1.0
        for c in range(len(scratch.pi)):
            weight = (scratch.counts[c] + evidence.alpha[c]) / evidence.scales[c]
            scratch.weights[c] = weight * evidence.links[b, c]
        c = _choose(scratch.weights, rng)
        scratch.units[i, 1] = c
        scratch.counts[c] += 1.0


@kernel
def _propose(evidence: Evidence, scratch: Scratch, rng: Any) -> bool:
    """(DC7) Draw pi' from nu given the units; False where all of it is too small for a float."""
    total = 0.0
    for c in range(len(scratch.pi)):
        scratch.proposed[c] = rng.standard_gamma(evidence.alpha[c] + scratch.counts[c]) / evidence.scales[c]
        total += scratch.proposed[c]
    if not total > 0.0:
        return False
    for c in range(len(scratch.pi)):
        scratch.proposed[c] /= total
    return True


@kernel
def _log_ratio(evidence: Evidence, pi: Any, rho: float) -> float:
    """Compute the log of target by nu, up to a constant; it does not depend on the units."""
    total = 0.0
    for c in range(len(pi)):
        total += evidence.alpha[c]
    scale = math.log(_product(evidence.scales, pi))
    if rho == rho:
        # (DC8) nu has K alpha where the target has rho.
        return (total - rho) * scale
    value = (total + len(evidence.links)) * scale - _product(evidence.linear, pi)
    for c in range(len(pi)):
        value -= 0.5 * pi[c] * _product(evidence.quadratic[c], pi)
    # A logarithm takes longer than the rest: it is taken of products, before they become too small.
    none = 1.0
    for b in range(len(evidence.near)):
        none *= max(1.0 - _product(evidence.near[b], pi), _LEAST)
        if none < 1e-200:
            value += math.log(none)
            none = 1.0
    return value + math.log(none)


@kernel
def _start(evidence: Evidence, scratch: Scratch, rng: Any) -> None:
    """Start at the links shared out at random, each in proportion to how well a community explains it."""
    scratch.pi[:] = evidence.alpha
    for b in range(len(evidence.links)):
        scratch.pi[_choose(evidence.links[b], rng)] += 1.0
    total = scratch.pi.sum()
    for c in range(len(scratch.pi)):
        scratch.pi[c] /= total


@kernel
def place_node(evidence: Evidence, scratch: Scratch, rho: float, warm_up: int, draws: Any, rng: Any) -> None:
    """Run one chain and write its samples to `draws`: memberships, and the popularity in the last column.

    Without popularity `rho` is NaN, and the last column too.
    """
    last = len(scratch.pi)
    _start(evidence, scratch, rng)
    popularity = rho
    if rho == rho:
        popularity = (rho + len(evidence.links)) / _product(evidence.scales, scratch.pi)
    ratio = _log_ratio(evidence, scratch.pi, rho)
    for step in range(-warm_up, len(draws)):
        count = _make_units(evidence, scratch, popularity, rng)
        _redraw_units(evidence, scratch, count, rng)
        if _propose(evidence, scratch, rng):
            proposed = _log_ratio(evidence, scratch.proposed, rho)
            if rng.random() < math.exp(min(proposed - ratio, 0.0)):
                scratch.pi[:] = scratch.proposed
                ratio = proposed
        if rho == rho:
            # (DC9) Whether or not pi' was accepted: the popularity was integrated out.
            popularity = rng.standard_gamma(rho + count) / _product(evidence.scales, scratch.pi)
        if step >= 0:
            draws[step, :last] = scratch.pi
            draws[step, last] = popularity
