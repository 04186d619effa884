"""What non-links say: the closed form (S3), (S5), and its unbiased correction from a sample."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_NON_LINKS
from blockmix.samplers.scir.frame import MEMBERS, MEMBERS_SQUARED, Scratch, Settings
from blockmix.tables.layout import Key, Network, Rows, Strengths

# A community can hold links only, so that its exposure to non-links is a difference of nearly equal sums.
TINY = 1e-12
# 1 - delta - d pi R2/R is at least 1 - beta; this keeps a strength next to one from dividing by zero.
LEAST_DENOMINATOR = 1e-6


@inlined_lean_kernel
def resummed_exposure(rest: float, squares: float, d: float, free: float) -> float:
    """(S5) Sum over non-neighbours of pi_bk/Z_ab, from R_k, R2_k, d = d_k pi_ak and 1 - delta: mean of two cases."""
    if rest <= TINY:
        return 0.0
    equal_weights = rest / max(free - d * squares / rest, LEAST_DENOMINATOR)
    all_or_nothing = squares / max(free - d, LEAST_DENOMINATOR) + (rest - squares) / free
    return 0.5 * (equal_weights + all_or_nothing)


@lean_kernel
def non_link_exposure(
    count: int, own: int, members: np.ndarray, strengths: Strengths, resum: bool, scratch: Scratch
) -> None:
    """(S3), (S5) exposure_k = sum over non-neighbours of pi_bk/Z_ab, in closed form from S_k and Q_k."""
    background = strengths.value[-1]
    for at in range(count):
        k = scratch.community[at]
        pi = scratch.pi[at] if at < own else 0.0
        rest = members[k, MEMBERS] - pi - scratch.near[at]
        free = 1.0 - background
        if not resum:
            scratch.exposure[at] = max(rest, 0.0) / free
            continue
        squares = min(max(members[k, MEMBERS_SQUARED] - pi * pi - scratch.near_squared[at], 0.0), rest)
        d = (strengths.value[k] - background) * scratch.pi[at]
        scratch.exposure[at] = resummed_exposure(rest, squares, d, free)


@inlined_lean_kernel
def weigh_exposure(count: int, weight: float, scratch: Scratch) -> None:
    """Let every non-link count for this much."""
    for at in range(count):
        scratch.exposure[at] *= weight


@lean_kernel
def mean_exposure(own: int, strengths: Strengths, scratch: Scratch) -> float:
    """X = sum_k pi_k x_k with x_k = (beta_k - delta) exposure_k."""
    background = strengths.value[-1]
    mean = 0.0
    for at in range(own):
        k = scratch.community[at]
        mean += scratch.pi[at] * (strengths.value[k] - background) * scratch.exposure[at]
    return mean


@lean_kernel
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


@lean_kernel
def is_non_link(a: int, b: int, network: Network) -> bool:
    """Whether a and b are two nodes seen not to be linked."""
    if a == b or stands_in(network.neighbors, network.offsets[a], network.offsets[a + 1], b):
        return False
    return not stands_in(
        network.hidden_neighbors, network.hidden_offsets[a], network.hidden_offsets[a + 1], b
    )


@lean_kernel
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


@lean_kernel
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
