"""The local step by link indicators, second half: memberships given the indicators, and the test, (G4)."""

from __future__ import annotations

import math

import numpy as np

from blockmix.kernels.indicators import (
    LEAST_TILT,
    draw_links,
    draw_links_again,
    draw_uniforms,
    set_tilts,
    tilt_of,
)
from blockmix.kernels.layout import (
    DRAW_BIRTH_PLACE,
    DRAW_BIRTH_SIZE,
    DRAW_BIRTHS,
    DRAW_SIZE,
    DRAW_TEST,
    FIXED_POINT,
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
from blockmix.kernels.non_links import non_link_exposure
from blockmix.kernels.philox import inlined_kernel, kernel, philox4x32, stream_word
from blockmix.kernels.rows import (
    add_local,
    gather_statistics,
    keep_largest,
    leave_out_hidden,
    load_row,
    write_row,
)
from blockmix.kernels.special import expint_e1
from blockmix.kernels.variates import gamma, levy_jump, poisson, uniform32

# 1 - v of a non-link stays above this: a strength of one would forbid non-links altogether.
LEAST_NON_LINK = 1e-6


@inlined_kernel
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
    for i in range(min(int(births), MAX_BIRTHS)):
        w0, w1, _, _ = philox4x32(c0, key.sweep, stream_word(DRAW_BIRTH_PLACE, i), np.uint32(0), low, high)
        k = np.int64((np.uint64(w0) * np.uint64(communities)) >> np.uint64(32))
        at = scratch.place[k]
        if at >= 0 and scratch.count[at] > 0.0:
            continue
        tilt = (
            scratch.tilt[at]
            if at >= 0
            else tilt_of(k, typical, mass, members, strengths, settings.non_link_weight)
        )
        size = (
            levy_jump(floor, low, high, c0, key.sweep, stream_word(DRAW_BIRTH_SIZE, i), np.uint32(0)) / lowest
        )
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


@inlined_kernel
def log_residual(
    count: int, own: int, total: float, new: bool, mass: float, members: np.ndarray, strengths: Strengths,
    scratch: Scratch, weight: float = 1.0,
) -> float:  # fmt: skip
    """(G4) log of what the tilted proposal leaves to the test, at the old or the new memberships.

    log prod_nonlinks Z + A log(sum lambda_k pi_k). The product is resummed as in (S5), the mean
    of two cases: members of equal weight, and members that weigh one or next to nothing.
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
        squares = min(
            max(members[k, MEMBERS_SQUARED] - mine * mine - scratch.near_squared[at], 1e-3 * rest), rest
        )
        v = (strengths.value[k] - background) * pi / (1.0 - background)
        equal_weights = rest * rest / squares * math.log(max(1.0 - v * squares / rest, LEAST_NON_LINK))
        all_or_nothing = squares * math.log(max(1.0 - v, LEAST_NON_LINK)) - (rest - squares) * v
        result += 0.5 * (equal_weights + all_or_nothing)
    return weight * result + mass * math.log(tilt)


@inlined_kernel
def redraw_node(
    a: int, at: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray, strengths: Strengths,
    prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
) -> tuple[float, float, float]:  # fmt: skip
    """Draw node a's memberships into row `at` of `fresh`.

    Returns its half of the links inside communities, the share of phi dropped, and 1 if the test was passed.
    """
    degree = network.offsets[a + 1] - network.offsets[a]
    mass = degree + len(members) * prior.alpha
    weight = settings.non_link_weight
    own = load_row(rows, a, scratch)
    draw_uniforms(a, degree, network, rows, key, scratch)
    count = draw_links(a, own, network, rows, strengths, settings.cut, key, scratch)
    leave_out_hidden(a, network, rows, scratch)
    non_link_exposure(own, own, members, strengths, True, scratch)
    inside = gather_statistics(own, strengths, scratch, statistics)
    typical = set_tilts(count, own, degree, mass, members, strengths, scratch, weight)
    count = draw_links_again(a, degree, count, typical, mass, members, strengths, prior, key, scratch, weight)
    for place in range(own):
        scratch.old[place] = scratch.phi[place]
    count = draw_row(a, count, typical, mass, members, strengths, prior, settings, key, scratch)
    total = 0.0
    for place in range(count):
        total += scratch.phi[place]
    accepted = False
    if total > 0.0:
        gain = log_residual(count, own, total, True, mass, members, strengths, scratch, weight)
        gain -= log_residual(count, own, total, False, mass, members, strengths, scratch, weight)
        word, _, _, _ = philox4x32(
            np.uint32(a), key.sweep, stream_word(DRAW_TEST, 0), np.uint32(0), key.low, key.high
        )
        accepted = math.log(uniform32(word)) < gain
    if not accepted:
        for place in range(count):
            scratch.phi[place] = scratch.old[place] if place < own else 0.0
    kept, dropped = keep_largest(count, rows.words.shape[1] // 2, settings.smallest, scratch)
    write_row(kept, at, fresh, scratch, statistics)
    return inside, dropped / (dropped + np.float64(fresh.total[at])), 1.0 if accepted else 0.0


@kernel
def redraw_range(
    begin: int, end: int, first: int, stride: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray,
    strengths: Strengths, prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
    sums: np.ndarray,
) -> None:  # fmt: skip
    """Redraw nodes first + i * stride for i in [begin, end): one worker's share of a batch."""
    for i in range(begin, end):
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
