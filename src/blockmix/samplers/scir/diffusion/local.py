"""The local step by the diffusion: one node's memberships, given everybody else's, equations (S1) to (P3).

Read in the order of `update_node`.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.cir import cir_step
from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.purposes import DRAW_JUMPS, DRAW_SIZE
from blockmix.samplers.scir.diffusion.births import give_birth
from blockmix.samplers.scir.diffusion.links import read_links
from blockmix.samplers.scir.diffusion.non_links import (
    correct_non_links,
    mean_exposure,
    non_link_exposure,
    weigh_exposure,
)
from blockmix.samplers.scir.frame import Scratch, Settings
from blockmix.samplers.scir.rows import gather_statistics, keep_largest, leave_out_hidden, load_row, write_row
from blockmix.tables.concentration import concentration
from blockmix.tables.layout import FIXED_POINT, Key, Network, Prior, Rows, Strengths


@inlined_kernel
def split_drift(
    at: int,
    background_gain: float,
    mean: float,
    total: float,
    strengths: Strengths,
    alpha: float,
    scratch: Scratch,
) -> tuple[float, float]:
    """(S2) The drift of a local community as A_k - b_k phi_k; returns A_k and b_k.

    Non-links add pi_k (X - x_k): where that is positive it goes to A, where it is negative to b.
    """
    d = strengths.value[scratch.community[at]] - strengths.value[-1]
    pi = scratch.pi[at]
    shape = alpha + pi * (background_gain + d * scratch.gain[at])
    rate = 1.0
    net = mean - d * scratch.exposure[at]
    if net > 0.0:
        shape += pi * net
    else:
        rate -= net / total
    return shape, rate


@kernel
def move(
    a: int, count: int, own: int, background_gain: float, mean: float, total: float, strengths: Strengths,
    alpha: float, settings: Settings, key: Key, scratch: Scratch,
) -> None:  # fmt: skip
    """(S2) Replace every local phi by a draw from its CIR transition."""
    for at in range(count):
        shape, rate = split_drift(at, background_gain, mean, total, strengths, alpha, scratch)
        phi = scratch.phi[at] if at < own else 0.0
        scratch.phi[at] = cir_step(
            phi,
            shape,
            rate,
            settings.step,
            key.low,
            key.high,
            np.uint32(a),
            key.sweep,
            DRAW_JUMPS,
            DRAW_SIZE,
            at,
        )


@kernel
def update_node(
    a: int, at: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray, strengths: Strengths,
    prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """Draw node a's memberships into row `at` of `fresh`.

    Returns its half of the links inside communities, and the share of phi dropped.
    """
    alpha, total = concentration(a, network, prior.alpha, prior.alpha_unlinked), np.float64(rows.total[a])
    own = load_row(rows, a, scratch)
    count, background_gain = read_links(a, own, network, rows, strengths, alpha, settings, key, scratch)
    leave_out_hidden(a, network, rows, scratch)
    non_link_exposure(count, own, members, strengths, settings.non_links == 0, scratch)
    if settings.non_links > 0:
        correct_non_links(a, count, network, rows, strengths, settings, key, scratch)
    inside = gather_statistics(own, strengths, scratch, statistics)
    weigh_exposure(count, settings.non_link_weight, scratch)
    mean = mean_exposure(own, strengths, scratch)
    move(a, count, own, background_gain, mean, total, strengths, alpha, settings, key, scratch)
    count = give_birth(
        a, count, network, rows, members, mean, total, strengths, alpha, settings, key, scratch
    )
    kept, dropped = keep_largest(count, rows.words.shape[1] // 2, settings.smallest, scratch)
    write_row(kept, at, fresh, scratch, statistics)
    return inside, dropped / (dropped + np.float64(fresh.total[at]))


@kernel
def update_range(
    begin: int, end: int, first: int, stride: int, network: Network, rows: Rows, fresh: Rows,
    members: np.ndarray, strengths: Strengths, prior: Prior, settings: Settings, key: Key, scratch: Scratch,
    statistics: np.ndarray, sums: np.ndarray,
) -> None:  # fmt: skip
    """Update nodes first + i * stride for i in [begin, end): one worker's share of a batch."""
    for i in range(begin, end):
        inside, dropped = update_node(
            first + i * stride,
            i,
            network,
            rows,
            fresh,
            members,
            strengths,
            prior,
            settings,
            key,
            scratch,
            statistics,
        )
        sums[0] += np.int64(inside * FIXED_POINT)
        sums[1] += np.int64(dropped * FIXED_POINT)
        sums[2] += np.int64(FIXED_POINT)
