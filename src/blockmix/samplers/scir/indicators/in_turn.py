"""A sweep over a small network: one node after the other, on one thread and without a return to Python."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import lean_kernel
from blockmix.samplers.scir.frame import Batch, Frame, Work
from blockmix.samplers.scir.indicators.redraw import redraw_range
from blockmix.samplers.scir.members import enter, leave
from blockmix.samplers.scir.rows import commit_range, merge_members
from blockmix.tables.layout import Rows


@lean_kernel
def redraw_in_turn(frame: Frame, fresh: Rows, work: Work, statistics: np.ndarray, sums: np.ndarray) -> None:
    """Redraw node by node, and keep sums and lists up to date after each.

    `statistics` are those of all workers, of which one is at work here.
    """
    nodes = len(frame.names)
    for place in range(nodes):
        merge_members(statistics, sums, frame.members)
        redraw_range(0, 1, Batch(place, nodes), frame, fresh, work)
        leave(place, frame.rows, frame.lists)
        commit_range(0, 1, Batch(place, nodes), frame.rows, fresh)
        enter(place, frame.rows, frame.lists)
