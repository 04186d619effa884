"""The units of a node's links: how many (DC5), and in which community each is made (DC5), (DC6).

First all are drawn given the node's row, then once more with the row integrated out. Nearly every draw falls on a
community that both ends share; what does not is drawn by rejection in `draw_unshared`.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.purposes import DRAW_MORE_UNITS, DRAW_UNIT_AGAIN, DRAW_UNIT_RETRY, DRAW_UNITS
from blockmix.numerics.variates import uniform32
from blockmix.samplers.scir.frame import MAX_BIRTHS, Node, random_words
from blockmix.samplers.scir.local_lists import walk_row
from blockmix.samplers.scir.popularity.frame import MOST_UNITS, Exposure, Frame, Scratch, Weights
from blockmix.samplers.scir.popularity.near import append_outsider, outside_exposure, read_neighbors
from blockmix.samplers.scir.popularity.weights import COUNTS, NONE, units_of_amount
from blockmix.tables.layout import Key

# Attempts at a draw by rejection before the unit is left as it is; reached with probability below 1e-6.
MOST_ATTEMPTS = 256


@inlined_lean_kernel
def truncated_poisson(mean: float, u: float, most: int) -> int:
    """(DC5) Draw a Poisson count that is at least one, by inversion of the uniform u; `most` bounds it."""
    u *= -math.expm1(-mean)
    term = mean * math.exp(-mean)
    below, count = term, 1
    while u > below and count < most:
        count += 1
        term *= mean / count
        below += term
    return count


@inlined_lean_kernel
def units_of_link(mean: float, place: int, u: float, most: int, weights: Weights) -> int:
    """Return how many units a link has: drawn (DC5), or as its weight says (DC12), (DC13)."""
    if weights.law == NONE:
        return truncated_poisson(mean, u, most)
    if weights.law == COUNTS:
        return int(weights.entries[place])
    return min(units_of_amount(mean, weights.entries[place], u, weights), most)


@inlined_lean_kernel
def place_unit(i: int, u: float, shared: float, own: int, scratch: Scratch) -> int:
    """(DC5) Return the community of a unit of link i at u on the line of all weights pi_ak f_bk."""
    if u >= shared:
        return walk_row((u - shared) / scratch.pull[i], own, scratch)
    chosen = 0
    for e in range(scratch.first[i], scratch.first[i + 1]):
        weight = scratch.pi[scratch.entry[e]] * scratch.link_weight[e]
        if weight > 0.0:
            chosen = int(scratch.entry[e])
            u -= weight
            if u < 0.0:
                break
    return chosen


@inlined_lean_kernel
def draw_units(
    node: Node, own: int, popularity: float, first: int, weights: Weights, key: Key, scratch: Scratch
) -> int:
    """(DC5) Draw the units of every link given theta_a, and the community of each; returns how many units.

    A block of random words serves a link: its number of units, the community of the first, and the second draw of
    that. The blocks of further units are keyed by their number. Links of the node have the entries of `weights` from
    `first` on.
    """
    units = 0
    for i in range(node.degree):
        shared = 0.0
        for e in range(scratch.first[i], scratch.first[i + 1]):
            shared += scratch.pi[scratch.entry[e]] * scratch.link_weight[e]
        both = shared + scratch.pull[i]
        w0, w1, w2, _ = random_words(node, DRAW_UNITS, 0, i, key)
        scratch.spare[i] = w2
        free = len(scratch.unit_link) - units - (node.degree - 1 - i)
        most = min(MOST_UNITS, free)
        drawn = units_of_link(popularity * both, first + i, uniform32(w0), most, weights)
        for number in range(drawn):
            if number > 0:
                w1, _, _, _ = random_words(node, DRAW_MORE_UNITS, number, i, key)
            scratch.unit_link[units] = i
            scratch.unit_at[units] = place_unit(i, uniform32(w1) * both, shared, own, scratch)
            units += 1
    return units


@inlined_lean_kernel
def shared_weight(i: int, alpha: float, scratch: Scratch) -> float:
    """(DC6) Sum (n_k + alpha)/lambda_k w_k theta_bk over the listed communities of neighbour i."""
    shared = 0.0
    for e in range(scratch.first[i], scratch.first[i + 1]):
        at = scratch.entry[e]
        shared += (scratch.count[at] + alpha) * scratch.inverse[at] * scratch.link_weight[e]
    return shared


@inlined_lean_kernel
def walk_shared(i: int, u: float, alpha: float, scratch: Scratch) -> int:
    """Find the community on which u falls, between 0 and the `shared_weight`."""
    chosen = -1
    for e in range(scratch.first[i], scratch.first[i + 1]):
        chosen = int(scratch.entry[e])
        u -= (scratch.count[chosen] + alpha) * scratch.inverse[chosen] * scratch.link_weight[e]
        if u < 0.0:
            break
    return chosen


@inlined_lean_kernel
def second_uniform(node: Node, unit: int, key: Key, scratch: Scratch) -> float:
    """Return the uniform of a unit's second draw: the first unit of a link has a word left from its block."""
    i = scratch.unit_link[unit]
    if unit == 0 or scratch.unit_link[unit - 1] != i:
        return uniform32(scratch.spare[i])
    word, _, _, _ = random_words(node, DRAW_UNIT_AGAIN, 0, unit, key)
    return uniform32(word)


