"""The link model, once: the probability of a link in scalar functions, equations (M1) to (M3) of docs/method.md.

Kernels build their loops from these. What differs between them is where memberships are stored (rows of slots, dense
rows, packed samples), not what a link is. `reference` has the same equations in NumPy, on whole vectors, and
tests compare the two. A second link model gets functions of its own beside these.

In loops over communities the sum of `shared_term` over k is S_ab, and the probability of a link is
`link_probability(background, S_ab)`.
"""

from __future__ import annotations

from blockmix.numerics.compile import inlined_kernel


@inlined_kernel
def excess(strength: float, background: float) -> float:
    """Compute d_k = beta_k - delta: how much likelier a link is where both ends meet in k."""
    return strength - background


@inlined_kernel
def shared_term(d: float, pi_a: float, pi_b: float) -> float:
    """(M1) Compute the part of one community, d_k pi_ak pi_bk."""
    return d * pi_a * pi_b


@inlined_kernel
def link_probability(background: float, shared: float) -> float:
    """(M1) Compute the probability of a link, delta + sum_k d_k pi_ak pi_bk, from that sum."""
    return background + shared


@inlined_kernel
def outcome_probability(y: int, link: float) -> float:
    """(M1) Compute Z_ab = p(y_ab), from the probability of a link: p if y is 1, 1 - p if it is 0."""
    return link if y else 1.0 - link
