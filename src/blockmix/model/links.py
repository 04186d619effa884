"""The link models, once: the probability of a link in scalar functions, (M1) and (M9) of docs/method.md, and (DC1).

Kernels build their loops from these. What differs between them is where memberships are stored (rows of slots, dense
rows, packed samples), not what a link is. `reference` has the same equations in NumPy, on whole vectors, and
tests compare the two. A further link model gets functions of its own beside these.

In loops over communities the sum of `shared_term` over k is S_ab, and the probability of a link is
`link_probability(background, S_ab)`. Where one end of a pair is read once and the other community by community, both
models are base + u . pi_b, with the slopes u of node a: base = delta and u_k = d_k pi_ak in the assortative model,
base = 0 and u = B pi_a in the general one. `strengths` is then the vector of strengths with the background last, or
the K x K matrix B; its number of dimensions is known when a kernel is compiled, so that the choice costs nothing.

In the popularity model the same sum, of rates in place of strengths, is the rate of a pair of popularity one:
`pair_rate` multiplies it by both popularities, and `rate_probability` turns a rate into the probability of a link.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_kernel, kernel


@inlined_kernel
def excess(strength: float, background: float) -> float:
    """Compute d_k = beta_k - delta: how much likelier a link is where both ends meet in k."""
    return strength - background


@inlined_kernel
def shared_term(d: float, pi_a: float, pi_b: float) -> float:
    """(M1) Compute the part of one community, d_k pi_ak pi_bk."""
    return d * pi_a * pi_b


@inlined_kernel
def link_probability(base: float, shared: float) -> float:
    """(M1), (M9) Compute the probability of a link from base (delta, or 0) and the sum over communities."""
    return base + shared


@inlined_kernel
def outcome_probability(y: int, link: float) -> float:
    """(M1) Compute Z_ab = p(y_ab), from the probability of a link: p if y is 1, 1 - p if it is 0."""
    return link if y else 1.0 - link


@inlined_kernel
def base_probability(strengths: np.ndarray) -> float:
    """(M1), (M9) Return the probability of a link between nodes that share nothing: delta, or 0."""
    if strengths.ndim == 2:
        return 0.0
    return np.float64(strengths[-1])


@inlined_kernel
def add_slopes(k: int, pi_a: float, strengths: np.ndarray, slopes: np.ndarray) -> None:
    """(M1), (M9) Add what membership pi_ak contributes to the slopes u of node a."""
    if strengths.ndim == 2:
        for other in range(len(slopes)):
            slopes[other] += pi_a * np.float64(strengths[k, other])
    else:
        slopes[k] += excess(np.float64(strengths[k]), np.float64(strengths[-1])) * pi_a


@inlined_kernel
def pair_rate(r_a: float, r_b: float, base: float, shared: float) -> float:
    """(DC1) Compute r_a r_b (eps + sum_k w_k pi_ak pi_bk) from base = eps and the sum over communities."""
    return r_a * r_b * (base + shared)


@inlined_kernel
def rate_probability(rate: float) -> float:
    """(DC1) Compute the probability of a link, 1 - e^(-rate): that a Poisson count of this mean is not zero."""
    return -math.expm1(-rate)


@inlined_kernel
def log_count(count: float, rate: float) -> float:
    """(DC12) Compute the log probability of a count given its rate: a Poisson variable."""
    return count * math.log(rate) - rate - math.lgamma(count + 1.0)


@inlined_kernel
def amount_term(m: int, shape: float) -> float:
    """(DC13) Compute the part of the log density of an amount of m units that depends on m and the shape alone."""
    return -math.lgamma(m + 1.0) - math.lgamma(shape * m)


@kernel
def log_amount(log_amount: float, rate: float, shape: float, size_rate: float, most: int) -> float:
    """(DC13) Compute the log density of an amount given its rate: a Poisson number of units, each of a Gamma size.

    The sum over m = 1 .. `most` units; `size_rate` is the rate of the Gamma law of one.
    """
    slope = math.log(rate) + shape * (math.log(size_rate) + log_amount)
    largest, total = -math.inf, 0.0
    for m in range(1, most + 1):
        value = slope * m + amount_term(m, shape)
        if value < largest - 40.0:
            break
        if value > largest:
            total = total * math.exp(largest - value) + 1.0
            largest = value
        else:
            total += math.exp(value - largest)
    return largest + math.log(total) - rate - log_amount - size_rate * math.exp(log_amount)
