"""Whole iterations of `sgmc-m`: draw a mini-batch, move its nodes, store the new rows, move the strengths.

An iteration is done completely or not at all: where the buffer of new rows or the pool of the table is full, nothing
has been changed yet, and the caller makes the table larger and runs the same iteration again. Random numbers are keyed
by the iteration, so that it gives the same result.
"""

from __future__ import annotations

from typing import NamedTuple

from blockmix.numerics.compile import lean_kernel
from blockmix.samplers.langevin.dynamics import Schedule, StrengthState, step_size
from blockmix.samplers.minibatch import PairBatch
from blockmix.samplers.sgmc_m.frame import Frame, SplitScratch, frame_at
from blockmix.samplers.sgmc_m.nodes import update_range
from blockmix.samplers.sgmc_m.pairs import update_strengths
from blockmix.samplers.sgmc_m.table import Buffer, Fresh, entries_wanted, store_rows
from blockmix.tables.minibatch import PairBuffer, draw_pairs

# Why `iterate` returned.
DONE, LARGE_BATCH, FULL_BUFFER, FULL_TABLE = range(4)


class BatchBuffers(NamedTuple):
    """Arrays for a mini-batch: its pairs and nodes, and their new rows."""

    pairs: PairBuffer
    fresh: Fresh
    buffer: Buffer


@lean_kernel
def iterate(
    first: int, last: int, large: int, schedule: Schedule, frame: Frame, strengths: StrengthState,
    buffers: BatchBuffers, scratch: SplitScratch,
) -> tuple[int, int, int]:  # fmt: skip
    """Run iterations first, first + 1, ... up to `last`, or to one that needs preparation.

    Returns the first iteration not done, how many nodes were updated, and what stopped it: nothing, a mini-batch of
    `large` nodes or more, or lack of space in the table.
    """
    updates, pairs, nodes, table = 0, buffers.pairs, buffers.pairs.nodes, frame.table
    for t in range(first, last):
        now = frame_at(t, frame, strengths)
        y, count, size, scale = draw_pairs(frame.network, frame.how.strata, now.key, pairs)
        if size >= large:
            return t, updates, LARGE_BATCH
        eps = step_size(t, schedule.step, schedule.delay, schedule.decay)
        buffers.buffer.used[0] = 0
        end = update_range(0, size, nodes, eps, now, buffers.fresh, buffers.buffer, scratch)
        if end < size:
            return t, updates, FULL_BUFFER
        if table.used[0] + entries_wanted(size, nodes, buffers.fresh, table) > len(table.community):
            return t, updates, FULL_TABLE
        store_rows(0, size, nodes, buffers.fresh, buffers.buffer, table, frame.pool.represented)
        eps = step_size(t, schedule.strength_step, schedule.delay, schedule.decay)
        batch = PairBatch(y, pairs.first[:count], pairs.second[:count], scale, nodes[:size])
        update_strengths(batch, eps, schedule.adapt, now, strengths, scratch)
        updates += size
    return last, updates, DONE
