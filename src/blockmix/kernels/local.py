"""The local step: one node's memberships, given everybody else's. Sparse SCIR, equations (S1) to (P3).

Read in the order of `update_node`. The local lists in `Scratch` hold the communities this update knows of:
first those in the node's slots, then, in warm-up, the candidates drawn in by its neighbours, then births.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.kernels.cir import cir_scale, cir_step
from blockmix.kernels.layout import (
    DRAW_BIRTH_PLACE,
    DRAW_BIRTH_SIZE,
    DRAW_BIRTHS,
    DRAW_JUMPS,
    DRAW_NEIGHBORS,
    DRAW_NON_LINKS,
    DRAW_SIZE,
    EXPOSURE,
    FIXED_POINT,
    LINKS_INSIDE,
    MAX_BIRTHS,
    MAX_CANDIDATES,
    MEMBERS,
    MEMBERS_SQUARED,
    Index,
    Key,
    Network,
    Prior,
    Rows,
    Scratch,
    Settings,
    Strengths,
)
from blockmix.kernels.philox import inlined_kernel, kernel, philox4x32, stream_word
from blockmix.kernels.special import expint_e1
from blockmix.kernels.variates import levy_jump, poisson, uniform, uniform32

# A community can hold links only, so that its exposure to non-links is a difference of nearly equal sums.
TINY = 1e-12
# 1 - delta - d pi R2/R is at least 1 - beta; this keeps a strength next to one from dividing by zero.
LEAST_DENOMINATOR = 1e-6


@inlined_kernel
def load_row(rows: Rows, a: int, scratch: Scratch) -> int:
    """Copy the node's slots to the local lists; returns how many there are."""
    slots = rows.words.shape[1] // 2
    total = np.float64(rows.total[a])
    count = 0
    for j in range(slots):
        k = rows.words[a, 2 * j]
        if k < 0:
            break
        pi = np.float64(rows.weights[a, 2 * j + 1])
        add_local(k, pi * total, pi, count, scratch)
        count += 1
    return count


@inlined_kernel
def add_local(k: Index, phi: float, pi: float, at: int, scratch: Scratch) -> None:
    """Append community k to the local lists."""
    scratch.place[k] = at
    scratch.community[at] = k
    scratch.phi[at] = phi
    scratch.pi[at] = pi
    scratch.gain[at] = 0.0
    scratch.near[at] = 0.0
    scratch.near_squared[at] = 0.0


@inlined_kernel
def systematic_sample(a: int, degree: int, settings: Settings, key: Key) -> tuple[int, float, float]:
    """How many of the node's neighbours are read, with what weight c_1, and the random offset of the first.

    At most n_1 are read. Of a longer list every (degree/n_1)-th is taken from the offset on, so that each
    neighbour is read with the same probability n_1/degree and c_1 = degree/n_1.
    """
    if degree <= settings.neighbors:
        return degree, 1.0, 0.0
    weight = degree / settings.neighbors
    word = stream_word(DRAW_NEIGHBORS, 0)
    u = uniform(key.low, key.high, np.uint32(a), key.sweep, word, np.uint32(0))
    return settings.neighbors, weight, u * weight


@inlined_kernel
def sampled_place(i: int, offset: float, weight: float, degree: int) -> int:
    """Where the i-th neighbour of a systematic sample stands in the list of all."""
    return min(int(offset + i * weight), degree - 1)


