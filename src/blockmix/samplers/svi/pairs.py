"""The published step of `svi`: only the pairs of a mini-batch count, and the factors of all nodes move, (V10).

Pairs are visited in order and in one thread, so that the sums have the same bits on any number of them.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import kernel, lean_kernel
from blockmix.samplers.minibatch import PairBatch
from blockmix.samplers.svi.kernels import (
    Factors,
    Frame,
    Work,
    coupled_factors,
    geometric_weights,
    joint_factors,
)


@lean_kernel
def add_batch(batch: PairBatch, frame: Frame, sums: np.ndarray, inside: np.ndarray, work: Work) -> int:
    """(V10) Add q(z_ab) of every pair to both ends in `sums`, and its shared part to `inside`; returns the rounds.

    The geometric weights of the nodes are renewed first: those of nodes that no mini-batch has are never read.
    """
    factors, how, y = frame.factors, frame.how, batch.y
    for i in range(len(batch.nodes)):
        a = batch.nodes[i]
        geometric_weights(factors.gamma[a], factors.weights[a])
    communities, rounds = sums.shape[1], 0
    for i in range(len(batch.first)):
        a, b = batch.first[i], batch.second[i]
        e_a, e_b = factors.weights[a], factors.weights[b]
        if how.joint:
            joint_factors(e_b, e_a, frame.level, y, work.other, work.shared)
            rounds += joint_factors(e_a, e_b, frame.level, y, work.own, work.shared)
        else:
            rounds += coupled_factors(e_a, e_b, frame.tilt, y, how.tolerance, how.most_rounds, work)
        met = 0.0
        for k in range(communities):
            sums[a, k] += work.own[k]
            sums[b, k] += work.other[k]
            inside[k, y] += work.shared[k]
            met += work.shared[k]
        inside[communities, y] += max(1.0 - met, 0.0)
    return rounds


@kernel
def move_all(rho: float, scale: float, alpha: np.ndarray, sums: np.ndarray, factors: Factors) -> None:
    """(V10) Set gamma = (1 - rho) gamma + rho (alpha + scale * sums) for every node, and `sums` back to zero."""
    gamma = factors.gamma
    for a in range(len(gamma)):
        for k in range(gamma.shape[1]):
            gamma[a, k] = (1.0 - rho) * gamma[a, k] + rho * (alpha[a] + scale * sums[a, k])
            sums[a, k] = 0.0
        factors.updates[a] += 1
