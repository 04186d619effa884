"""The diffusion's local step on dense rows: all K communities of every node followed, for small K.

The rows are those of `layout` with K slots, in which slot k is community k and none is unused. There are then
no candidates, no truncation and no births to arrange for, (P1) to (P3): a community at zero moves to its
Gamma(alpha) draw like any other. Everything else is the code of `local`, so that the law is the same.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.samplers.scir.diffusion.links import sampled_place, systematic_sample
from blockmix.samplers.scir.diffusion.local import move
from blockmix.samplers.scir.diffusion.non_links import (
    correct_non_links,
    mean_exposure,
    non_link_exposure,
    weigh_exposure,
)
from blockmix.samplers.scir.frame import Scratch, Settings
from blockmix.samplers.scir.rows import gather_statistics, leave_out_hidden, write_row
from blockmix.tables.concentration import concentration
from blockmix.tables.layout import FIXED_POINT, Key, Network, Prior, Rows, Strengths

# The total of a row is a float32 that is divided by; what underflows stays here.
LEAST_TOTAL = 1e-30


@inlined_kernel
def load_dense_row(rows: Rows, a: int, scratch: Scratch) -> float:
    """Copy the node's row to the local lists, where community k stands in place k; returns its total.

    `tilt` holds the memberships that links are read with: the node's own, or larger ones in warm-up.
    """
    total = np.float64(rows.total[a])
    for k in range(len(scratch.place)):
        pi = np.float64(rows.weights[a, 2 * k + 1])
        scratch.place[k] = k
        scratch.community[k] = k
        scratch.phi[k] = pi * total
        scratch.pi[k] = pi
        scratch.tilt[k] = pi
        scratch.gain[k] = 0.0
        scratch.near[k] = 0.0
        scratch.near_squared[k] = 0.0
    return total


@inlined_kernel
def stand_at_prior(
    b: int, least: float, cut: float, rows: Rows, strengths: Strengths, scratch: Scratch
) -> None:
    """(P1) In warm-up a community of neighbour b in which the node has less than alpha stands at alpha."""
    for k in range(len(scratch.place)):
        if (
            scratch.tilt[k] < least
            and rows.weights[b, 2 * k + 1] > cut
            and strengths.value[k] > strengths.value[-1]
        ):
            scratch.tilt[k] = least


@inlined_kernel
def read_dense_links(
    a: int, network: Network, rows: Rows, strengths: Strengths, alpha: float, settings: Settings, key: Key,
    scratch: Scratch,
) -> float:  # fmt: skip
    """(S4) Gather W and, per community, sum c1 pi_bk/Z_b, as `local.read_links` does; returns W."""
    begin = network.offsets[a]
    degree = network.offsets[a + 1] - begin
    reads, weight, offset = systematic_sample(a, degree, settings, key)
    communities = len(scratch.place)
    value, weights = strengths.value, rows.weights
    background = value[-1]
    least = alpha / np.float64(rows.total[a])
    total = 0.0
    for i in range(reads):
        b = network.neighbors[begin + sampled_place(i, offset, weight, degree)]
        if settings.pull:
            stand_at_prior(b, least, settings.cut, rows, strengths, scratch)
        z = background
        for k in range(communities):
            z += (value[k] - background) * scratch.tilt[k] * np.float64(weights[b, 2 * k + 1])
        scaled = weight / z
        total += background * scaled
        for k in range(communities):
            pi_b = np.float64(weights[b, 2 * k + 1])
            scratch.gain[k] += scaled * pi_b
            scratch.near[k] += weight * pi_b
            scratch.near_squared[k] += weight * pi_b * pi_b
    return total


@inlined_kernel
def write_dense_row(
    a: int, at: int, rows: Rows, fresh: Rows, scratch: Scratch, statistics: np.ndarray
) -> None:
    """Store the new memberships, or the old ones where every draw underflowed (tiny alpha, no links)."""
    communities = len(scratch.place)
    total = 0.0
    for k in range(communities):
        total += scratch.phi[k]
    if total < LEAST_TOTAL:
        for k in range(communities):
            scratch.phi[k] = LEAST_TOTAL * np.float64(rows.weights[a, 2 * k + 1])
    write_row(communities, at, fresh, scratch, statistics)


@kernel
def update_dense_node(
    a: int, at: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray, strengths: Strengths,
    prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
) -> float:  # fmt: skip
    """Draw node a's memberships into row `at` of `fresh`; returns its half of links inside communities."""
    alpha, communities = concentration(a, network, prior.alpha, prior.alpha_unlinked), len(scratch.place)
    total = load_dense_row(rows, a, scratch)
    background_gain = read_dense_links(a, network, rows, strengths, alpha, settings, key, scratch)
    leave_out_hidden(a, network, rows, scratch)
    non_link_exposure(communities, communities, members, strengths, settings.non_links == 0, scratch)
    if settings.non_links > 0:
        correct_non_links(a, communities, network, rows, strengths, settings, key, scratch)
    inside = gather_statistics(communities, strengths, scratch, statistics)
    weigh_exposure(communities, settings.non_link_weight, scratch)
    mean = mean_exposure(communities, strengths, scratch)
    for k in range(communities):
        scratch.pi[k] = scratch.tilt[k]
    move(a, communities, communities, background_gain, mean, total, strengths, alpha, settings, key, scratch)
    write_dense_row(a, at, rows, fresh, scratch, statistics)
    return inside


@kernel
def update_dense_range(
    begin: int, end: int, first: int, stride: int, network: Network, rows: Rows, fresh: Rows,
    members: np.ndarray, strengths: Strengths, prior: Prior, settings: Settings, key: Key, scratch: Scratch,
    statistics: np.ndarray, sums: np.ndarray,
) -> None:  # fmt: skip
    """Update nodes first + i * stride for i in [begin, end): one worker's share of a batch."""
    for i in range(begin, end):
        inside = update_dense_node(
            first + i * stride, i, network, rows, fresh, members, strengths, prior, settings, key, scratch,
            statistics,
        )  # fmt: skip
        sums[0] += np.int64(inside * FIXED_POINT)
        sums[2] += np.int64(FIXED_POINT)
