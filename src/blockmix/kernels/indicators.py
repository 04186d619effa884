"""The local step by link indicators, equations (G1) to (G4): exact, and without a step size.

For every link of a node the community z_ab in which it is made is drawn, first given the node's memberships,
then once more with the memberships integrated out. Integrated out, a link that nothing explains is drawn into
its neighbour's community with a weight of alpha, where the diffusion of (S2) would have to wait for a birth.
Given the indicators the memberships are Gamma draws; what non-links say beyond a linear tilt is left to a
Metropolis-Hastings test.
"""

from __future__ import annotations

import numpy as np

from blockmix.kernels.layout import (
    DRAW_KEEP,
    DRAW_LINK,
    DRAW_RETRY,
    DRAW_TEST,
    MAX_BIRTHS,
    MEMBERS,
    Index,
    Key,
    Network,
    Prior,
    Rows,
    Scratch,
    Strengths,
)
from blockmix.kernels.philox import inlined_kernel, kernel, philox4x32, stream_word
from blockmix.kernels.rows import add_local
from blockmix.kernels.variates import uniform32

# The tilt of a community against the node's typical one stays above this, so that proposals stay bounded.
LEAST_TILT = 0.2
# Attempts at a draw by rejection before the last proposal is taken; reached with probability below 1e-12.
MOST_ATTEMPTS = 64


@inlined_kernel
def draw_uniforms(a: int, degree: int, network: Network, rows: Rows, key: Key, scratch: Scratch) -> None:
    """Four uniforms for every link, one Philox block each, ahead of the branches that use them.

    The first word of every neighbour's row is read along the way: on a large network each is a cache miss, and
    here, without branches between them, many are under way at once.
    """
    begin, uniforms = network.offsets[a], scratch.uniforms
    for i in range(degree):
        scratch.indicator[i] = rows.words[network.neighbors[begin + i], 0]
        w0, w1, w2, w3 = philox4x32(
            np.uint32(a), key.sweep, stream_word(DRAW_LINK, 0), np.uint32(i), key.low, key.high
        )
        uniforms[i, 0] = uniform32(w0)
        uniforms[i, 1] = uniform32(w1)
        uniforms[i, 2] = uniform32(w2)
        uniforms[i, 3] = uniform32(w3)


@inlined_kernel
def draw_links(
    a: int,
    own: int,
    network: Network,
    rows: Rows,
    strengths: Strengths,
    cut: float,
    key: Key,
    scratch: Scratch,
) -> int:
    """(G1) Draw every z_ab given pi_a, (M2), and gather the neighbours' communities; returns their number.

    r_ab(k) is a mixture: of shared communities with weights d_k pi_ak pi_bk, and of pi_a itself with weight
    delta. What a neighbour has to say is kept for the second pass: its communities' places in the local lists
    and d_k pi_bk. Communities new to the node are looked at where a neighbour's weight is above the cut.
    """
    place, community, pi, near, near_squared = (
        scratch.place, scratch.community, scratch.pi, scratch.near, scratch.near_squared,
    )  # fmt: skip
    entry, pull, heard, first, gain = scratch.entry, scratch.pull, scratch.heard, scratch.first, scratch.gain
    first[0] = 0
    words, weights, value = rows.words, rows.weights, strengths.value
    background = value[-1]
    slots = words.shape[1] // 2
    begin = network.offsets[a]
    count = own
    end, unfinished = 0, 0
    for i in range(network.offsets[a + 1] - begin):
        b = network.neighbors[begin + i]
        shared, positive = 0.0, 0.0
        for j in range(slots):
            k = words[b, 2 * j]
            if k < 0:
                break
            pi_b = np.float64(weights[b, 2 * j + 1])
            at = place[k]
            if at < 0:
                if pi_b <= cut:
                    continue
                at = count
                place[k] = at
                community[at] = k
                pi[at], gain[at], near[at], near_squared[at] = 0.0, 0.0, 0.0, 0.0
                count += 1
            weight = (value[k] - background) * pi_b
            shared += weight * pi[at]
            positive += max(weight, 0.0) * pi[at]
            near[at] += pi_b
            near_squared[at] += pi_b * pi_b
            entry[end] = at
            pull[end] = weight
            heard[end] = pi_b
            end += 1
        first[i + 1] = end
        share = 1.0 / (shared + background)
        for e in range(first[i], end):
            gain[entry[e]] += share * heard[e]
        if positive == shared:
            scratch.indicator[i] = draw_given_row(i, own, positive, background, scratch)
        else:
            # Rare, and left for later: a call in this loop would make every draw slower.
            scratch.indicator[i] = -1
            scratch.uniforms[i, 0] = positive
            unfinished += 1
    if unfinished > 0:
        for i in range(network.offsets[a + 1] - begin):
            if scratch.indicator[i] < 0:
                scratch.indicator[i] = draw_thinned(
                    a, i, own, scratch.uniforms[i, 0], background, key, scratch
                )
    return count


