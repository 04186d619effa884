"""Draws of a link indicator that do not fall on a community both ends are known to share: rare, and slower.

Three things can be behind such a link besides a shared community: one of the neighbour's communities that is new to the
node, with weight alpha; the background, in a community that the node's other links are in; and the background in
any community at all. The first and the last are drawn by rejection, so that none of their tilts is needed ahead.
"""

from __future__ import annotations

import numpy as np

from blockmix.model.links import excess, shared_term
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.purposes import DRAW_KEEP, DRAW_LINK, DRAW_RETRY
from blockmix.numerics.variates import uniform32
from blockmix.samplers.scir.frame import MAX_BIRTHS, Frame, Node, Scratch, Tilt, random_words
from blockmix.samplers.scir.indicators.near import read_neighbors
from blockmix.samplers.scir.indicators.tilts import add_outsider, outsider
from blockmix.samplers.scir.local_lists import walk_row

# Attempts at a draw by rejection before the indicator is left as it is; reached with probability below 1e-12.
MOST_ATTEMPTS = 64


@inlined_lean_kernel
def shared_weight(i: int, alpha: float, scratch: Scratch) -> float:
    """(G3) Sum (n_k + alpha)/lambda_k d_k pi_bk over the communities that neighbour i shares with the local lists."""
    shared = 0.0
    for e in range(scratch.first[i], scratch.first[i + 1]):
        at = scratch.entry[e]
        shared += (
            (scratch.count[at] + alpha)
            * scratch.inverse[at]
            * max(scratch.excess[at], 0.0)
            * scratch.link_weight[e]
        )
    return shared


@inlined_lean_kernel
def walk_shared(i: int, u: float, alpha: float, scratch: Scratch) -> int:
    """Find the community on which u falls, between 0 and the `shared_weight`."""
    chosen = -1
    for e in range(scratch.first[i], scratch.first[i + 1]):
        at = int(scratch.entry[e])
        if scratch.excess[at] > 0.0:
            chosen = at
            u -= (
                (scratch.count[at] + alpha)
                * scratch.inverse[at]
                * scratch.excess[at]
                * scratch.link_weight[e]
            )
            if u < 0.0:
                break
    return chosen


@inlined_lean_kernel
def is_kept(node: Node, i: int, chosen: int, attempt: int, frame: Frame, scratch: Scratch) -> bool:
    """Thin the background's part of the mixture where a strength is below it: d_k pi_bk is then negative.

    The mixture holds k with delta instead of delta + d_k pi_bk, so it is kept with their ratio.
    """
    if scratch.excess[chosen] >= 0.0:
        return True
    for e in range(scratch.first[i], scratch.first[i + 1]):
        if scratch.entry[e] == chosen:
            _, _, w2, _ = random_words(node, DRAW_KEEP, attempt, i, frame.key)
            background = frame.strengths.value[-1]
            kept: bool = uniform32(w2) < 1.0 + scratch.excess[chosen] * scratch.link_weight[e] / background
            return kept
    return True


@lean_kernel
def draw_thinned(node: Node, i: int, own: int, frame: Frame, scratch: Scratch) -> int:
    """(G1) Draw one z_ab given pi_a where some strength is below the background; see `is_kept`."""
    first, entry, link_weight = scratch.first, scratch.entry, scratch.link_weight
    background = frame.strengths.value[-1]
    positive = 0.0
    for e in range(first[i], first[i + 1]):
        positive += shared_term(max(scratch.excess[entry[e]], 0.0), link_weight[e], scratch.pi[entry[e]])
    chosen = 0
    for attempt in range(1, MOST_ATTEMPTS):
        w0, w1, _, _ = random_words(node, DRAW_LINK, attempt, i, frame.key)
        u = uniform32(w0) * (positive + background)
        if u < positive:
            for e in range(first[i], first[i + 1]):
                at = int(entry[e])
                if scratch.excess[at] > 0.0:
                    chosen = at
                    u -= shared_term(scratch.excess[at], link_weight[e], scratch.pi[at])
                    if u < 0.0:
                        break
            break
        chosen = walk_row(uniform32(w1), own, scratch)
        if is_kept(node, i, chosen, attempt, frame, scratch):
            break
    return chosen


