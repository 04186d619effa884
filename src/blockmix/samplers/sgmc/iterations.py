"""Stochastic gradient Langevin dynamics: whole mini-batches, memberships first and then strengths, (L1) to (L9).

Nodes of a mini-batch read the old memberships and write new ones, which are put in place afterwards: neither their
order nor the number of threads matters. A mini-batch too large for the buffer of new memberships is done in pieces
of `PIECE` nodes, so that memory does not follow the largest degree.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import kernel
from blockmix.samplers.langevin.dynamics import (
    Dense,
    Dynamics,
    Links,
    Schedule,
    Work,
    first_of_run,
    meet_pairs,
    meet_partners,
    move_memberships,
    move_strength,
    step_size,
)
from blockmix.samplers.sgmc.blocks import block_answers, block_slopes, update_blocks
from blockmix.tables.layout import Key, Network
from blockmix.tables.minibatch import draw_pairs

PIECE = 1024


@kernel
def slopes(a: int, dense: Dense, links: Links, work: Work) -> None:
    """(L4), (B2) u with Z_ab = base + u . pi_b."""
    if len(links.blocks):
        block_slopes(a, links.blocks, dense, work)
        return
    inverse = 1.0 / dense.total[a]
    background = links.value[-1]
    for k in range(len(work.slope)):
        work.slope[k] = (links.value[k] - background) * np.float64(dense.phi[a, k]) * inverse


@kernel
def answers(links: Links, work: Work) -> None:
    """(L4), (B2) What the sums over partners say of every community: d_k G_k, or (B G)_k."""
    if len(links.blocks):
        block_answers(links.blocks, work)
        return
    background = links.value[-1]
    for k in range(len(work.answer)):
        work.answer[k] = (links.value[k] - background) * work.gain[k]


@kernel
def update_nodes(
    begin: int, end: int, nodes: np.ndarray, eps: float, network: Network, dense: Dense, fresh: Dense,
    links: Links, how: Dynamics, key: Key, work: Work,
) -> None:  # fmt: skip
    """(L5), (L6) New memberships of nodes[begin:end] into the same places of `fresh`."""
    for i in range(begin, end):
        a = nodes[i]
        slopes(a, dense, links, work)
        w = meet_partners(a, links.value[-1], network, dense, how, key, work)
        answers(links, work)
        move_memberships(a, i, w, eps, network, dense, fresh, how, key, work)


@kernel
def put_in_place(nodes: np.ndarray, fresh: Dense, dense: Dense) -> None:
    """Let the new memberships of these nodes count."""
    for i in range(len(nodes)):
        a = nodes[i]
        for k in range(dense.phi.shape[1]):
            dense.phi[a, k] = fresh.phi[i, k]
        dense.total[a] = fresh.total[i]


@kernel
def update_strengths(
    a: int, y: int, others: np.ndarray, count: int, scale: float, eps: float, rate: float, how: Dynamics,
    key: Key, dense: Dense, links: Links, work: Work,
) -> None:  # fmt: skip
    """(L7), (L8) Move a random run of the strengths and, where it is learned, the background."""
    if len(links.blocks):
        update_blocks(a, y, others, count, scale, eps, rate, how, key, dense, links, work)
        return
    value = links.value
    communities = len(work.slope)
    background = value[-1]
    slopes(a, dense, links, work)
    apart = meet_pairs(y, others, count, scale, background, dense, work)
    inverse = 1.0 / dense.total[a]
    for k in range(communities):
        work.answer[k] = np.float64(dense.phi[a, k]) * inverse * work.gain[k]
        apart -= work.answer[k]
    first = first_of_run(communities, key)
    for i in range(how.run):
        k = (first + i) % communities
        strength = value[k] if y else 1.0 - value[k]
        value[k] = move_strength(k, y, strength * work.answer[k], eps, rate, how.preconditioned, key, links)
    if how.learn_background:
        outside = max(apart, 0.0) * (background if y else 1.0 - background)
        value[communities] = move_strength(communities, y, outside, eps, rate, how.preconditioned, key, links)


@kernel
def iterate(
    first: int, last: int, large: int, non_links: int, network: Network, nodes: np.ndarray, dense: Dense,
    fresh: Dense, links: Links, how: Dynamics, schedule: Schedule, key: Key, work: Work,
) -> tuple[int, int]:  # fmt: skip
    """Iterations first, first + 1, ... up to `last`, or to one with a mini-batch of `large` nodes or more.

    Returns the first iteration not done, and how many nodes were updated. The iteration is part of the key; `nodes`
    is room for a mini-batch.
    """
    updates = 0
    for t in range(first, last):
        now = Key(key.low, key.high, np.uint32(t))
        a, y, count, scale = draw_pairs(network, non_links, now, nodes[1:])
        if count + 1 >= large:
            return t, updates
        nodes[0] = a
        eps = step_size(t, schedule.step, schedule.delay, schedule.decay)
        for begin in range(0, count + 1, PIECE):
            piece = nodes[begin : min(begin + PIECE, count + 1)]
            update_nodes(0, len(piece), piece, eps, network, dense, fresh, links, how, now, work)
            put_in_place(piece, fresh, dense)
        eps = step_size(t, schedule.strength_step, schedule.delay, schedule.decay)
        update_strengths(a, y, nodes[1:], count, scale, eps, schedule.adapt, how, now, dense, links, work)
        updates += count + 1
    return last, updates
