"""What non-links say in the link-indicator move: the tilts of the proposal (G2) and the residual of the test (G4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel
from blockmix.samplers.scir.diffusion.non_links import resummed_exposure
from blockmix.samplers.scir.frame import MEMBERS, MEMBERS_SQUARED, Scratch, Tilt
from blockmix.samplers.scir.indicators.near import near_in
from blockmix.samplers.scir.rows import add_local
from blockmix.tables.layout import Index, Network, Rows, Strengths

# The tilt of a community against the node's typical one stays above this, so that proposals stay bounded.
LEAST_TILT = 0.2
# 1 - v of a non-link stays above this: a strength of one would forbid non-links altogether.
LEAST_NON_LINK = 1e-6
# A community's members that are no neighbours: less is none, and their squares weigh at least this share of them.
LEAST_REST, LEAST_SQUARES = 1e-9, 1e-3
# Below this |v| five terms of the series of log(1 - v) are exact to 2e-13, and cheaper than the logarithm.
SERIES_LIMIT = 0.01


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
    """R_k and R2_k of (S5): what the members of k that are neither neighbours nor held out sum to."""
    rest = members[k, MEMBERS] - pi - near
    if rest <= LEAST_REST:
        return 0.0, 0.0
    squares = members[k, MEMBERS_SQUARED] - pi * pi - near_squared
    return rest, min(max(squares, LEAST_SQUARES * rest), rest)


@inlined_lean_kernel
def set_exposure(own: int, strengths: Strengths, scratch: Scratch) -> None:
    """(S5) exposure_k = sum over non-neighbours of pi_bk/Z_ab for the node's own communities."""
    free = 1.0 - strengths.value[-1]
    for at in range(own):
        scratch.exposure[at] = resummed_exposure(
            scratch.rest[at], scratch.squares[at], scratch.excess[at] * scratch.pi[at], free
        )


@inlined_lean_kernel
def tilt_of(excess: float, rest: float, free: float, tilt: Tilt) -> float:
    """(G2) lambda_k = 1 + (x_k - x)/A with x_k = max(d_k, 0) R_k/(1 - delta), not below the least."""
    x = tilt.weight * max(excess, 0.0) * rest / free
    value: float = max(1.0 + (x - tilt.typical) / tilt.mass, LEAST_TILT)
    return value


@inlined_lean_kernel
def set_tilts(
    count: int, mass: float, members: np.ndarray, strengths: Strengths, weight: float, scratch: Scratch
) -> Tilt:
    """(G2) lambda_k for every local community, from their x_k and a typical value x.

    x is the mean over the neighbours' listed communities: a value that does not depend on the node's own
    memberships, as an exact step needs.
    """
    free = 1.0 - strengths.value[-1]
    total, homes = 0.0, 0.0
    for at in range(count):
        rest, squares = rest_of(
            scratch.community[at], scratch.pi[at], scratch.near[at], scratch.near_squared[at], members
        )
        scratch.rest[at], scratch.squares[at] = rest, squares
        home = scratch.home[at]
        total += home * max(scratch.excess[at], 0.0) * rest
        homes += home
    typical = weight * total / (free * homes) if homes > 0.0 else 0.0
    typical = min(typical, (1.0 - LEAST_TILT) * mass)
    tilt = Tilt(typical, mass, 1.0 - typical / mass, weight)
    for at in range(count):
        scratch.tilt[at] = tilt_of(scratch.excess[at], scratch.rest[at], free, tilt)
    return tilt


@inlined_lean_kernel
def outsider(
    a: int, k: Index, network: Network, rows: Rows, members: np.ndarray, strengths: Strengths, tilt: Tilt,
    scratch: Scratch,
) -> Outsider:  # fmt: skip
    """What non-links say of a community that is not in the local lists."""
    near, near_squared = 0.0, 0.0
    if scratch.seen[k] == a:
        near, near_squared = near_in(a, k, network, rows)
    background = strengths.value[-1]
    excess = strengths.value[k] - background
    rest, squares = rest_of(k, 0.0, near, near_squared, members)
    return Outsider(excess, rest, squares, tilt_of(excess, rest, 1.0 - background, tilt))


@inlined_lean_kernel
def add_outsider(k: Index, at: int, found: Outsider, scratch: Scratch) -> None:
    """Append it to the local lists, without links so far."""
    add_local(k, 0.0, 0.0, at, scratch)
    scratch.excess[at], scratch.rest[at], scratch.squares[at] = found.excess, found.rest, found.squares
    scratch.tilt[at], scratch.inverse[at], scratch.count[at] = found.tilt, 1.0 / found.tilt, 0.0


@inlined_lean_kernel
def log_of_non_links(v: float, rest: float, squares: float) -> float:
    """(G4) The part of one community in log T, with v = d_k pi_k/(1 - delta): the mean of the two cases of (S5).

    The first has members of equal weight, the second members that weigh one or next to nothing.
    """
    share = squares / rest
    if abs(v) < SERIES_LIMIT:
        w = v * share
        equal_weights = -v * (1.0 + w * (1.0 / 2.0 + w * (1.0 / 3.0 + w * (1.0 / 4.0 + w / 5.0))))
        beyond = v * v * (1.0 / 2.0 + v * (1.0 / 3.0 + v * (1.0 / 4.0 + v / 5.0)))
        return 0.5 * rest * (equal_weights - v - share * beyond)
    equal_weights = math.log(max(1.0 - v * share, LEAST_NON_LINK)) / share
    all_or_nothing = share * math.log(max(1.0 - v, LEAST_NON_LINK)) - (1.0 - share) * v
    return 0.5 * rest * (equal_weights + all_or_nothing)


@inlined_lean_kernel
def residual_gain(
    count: int, own: int, total: float, strengths: Strengths, tilt: Tilt, scratch: Scratch
) -> float:
    """(G4) What is left to the test: log T + A log(sum lambda_k pi_k) at the new memberships less at the old."""
    scale = 1.0 / (1.0 - strengths.value[-1])
    share = 1.0 / total
    new, old, result = 0.0, 0.0, 0.0
    for at in range(count):
        rest, v = scratch.rest[at], scratch.excess[at] * scale
        if scratch.phi[at] > 0.0:
            pi = scratch.phi[at] * share
            new += scratch.tilt[at] * pi
            if rest > 0.0:
                result += log_of_non_links(v * pi, rest, scratch.squares[at])
        if at < own:
            pi = scratch.pi[at]
            old += scratch.tilt[at] * pi
            if rest > 0.0:
                result -= log_of_non_links(v * pi, rest, scratch.squares[at])
    return tilt.weight * result + tilt.mass * math.log(new / old)