@inlined_kernel
def draw_given_row(i: int, own: int, positive: float, background: float, scratch: Scratch) -> int:
    """One z_ab given pi_a, no strength being below the background: its place in the local lists."""
    entry, pull, pi, first = scratch.entry, scratch.pull, scratch.pi, scratch.first
    u = scratch.uniforms[i, 0] * (positive + background)
    chosen = 0
    if u < positive:
        for e in range(first[i], first[i + 1]):
            chosen = int(entry[e])
            u -= pull[e] * pi[chosen]
            if u < 0.0:
                break
        return chosen
    v = scratch.uniforms[i, 1]
    for at in range(own):
        chosen = at
        v -= pi[at]
        if v < 0.0:
            break
    return chosen


@kernel
def draw_thinned(
    a: int, i: int, own: int, positive: float, background: float, key: Key, scratch: Scratch
) -> int:
    """One z_ab given pi_a where some strength is below the background; see `is_kept`."""
    chosen = 0
    for attempt in range(1, MOST_ATTEMPTS):
        w0, w1, _, _ = philox4x32(
            np.uint32(a), key.sweep, stream_word(DRAW_LINK, attempt), np.uint32(i), key.low, key.high
        )
        u, v = uniform32(w0) * (positive + background), uniform32(w1)
        if u < positive:
            for e in range(scratch.first[i], scratch.first[i + 1]):
                if scratch.pull[e] > 0.0:
                    chosen = int(scratch.entry[e])
                    u -= scratch.pull[e] * scratch.pi[chosen]
                    if u < 0.0:
                        break
            break
        for at in range(own):
            chosen = at
            v -= scratch.pi[at]
            if v < 0.0:
                break
        if is_kept(a, i, chosen, attempt, background, key, scratch):
            break
    return chosen


@inlined_kernel
def is_kept(a: int, i: int, chosen: int, attempt: int, background: float, key: Key, scratch: Scratch) -> bool:
    """Thin the background's part of the mixture where a strength is below it: d_k pi_bk is then negative.

    The mixture holds k with delta instead of delta + d_k pi_bk, so it is kept with their ratio.
    """
    for e in range(scratch.first[i], scratch.first[i + 1]):
        if scratch.entry[e] == chosen:
            if scratch.pull[e] >= 0.0:
                return True
            _, _, w2, _ = philox4x32(
                np.uint32(a), key.sweep, stream_word(DRAW_KEEP, attempt), np.uint32(i), key.low, key.high
            )
            kept: bool = uniform32(w2) < 1.0 + scratch.pull[e] / background
            return kept
    return True


@inlined_kernel
def set_tilts(
    count: int,
    own: int,
    degree: int,
    mass: float,
    members: np.ndarray,
    strengths: Strengths,
    scratch: Scratch,
    weight: float = 1.0,
) -> float:
    """(G2) lambda_k = 1 + (x_k - x)/A for every local community; returns x.

    x_k = d_k R_k/(1 - delta) is the exposure to non-links to first order, x its mean over the neighbours' own
    memberships: a value that does not depend on the node's, as an exact step needs.
    """
    background = strengths.value[-1]
    typical = 0.0
    for at in range(count):
        k = scratch.community[at]
        rest = members[k, MEMBERS] - scratch.near[at] - (scratch.pi[at] if at < own else 0.0)
        x = weight * (strengths.value[k] - background) * max(rest, 0.0) / (1.0 - background)
        scratch.tilt[at] = x
        typical += scratch.near[at] * x
    if degree > 0:
        typical /= degree
    typical = min(max(typical, 0.0), (1.0 - LEAST_TILT) * mass)
    for at in range(count):
        scratch.tilt[at] = max(1.0 + (scratch.tilt[at] - typical) / mass, LEAST_TILT)
    return typical


@inlined_kernel
def tilt_of(
    k: Index, typical: float, mass: float, members: np.ndarray, strengths: Strengths, weight: float = 1.0
) -> float:
    """(G2) The same for a community that neither the node nor a neighbour is in."""
    background = strengths.value[-1]
    x = weight * (strengths.value[k] - background) * members[k, MEMBERS] / (1.0 - background)
    tilt: float = max(1.0 + (x - typical) / mass, LEAST_TILT)
    return tilt


