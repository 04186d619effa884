"""The default local move: a node's memberships redrawn through its link indicators, (G1) to (G4).

Read `redraw_node` from top to bottom: it is the order in which the steps must run, with the reasons.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.jumps import jump_envelope, keep_probability, propose_jump
from blockmix.numerics.philox import stream_word
from blockmix.numerics.prefetch import prefetch_row
from blockmix.numerics.purposes import DRAW_BIRTH_SIZE, DRAW_BIRTHS, DRAW_TEST
from blockmix.numerics.variates import gamma, poisson, uniform32, uniform53
from blockmix.samplers.scir.frame import (
    EVERYWHERE,
    MAX_BIRTHS,
    Batch,
    Frame,
    Node,
    Scratch,
    Tilt,
    Work,
    node_at,
    random_words,
)
from blockmix.samplers.scir.indicators.links import draw_links, draw_links_again, draw_uniforms
from blockmix.samplers.scir.indicators.near import list_neighbors, read_neighbors
from blockmix.samplers.scir.indicators.sums import bracket, exact_gain
from blockmix.samplers.scir.indicators.tilts import (
    add_outsider,
    closed_gain,
    outsider,
    set_exposure,
    set_tilts,
    tilt_gain,
)
from blockmix.samplers.scir.local_lists import draw_sizes, keep_largest
from blockmix.samplers.scir.rows import gather_statistics, leave_sums, load_row, write_row
from blockmix.tables.layout import FIXED_POINT, Rows

# Rounding of the sums that bound log T: a test that is closer than this is decided by the exact sum.
MARGIN = 1e-6


@inlined_lean_kernel
def draw_births(node: Node, count: int, frame: Frame, tilt: Tilt, scratch: Scratch) -> int:
    """(G4) Draw phi_k ~ Gamma(alpha)/lambda_k where k has no links, down to the smallest; returns the local count.

    Gamma(alpha) is the sum of the jumps of a Gamma process: those above the smallest phi are proposed for all
    communities at once, uniformly among them, thinned to their own rate, and add up where two fall on one.
    """
    communities, key = len(frame.members), frame.key
    envelope = jump_envelope(node.smallest * tilt.least)
    expected = communities * node.alpha * (envelope.near + envelope.far)
    births = poisson(
        expected, key.low, key.high, node.name, key.sweep, stream_word(DRAW_BIRTHS, 0), np.uint32(0)
    )
    for i in range(min(int(births), MAX_BIRTHS)):
        w0, w1, w2, w3 = random_words(node, DRAW_BIRTH_SIZE, i, 0, key)
        k = np.int64((np.uint64(w0) * np.uint64(communities)) >> np.uint64(32))
        at = int(scratch.position[k])
        if at >= 0 and scratch.count[at] > 0.0:
            continue
        size, u = propose_jump(uniform53(w1, w2), envelope), uniform32(w3)
        if at >= 0:
            if u < keep_probability(size, scratch.tilt[at] / tilt.least, envelope):
                scratch.phi[at] += size / tilt.least
            continue
        found = outsider(node, k, frame, tilt, scratch)
        if u < keep_probability(size, found.tilt / tilt.least, envelope):
            add_outsider(k, count, found, scratch)
            scratch.phi[count] = size / tilt.least
            count += 1
    return count


@inlined_lean_kernel
def draw_everywhere(node: Node, count: int, frame: Frame, tilt: Tilt, scratch: Scratch) -> int:
    """(G4) Draw phi_k ~ Gamma(alpha)/lambda_k wherever k has no links, with nothing cut off; returns the local count.

    For rows that hold all communities, where births above a smallest phi would be many.
    """
    key = frame.key
    for k in range(len(frame.members)):
        at = int(scratch.position[k])
        if at < 0:
            at = count
            add_outsider(k, at, outsider(node, k, frame, tilt, scratch), scratch)
            count += 1
        if scratch.count[at] == 0.0:
            word = stream_word(DRAW_BIRTH_SIZE, k)
            size = gamma(node.alpha, key.low, key.high, node.name, key.sweep, word, np.uint32(0))
            scratch.phi[at] = size * scratch.inverse[at]
    return count


@inlined_lean_kernel
def accept_or_restore(
    node: Node, count: int, own: int, word: np.uint32, frame: Frame, tilt: Tilt, scratch: Scratch
) -> bool:
    """(G4) Accept the new phi with probability min(1, e^gain), or put the old ones back."""
    total = 0.0
    for at in range(count):
        total += scratch.phi[at]
    accepted = False
    if total > 0.0:
        # The least gain that is accepted.
        least = math.log(uniform32(word)) - tilt_gain(count, own, total, tilt, scratch)
        if frame.settings.exact:
            low, high = bracket(count, own, total, frame, scratch)
            accepted = low > least + MARGIN
            if not accepted and high >= least - MARGIN:
                accepted = exact_gain(node, count, own, total, frame, scratch) > least
        else:
            accepted = closed_gain(count, own, total, frame.strengths, tilt, scratch) > least
    if not accepted:
        for at in range(count):
            scratch.phi[at] = scratch.old[at] if at < own else 0.0
    return accepted


@inlined_lean_kernel
def redraw_node(node: Node, at: int, frame: Frame, fresh: Rows, work: Work) -> tuple[float, float, float]:
    """Draw the node's memberships into row `at` of `fresh`.

    Returns its half of the links inside communities, the share of phi dropped, and 1 if the move was accepted.
    """
    scratch = work.scratch
    # The local lists: the node's own communities first, in the order of its slots, then those of its neighbours.
    own = load_row(frame.rows, node.place, scratch)
    count = list_neighbors(node, own, frame, scratch)
    # Weights of the neighbours there, which everything below reads; called again whenever a list grows in (G3).
    read_neighbors(node, count, frame, scratch)
    draw_uniforms(node, frame.key, scratch)
    draw_links(node, own, frame, scratch)
    # The tilts and the statistics of the strengths need the sums over neighbours, and the old memberships.
    tilt = set_tilts(node, count, frame, scratch)
    # Where sums are exact the strengths read all pairs themselves, when all nodes have moved.
    inside = 0.0
    if frame.settings.exact:
        leave_sums(own, scratch, work.statistics)
    else:
        set_exposure(own, frame.strengths, scratch)
        inside = gather_statistics(own, frame.strengths, scratch, work.statistics)
    coin, word, _, _ = random_words(node, DRAW_TEST, 0, 0, frame.key)
    backwards = coin & np.uint32(1) == np.uint32(1)
    count = draw_links_again(node, count, backwards, frame, tilt, scratch)
    # From here on phi is new; the old one is kept for a move that is not accepted.
    for position in range(own):
        scratch.old[position] = scratch.phi[position]
    draw_sizes(node, count, frame.key, scratch)
    if node.smallest <= EVERYWHERE and len(frame.members) <= frame.rows.words.shape[1] // 2:
        count = draw_everywhere(node, count, frame, tilt, scratch)
    else:
        count = draw_births(node, count, frame, tilt, scratch)
    accepted = accept_or_restore(node, count, own, word, frame, tilt, scratch)
    # Empties the local lists, so that the next node finds none.
    kept, dropped = keep_largest(count, frame.rows.words.shape[1] // 2, node.smallest, scratch)
    write_row(kept, at, fresh, scratch, work.statistics)
    return inside, dropped / (dropped + np.float64(fresh.total[at])), 1.0 if accepted else 0.0


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
        inside, dropped, accepted = redraw_node(node_at(place, frame), i, frame, fresh, work)
        work.sums[0] += np.int64(inside * FIXED_POINT)
        work.sums[1] += np.int64(dropped * FIXED_POINT)
        work.sums[2] += np.int64(accepted * FIXED_POINT)
