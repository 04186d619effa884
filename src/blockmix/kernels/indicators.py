"""The local step by link indicators, equations (G1) to (G4): exact, and without a step size.

For every link of a node the community z_ab in which it is made is drawn, first given the node's memberships,
then once more with the memberships integrated out. Integrated out, a link that nothing explains is drawn into
its neighbour's community with a weight of alpha, where the diffusion of (S2) would have to wait for a birth.
Given the indicators the memberships are Gamma draws; what non-links say beyond a linear tilt is left to a
Metropolis-Hastings test.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.kernels.layout import (
    DRAW_BIRTH_PLACE,
    DRAW_BIRTH_SIZE,
    DRAW_BIRTHS,
    DRAW_LINK,
    DRAW_RETRY,
    DRAW_SIZE,
    DRAW_TEST,
    MAX_BIRTHS,
    MEMBERS,
    MEMBERS_SQUARED,
    Key,
    Network,
    Prior,
    Rows,
    Scratch,
    Settings,
    Strengths,
)
from blockmix.kernels.local import add_local, gather_statistics, keep_largest, leave_out_hidden, load_row, write_row
from blockmix.kernels.philox import kernel, philox4x32, stream_word
from blockmix.kernels.special import expint_e1
from blockmix.kernels.variates import gamma, levy_jump, poisson, uniform32

# The tilt of a community against the node's typical one stays above this, so that proposals stay bounded.
LEAST_TILT = 0.2
# 1 - v of a non-link stays above this: a strength of one would forbid non-links altogether.
LEAST_NON_LINK = 1e-6
# Attempts at a draw by rejection before the last proposal is taken; reached with probability below 1e-12.
MOST_ATTEMPTS = 64


@kernel
def draw_links(
    a: int, own: int, network: Network, rows: Rows, strengths: Strengths, key: Key, scratch: Scratch
) -> int:
    """(G1) Draw every z_ab given pi_a, (M2), and gather the neighbours' communities; returns their number.

    With d_k >= 0, r_ab(k) is a mixture: of shared communities with weights d_k pi_ak pi_bk, and of pi_a itself
    with weight delta. A strength below the background makes d_k negative; then the mixture over-counts k, and
    a draw of k is kept with probability 1 + d_k pi_bk / delta.
    """
    background = strengths.value[-1]
    slots = rows.words.shape[1] // 2
    begin = network.offsets[a]
    count = own
    for i in range(network.offsets[a + 1] - begin):
        b = network.neighbors[begin + i]
        z, positive, used = background, 0.0, 0
        for j in range(slots):
            k = rows.words[b, 2 * j]
            if k < 0:
                break
            at = scratch.place[k]
            if at < 0:
                at = count
                add_local(k, 0.0, 0.0, at, scratch)
                count += 1
            pi_b = float(rows.weights[b, 2 * j + 1])
            weight = (strengths.value[k] - background) * scratch.pi[at] * pi_b
            z += weight
            positive += max(weight, 0.0)
            scratch.near[at] += pi_b
            scratch.near_squared[at] += pi_b * pi_b
            scratch.hit[j] = at
            used += 1
        for j in range(used):
            at = scratch.hit[j]
            scratch.gain[at] += float(rows.weights[b, 2 * j + 1]) / z
        scratch.indicator[i] = _draw_given_row(a, b, i, own, used, positive, rows, strengths, key, scratch)
    return count


@kernel
def _draw_given_row(
    a: int, b: int, i: int, own: int, used: int, positive: float, rows: Rows, strengths: Strengths, key: Key,
    scratch: Scratch,
) -> int:  # fmt: skip
    """One z_ab given pi_a: the place of the community in the local lists."""
    background = strengths.value[-1]
    at = 0
    for attempt in range(MOST_ATTEMPTS):
        w0, w1, w2, _ = philox4x32(
            np.uint32(a), key.sweep, stream_word(DRAW_LINK, attempt), np.uint32(i), key.low, key.high
        )
        u = uniform32(w0) * (positive + background)
        if u < positive:
            for j in range(used):
                at = scratch.hit[j]
                k = scratch.community[at]
                d = strengths.value[k] - background
                if d > 0.0:
                    u -= d * scratch.pi[at] * float(rows.weights[b, 2 * j + 1])
                    if u < 0.0:
                        return at
            return at
        v = uniform32(w1)
        at = 0
        for place in range(own):
            at = place
            v -= scratch.pi[place]
            if v < 0.0:
                break
        d = strengths.value[scratch.community[at]] - background
        if d >= 0.0 or uniform32(w2) < 1.0 + d * weight_of(scratch.community[at], b, rows) / background:
            return at
    return at


@kernel
def weight_of(k: int, b: int, rows: Rows) -> float:
    """pi_bk, zero where k is not in b's slots."""
    for j in range(rows.words.shape[1] // 2):
        if rows.words[b, 2 * j] == k:
            return float(rows.weights[b, 2 * j + 1])
        if rows.words[b, 2 * j] < 0:
            break
    return 0.0


@kernel
def set_tilts(
    count: int, own: int, degree: int, mass: float, members: np.ndarray, strengths: Strengths, scratch: Scratch
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
        x = (strengths.value[k] - background) * max(rest, 0.0) / (1.0 - background)
        scratch.tilt[at] = x
        typical += scratch.near[at] * x
    if degree > 0:
        typical /= degree
    typical = min(max(typical, 0.0), (1.0 - LEAST_TILT) * mass)
    for at in range(count):
        scratch.tilt[at] = max(1.0 + (scratch.tilt[at] - typical) / mass, LEAST_TILT)
    return typical


@kernel
def tilt_of(k: int, typical: float, mass: float, members: np.ndarray, strengths: Strengths) -> float:
    """(G2) The same for a community that neither the node nor a neighbour is in."""
    background = strengths.value[-1]
    x = (strengths.value[k] - background) * members[k, MEMBERS] / (1.0 - background)
    return max(1.0 + (x - typical) / mass, LEAST_TILT)


@kernel
def draw_links_again(
    a: int, count: int, typical: float, mass: float, members: np.ndarray, network: Network, rows: Rows,
    strengths: Strengths, prior: Prior, key: Key, scratch: Scratch,
) -> int:  # fmt: skip
    """(G3) One pass of Gibbs draws of the z_ab with pi_a integrated out; returns the new local count.

    p(z_ab = k) is proportional to (n_k + alpha)/lambda_k (delta + d_k pi_bk), n_k counting the other links.
    Forwards or backwards with equal probability: then the pass is reversible, as the test of (G4) needs.
    """
    background = strengths.value[-1]
    communities = len(members)
    begin = network.offsets[a]
    degree = network.offsets[a + 1] - begin
    lowest = max(1.0 - typical / mass, LEAST_TILT)
    known = 0.0
    for at in range(count):
        scratch.count[at] = 0.0
        known += prior.alpha / scratch.tilt[at]
    for i in range(degree):
        at = scratch.indicator[i]
        scratch.count[at] += 1.0
        known += 1.0 / scratch.tilt[at]
    coin, _, _, _ = philox4x32(np.uint32(a), key.sweep, stream_word(DRAW_TEST, 1), np.uint32(0), key.low, key.high)
    backwards = coin & np.uint32(1) == np.uint32(1)
    slots = rows.words.shape[1] // 2
    for step in range(degree):
        i = degree - 1 - step if backwards else step
        b = network.neighbors[begin + i]
        old = scratch.indicator[i]
        scratch.count[old] -= 1.0
        known -= 1.0 / scratch.tilt[old]
        positive, used = 0.0, 0
        for j in range(slots):
            k = rows.words[b, 2 * j]
            if k < 0:
                break
            at = scratch.place[k]
            d = strengths.value[k] - background
            weight = 0.0
            if d > 0.0:
                weight = (scratch.count[at] + prior.alpha) / scratch.tilt[at] * d * float(rows.weights[b, 2 * j + 1])
            positive += weight
            scratch.choice[j] = weight
            scratch.hit[j] = at
            used += 1
        chosen = -1
        bulk = prior.alpha * (communities - count) / lowest
        for attempt in range(MOST_ATTEMPTS):
            w0, w1, w2, w3 = philox4x32(
                np.uint32(a), key.sweep, stream_word(DRAW_RETRY, attempt), np.uint32(i), key.low, key.high
            )
            u = uniform32(w0) * (positive + background * (known + bulk))
            if u < positive:
                for j in range(used):
                    chosen = scratch.hit[j]
                    u -= scratch.choice[j]
                    if u < 0.0:
                        break
                break
            v = uniform32(w1) * (known + bulk)
            if v < known:
                for at in range(count):
                    chosen = at
                    v -= (scratch.count[at] + prior.alpha) / scratch.tilt[at]
                    if v < 0.0:
                        break
                d = strengths.value[scratch.community[chosen]] - background
                if d >= 0.0 or uniform32(w2) < 1.0 + d * weight_of(scratch.community[chosen], b, rows) / background:
                    break
                continue
            k = np.int64((np.uint64(w2) * np.uint64(communities)) >> np.uint64(32))
            if scratch.place[k] >= 0 or count == len(scratch.community) - MAX_BIRTHS:
                continue
            tilt = tilt_of(k, typical, mass, members, strengths)
            if uniform32(w3) < lowest / tilt:
                chosen = count
                add_local(k, 0.0, 0.0, chosen, scratch)
                scratch.tilt[chosen] = tilt
                scratch.count[chosen] = 0.0
                known += prior.alpha / tilt
                count += 1
                break
        if chosen < 0:
            chosen = old
        scratch.indicator[i] = chosen
        scratch.count[chosen] += 1.0
        known += 1.0 / scratch.tilt[chosen]
    return count


@kernel
def draw_row(
    a: int, count: int, typical: float, mass: float, members: np.ndarray, strengths: Strengths, prior: Prior,
    settings: Settings, key: Key, scratch: Scratch,
) -> int:  # fmt: skip
    """(G4) phi_k ~ Gamma(alpha + n_k)/lambda_k where k has links, births (P2) among all others.

    Gamma(alpha) is the sum of the jumps of a Gamma process: those above the smallest phi are drawn for all
    communities at once, uniformly among them, and add up where two fall on one.
    """
    communities = len(members)
    c0, low, high = np.uint32(a), key.low, key.high
    for at in range(count):
        phi = 0.0
        if scratch.count[at] > 0.0:
            shape = prior.alpha + scratch.count[at]
            # the counter's slot is 16 bits wide: the rest of the place goes to the draw block
            word, block = stream_word(DRAW_SIZE, at & 0xFFFF), np.uint32((at >> 16) << 16)
            phi = gamma(shape, low, high, c0, key.sweep, word, block) / scratch.tilt[at]
        scratch.phi[at] = phi
    lowest = max(1.0 - typical / mass, LEAST_TILT)
    floor = settings.smallest * lowest
    expected = communities * prior.alpha * expint_e1(floor)
    births = poisson(expected, low, high, c0, key.sweep, stream_word(DRAW_BIRTHS, 0), np.uint32(0))
    for i in range(min(np.int64(births), MAX_BIRTHS)):
        w0, w1, _, _ = philox4x32(c0, key.sweep, stream_word(DRAW_BIRTH_PLACE, i), np.uint32(0), low, high)
        k = np.int64((np.uint64(w0) * np.uint64(communities)) >> np.uint64(32))
        at = scratch.place[k]
        if at >= 0 and scratch.count[at] > 0.0:
            continue
        tilt = scratch.tilt[at] if at >= 0 else tilt_of(k, typical, mass, members, strengths)
        size = levy_jump(floor, low, high, c0, key.sweep, stream_word(DRAW_BIRTH_SIZE, i), np.uint32(0)) / lowest
        if uniform32(w1) > math.exp(-(tilt - lowest) * size):
            continue
        if at < 0:
            at = count
            add_local(k, 0.0, 0.0, at, scratch)
            scratch.tilt[at] = tilt
            scratch.count[at] = 0.0
            count += 1
        scratch.phi[at] += size
    return count


@kernel
def log_residual(
    count: int, own: int, total: float, new: bool, mass: float, members: np.ndarray, strengths: Strengths,
    scratch: Scratch,
) -> float:  # fmt: skip
    """(G4) log of what the tilted proposal leaves to the test, at the old or the new memberships.

    log prod_nonlinks Z + A log(sum lambda_k pi_k). The product is resummed as in (S5): the R_k^2/R2_k members
    of community k that weigh R2_k/R_k each contribute log(1 - d_k pi_k (R2_k/R_k) / (1 - delta)).
    """
    background = strengths.value[-1]
    result, tilt = 0.0, 0.0
    for at in range(count):
        pi = scratch.phi[at] / total if new else (scratch.pi[at] if at < own else 0.0)
        if pi <= 0.0:
            continue
        k = scratch.community[at]
        tilt += scratch.tilt[at] * pi
        mine = scratch.pi[at] if at < own else 0.0
        rest = members[k, MEMBERS] - mine - scratch.near[at]
        if rest <= 1e-9:
            continue
        squares = min(max(members[k, MEMBERS_SQUARED] - mine * mine - scratch.near_squared[at], 1e-3 * rest), rest)
        v = (strengths.value[k] - background) * pi * squares / rest / (1.0 - background)
        result += rest * rest / squares * math.log(max(1.0 - v, LEAST_NON_LINK))
    return result + mass * math.log(tilt)


@kernel
def set_exposure(own: int, members: np.ndarray, strengths: Strengths, scratch: Scratch) -> None:
    """(S5) exposure_k of the node's communities, for the statistics of the strengths."""
    background = strengths.value[-1]
    for at in range(own):
        k = scratch.community[at]
        pi = scratch.pi[at]
        rest = members[k, MEMBERS] - pi - scratch.near[at]
        scratch.exposure[at] = 0.0
        if rest > 1e-9:
            squares = min(max(members[k, MEMBERS_SQUARED] - pi * pi - scratch.near_squared[at], 0.0), rest)
            d = strengths.value[k] - background
            scratch.exposure[at] = rest / max(1.0 - background - d * pi * squares / rest, LEAST_NON_LINK)


@kernel
def redraw_node(
    a: int, at: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray, strengths: Strengths,
    prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """Draw node a's memberships into row `at` of `fresh`; returns its links inside communities and the mass dropped."""
    degree = network.offsets[a + 1] - network.offsets[a]
    mass = degree + len(members) * prior.alpha
    own = load_row(rows, a, scratch)
    count = draw_links(a, own, network, rows, strengths, key, scratch)
    leave_out_hidden(a, network, rows, scratch)
    set_exposure(own, members, strengths, scratch)
    inside = gather_statistics(own, strengths, scratch, statistics)
    typical = set_tilts(count, own, degree, mass, members, strengths, scratch)
    count = draw_links_again(a, count, typical, mass, members, network, rows, strengths, prior, key, scratch)
    for place in range(count):
        scratch.old[place] = scratch.phi[place]
    count = draw_row(a, count, typical, mass, members, strengths, prior, settings, key, scratch)
    total = 0.0
    for place in range(count):
        total += scratch.phi[place]
    accepted = False
    if total > 0.0:
        gain = log_residual(count, own, total, True, mass, members, strengths, scratch)
        gain -= log_residual(count, own, total, False, mass, members, strengths, scratch)
        word, _, _, _ = philox4x32(np.uint32(a), key.sweep, stream_word(DRAW_TEST, 0), np.uint32(0), key.low, key.high)
        accepted = math.log(uniform32(word)) < gain
    if not accepted:
        for place in range(count):
            scratch.phi[place] = scratch.old[place] if place < own else 0.0
    kept, dropped = keep_largest(count, rows.words.shape[1] // 2, settings.smallest, scratch)
    write_row(kept, at, fresh, scratch, statistics)
    return inside, (0.0 if accepted else 1.0)


@kernel
def redraw_range(
    begin: int, end: int, first: int, stride: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray,
    strengths: Strengths, prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
    sums: np.ndarray,
) -> None:  # fmt: skip
    """Redraw nodes first + i * stride for i in [begin, end): one worker's share of a batch."""
    for i in range(begin, end):
        inside, dropped = redraw_node(
            first + i * stride, i, network, rows, fresh, members, strengths, prior, settings, key, scratch, statistics
        )
        sums[0] += np.int64(inside * 2.0**30)
        sums[1] += np.int64(dropped * 2.0**30)
