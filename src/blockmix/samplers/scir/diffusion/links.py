"""What links say in the diffusion: the factored form (S4), over a sample of the neighbours."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_NEIGHBORS
from blockmix.numerics.variates import uniform
from blockmix.samplers.scir.frame import MAX_CANDIDATES, Scratch, Settings
from blockmix.samplers.scir.rows import add_local
from blockmix.tables.layout import Key, Network, Rows, Strengths


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
    a: int, count: int, network: Network, rows: Rows, strengths: Strengths, alpha: float, settings: Settings,
    key: Key, scratch: Scratch,
) -> tuple[int, float]:  # fmt: skip
    """(S4) Gather W and, per community, sum c1 pi_bk/Z_b; returns the number of communities and W."""
    begin = network.offsets[a]
    degree = network.offsets[a + 1] - begin
    reads, weight, offset = systematic_sample(a, degree, settings, key)
    background = strengths.value[-1]
    pulled = alpha / np.float64(rows.total[a])
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