@inlined_lean_kernel
def redraw_units(
    node: Node, count: int, units: int, backwards: bool, common: Exposure, frame: Frame, scratch: Scratch
) -> int:
    """(DC6) Make one pass of Gibbs draws of the units' communities with the row integrated out.

    Forwards or backwards with equal probability: then the pass is reversible, as the test of (DC8) needs. Returns the
    new local count.
    """
    counts, inverse, at_of = scratch.count, scratch.inverse, scratch.unit_at
    alpha = node.alpha
    bulk = alpha * (len(frame.rates) - 1) / common.least
    known = 0.0
    for at in range(count):
        counts[at] = 0.0
    for unit in range(units):
        counts[at_of[unit]] += 1.0
        known += inverse[at_of[unit]]
    for step in range(units):
        unit = units - 1 - step if backwards else step
        i, old = scratch.unit_link[unit], at_of[unit]
        counts[old] -= 1.0
        known -= inverse[old]
        shared = shared_weight(i, alpha, scratch)
        other = scratch.unlisted_weight[i] * alpha / common.least + scratch.pull[i] * (known + bulk)
        u = second_uniform(node, unit, frame.key, scratch) * (shared + other)
        if u < shared:
            chosen = walk_shared(i, u, alpha, scratch)
        else:
            chosen, count = draw_unshared(node, unit, u, known, count, common, frame, scratch)
        at_of[unit] = chosen
        counts[chosen] += 1.0
        known += inverse[chosen]
    return count


@lean_kernel
def draw_unshared(
    node: Node, unit: int, u: float, known: float, count: int, common: Exposure, frame: Frame, scratch: Scratch
) -> tuple[int, int]:  # fmt: skip
    """(DC6) Draw the community of a unit at u on the line of all weights; returns it and the local count.

    Beyond what neighbour and local lists share there are the neighbour's other communities, with weight alpha; the
    background in a community of the node's other units; and the background in any community. The first and the last
    are proposed with the least exposure there can be, and kept with the ratio of that to their own. A rejection sends
    the whole draw back to the start: to repeat the choice of the community alone would favour these.
    """
    alpha, i = node.alpha, scratch.unit_link[unit]
    communities = len(frame.rates) - 1
    bulk = alpha * communities / common.least
    for attempt in range(MOST_ATTEMPTS):
        shared = shared_weight(i, alpha, scratch)
        unlisted = scratch.unlisted_weight[i] * alpha / common.least
        w0, w1, w2, _ = random_words(node, DRAW_UNIT_RETRY, attempt, unit, frame.key)
        if attempt > 0:
            u = uniform32(w0) * (shared + unlisted + scratch.pull[i] * (known + bulk))
        if u < shared:
            return walk_shared(i, u, alpha, scratch), count
        k, v = -1, (u - shared - unlisted) / scratch.pull[i]
        if u < shared + unlisted:
            k = unlisted_community(node, i, (u - shared) * common.least / alpha, frame, scratch)
        elif v < known:
            chosen = walk_counts(v, count, scratch)
            # `known` is a running sum: where no unit is left it may still be above zero by rounding.
            if chosen >= 0:
                return chosen, count
        else:
            k = int(np.int64((np.uint64(w1) * np.uint64(communities)) >> np.uint64(32)))
        if k < 0:
            continue
        at = int(scratch.position[k])
        exposure = scratch.exposure[at] if at >= 0 else outside_exposure(node, k, common, frame, scratch)
        if uniform32(w2) * exposure >= common.least:
            continue
        if at >= 0:
            return at, count
        if count < len(scratch.community) - MAX_BIRTHS:
            append_outsider(k, exposure, count, scratch)
            # The lists of the links have to name the new community.
            read_neighbors(node, count + 1, frame, scratch)
            return count, count + 1
    return int(scratch.unit_at[unit]), count


@inlined_lean_kernel
def unlisted_community(node: Node, i: int, v: float, frame: Frame, scratch: Scratch) -> int:
    """Find the community of neighbour i that is not in the local lists and on which v falls; -1 past the last."""
    rows = frame.rows
    b = frame.network.neighbors[frame.network.offsets[node.place] + i]
    r = np.float64(rows.total[b])
    chosen = -1
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        if scratch.position[k] < 0:
            chosen = int(k)
            v -= frame.rates[k] * np.float64(rows.weights[b, 2 * j + 1]) * r
            if v < 0.0:
                break
    return chosen


@inlined_lean_kernel
def walk_counts(v: float, count: int, scratch: Scratch) -> int:
    """Find the community on which v falls among those of the other units, each with weight n_k/lambda_k."""
    chosen = -1
    for at in range(count):
        if scratch.count[at] > 0.0:
            chosen = at
            v -= scratch.count[at] * scratch.inverse[at]
            if v < 0.0:
                break
    return chosen
