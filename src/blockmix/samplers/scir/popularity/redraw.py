"""The local move of the popularity model: a node's row and popularity redrawn through the units of its links.

Read `redraw_node` from top to bottom: it is the order in which the steps (DC5) to (DC9) must run.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.prefetch import prefetch_row
from blockmix.numerics.purposes import (
    DRAW_BIRTH_PLACE,
    DRAW_BIRTH_SIZE,
    DRAW_BIRTHS,
    DRAW_POPULARITY,
    DRAW_TEST,
)
from blockmix.numerics.variates import gamma, levy_jump, poisson, uniform32
from blockmix.samplers.scir.frame import MAX_BIRTHS, Batch, Node, random_words
from blockmix.samplers.scir.local_lists import draw_sizes, keep_largest
from blockmix.samplers.scir.popularity.frame import (
    ACCEPTED,
    DROPPED,
    LOGS,
    MEMBERS,
    MEMBERS_SQUARED,
    Exposure,
    Frame,
    Scratch,
    Work,
    load_row,
    node_at,
    side_of,
)
from blockmix.samplers.scir.popularity.near import (
    append_outsider,
    common_exposure,
    list_neighbors,
    outside_exposure,
    read_neighbors,
    set_exposures,
)
from blockmix.samplers.scir.popularity.units import draw_units, redraw_units
from blockmix.tables.layout import FIXED_POINT, Index, Rows

# A component that was not drawn is exactly zero; any other is kept.
LEAST_PHI = 1e-300
# Limits of a popularity, far outside of what its prior allows: its square in fixed point fits 64 bits.
LEAST_POPULARITY, MOST_POPULARITY = 1e-30, 1e4


@inlined_lean_kernel
def draw_births(node: Node, count: int, common: Exposure, frame: Frame, scratch: Scratch) -> int:
    """(DC7) Draw theta~_k = x/lambda_k where k has no units, x ~ Gamma(alpha) above the smallest; returns the count.

    In units of 1/lambda_k all communities have the same law: no birth is thinned, and the community is uniform. Where
    a node has neither units nor births, all of it is in one uniform community: the limit of ever smaller births.
    """
    key, settings = frame.key, frame.settings
    communities = len(frame.rates) - 1
    expected = settings.births[0] if node.degree > 0 else settings.births[1]
    word = stream_word(DRAW_BIRTHS, 0)
    births = poisson(expected, key.low, key.high, node.name, key.sweep, word, np.uint32(0))
    number = min(int(births), MAX_BIRTHS)
    if node.degree == 0:
        number = max(number, 1)
    for i in range(number):
        w0, _, _, _ = random_words(node, DRAW_BIRTH_PLACE, i, 0, key)
        k = int(np.int64((np.uint64(w0) * np.uint64(communities)) >> np.uint64(32)))
        at = int(scratch.position[k])
        if at >= 0 and scratch.count[at] > 0.0:
            continue
        word = stream_word(DRAW_BIRTH_SIZE, i)
        x = levy_jump(node.smallest, key.low, key.high, node.name, key.sweep, word, np.uint32(0))
        if at < 0:
            at = count
            append_outsider(k, outside_exposure(node, k, common, frame, scratch), at, scratch)
            count += 1
        scratch.phi[at] += x * scratch.inverse[at]
    return count


@inlined_lean_kernel
def draw_everywhere(node: Node, count: int, common: Exposure, frame: Frame, scratch: Scratch) -> int:
    """(DC7) Draw theta~_k ~ Gamma(alpha)/lambda_k wherever k has no units, with nothing cut off; returns the count.

    For rows that hold all communities. Where all are below the least float, one uniform community has everything.
    """
    key, total = frame.key, 0.0
    for k in range(len(frame.rates) - 1):
        at = int(scratch.position[k])
        if at < 0:
            at = count
            append_outsider(k, outside_exposure(node, k, common, frame, scratch), at, scratch)
            count += 1
        if scratch.count[at] == 0.0:
            word = stream_word(DRAW_BIRTH_SIZE, k)
            x = gamma(node.alpha, key.low, key.high, node.name, key.sweep, word, np.uint32(0))
            scratch.phi[at] = x * scratch.inverse[at]
        total += scratch.phi[at]
    if total < LEAST_PHI:
        w0, _, _, _ = random_words(node, DRAW_BIRTH_PLACE, 0, 0, key)
        k = int(np.int64((np.uint64(w0) * np.uint64(len(frame.rates) - 1)) >> np.uint64(32)))
        scratch.phi[scratch.position[k]] = 1.0
    return count


@inlined_lean_kernel
def accept_or_restore(
    count: int, own: int, alpha: float, rho: float, word: np.uint32, communities: int, scratch: Scratch
) -> tuple[bool, float]:
    """(DC8) Accept the new phi with probability min(1, (Lambda'/Lambda)^-(rho - K alpha)), or put the old ones back.

    Returns whether it was accepted, and Lambda of the row that the node has now.
    """
    total, tilted, old = 0.0, 0.0, 0.0
    for at in range(count):
        total += scratch.phi[at]
        tilted += scratch.phi[at] * scratch.exposure[at]
        if at < own:
            old += scratch.pi[at] * scratch.exposure[at]
    new = tilted / total
    gain = (alpha * communities - rho) * math.log(new / old)
    if gain >= 0.0 or uniform32(word) < math.exp(gain):
        return True, new
    for at in range(count):
        scratch.phi[at] = scratch.pi[at] if at < own else 0.0
    return False, old


@inlined_lean_kernel
def add_member(k: Index, theta: float, sign: int, side: int, changes: np.ndarray) -> None:
    """Add theta_ak to the changes of the sums over nodes, or take it off, and its square where there are no sides."""
    if side >= 0:
        changes[k, side] += sign * np.int64(theta * FIXED_POINT)
        return
    changes[k, MEMBERS] += sign * np.int64(theta * FIXED_POINT)
    changes[k, MEMBERS_SQUARED] += sign * np.int64(theta * theta * FIXED_POINT)


@inlined_lean_kernel
def add_row(place: int, sign: int, side: int, rows: Rows, changes: np.ndarray) -> None:
    """Add a stored row to the changes of its side (-1: there are none), or take it off: the same bits both times."""
    r = np.float64(rows.total[place])
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[place, 2 * j]
        if k < 0:
            break
        add_member(k, np.float64(rows.weights[place, 2 * j + 1]) * r, sign, side, changes)
    add_member(len(changes) - 1, r, sign, side, changes)


@inlined_lean_kernel
def write_row(kept: int, popularity: float, at: int, fresh: Rows, scratch: Scratch) -> None:
    """Store the new memberships and the new popularity."""
    total = 0.0
    for j in range(kept):
        total += scratch.phi[j]
    fresh.total[at] = min(max(popularity, LEAST_POPULARITY), MOST_POPULARITY)
    for j in range(kept):
        fresh.words[at, 2 * j] = scratch.community[j]
        fresh.weights[at, 2 * j + 1] = scratch.phi[j] / total
    if kept < fresh.words.shape[1] // 2:
        fresh.words[at, 2 * kept] = -1


@inlined_lean_kernel
def redraw_node(node: Node, at: int, frame: Frame, fresh: Rows, work: Work) -> None:
    """Draw the node's memberships and popularity into row `at` of `fresh`, and gather what changes in the sums."""
    scratch, key = work.scratch, frame.key
    # The local lists: the node's own communities first, then those of its neighbours.
    own = load_row(frame.rows, node.place, scratch)
    count = list_neighbors(node, own, frame, scratch)
    # What the neighbours add to the rates there; called again whenever a list grows in (DC6).
    near, hidden = read_neighbors(node, count, frame, scratch)
    # Exposures leave out the node itself: a proposal must not depend on the row that it replaces.
    common = common_exposure(node, near, hidden, frame)
    set_exposures(count, common, frame, scratch)
    first = frame.network.offsets[node.place]
    r = np.float64(frame.rows.total[node.place])
    units = draw_units(node, own, r, first, frame.weights, key, scratch)
    coin, word, _, _ = random_words(node, DRAW_TEST, 0, 0, key)
    backwards = coin & np.uint32(1) == np.uint32(1)
    count = redraw_units(node, count, units, backwards, common, frame, scratch)
    draw_sizes(node, count, key, scratch)
    if frame.settings.whole:
        count = draw_everywhere(node, count, common, frame, scratch)
    else:
        count = draw_births(node, count, common, frame, scratch)
    accepted, exposure = accept_or_restore(
        count, own, node.alpha, common.rho, word, len(frame.rates) - 1, scratch
    )
    # (DC9) The popularity comes last: it was integrated out of the test.
    word = stream_word(DRAW_POPULARITY, 0)
    shape = common.rho + units
    popularity = gamma(shape, key.low, key.high, node.name, key.sweep, word, np.uint32(0)) / exposure
    # Empties the local lists, so that the next node finds none.
    kept, dropped = keep_largest(count, frame.rows.words.shape[1] // 2, LEAST_PHI, scratch)
    write_row(kept, popularity, at, fresh, scratch)
    side = side_of(node.place, frame.settings.first)
    column = side if frame.settings.first > 0 else -1
    add_row(node.place, -1, column, frame.rows, work.changes)
    add_row(at, 1, column, fresh, work.changes)
    total = 0.0
    for j in range(kept):
        total += scratch.phi[j]
    work.sums[DROPPED] += np.int64(dropped / (dropped + total) * FIXED_POINT)
    work.sums[ACCEPTED] += np.int64(FIXED_POINT) if accepted else np.int64(0)
    work.sums[LOGS + side] += np.int64(math.log(np.float64(fresh.total[at])) * FIXED_POINT)


@inlined_lean_kernel
def prefetch_node(place: int, frame: Frame) -> None:
    """Ask for the rows of a node and of its neighbours while another one is drawn."""
    prefetch_row(frame.rows.words, place)
    for i in range(frame.network.offsets[place], frame.network.offsets[place + 1]):
        prefetch_row(frame.rows.words, frame.network.neighbors[i])


@lean_kernel
def redraw_range(begin: int, end: int, batch: Batch, frame: Frame, fresh: Rows, work: Work) -> None:
    """Redraw nodes number begin to end - 1 of a batch into the same rows of `fresh`: one worker's share of it."""
    for i in range(begin, end):
        place = batch.first + i * batch.stride
        if i + 1 < end:
            prefetch_node(place + batch.stride, frame)
        redraw_node(node_at(place, frame), i, frame, fresh, work)


@inlined_lean_kernel
def settle_row(place: int, rows: Rows, sums: np.ndarray, members: np.ndarray, changes: np.ndarray) -> None:
    """Add the changes in the communities of a row to the sums over nodes."""
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[place, 2 * j]
        if k < 0:
            break
        for column in range(2):
            sums[k, column] += changes[k, column]
            changes[k, column] = 0
            members[k, column] = sums[k, column] / FIXED_POINT


@lean_kernel
def redraw_in_turn(frame: Frame, sums: np.ndarray, fresh: Rows, work: Work) -> None:
    """Redraw all nodes one after another, each given the new rows of those before it: the exact sweep.

    `frame.members` are the sums as float64; both are kept up to date node by node.
    """
    rows, changes, last = frame.rows, work.changes, len(frame.members) - 1
    for place in range(len(frame.names)):
        if place + 1 < len(frame.names):
            prefetch_node(place + 1, frame)
        redraw_node(node_at(place, frame), 0, frame, fresh, work)
        settle_row(place, rows, sums, frame.members, changes)
        settle_row(0, fresh, sums, frame.members, changes)
        for column in range(2):
            sums[last, column] += changes[last, column]
            changes[last, column] = 0
            frame.members[last, column] = sums[last, column] / FIXED_POINT
        rows.total[place] = fresh.total[0]
        for j in range(rows.words.shape[1]):
            rows.words[place, j] = fresh.words[0, j]