@lean_kernel
def draw_unshared(
    node: Node, i: int, u: float, known: float, count: int, frame: Frame, tilt: Tilt, scratch: Scratch
) -> tuple[int, int]:
    """(G3) Draw one z_ab with pi_a integrated out, at u on the line of all weights; returns it and the local count.

    `known` is the sum of n_k/lambda_k over the other links. A rejection sends the whole draw back to the start, not
    only the choice of the community: the shortcut would overweight what is drawn by rejection.
    """
    background, alpha = frame.strengths.value[-1], node.alpha
    bulk = alpha * len(frame.members) / tilt.least
    for attempt in range(1, MOST_ATTEMPTS):
        shared = shared_weight(i, alpha, scratch)
        unlisted = scratch.unlisted_weight[i] * alpha / tilt.least
        if attempt > 1:
            word, _, _, _ = random_words(node, DRAW_LINK, attempt + MOST_ATTEMPTS, i, frame.key)
            u = uniform32(word) * (shared + unlisted + background * (known + bulk))
        if u < shared:
            return walk_shared(i, u, alpha, scratch), count
        before, kept = count, False
        if u < shared + unlisted:
            v = (u - shared) * tilt.least / alpha
            chosen, count = draw_from_neighbor(node, i, v, count, frame, tilt, scratch)
            kept = chosen >= 0
        else:
            v = (u - shared - unlisted) / background
            if v < known:
                chosen = walk_counts(v, count, scratch)
            else:
                chosen, count = draw_from_bulk(node, i, attempt, count, frame, tilt, scratch)
        if count > before:
            read_neighbors(node, count, frame, scratch)
        if kept or (chosen >= 0 and is_kept(node, i, chosen, attempt + MOST_ATTEMPTS, frame, scratch)):
            return chosen, count
    return int(scratch.indicator[i]), count


@inlined_lean_kernel
def walk_counts(v: float, count: int, scratch: Scratch) -> int:
    """Find the community on which v falls among those of the other links, each with weight n_k/lambda_k."""
    chosen = -1
    for at in range(count):
        if scratch.count[at] > 0.0:
            chosen = at
            v -= scratch.count[at] * scratch.inverse[at]
            if v < 0.0:
                break
    return chosen


@inlined_lean_kernel
def draw_from_neighbor(
    node: Node, i: int, v: float, count: int, frame: Frame, tilt: Tilt, scratch: Scratch
) -> tuple[int, int]:
    """Propose a community of the neighbour's that is not in the local lists: weight alpha/lambda_k d_k pi_bk for each.

    The proposal has lambda_least for lambda_k, so it is kept with probability lambda_least/lambda_k, for which the
    place of v within d_k pi_bk is a uniform. Returns the position, or -1 for a draw to be made again, and the local
    count.
    """
    rows, value = frame.rows, frame.strengths.value
    b = frame.network.neighbors[frame.network.offsets[node.place] + i]
    for j in range(rows.words.shape[1] // 2):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        pi_b = np.float64(rows.weights[b, 2 * j + 1])
        if scratch.position[k] >= 0 or pi_b <= frame.settings.cut:
            continue
        pull = max(excess(value[k], value[-1]), 0.0) * pi_b
        if v < pull:
            found = outsider(node, k, frame, tilt, scratch)
            if v * found.tilt >= pull * tilt.least or count >= len(scratch.community) - MAX_BIRTHS:
                break
            add_outsider(k, count, found, scratch)
            return count, count + 1
        v -= pull
    return -1, count


@inlined_lean_kernel
def draw_from_bulk(
    node: Node, i: int, attempt: int, count: int, frame: Frame, tilt: Tilt, scratch: Scratch
) -> tuple[int, int]:
    """Propose a community of the prior's for a link that the background explains: weight 1/lambda_k for every k.

    The proposal has the largest weight there can be, so it is kept with probability lambda_least/lambda_k.
    Returns its position, or -1 for a draw to be made again, and the new local count.
    """
    w0, w1, _, _ = random_words(node, DRAW_RETRY, attempt, i, frame.key)
    k = np.int64((np.uint64(w0) * np.uint64(len(frame.members))) >> np.uint64(32))
    u = uniform32(w1)
    at = int(scratch.position[k])
    if at >= 0:
        return (at if u * scratch.tilt[at] < tilt.least else -1), count
    found = outsider(node, k, frame, tilt, scratch)
    if u * found.tilt >= tilt.least or count >= len(scratch.community) - MAX_BIRTHS:
        return -1, count
    add_outsider(k, count, found, scratch)
    return count, count + 1
