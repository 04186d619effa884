"""The general model's part of the Langevin dynamics: a symmetric K x K matrix B of strengths, (B1) to (B3).

Z_ab = pi_a' B pi_b = q . pi_b with q = B pi_a, and sum_b c (B pi_b)/Z_ab = B (sum_b c pi_b/Z_ab): B is read twice a
node, whatever the number of partners, and a node costs O(n K + K^2).
"""

from __future__ import annotations

import numpy as np

from blockmix.model.links import outcome_probability
from blockmix.numerics.compile import exact_kernel, lean_kernel
from blockmix.samplers.langevin.dynamics import in_subset, move_strength
from blockmix.samplers.minibatch import PairBatch
from blockmix.samplers.sgmc.nodes import Dense, Frame, Work, sum_pairs


@lean_kernel
def block_slopes(a: int, blocks: np.ndarray, dense: Dense, work: Work) -> None:
    """(B2) Compute q = B pi_a into `work.slope`."""
    inverse = 1.0 / dense.total[a]
    work.slope[:] = 0.0
    for k in range(len(blocks)):
        pi = np.float64(dense.phi[a, k]) * inverse
        for j in range(len(blocks)):
            work.slope[j] += pi * blocks[k, j]


@lean_kernel
def block_results(blocks: np.ndarray, work: Work) -> None:
    """(B2) Compute B G into `work.result`."""
    work.result[:] = 0.0
    for k in range(len(blocks)):
        for j in range(len(blocks)):
            work.result[j] += work.gain[k] * blocks[k, j]


@exact_kernel
def update_blocks(batch: PairBatch, eps: float, rate: float, frame: Frame, work: Work) -> None:
    """(B3) Move the strengths of a random subset of rows of B (L13), from the upper triangle into both halves.

    All pairs share node a (`BlockSgmc` draws no others), so that sum w(k, l) = pi_ak B_kl^(y) V_l.
    """
    y, dense, how = batch.y, frame.dense, frame.how
    blocks = frame.strengths.blocks
    communities = len(blocks)
    a = batch.nodes[0]
    block_slopes(a, blocks, dense, work)
    sum_pairs(0, len(batch.first), batch, 0.0, dense, work)
    inverse = 1.0 / dense.total[a]
    for k in range(communities):
        work.result[k] = np.float64(dense.phi[a, k]) * inverse
    left = how.subset
    for k in range(communities):
        if not in_subset(k, communities, left, frame.key):
            continue
        left -= 1
        for j in range(k, communities):
            met = work.result[k] * work.gain[j]
            if j != k:
                met += work.result[j] * work.gain[k]
            inside = outcome_probability(y, blocks[k, j]) * met
            s = k * communities + j
            new = move_strength(s, y, inside, eps, rate, how.preconditioned, frame.key, frame.strengths)
            blocks[k, j] = new
            blocks[j, k] = new
