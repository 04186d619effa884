"""The general model's part of the Langevin dynamics: a symmetric K x K matrix B of strengths, (B1) to (B3).

Z_ab = pi_a' B pi_b = q . pi_b with q = B pi_a, and sum_b c (B pi_b)/Z_ab = B (sum_b c pi_b/Z_ab): B is read twice a
node, whatever the number of partners, and a node costs O(n K + K^2).
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import exact_kernel, kernel
from blockmix.samplers.langevin.dynamics import (
    Dense,
    Dynamics,
    Links,
    Work,
    first_of_run,
    meet_pairs,
    move_strength,
)
from blockmix.tables.layout import Key


@kernel
def block_slopes(a: int, blocks: np.ndarray, dense: Dense, work: Work) -> None:
    """(B2) q = B pi_a into `work.slope`."""
    inverse = 1.0 / dense.total[a]
    work.slope[:] = 0.0
    for k in range(len(blocks)):
        pi = np.float64(dense.phi[a, k]) * inverse
        for j in range(len(blocks)):
            work.slope[j] += pi * blocks[k, j]


@kernel
def block_answers(blocks: np.ndarray, work: Work) -> None:
    """(B2) B G into `work.answer`."""
    work.answer[:] = 0.0
    for k in range(len(blocks)):
        for j in range(len(blocks)):
            work.answer[j] += work.gain[k] * blocks[k, j]


@exact_kernel
def update_blocks(
    a: int, y: int, others: np.ndarray, count: int, scale: float, eps: float, rate: float, how: Dynamics,
    key: Key, dense: Dense, links: Links, work: Work,
) -> None:  # fmt: skip
    """(B3) Move the strengths of a random run of rows of B, from the upper triangle into both halves.

    All pairs share node a, so that sum w(k, l) = pi_ak B_kl^(y) V_l.
    """
    blocks = links.blocks
    communities = len(blocks)
    block_slopes(a, blocks, dense, work)
    meet_pairs(y, others, count, scale, 0.0, dense, work)
    inverse = 1.0 / dense.total[a]
    for k in range(communities):
        work.answer[k] = np.float64(dense.phi[a, k]) * inverse
    first = first_of_run(communities, key)
    for i in range(how.run):
        k = (first + i) % communities
        for j in range(k, communities):
            met = work.answer[k] * work.gain[j]
            if j != k:
                met += work.answer[j] * work.gain[k]
            strength = blocks[k, j] if y else 1.0 - blocks[k, j]
            number = k * communities + j
            new = move_strength(number, y, strength * met, eps, rate, how.preconditioned, key, links)
            blocks[k, j] = new
            blocks[j, k] = new
