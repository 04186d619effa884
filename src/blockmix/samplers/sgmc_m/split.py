"""Which communities of a node are active, candidates or bulk after an update: promotion and demotion, (A1), (A8), (A9).

The local lists hold the listed communities with their new phi, and `near` marks those that are active in a sampled
neighbour. Neither promotion nor demotion changes the total of the row.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_kernel, inlined_lean_kernel, lean_kernel
from blockmix.numerics.philox import Word, philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_PROMOTED, DRAW_SHARE, DRAW_SHARE_LEFT
from blockmix.numerics.variates import gamma, uniform53
from blockmix.samplers.langevin.dynamics import LEAST_TOTAL
from blockmix.samplers.sgmc_m.frame import IN_BULK, Frame, Pool, SplitScratch
from blockmix.samplers.sgmc_m.table import Buffer, Fresh, sort_entries
from blockmix.tables.layout import Key

_ONE = np.uint32(1)


@inlined_lean_kernel
def choose_bulk(a: int, draw: np.uint32, purpose: Word, key: Key, place: np.ndarray) -> tuple[int, np.uint32]:
    """Draw a community of the bulk, uniform over all until one is in the bulk; returns it and the next draw block."""
    word, communities = stream_word(purpose, 0), len(place)
    while True:
        w0, w1, _, _ = philox4x32(np.uint32(a), key.sweep, word, draw, key.low, key.high)
        draw = np.uint32(draw + _ONE)
        k = int(uniform53(w0, w1) * communities)
        if place[k] == IN_BULK:
            return k, draw


@inlined_lean_kernel
def choose_from_pool(
    a: int, draw: np.uint32, key: Key, pool: Pool, place: np.ndarray
) -> tuple[int, np.uint32]:
    """Draw a community of the pool that is in the bulk of a, uniformly; returns it and the next draw block."""
    word = stream_word(DRAW_PROMOTED, 0)
    while True:
        w0, w1, _, _ = philox4x32(np.uint32(a), key.sweep, word, draw, key.low, key.high)
        draw = np.uint32(draw + _ONE)
        k = int(pool.members[int(uniform53(w0, w1) * pool.size)])
        if place[k] == IN_BULK:
            return k, draw


@inlined_lean_kernel
def sums_above(count: int, least: float, scratch: SplitScratch) -> tuple[float, float]:
    """Sum phi over the listed communities, and over those at least as large as `least`."""
    every, above = 0.0, 0.0
    for at in range(count):
        every += scratch.phi[at]
        if scratch.phi[at] >= least:
            above += scratch.phi[at]
    return every, above


@inlined_kernel
def promoted_part(
    a: int, i: int, total: float, size: int, alpha: float, left: float, equal: bool, key: Key
) -> float:
    """(A8) Return the phi of the i-th promoted community, taken from a bulk of `size` with this total.

    Equal: `left`, the value that all of the bulk has. Otherwise the share of a community drawn in proportion to its phi
    where shares are Dirichlet(alpha): Beta(1 + alpha, (|B| - 1) alpha), as a ratio of Gamma variates.
    """
    if size == 1:
        return total
    if equal:
        return left
    node, block = np.uint32(a), np.uint32(0)
    word, rest_word = stream_word(DRAW_SHARE, i), stream_word(DRAW_SHARE_LEFT, i)
    own = gamma(1.0 + alpha, key.low, key.high, node, key.sweep, word, block)
    rest = gamma((size - 1) * alpha, key.low, key.high, node, key.sweep, rest_word, block)
    return total * own / (own + rest)


@inlined_lean_kernel
def promote(
    a: int, count: int, total: float, missing: float, frame: Frame, scratch: SplitScratch
) -> tuple[int, float]:
    """(A8) List communities of the bulk until they hold what is missing; returns the new count and bulk total.

    They come from the pool while that has any that a does not list, then from all of the bulk (E7).
    """
    pool, equal, key = frame.pool, frame.settings.equal, frame.key
    size = len(scratch.place) - count
    value = total / size
    limit = size
    if equal and missing < total:
        wanted = math.floor(missing / value) if frame.settings.floor else math.ceil(missing / value)
        limit = min(size, wanted)
    free = pool.size
    for at in range(count):
        free -= int(pool.represented[scratch.community[at]] == 0)
    draw, promoted = np.uint32(0), 0
    while promoted < limit and (equal or missing > 0.0):
        if free > 0:
            k, draw = choose_from_pool(a, draw, key, pool, scratch.place)
            free -= 1
        else:
            k, draw = choose_bulk(a, draw, DRAW_PROMOTED, key, scratch.place)
        part = promoted_part(a, promoted, total, size - promoted, frame.how.alpha[a], value, equal, key)
        scratch.place[k] = count
        scratch.community[count], scratch.phi[count], scratch.near[count] = k, part, False
        total = max(total - part, 0.0)
        missing -= part
        count += 1
        promoted += 1
    return count, total


@inlined_lean_kernel
def active_count(count: int, target: float, below: bool, scratch: SplitScratch) -> int:
    """(A1) Count the communities, in `order`, with a sum below `target` before them; at least one (E6).

    `below`: as printed, those with which the sum is below `target`, perhaps none.
    """
    total, active = 0.0, 0
    while active < count and (total < target or active == 0):
        total += scratch.phi[scratch.order[active]]
        if below and total >= target:
            return active
        active += 1
    return active


@lean_kernel
def split_row(
    i: int, a: int, count: int, bulk_total: float, frame: Frame, fresh: Fresh, buffer: Buffer, scratch: SplitScratch
) -> None:  # fmt: skip
    """Split the local lists again and write them as new row i of the mini-batch; empties the local lists."""
    communities, threshold = len(scratch.place), frame.settings.threshold
    size = communities - count
    least = bulk_total / size if size > 0 else 0.0
    every, above = sums_above(count, least, scratch)
    total = every + bulk_total
    if total < LEAST_TOTAL:
        scratch.phi[:count] = LEAST_TOTAL
        bulk_total, total = size * LEAST_TOTAL, communities * LEAST_TOTAL
        above = count * LEAST_TOTAL
    target = threshold * total
    if size > 0 and threshold < 1.0 and above < target:
        count, bulk_total = promote(a, count, bulk_total, target - above, frame, scratch)
    if threshold < 1.0:
        sort_entries(scratch.phi, count, scratch.order)
        active = active_count(count, target, frame.settings.below, scratch)
    else:
        active = count
        for at in range(count):
            scratch.order[at] = at
    kept, demoted = write_listed(count, active, scratch, buffer)
    size = communities - kept
    fresh.start[i], fresh.count[i], fresh.active[i] = buffer.used[0], kept, active
    fresh.bulk[i] = (bulk_total + demoted) / size if size > 0 else 0.0
    fresh.total[i] = total
    buffer.used[0] += kept


@inlined_lean_kernel
def write_listed(count: int, active: int, scratch: SplitScratch, buffer: Buffer) -> tuple[int, float]:
    """Write the active communities, then the candidates; returns how many and the phi of those demoted (A9)."""
    kept, demoted, to = 0, 0.0, buffer.used[0]
    for j in range(count):
        at = scratch.order[j]
        k = scratch.community[at]
        scratch.place[k] = IN_BULK
        if j < active or scratch.near[at]:
            buffer.community[to + kept], buffer.phi[to + kept] = k, scratch.phi[at]
            kept += 1
        else:
            demoted += scratch.phi[at]
    return kept, demoted
