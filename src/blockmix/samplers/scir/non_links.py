"""Non-links exactly: a bound that adds up in closed form, and the gap that it leaves to events, (N1) to (N3).

A non-link has the log likelihood log(1 - delta) + log(1 - v), v = sum_k c_k pi_ak pi_bk. The bound is a sum of
products, so that its sum over all non-links of a node needs sums over members only. The gap between the two is the rate
at which a pair has events.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, inlined_lean_kernel, kernel, lean_kernel
from blockmix.numerics.search import contains
from blockmix.tables.layout import Network


class Bounds(NamedTuple):
    """(N1), (N2) What the bound needs of every community: c_k and g_k."""

    slope: NDArray[np.float64]
    curve: NDArray[np.float64]


def empty_bounds(communities: int) -> Bounds:
    """Allocate the bounds of K communities."""
    return Bounds(*np.zeros((2, communities)))


@inlined_kernel
def slope_of(beta: float, delta: float) -> float:
    """(N1) Compute c_k."""
    return (beta - delta) / (1.0 - delta)


@inlined_kernel
def curve_of(c: float) -> float:
    """(N2) Compute g_k from c_k: -log(1 - c) - c, or c^2/2 below the background."""
    return max(-math.log1p(-c) - c, 0.0) if c >= 0.0 else 0.5 * c * c


@kernel
def set_bounds(value: np.ndarray, bounds: Bounds) -> None:
    """(N1), (N2) Compute the bounds from strengths and background."""
    for k in range(len(value) - 1):
        bounds.slope[k] = slope_of(value[k], value[-1])
        bounds.curve[k] = curve_of(bounds.slope[k])


@inlined_lean_kernel
def overlap_factor(pi_a: float, pi_b: float) -> float:
    """(N2) Compute m_k, which is at least the whole overlap sum_j pi_aj pi_bj of two nodes."""
    return pi_a * pi_b + (1.0 - pi_a) * (1.0 - pi_b)


@inlined_lean_kernel
def curved_rest(pi: float, rest: float, squares: float) -> float:
    """(N4) Sum pi_bk m_k over the non-links of a node, from R_k and R2_k."""
    return pi * squares + (1.0 - pi) * (rest - squares)


@inlined_kernel
def gap_of(v: float, curved: float) -> float:
    """(N3) Compute log(1 - v) less its bound -v - curved: how much likelier a non-link is than the bound says."""
    return max(math.log1p(-v) + v + curved, 0.0)


@lean_kernel
def is_non_link(a: int, b: int, network: Network) -> bool:
    """Return whether a and b are two nodes observed not to be linked."""
    if a == b or contains(network.neighbors, network.offsets[a], network.offsets[a + 1], b):
        return False
    return not contains(network.hidden_neighbors, network.hidden_offsets[a], network.hidden_offsets[a + 1], b)