@kernel
def read_links(
    a: int, count: int, network: Network, rows: Rows, strengths: Strengths, prior: Prior, settings: Settings,
    key: Key, scratch: Scratch,
) -> tuple[int, float]:  # fmt: skip
    """(S4) Gather W and, per community, sum c1 pi_bk/Z_b; returns the number of communities and W."""
    begin = network.offsets[a]
    degree = network.offsets[a + 1] - begin
    reads, weight, offset = systematic_sample(a, degree, settings, key)
    background = strengths.value[-1]
    pulled = prior.alpha / np.float64(rows.total[a])
    slots = rows.words.shape[1] // 2
    own = count
    total = 0.0
    for i in range(reads):
        b = network.neighbors[begin + sampled_place(i, offset, weight, degree)]
        z = background
        used = 0
        for j in range(slots):
            k = rows.words[b, 2 * j]
            if k < 0:
                break
            pi_b = np.float64(rows.weights[b, 2 * j + 1])
            at = scratch.place[k]
            d = strengths.value[k] - background
            if at < 0 and settings.pull and pi_b > settings.cut and d > 0.0 and count < own + MAX_CANDIDATES:
                at = count
                add_local(k, 0.0, pulled, at, scratch)
                count += 1
            scratch.hit[j] = at
            used += 1
            if at >= 0:
                z += d * scratch.pi[at] * pi_b
        scaled = weight / z
        total += background * scaled
        for j in range(used):
            at = scratch.hit[j]
            if at >= 0:
                pi_b = np.float64(rows.weights[b, 2 * j + 1])
                scratch.gain[at] += scaled * pi_b
                scratch.near[at] += weight * pi_b
                scratch.near_squared[at] += weight * pi_b * pi_b
    return count, total


@inlined_kernel
def leave_out_hidden(a: int, network: Network, rows: Rows, scratch: Scratch) -> None:
    """Held-out partners are no non-neighbours either: count them with the neighbours that (S3) leaves out."""
    slots = rows.words.shape[1] // 2
    for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
        b = network.hidden_neighbors[i]
        for j in range(slots):
            k = rows.words[b, 2 * j]
            if k < 0:
                break
            at = scratch.place[k]
            if at >= 0:
                pi_b = np.float64(rows.weights[b, 2 * j + 1])
                scratch.near[at] += pi_b
                scratch.near_squared[at] += pi_b * pi_b


@kernel
def non_link_exposure(
    count: int, own: int, members: np.ndarray, strengths: Strengths, resum: bool, scratch: Scratch
) -> None:
    """(S3), (S5) exposure_k = sum over non-neighbours of pi_bk/Z_ab, in closed form from S_k and Q_k."""
    background = strengths.value[-1]
    for at in range(count):
        k = scratch.community[at]
        pi = scratch.pi[at] if at < own else 0.0
        rest = members[k, MEMBERS] - pi - scratch.near[at]
        if rest <= TINY:
            scratch.exposure[at] = 0.0
            continue
        denominator = 1.0 - background
        if resum:
            squares = min(max(members[k, MEMBERS_SQUARED] - pi * pi - scratch.near_squared[at], 0.0), rest)
            denominator -= (strengths.value[k] - background) * scratch.pi[at] * squares / rest
        scratch.exposure[at] = rest / max(denominator, LEAST_DENOMINATOR)


@kernel
def stands_in(entries: np.ndarray, begin: int, end: int, value: int) -> bool:
    """Binary search for a value in the increasing entries[begin:end]."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < end and entries[low] == value


@kernel
def is_non_link(a: int, b: int, network: Network) -> bool:
    """Whether a and b are two nodes seen not to be linked."""
    if a == b or stands_in(network.neighbors, network.offsets[a], network.offsets[a + 1], b):
        return False
    return not stands_in(
        network.hidden_neighbors, network.hidden_offsets[a], network.hidden_offsets[a + 1], b
    )


@kernel
def correct_non_links(
    a: int, count: int, network: Network, rows: Rows, strengths: Strengths, settings: Settings, key: Key,
    scratch: Scratch,
) -> None:  # fmt: skip
    """(S3) Add c_0 times the sum over sampled non-links of (exact - first order): unbiased again.

    With as many draws as there are non-neighbours all of them are visited instead, and the sum is exact.
    """
    nodes = len(network.offsets) - 1
    degree = network.offsets[a + 1] - network.offsets[a]
    hidden = network.hidden_offsets[a + 1] - network.hidden_offsets[a]
    eligible = nodes - 1 - degree - hidden
    if eligible <= 0:
        return
    everyone = settings.non_links >= eligible
    weight = 1.0 if everyone else eligible / settings.non_links
    draws = nodes if everyone else settings.non_links
    attempt = 0
    for i in range(draws):
        if everyone:
            b = i
            if not is_non_link(a, b, network):
                continue
        else:
            b = a
            while not is_non_link(a, b, network):
                word, _, _, _ = philox4x32(
                    np.uint32(a),
                    key.sweep,
                    stream_word(DRAW_NON_LINKS, 0),
                    np.uint32(attempt),
                    key.low,
                    key.high,
                )
                b = int(np.int64((np.uint64(word) * np.uint64(nodes)) >> np.uint64(32)))
                attempt += 1
        add_correction(b, weight, rows, strengths, scratch)


@kernel
def add_correction(b: int, weight: float, rows: Rows, strengths: Strengths, scratch: Scratch) -> None:
    """One non-neighbour's exact term less its first-order term, times its weight."""
    background = strengths.value[-1]
    slots = rows.words.shape[1] // 2
    shared = 0.0
    for j in range(slots):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.place[k]
        if at >= 0:
            shared += (
                (strengths.value[k] - background) * scratch.pi[at] * np.float64(rows.weights[b, 2 * j + 1])
            )
    error = 1.0 / max(1.0 - background - shared, LEAST_DENOMINATOR) - 1.0 / (1.0 - background)
    if error == 0.0:
        return
    for j in range(slots):
        k = rows.words[b, 2 * j]
        if k < 0:
            break
        at = scratch.place[k]
        if at >= 0:
            scratch.exposure[at] += weight * error * np.float64(rows.weights[b, 2 * j + 1])


