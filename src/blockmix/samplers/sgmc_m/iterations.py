"""Whole iterations of `sgmc-m`: draw a mini-batch, move its nodes, put the new rows in place, move strengths.

An iteration either happens or it does not: where the buffer of new rows or the pool of the table is full, nothing has
been changed yet, and the caller makes room and asks for the same iteration again. Random numbers are keyed by the
iteration, so that it comes out the same.
"""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import kernel
from blockmix.samplers.langevin.dynamics import Dynamics, Links, Schedule, step_size
from blockmix.samplers.sgmc_m.nodes import SplitScratch, SplitSettings, Strength, update_split_range
from blockmix.samplers.sgmc_m.pairs import fill_excess, update_split_strengths
from blockmix.samplers.sgmc_m.split import Pool
from blockmix.samplers.sgmc_m.table import (
    Buffer,
    Fresh,
    SplitRows,
    entries_wanted,
    list_unrepresented,
    store_rows,
)
from blockmix.tables.layout import Key, Network
from blockmix.tables.minibatch import draw_pairs

# Why `iterate_split` came back.
DONE, LARGE_BATCH, FULL_BUFFER, FULL_TABLE = range(4)


@kernel
def iterate_split(
    first: int, last: int, large: int, non_links: int, network: Network, nodes: np.ndarray, table: SplitRows,
    fresh: Fresh, buffer: Buffer, links: Links, how: Dynamics, settings: SplitSettings, schedule: Schedule,
    key: Key, represented: np.ndarray, unused: np.ndarray, excess: np.ndarray, inside: np.ndarray,
    scratch: SplitScratch,
) -> tuple[int, int, int]:  # fmt: skip
    """Iterations first, first + 1, ... up to `last`, or to one that has to be prepared.

    Returns the first iteration not done, how many nodes were updated, and what stopped it: nothing, a mini-batch of
    `large` nodes or more, or lack of room. `nodes` is room for a mini-batch, `unused` for the pool.
    """
    updates = 0
    for t in range(first, last):
        now = Key(key.low, key.high, np.uint32(t))
        a, y, count, scale = draw_pairs(network, non_links, now, nodes[1:])
        if count + 1 >= large:
            return t, updates, LARGE_BATCH
        nodes[0] = a
        strength = Strength(excess, fill_excess(links.value, excess), links.value[-1])
        pool = Pool(unused, list_unrepresented(represented, unused), represented)
        eps = step_size(t, schedule.step, schedule.delay, schedule.decay)
        buffer.used[0] = 0
        end = update_split_range(
            0,
            count + 1,
            nodes,
            eps,
            network,
            table,
            strength,
            how,
            settings,
            now,
            pool,
            scratch,
            fresh,
            buffer,
        )
        if end <= count:
            return t, updates, FULL_BUFFER
        if table.used[0] + entries_wanted(count + 1, nodes, fresh, table) > len(table.community):
            return t, updates, FULL_TABLE
        store_rows(0, count + 1, nodes, fresh, buffer, table, represented)
        eps = step_size(t, schedule.strength_step, schedule.delay, schedule.decay)
        update_split_strengths(
            a,
            y,
            nodes[1:],
            count,
            scale,
            eps,
            schedule.adapt,
            how,
            now,
            table,
            strength,
            links,
            scratch,
            inside,
        )
        updates += count + 1
    return last, updates, DONE