@inlined_kernel
def draw_links_again(
    a: int, degree: int, count: int, typical: float, mass: float, members: np.ndarray, strengths: Strengths,
    prior: Prior, key: Key, scratch: Scratch, weight: float = 1.0,
) -> int:  # fmt: skip
    """(G3) One pass of Gibbs draws of the z_ab with pi_a integrated out; returns the new local count.

    p(z_ab = k) is proportional to (n_k + alpha)/lambda_k (delta + d_k pi_bk), n_k counting the other links.
    Forwards or backwards with equal probability: then the pass is reversible, as the test of (G4) needs.
    """
    counts, inverse, indicator = scratch.count, scratch.inverse, scratch.indicator
    entry, pull, first, uniforms = scratch.entry, scratch.pull, scratch.first, scratch.uniforms
    background, alpha = strengths.value[-1], prior.alpha
    bulk = alpha * len(members) / max(1.0 - typical / mass, LEAST_TILT)
    known = 0.0
    for at in range(count):
        counts[at] = 0.0
        inverse[at] = 1.0 / scratch.tilt[at]
    for i in range(degree):
        counts[indicator[i]] += 1.0
        known += inverse[indicator[i]]
    word, _, _, _ = philox4x32(
        np.uint32(a), key.sweep, stream_word(DRAW_TEST, 1), np.uint32(0), key.low, key.high
    )
    backwards = word & np.uint32(1) == np.uint32(1)
    for step in range(degree):
        i = degree - 1 - step if backwards else step
        old = indicator[i]
        counts[old] -= 1.0
        known -= inverse[old]
        shared = 0.0
        for e in range(first[i], first[i + 1]):
            shared += (counts[entry[e]] + alpha) * inverse[entry[e]] * max(pull[e], 0.0)
        everything = shared + background * (known + bulk)
        u, v = uniforms[i, 2] * everything, uniforms[i, 3] * (known + bulk)
        chosen = -1
        for attempt in range(1, MOST_ATTEMPTS):
            if u < shared:
                for e in range(first[i], first[i + 1]):
                    if pull[e] > 0.0:
                        chosen = int(entry[e])
                        u -= (counts[chosen] + alpha) * inverse[chosen] * pull[e]
                        if u < 0.0:
                            break
                break
            if v < known:
                for at in range(count):
                    if counts[at] > 0.0:
                        chosen = at
                        v -= counts[at] * inverse[at]
                        if v < 0.0:
                            break
            else:
                chosen, count = draw_from_bulk(
                    a, i, attempt, count, typical, mass, members, strengths, key, scratch, weight
                )
            if chosen >= 0 and is_kept(a, i, chosen, attempt + MOST_ATTEMPTS, background, key, scratch):
                break
            chosen = -1
            w0, w1, _, _ = philox4x32(
                np.uint32(a),
                key.sweep,
                stream_word(DRAW_LINK, attempt + MOST_ATTEMPTS),
                np.uint32(i),
                key.low,
                key.high,
            )
            u, v = uniform32(w0) * everything, uniform32(w1) * (known + bulk)
        if chosen < 0:
            chosen = old
        indicator[i] = chosen
        counts[chosen] += 1.0
        known += inverse[chosen]
    return count


@kernel
def draw_from_bulk(
    a: int, i: int, attempt: int, count: int, typical: float, mass: float, members: np.ndarray, strengths: Strengths,
    key: Key, scratch: Scratch, weight: float,
) -> tuple[int, int]:  # fmt: skip
    """Propose a community of the prior's for a link that the background explains: weight 1/lambda_k for every k.

    The proposal has the largest weight there can be, so it is kept with probability lambda_least/lambda_k.
    Returns its place, or -1 for a draw to be made again from the start, and the new local count.
    """
    w0, w1, _, _ = philox4x32(
        np.uint32(a), key.sweep, stream_word(DRAW_RETRY, attempt), np.uint32(i), key.low, key.high
    )
    k = np.int64((np.uint64(w0) * np.uint64(len(members))) >> np.uint64(32))
    at = scratch.place[k]
    tilt = scratch.tilt[at] if at >= 0 else tilt_of(k, typical, mass, members, strengths, weight)
    if (
        uniform32(w1) >= max(1.0 - typical / mass, LEAST_TILT) / tilt
        or count >= len(scratch.community) - MAX_BIRTHS
    ):
        return -1, count
    if at < 0:
        at = count
        add_local(k, 0.0, 0.0, at, scratch)
        scratch.tilt[at] = tilt
        scratch.inverse[at] = 1.0 / tilt
        scratch.count[at] = 0.0
        count += 1
    return at, count
