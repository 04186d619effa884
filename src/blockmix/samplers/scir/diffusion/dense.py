"""The diffusion's local move on dense rows: all K communities of every node followed, for small K.

The rows are those of `tables.layout` with K slots, in which slot k is community k and none is unused. There are then
no candidates, no truncation and no births to arrange for, (P1) to (P3): a community at zero moves to its
Gamma(alpha) draw like any other. Everything else is the code of `sparse`, so that the law is the same.
"""

from __future__ import annotations

import numpy as np

from blockmix.model.links import excess, shared_term
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.samplers.scir.diffusion.drift import Pull, move
from blockmix.samplers.scir.diffusion.links import sample_neighbors, sampled_neighbor
from blockmix.samplers.scir.diffusion.non_links import (
    correct_non_links,
    mean_exposure,
    non_link_exposure,
    weigh_exposure,
)
from blockmix.samplers.scir.frame import Batch, Frame, Node, Scratch, Work, node_at
from blockmix.samplers.scir.rows import gather_statistics, leave_out_hidden, write_row
from blockmix.tables.layout import FIXED_POINT, Rows

# The total of a row is a float32 that is divided by; what underflows stays here.
LEAST_TOTAL = 1e-30


@inlined_lean_kernel
def load_dense_row(place: int, rows: Rows, scratch: Scratch) -> float:
    """Copy the node's row to the local lists, with community k in position k; returns its total.

    `tilt` holds the memberships that links are read with: the node's own, or larger ones in warm-up.
    """
    total = np.float64(rows.total[place])
    for k in range(len(scratch.position)):
        pi = np.float64(rows.weights[place, 2 * k + 1])
        scratch.position[k] = k
        scratch.community[k] = k
        scratch.phi[k] = pi * total
        scratch.pi[k] = pi
        scratch.tilt[k] = pi
        scratch.gain[k] = 0.0
        scratch.near[k] = 0.0
        scratch.near_squared[k] = 0.0
    return total


@inlined_lean_kernel
def raise_to_prior(b: int, least: float, frame: Frame, scratch: Scratch) -> None:
    """(P1) In warm-up, raise communities of neighbour b in which the node has less than alpha to alpha."""
    weights, value = frame.rows.weights, frame.strengths.value
    for k in range(len(scratch.position)):
        if (
            scratch.tilt[k] < least
            and weights[b, 2 * k + 1] > frame.settings.cut
            and value[k] > value[-1]
        ):  # fmt: skip
            scratch.tilt[k] = least


@inlined_lean_kernel
def read_dense_links(node: Node, frame: Frame, scratch: Scratch) -> float:
    """(S4) Gather W and, per community, sum c1 pi_bk/Z_b, as `links.read_links` does; returns W."""
    value, weights = frame.strengths.value, frame.rows.weights
    begin, communities = frame.network.offsets[node.place], len(scratch.position)
    sample = sample_neighbors(node, frame)
    weight = sample.weight
    background = value[-1]
    least = node.alpha / np.float64(frame.rows.total[node.place])
    total = 0.0
    for i in range(sample.reads):
        b = frame.network.neighbors[begin + sampled_neighbor(i, sample, node.degree)]
        if frame.settings.pull:
            raise_to_prior(b, least, frame, scratch)
        z = background
        for k in range(communities):
            d = excess(value[k], background)
            z += shared_term(d, scratch.tilt[k], np.float64(weights[b, 2 * k + 1]))
        scaled = weight / z
        total += background * scaled
        for k in range(communities):
            pi_b = np.float64(weights[b, 2 * k + 1])
            scratch.gain[k] += scaled * pi_b
            scratch.near[k] += weight * pi_b
            scratch.near_squared[k] += weight * pi_b * pi_b
    return total


@inlined_lean_kernel
def write_dense_row(place: int, at: int, rows: Rows, fresh: Rows, work: Work) -> None:
    """Store the new memberships, or the old ones where every draw underflowed (tiny alpha, no links)."""
    scratch = work.scratch
    communities = len(scratch.position)
    total = 0.0
    for k in range(communities):
        total += scratch.phi[k]
    if total < LEAST_TOTAL:
        for k in range(communities):
            scratch.phi[k] = LEAST_TOTAL * np.float64(rows.weights[place, 2 * k + 1])
    write_row(communities, at, fresh, scratch, work.statistics)


@lean_kernel
def update_dense_node(node: Node, at: int, frame: Frame, fresh: Rows, work: Work) -> float:
    """Draw the node's memberships into row `at` of `fresh`; returns its half of the links inside communities."""
    scratch, settings, strengths = work.scratch, frame.settings, frame.strengths
    communities = len(scratch.position)
    total = load_dense_row(node.place, frame.rows, scratch)
    background = read_dense_links(node, frame, scratch)
    leave_out_hidden(node, frame, scratch)
    non_link_exposure(communities, communities, frame, settings.non_links == 0, scratch)
    if settings.non_links > 0:
        correct_non_links(node, frame, scratch)
    # The strengths weigh non-links themselves: their statistics are taken before the exposure is weighed.
    inside = gather_statistics(communities, strengths, scratch, work.statistics)
    weigh_exposure(communities, settings.non_link_weight, scratch)
    pull = Pull(background, mean_exposure(communities, strengths, scratch), total)
    for k in range(communities):
        scratch.pi[k] = scratch.tilt[k]
    move(node, communities, communities, pull, frame, scratch)
    write_dense_row(node.place, at, frame.rows, fresh, work)
    return inside


@lean_kernel
def update_dense_range(begin: int, end: int, batch: Batch, frame: Frame, fresh: Rows, work: Work) -> None:
    """Update nodes number begin to end - 1 of a batch into the same rows of `fresh`: one worker's share of it."""
    for i in range(begin, end):
        node = node_at(batch.first + i * batch.stride, frame)
        inside = update_dense_node(node, i, frame, fresh, work)
        work.sums[0] += np.int64(inside * FIXED_POINT)
        work.sums[2] += np.int64(FIXED_POINT)
