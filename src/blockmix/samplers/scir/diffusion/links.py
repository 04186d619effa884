"""Links in the diffusion: the factored form (S4), over a sample of the neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blockmix.model.links import excess, shared_term
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_NEIGHBORS
from blockmix.numerics.variates import uniform
from blockmix.samplers.scir.frame import MAX_CANDIDATES, Frame, Node, Scratch
from blockmix.samplers.scir.rows import add_local


class NeighborSample(NamedTuple):
    """A systematic sample of a node's neighbours: how many are read, what each counts (c_1), where it begins."""

    reads: int
    weight: float
    offset: float


@inlined_lean_kernel
def sample_neighbors(node: Node, frame: Frame) -> NeighborSample:
    """Choose at most n_1 neighbours.

    Of a longer list every (degree/n_1)-th is taken from a random offset on, so that each neighbour is read with the
    same probability n_1/degree and c_1 = degree/n_1.
    """
    most, key = frame.settings.neighbors, frame.key
    if node.degree <= most:
        return NeighborSample(node.degree, 1.0, 0.0)
    weight = node.degree / most
    u = uniform(key.low, key.high, node.name, key.sweep, stream_word(DRAW_NEIGHBORS, 0), np.uint32(0))
    return NeighborSample(most, weight, u * weight)


@inlined_lean_kernel
def sampled_neighbor(i: int, sample: NeighborSample, degree: int) -> int:
    """Return the position of the i-th neighbour of a sample in the list of all."""
    return min(int(sample.offset + i * sample.weight), degree - 1)


@lean_kernel
def read_links(node: Node, count: int, frame: Frame, scratch: Scratch) -> tuple[int, float]:
    """(S4) Gather W and, per community, sum c1 pi_bk/Z_b; returns the number of communities and W."""
    rows, value, settings = frame.rows, frame.strengths.value, frame.settings
    begin = frame.network.offsets[node.place]
    sample = sample_neighbors(node, frame)
    weight = sample.weight
    background = value[-1]
    pulled = node.alpha / np.float64(rows.total[node.place])
    slots = rows.words.shape[1] // 2
    own = count
    total = 0.0
    for i in range(sample.reads):
        b = frame.network.neighbors[begin + sampled_neighbor(i, sample, node.degree)]
        z = background
        used = 0
        for j in range(slots):
            k = rows.words[b, 2 * j]
            if k < 0:
                break
            pi_b = np.float64(rows.weights[b, 2 * j + 1])
            at = scratch.position[k]
            d = excess(value[k], background)
            if at < 0 and settings.pull and pi_b > settings.cut and d > 0.0 and count < own + MAX_CANDIDATES:
                at = count
                add_local(k, 0.0, pulled, at, scratch)
                count += 1
            scratch.hit[j] = at
            used += 1
            if at >= 0:
                z += shared_term(d, scratch.pi[at], pi_b)
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