@kernel
def mean_exposure(own: int, strengths: Strengths, scratch: Scratch) -> float:
    """X = sum_k pi_k x_k with x_k = (beta_k - delta) exposure_k."""
    background = strengths.value[-1]
    mean = 0.0
    for at in range(own):
        k = scratch.community[at]
        mean += scratch.pi[at] * (strengths.value[k] - background) * scratch.exposure[at]
    return mean


@inlined_kernel
def split_drift(
    at: int,
    background_gain: float,
    mean: float,
    total: float,
    strengths: Strengths,
    prior: Prior,
    scratch: Scratch,
) -> tuple[float, float]:
    """(S2) The drift of a local community as A_k - b_k phi_k; returns A_k and b_k.

    Non-links add pi_k (X - x_k): where that is positive it goes to A, where it is negative to b.
    """
    d = strengths.value[scratch.community[at]] - strengths.value[-1]
    pi = scratch.pi[at]
    shape = prior.alpha + pi * (background_gain + d * scratch.gain[at])
    rate = 1.0
    net = mean - d * scratch.exposure[at]
    if net > 0.0:
        shape += pi * net
    else:
        rate -= net / total
    return shape, rate


@kernel
def move(
    a: int, count: int, own: int, background_gain: float, mean: float, total: float, strengths: Strengths,
    prior: Prior, settings: Settings, key: Key, scratch: Scratch,
) -> None:  # fmt: skip
    """(S2) Replace every local phi by a draw from its CIR transition."""
    for at in range(count):
        shape, rate = split_drift(at, background_gain, mean, total, strengths, prior, scratch)
        phi = scratch.phi[at] if at < own else 0.0
        scratch.phi[at] = cir_step(
            phi,
            shape,
            rate,
            settings.step,
            key.low,
            key.high,
            np.uint32(a),
            key.sweep,
            DRAW_JUMPS,
            DRAW_SIZE,
            at,
        )


