"""Whole iterations of `sgmc`: draw a mini-batch, move its nodes, then the strengths, (L1) to (L9).

Nodes of a mini-batch read the old memberships and write new ones, which `put_in_place` copies afterwards: neither their
order nor the number of threads matters. A mini-batch too large for the buffer of new memberships is done in pieces
of `PIECE` nodes, so that memory does not grow with the largest degree. Strengths move last, because they read
the new memberships.
"""

from __future__ import annotations

import numpy as np

from blockmix.model.links import excess, outcome_probability
from blockmix.numerics.compile import lean_kernel
from blockmix.samplers.langevin.dynamics import (
    Schedule,
    StrengthState,
    in_subset,
    move_strength,
    step_size,
)
from blockmix.samplers.minibatch import PairBatch
from blockmix.samplers.sgmc.blocks import block_results, block_slopes, update_blocks
from blockmix.samplers.sgmc.nodes import (
    Dense,
    Frame,
    Work,
    end_of_group,
    move_memberships,
    sum_pairs,
    sum_partners,
)
from blockmix.tables.layout import Key
from blockmix.tables.minibatch import PairBuffer, draw_pairs

PIECE = 1024


@lean_kernel
def slopes(a: int, dense: Dense, strengths: StrengthState, work: Work) -> None:
    """(L4), (B2) Compute u with Z_ab = base + u . pi_b."""
    if len(strengths.blocks):
        block_slopes(a, strengths.blocks, dense, work)
        return
    inverse = 1.0 / dense.total[a]
    background = strengths.value[-1]
    for k in range(len(work.slope)):
        work.slope[k] = excess(strengths.value[k], background) * np.float64(dense.phi[a, k]) * inverse


@lean_kernel
def results(strengths: StrengthState, work: Work) -> None:
    """(L4), (B2) Compute what the sums over partners give for every community: d_k G_k, or (B G)_k."""
    if len(strengths.blocks):
        block_results(strengths.blocks, work)
        return
    background = strengths.value[-1]
    for k in range(len(work.result)):
        work.result[k] = excess(strengths.value[k], background) * work.gain[k]


@lean_kernel
def update_nodes(
    begin: int, end: int, nodes: np.ndarray, eps: float, frame: Frame, fresh: Dense, work: Work
) -> None:
    """(L5), (L6) Write new memberships of nodes[begin:end] to the same places of `fresh`."""
    for i in range(begin, end):
        a = nodes[i]
        slopes(a, frame.dense, frame.strengths, work)
        w = sum_partners(a, frame.strengths.value[-1], frame, work)
        results(frame.strengths, work)
        move_memberships(a, i, w, eps, frame, fresh, work)


@lean_kernel
def put_in_place(nodes: np.ndarray, fresh: Dense, dense: Dense) -> None:
    """Copy the new memberships of these nodes to the table that the next update reads."""
    for i in range(len(nodes)):
        a = nodes[i]
        for k in range(dense.phi.shape[1]):
            dense.phi[a, k] = fresh.phi[i, k]
        dense.total[a] = fresh.total[i]


@lean_kernel
def update_strengths(batch: PairBatch, eps: float, rate: float, frame: Frame, work: Work) -> None:
    """(L7), (L8), (L13) Move a random subset of the strengths and, where it is learned, the background."""
    strengths, dense, how, key = frame.strengths, frame.dense, frame.how, frame.key
    if len(strengths.blocks):
        update_blocks(batch, eps, rate, frame, work)
        return
    y, value = batch.y, strengths.value
    communities = len(work.slope)
    background = value[-1]
    work.result[:] = 0.0
    apart, begin = 0.0, 0
    while begin < len(batch.first):
        a, end = batch.first[begin], end_of_group(begin, batch)
        slopes(a, dense, strengths, work)
        apart += sum_pairs(begin, end, batch, background, dense, work)
        inverse = 1.0 / dense.total[a]
        for k in range(communities):
            work.result[k] += np.float64(dense.phi[a, k]) * inverse * work.gain[k]
        begin = end
    left = how.subset
    for k in range(communities):
        apart -= work.result[k]
        if in_subset(k, communities, left, key):
            left -= 1
            inside = outcome_probability(y, value[k]) * work.result[k]
            value[k] = move_strength(k, y, inside, eps, rate, how.preconditioned, key, strengths)
    if how.learn_background:
        outside = max(apart, 0.0) * outcome_probability(y, background)
        value[communities] = move_strength(
            communities, y, outside, eps, rate, how.preconditioned, key, strengths
        )


@lean_kernel
def iterate(
    first: int, last: int, large: int, schedule: Schedule, frame: Frame, buffer: PairBuffer, fresh: Dense, work: Work
) -> tuple[int, int]:  # fmt: skip
    """Run iterations first, first + 1, ... up to `last`, or to one with a mini-batch of `large` nodes or more.

    Returns the first iteration not done, and how many nodes were updated. The iteration is part of the key; `buffer` is
    for a mini-batch.
    """
    updates = 0
    for t in range(first, last):
        key = Key(frame.key.low, frame.key.high, np.uint32(t))
        now = Frame(frame.network, frame.dense, frame.strengths, frame.how, key)
        y, count, nodes, scale = draw_pairs(frame.network, frame.how.strata, key, buffer)
        if nodes >= large:
            return t, updates
        eps = step_size(t, schedule.step, schedule.delay, schedule.decay)
        for begin in range(0, nodes, PIECE):
            piece = buffer.nodes[begin : min(begin + PIECE, nodes)]
            update_nodes(0, len(piece), piece, eps, now, fresh, work)
            put_in_place(piece, fresh, frame.dense)
        eps = step_size(t, schedule.strength_step, schedule.delay, schedule.decay)
        batch = PairBatch(y, buffer.first[:count], buffer.second[:count], scale, buffer.nodes[:nodes])
        update_strengths(batch, eps, schedule.adapt, now, work)
        updates += nodes
    return last, updates
