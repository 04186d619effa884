"""Non-links in the link-indicator move: the tilts of the proposal (G2), and the residual of the test (G4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from blockmix.model.links import excess
from blockmix.numerics.compile import inlined_lean_kernel
from blockmix.samplers.scir.constants import LEAST_TILT, SERIES_LIMIT
from blockmix.samplers.scir.exposure import resummed_exposure, two_points
from blockmix.samplers.scir.frame import MEMBERS, MEMBERS_SQUARED, Frame, Node, Scratch, Tilt
from blockmix.samplers.scir.indicators.near import near_in
from blockmix.samplers.scir.rows import add_local
from blockmix.tables.layout import Index, Strengths

# 1 - v of a non-link stays above this: a strength of one would forbid non-links altogether.
LEAST_NON_LINK = 1e-6
# A community's members that are no neighbours: less is none, and their squares weigh at least this share of them.
LEAST_REST, LEAST_SQUARES = 1e-9, 1e-3


class Outsider(NamedTuple):
    """A community that is not in the local lists: d_k, R_k, R2_k and lambda_k."""

    excess: float
    rest: float
    squares: float
    tilt: float


@inlined_lean_kernel
def rest_of(
    k: Index, pi: float, near: float, near_squared: float, members: np.ndarray
) -> tuple[float, float]:
    """Compute R_k and R2_k of (S5): sums over the members of k that are neither neighbours nor held out."""
    rest = members[k, MEMBERS] - pi - near
    if rest <= LEAST_REST:
        return 0.0, 0.0
    squares = members[k, MEMBERS_SQUARED] - pi * pi - near_squared
    return rest, min(max(squares, 0.0), rest)


@inlined_lean_kernel
def set_exposure(own: int, strengths: Strengths, scratch: Scratch) -> None:
    """(S5) Set exposure_k = sum over non-neighbours of pi_bk/Z_ab for the node's own communities."""
    free = 1.0 - strengths.value[-1]
    for at in range(own):
        scratch.exposure[at] = resummed_exposure(
            scratch.rest[at],
            max(scratch.squares[at], LEAST_SQUARES * scratch.rest[at]),
            scratch.excess[at] * scratch.pi[at],
            free,
        )


@inlined_lean_kernel
def tilt_of(d: float, rest: float, free: float, tilt: Tilt) -> float:
    """(G2) Compute lambda_k = 1 + (x_k - x)/A with x_k = max(d_k, 0) R_k/(1 - delta), not below the least."""
    x = tilt.weight * max(d, 0.0) * rest / free
    value: float = max(1.0 + (x - tilt.typical) / tilt.mass, LEAST_TILT)
    return value


@inlined_lean_kernel
def set_tilts(node: Node, count: int, frame: Frame, scratch: Scratch) -> Tilt:
    """(G2) Set lambda_k of every local community, from their x_k and a typical value x.

    x is the mean over the neighbours' listed communities: a value that does not depend on the node's own
    memberships, as an exact step needs.
    """
    mass = node.degree + len(frame.members) * node.alpha
    weight = frame.settings.non_link_weight
    free = 1.0 - frame.strengths.value[-1]
    total, listed = 0.0, 0.0
    for at in range(count):
        rest, squares = rest_of(
            scratch.community[at], scratch.pi[at], scratch.near[at], scratch.near_squared[at], frame.members
        )
        scratch.rest[at], scratch.squares[at] = rest, squares
        total += scratch.listed_weight[at] * max(scratch.excess[at], 0.0) * rest
        listed += scratch.listed_weight[at]
    typical = weight * total / (free * listed) if listed > 0.0 else 0.0
    typical = min(typical, (1.0 - LEAST_TILT) * mass)
    tilt = Tilt(typical, mass, 1.0 - typical / mass, weight)
    for at in range(count):
        scratch.tilt[at] = tilt_of(scratch.excess[at], scratch.rest[at], free, tilt)
    return tilt


@inlined_lean_kernel
def outsider(node: Node, k: Index, frame: Frame, tilt: Tilt, scratch: Scratch) -> Outsider:
    """Compute what non-links tell about a community that is not in the local lists."""
    near, near_squared = 0.0, 0.0
    if scratch.seen[k] == node.place:
        near, near_squared = near_in(node, k, frame)
    background = frame.strengths.value[-1]
    d = excess(frame.strengths.value[k], background)
    rest, squares = rest_of(k, 0.0, near, near_squared, frame.members)
    return Outsider(d, rest, squares, tilt_of(d, rest, 1.0 - background, tilt))


@inlined_lean_kernel
def add_outsider(k: Index, at: int, found: Outsider, scratch: Scratch) -> None:
    """Append a community to the local lists, with its tilt and no links yet."""
    add_local(k, 0.0, 0.0, at, scratch)
    scratch.excess[at], scratch.rest[at], scratch.squares[at] = found.excess, found.rest, found.squares
    scratch.tilt[at], scratch.inverse[at], scratch.count[at] = found.tilt, 1.0 / found.tilt, 0.0


@inlined_lean_kernel
def log_of_non_links(v: float, rest: float, squares: float) -> float:
    """(G4) Compute one community's part of log T, with v = d_k pi_k/(1 - delta), from the two points t of (S5)."""
    share = max(squares, LEAST_SQUARES * rest) / rest
    both, product = two_points(share)
    if abs(v) < SERIES_LIMIT:
        # The moments of the rule follow from its polynomial t^2 - both t + product, which is zero at both points.
        second = both * share - product
        third = both * second - product * share
        fourth = both * third - product * second
        powers = share / 2.0 + v * (second / 3.0 + v * (third / 4.0 + v * fourth / 5.0))
        return -rest * v * (1.0 + v * powers)
    root, unit = math.sqrt(2.0 / (1.0 + share)), share / (1.0 + 2.0 * share)
    large, small = (2.0 + root) * unit, (2.0 - root) * unit
    weight = (2.0 * share - 1.0 + root) / (2.0 * root)
    of_large = weight * math.log(max(1.0 - v * large, LEAST_NON_LINK)) / large
    return rest * (of_large + (1.0 - weight) * math.log(1.0 - v * small) / small)


@inlined_lean_kernel
def tilt_gain(count: int, own: int, total: float, tilt: Tilt, scratch: Scratch) -> float:
    """(G4) Compute A log(sum lambda_k pi_k), new memberships less old: the proposal's part of non-links, taken back."""
    new, old = 0.0, 0.0
    for at in range(count):
        new += scratch.tilt[at] * scratch.phi[at] / total
        if at < own:
            old += scratch.tilt[at] * scratch.pi[at]
    return tilt.mass * math.log(new / old)


@inlined_lean_kernel
def closed_gain(
    count: int, own: int, total: float, strengths: Strengths, tilt: Tilt, scratch: Scratch
) -> float:
    """(G4) Compute log T in closed form, new memberships less old."""
    scale = 1.0 / (1.0 - strengths.value[-1])
    share = 1.0 / total
    result = 0.0
    for at in range(count):
        rest, v = scratch.rest[at], scratch.excess[at] * scale
        if scratch.phi[at] > 0.0:
            pi = scratch.phi[at] * share
            if rest > 0.0:
                result += log_of_non_links(v * pi, rest, scratch.squares[at])
        if at < own:
            pi = scratch.pi[at]
            if rest > 0.0:
                result -= log_of_non_links(v * pi, rest, scratch.squares[at])
    return tilt.weight * result
