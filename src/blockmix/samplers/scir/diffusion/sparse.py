"""The local move by the diffusion on rows of slots: one node's memberships given everybody else's, (S1) to (P3).

Read `update_node` from top to bottom: it is the order in which the steps must run.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import lean_kernel
from blockmix.samplers.scir.diffusion.births import draw_births
from blockmix.samplers.scir.diffusion.drift import Pull, move
from blockmix.samplers.scir.diffusion.links import read_links
from blockmix.samplers.scir.diffusion.non_links import (
    correct_non_links,
    mean_exposure,
    non_link_exposure,
    weigh_exposure,
)
from blockmix.samplers.scir.frame import Batch, Frame, Node, Work, node_at
from blockmix.samplers.scir.local_lists import keep_largest
from blockmix.samplers.scir.rows import gather_statistics, leave_out_hidden, load_row, write_row
from blockmix.tables.layout import FIXED_POINT, Rows


@lean_kernel
def update_node(node: Node, at: int, frame: Frame, fresh: Rows, work: Work) -> tuple[float, float]:
    """Draw the node's memberships into row `at` of `fresh`.

    Returns its half of the links inside communities, and the share of phi dropped.
    """
    scratch, settings, strengths = work.scratch, frame.settings, frame.strengths
    own = load_row(frame.rows, node.place, scratch)
    count, background = read_links(node, own, frame, scratch)
    leave_out_hidden(node, frame, scratch)
    non_link_exposure(count, own, frame, settings.non_links == 0, scratch)
    if settings.non_links > 0:
        correct_non_links(node, frame, scratch)
    # The strengths weigh non-links themselves: their statistics are taken before the exposure is weighed.
    inside = gather_statistics(own, strengths, scratch, work.statistics)
    weigh_exposure(count, settings.non_link_weight, scratch)
    mean = mean_exposure(own, strengths, scratch)
    pull = Pull(background, mean, np.float64(frame.rows.total[node.place]))
    move(node, count, own, pull, frame, scratch)
    count = draw_births(node, count, pull, frame, scratch)
    kept, dropped = keep_largest(count, frame.rows.words.shape[1] // 2, node.smallest, scratch)
    write_row(kept, at, fresh, scratch, work.statistics)
    return inside, dropped / (dropped + np.float64(fresh.total[at]))


@lean_kernel
def update_range(begin: int, end: int, batch: Batch, frame: Frame, fresh: Rows, work: Work) -> None:
    """Update nodes number begin to end - 1 of a batch into the same rows of `fresh`: one worker's share of it."""
    for i in range(begin, end):
        node = node_at(batch.first + i * batch.stride, frame)
        inside, dropped = update_node(node, i, frame, fresh, work)
        work.sums[0] += np.int64(inside * FIXED_POINT)
        work.sums[1] += np.int64(dropped * FIXED_POINT)
        work.sums[2] += np.int64(FIXED_POINT)
