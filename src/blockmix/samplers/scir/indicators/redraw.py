"""The local step by link indicators, second half: memberships given the indicators, and the test, (G4)."""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.jumps import jump_envelope, keep_probability, propose_jump
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.prefetch import prefetch_row
from blockmix.numerics.purposes import DRAW_BIRTH_SIZE, DRAW_BIRTHS, DRAW_SIZE, DRAW_TEST
from blockmix.numerics.variates import gamma, poisson, uniform32, uniform53
from blockmix.samplers.scir.frame import MAX_BIRTHS, Scratch, Settings, Tilt
from blockmix.samplers.scir.indicators.links import draw_links, draw_links_again, draw_uniforms
from blockmix.samplers.scir.indicators.near import meet_neighbors, read_neighbors
from blockmix.samplers.scir.indicators.tilts import (
    add_outsider,
    outsider,
    residual_gain,
    set_exposure,
    set_tilts,
)
from blockmix.samplers.scir.rows import gather_statistics, keep_largest, load_row, write_row
from blockmix.tables.concentration import concentration
from blockmix.tables.layout import FIXED_POINT, Key, Network, Prior, Rows, Strengths


@inlined_lean_kernel
def draw_sizes(a: int, count: int, alpha: float, key: Key, scratch: Scratch) -> None:
    """(G4) phi_k ~ Gamma(alpha + n_k)/lambda_k where k has links, and 0 elsewhere."""
    for at in range(count):
        phi = 0.0
        if scratch.count[at] > 0.0:
            # the counter's slot is 16 bits wide: the rest of the place goes to the draw block
            word, block = stream_word(DRAW_SIZE, at & 0xFFFF), np.uint32((at >> 16) << 16)
            shape = alpha + scratch.count[at]
            phi = gamma(shape, key.low, key.high, np.uint32(a), key.sweep, word, block) * scratch.inverse[at]
        scratch.phi[at] = phi


@inlined_lean_kernel
def draw_births(
    a: int, count: int, network: Network, rows: Rows, members: np.ndarray, strengths: Strengths, alpha: float,
    smallest: float, tilt: Tilt, key: Key, scratch: Scratch,
) -> int:  # fmt: skip
    """(G4) phi_k ~ Gamma(alpha)/lambda_k where k has no links, down to the smallest; returns the new local count.

    Gamma(alpha) is the sum of the jumps of a Gamma process: those above the smallest phi are proposed for all
    communities at once, uniformly among them, thinned to their own rate, and add up where two fall on one.
    """
    communities = len(members)
    c0, low, high = np.uint32(a), key.low, key.high
    envelope = jump_envelope(smallest * tilt.least)
    expected = communities * alpha * (envelope.near + envelope.far)
    births = poisson(expected, low, high, c0, key.sweep, stream_word(DRAW_BIRTHS, 0), np.uint32(0))
    for i in range(min(int(births), MAX_BIRTHS)):
        w0, w1, w2, w3 = philox4x32(c0, key.sweep, stream_word(DRAW_BIRTH_SIZE, i), np.uint32(0), low, high)
        k = np.int64((np.uint64(w0) * np.uint64(communities)) >> np.uint64(32))
        at = int(scratch.place[k])
        if at >= 0 and scratch.count[at] > 0.0:
            continue
        size, u = propose_jump(uniform53(w1, w2), envelope), uniform32(w3)
        if at >= 0:
            if u < keep_probability(size, scratch.tilt[at] / tilt.least, envelope):
                scratch.phi[at] += size / tilt.least
            continue
        found = outsider(a, k, network, rows, members, strengths, tilt, scratch)
        if u < keep_probability(size, found.tilt / tilt.least, envelope):
            add_outsider(k, count, found, scratch)
            scratch.phi[count] = size / tilt.least
            count += 1
    return count


@inlined_lean_kernel
def redraw_node(
    a: int, at: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray, strengths: Strengths,
    prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
) -> tuple[float, float, float]:  # fmt: skip
    """Draw node a's memberships into row `at` of `fresh`.

    Returns its half of the links inside communities, the share of phi dropped, and 1 if the test was passed.
    """
    degree = network.offsets[a + 1] - network.offsets[a]
    alpha = concentration(a, network, prior.alpha, prior.alpha_unlinked)
    smallest = settings.smallest if degree > 0 else settings.smallest_unlinked
    mass = degree + len(members) * alpha
    own = load_row(rows, a, scratch)
    count = meet_neighbors(a, own, network, rows, settings.cut, scratch)
    read_neighbors(a, count, network, rows, strengths, settings.cut, scratch)
    draw_uniforms(a, degree, key, scratch)
    draw_links(a, degree, own, strengths.value[-1], key, scratch)
    tilt = set_tilts(count, mass, members, strengths, settings.non_link_weight, scratch)
    set_exposure(own, strengths, scratch)
    inside = gather_statistics(own, strengths, scratch, statistics)
    coin, word, _, _ = philox4x32(
        np.uint32(a), key.sweep, stream_word(DRAW_TEST, 0), np.uint32(0), key.low, key.high
    )
    backwards = coin & np.uint32(1) == np.uint32(1)
    count = draw_links_again(
        a, degree, count, backwards, network, rows, members, strengths, alpha, settings, tilt, key, scratch
    )
    for place in range(own):
        scratch.old[place] = scratch.phi[place]
    draw_sizes(a, count, alpha, key, scratch)
    count = draw_births(a, count, network, rows, members, strengths, alpha, smallest, tilt, key, scratch)
    total = 0.0
    for place in range(count):
        total += scratch.phi[place]
    accepted = False
    if total > 0.0:
        gain = residual_gain(count, own, total, strengths, tilt, scratch)
        accepted = gain >= 0.0 or uniform32(word) < math.exp(gain)
    if not accepted:
        for place in range(count):
            scratch.phi[place] = scratch.old[place] if place < own else 0.0
    kept, dropped = keep_largest(count, rows.words.shape[1] // 2, smallest, scratch)
    write_row(kept, at, fresh, scratch, statistics)
    return inside, dropped / (dropped + np.float64(fresh.total[at])), 1.0 if accepted else 0.0


@inlined_lean_kernel
def ask_ahead(a: int, network: Network, rows: Rows) -> None:
    """Have the rows of a node and of its neighbours on their way while others are drawn."""
    prefetch_row(rows.words, a)
    for i in range(network.offsets[a], network.offsets[a + 1]):
        prefetch_row(rows.words, network.neighbors[i])


@lean_kernel
def redraw_range(
    begin: int, end: int, first: int, stride: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray,
    strengths: Strengths, prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
    sums: np.ndarray,
) -> None:  # fmt: skip
    """Redraw nodes first + i * stride for i in [begin, end): one worker's share of a batch."""
    for i in range(begin, end):
        if i + 1 < end:
            ask_ahead(first + (i + 1) * stride, network, rows)
        inside, dropped, accepted = redraw_node(
            first + i * stride,
            i,
            network,
            rows,
            fresh,
            members,
            strengths,
            prior,
            settings,
            key,
            scratch,
            statistics,
        )
        sums[0] += np.int64(inside * FIXED_POINT)
        sums[1] += np.int64(dropped * FIXED_POINT)
        sums[2] += np.int64(accepted * FIXED_POINT)