@inlined_kernel
def weight_in(b: int, k: int, rows: Rows) -> float:
    """pi_bk."""
    for j in range(rows.words.shape[1] // 2):
        if rows.words[b, 2 * j] == k:
            return np.float64(rows.weights[b, 2 * j + 1])
        if rows.words[b, 2 * j] < 0:
            break
    return 0.0


@kernel
def near_in(a: int, k: int, network: Network, rows: Rows, settings: Settings, key: Key) -> float:
    """Sum of pi_bk over neighbours and held-out partners, for a community that is not in the local lists."""
    begin = network.offsets[a]
    degree = network.offsets[a + 1] - begin
    reads, weight, offset = systematic_sample(a, degree, settings, key)
    near = 0.0
    for i in range(reads):
        near += weight * weight_in(
            network.neighbors[begin + sampled_place(i, offset, weight, degree)], k, rows
        )
    for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
        near += weight_in(network.hidden_neighbors[i], k, rows)
    return near


@kernel
def birth_survives(
    a: int, k: int, size: float, u: float, mean: float, total: float, network: Network, rows: Rows,
    members: np.ndarray, strengths: Strengths, settings: Settings, key: Key,
) -> bool:  # fmt: skip
    """(P2) Whether a birth proposed at rate one happens at the rate b_k of its community, with the uniform u.

    Non-links make b_k = 1 + loss/total and c_k larger: a birth of this size is kept with probability
    e^(-(c_k - c) size). Neighbours in k are no non-links; they are looked up only where that could matter.
    """
    background = strengths.value[-1]
    per_member = (strengths.value[k] - background) / (1.0 - background)
    loss = per_member * members[k, MEMBERS] - mean
    scale = cir_scale(1.0, settings.step)
    survives = loss <= 0.0 or u <= math.exp(-(cir_scale(1.0 + loss / total, settings.step) - scale) * size)
    if survives == (per_member > 0.0):
        return survives
    loss -= per_member * near_in(a, k, network, rows, settings, key)
    return loss <= 0.0 or u <= math.exp(-(cir_scale(1.0 + loss / total, settings.step) - scale) * size)


@kernel
def give_birth(
    a: int, count: int, network: Network, rows: Rows, members: np.ndarray, mean: float, total: float,
    strengths: Strengths, prior: Prior, settings: Settings, key: Key, scratch: Scratch,
) -> int:  # fmt: skip
    """(P2) Communities at zero reborn above the smallest phi that is kept; returns the new local count.

    Births are proposed over all communities as if no non-link spoke against them, then thinned: those in the
    local lists are no births, and a community more exposed to non-links than the node's own has fewer. Two
    that fall on one community add up, as the jumps of a Gamma process do.
    """
    known = count
    communities = len(members)
    scale = cir_scale(1.0, settings.step)
    floor = settings.smallest * scale
    c0, low, high = np.uint32(a), key.low, key.high
    expected = communities * prior.alpha * expint_e1(floor)
    births = poisson(expected, low, high, c0, key.sweep, stream_word(DRAW_BIRTHS, 0), np.uint32(0))
    for i in range(min(int(births), MAX_BIRTHS)):
        word, other, _, _ = philox4x32(
            c0, key.sweep, stream_word(DRAW_BIRTH_PLACE, i), np.uint32(0), low, high
        )
        k = int(np.int64((np.uint64(word) * np.uint64(communities)) >> np.uint64(32)))
        at = scratch.place[k]
        if 0 <= at < known:
            continue
        size = (
            levy_jump(floor, low, high, c0, key.sweep, stream_word(DRAW_BIRTH_SIZE, i), np.uint32(0)) / scale
        )
        if not birth_survives(
            a, k, size, uniform32(other), mean, total, network, rows, members, strengths, settings, key
        ):
            continue
        if at < 0:
            add_local(k, 0.0, 0.0, count, scratch)
            at = count
            count += 1
        scratch.phi[at] += size
    return count


@inlined_kernel
def keep_largest(count: int, slots: int, smallest: float, scratch: Scratch) -> tuple[int, float]:
    """(P3) Move what is kept to the front of the local lists; returns how many and the phi dropped.

    Everything below the smallest phi goes, then the smallest of more than L; at least one stays.
    """
    dropped = 0.0
    kept = 0
    best = 0
    for at in range(count):
        if scratch.phi[at] > scratch.phi[best]:
            best = at
    for at in range(count):
        phi, k = scratch.phi[at], scratch.community[at]
        scratch.place[k] = -1
        if phi < smallest and at != best:
            dropped += phi
            continue
        to = kept
        if kept == slots:
            to = 0
            for other in range(1, slots):
                if scratch.phi[other] < scratch.phi[to]:
                    to = other
            if phi <= scratch.phi[to]:
                dropped += phi
                continue
            dropped += scratch.phi[to]
        else:
            kept += 1
        scratch.phi[to] = phi
        scratch.community[to] = k
    # Where everything fell below the smallest phi, as it can for a node without links, the largest stays.
    scratch.phi[0] = max(scratch.phi[0], smallest)
    return kept, dropped


@inlined_kernel
def gather_statistics(own: int, strengths: Strengths, scratch: Scratch, statistics: np.ndarray) -> float:
    """(S6) Add this node's half of the pairs inside each of its communities; returns that of the links."""
    inside = 0.0
    for at in range(own):
        k = scratch.community[at]
        pi = scratch.pi[at]
        links = 0.5 * pi * strengths.value[k] * scratch.gain[at]
        inside += links
        statistics[k, LINKS_INSIDE] += np.int64(links * FIXED_POINT)
        statistics[k, EXPOSURE] += np.int64(0.5 * pi * scratch.exposure[at] * FIXED_POINT)
        statistics[k, MEMBERS] -= np.int64(pi * FIXED_POINT)
        statistics[k, MEMBERS_SQUARED] -= np.int64(pi * pi * FIXED_POINT)
    return inside


@inlined_kernel
def write_row(kept: int, at: int, fresh: Rows, scratch: Scratch, statistics: np.ndarray) -> None:
    """Store the new memberships and add them to the sums over nodes."""
    total = 0.0
    for j in range(kept):
        total += scratch.phi[j]
    fresh.total[at] = total
    for j in range(kept):
        pi = np.float32(scratch.phi[j] / total)
        k = scratch.community[j]
        fresh.words[at, 2 * j] = k
        fresh.weights[at, 2 * j + 1] = pi
        statistics[k, MEMBERS] += np.int64(np.float64(pi) * FIXED_POINT)
        statistics[k, MEMBERS_SQUARED] += np.int64(np.float64(pi) * np.float64(pi) * FIXED_POINT)
    if kept < fresh.words.shape[1] // 2:
        fresh.words[at, 2 * kept] = -1


@kernel
def update_node(
    a: int, at: int, network: Network, rows: Rows, fresh: Rows, members: np.ndarray, strengths: Strengths,
    prior: Prior, settings: Settings, key: Key, scratch: Scratch, statistics: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """Draw node a's memberships into row `at` of `fresh`.

    Returns its half of the links inside communities, and the share of phi dropped.
    """
    total = np.float64(rows.total[a])
    own = load_row(rows, a, scratch)
    count, background_gain = read_links(a, own, network, rows, strengths, prior, settings, key, scratch)
    leave_out_hidden(a, network, rows, scratch)
    non_link_exposure(count, own, members, strengths, settings.non_links == 0, scratch)
    if settings.non_links > 0:
        correct_non_links(a, count, network, rows, strengths, settings, key, scratch)
    inside = gather_statistics(own, strengths, scratch, statistics)
    mean = mean_exposure(own, strengths, scratch)
    move(a, count, own, background_gain, mean, total, strengths, prior, settings, key, scratch)
    count = give_birth(
        a, count, network, rows, members, mean, total, strengths, prior, settings, key, scratch
    )
    kept, dropped = keep_largest(count, rows.words.shape[1] // 2, settings.smallest, scratch)
    write_row(kept, at, fresh, scratch, statistics)
    return inside, dropped / (dropped + np.float64(fresh.total[at]))


@kernel
def update_range(
    begin: int, end: int, first: int, stride: int, network: Network, rows: Rows, fresh: Rows,
    members: np.ndarray, strengths: Strengths, prior: Prior, settings: Settings, key: Key, scratch: Scratch,
    statistics: np.ndarray, sums: np.ndarray,
) -> None:  # fmt: skip
    """Update nodes first + i * stride for i in [begin, end): one worker's share of a batch."""
    for i in range(begin, end):
        inside, dropped = update_node(
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
        sums[2] += np.int64(FIXED_POINT)


@kernel
def commit_range(begin: int, end: int, first: int, stride: int, rows: Rows, fresh: Rows) -> None:
    """Copy a batch's new rows into the table, once every worker has finished reading the old ones."""
    for i in range(begin, end):
        a = first + i * stride
        rows.total[a] = fresh.total[i]
        for j in range(rows.words.shape[1]):
            rows.words[a, j] = fresh.words[i, j]
