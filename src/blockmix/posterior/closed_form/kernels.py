"""Non-links of a few nodes in a posterior sample: summed member by member, and in closed form (S5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.samplers.scir.exposure import TINY, resummed_exposure, two_points
from blockmix.samplers.scir.indicators.tilts import LEAST_REST, LEAST_SQUARES, log_of_non_links
from blockmix.tables.layout import Network
from blockmix.tables.samples import PosteriorSample

# What `state` says of a node: not met, a non-link, no non-link.
UNMET, MET, LEFT_OUT = 0, 1, 2


class Table(NamedTuple):
    """A posterior sample by nodes, and by communities: members of k are begin[k] to begin[k + 1] of (place, share).

    `slope` is c_k of (N1).
    """

    offsets: NDArray[np.int64]
    community: NDArray[np.int32]
    weight: NDArray[np.float64]
    begin: NDArray[np.int64]
    place: NDArray[np.int32]
    share: NDArray[np.float64]
    slope: NDArray[np.float64]

    @classmethod
    def of(cls, sample: PosteriorSample) -> Table:
        """Unpack a sample of the assortative model."""
        offsets = sample.packed().offsets
        community = sample.communities.astype(np.int32)
        row = np.repeat(np.arange(len(sample.counts), dtype=np.int32), sample.counts)
        totals = np.bincount(row, weights=sample.weights, minlength=len(sample.counts))
        weight = sample.weights / totals[row]
        value = sample.strengths.astype(np.float64)
        order = np.argsort(sample.communities, kind="stable")
        begin = np.zeros(len(value), dtype=np.int64)
        np.cumsum(np.bincount(community, minlength=len(value) - 1), out=begin[1:])
        slope = (value[:-1] - value[-1]) / (1.0 - value[-1])
        return cls(offsets, community, weight, begin, row[order], weight[order], slope)


class Space(NamedTuple):
    """Work space: v_b of every node met, whether it is a non-link, and which nodes were met."""

    v: NDArray[np.float64]
    state: NDArray[np.int8]
    met: NDArray[np.int32]


def work_space(nodes: int) -> Space:
    """Allocate work space for a network of so many nodes."""
    return Space(np.zeros(nodes), np.zeros(nodes, dtype=np.int8), np.zeros(nodes, dtype=np.int32))


@lean_kernel
def meet(a: int, table: Table, network: Network, space: Space) -> int:
    """Set v_b of all nodes that share a community with a, and leave out those that are no non-links of a."""
    met = 0
    for i in range(table.offsets[a], table.offsets[a + 1]):
        k = table.community[i]
        factor = table.slope[k] * table.weight[i]
        for j in range(table.begin[k], table.begin[k + 1]):
            b = table.place[j]
            if space.state[b] == UNMET:
                space.state[b], space.v[b], space.met[met] = MET, 0.0, b
                met += 1
            space.v[b] += factor * table.share[j]
    if space.state[a] == MET:
        space.state[a] = LEFT_OUT
    for i in range(network.offsets[a], network.offsets[a + 1]):
        if space.state[network.neighbors[i]] == MET:
            space.state[network.neighbors[i]] = LEFT_OUT
    for i in range(network.hidden_offsets[a], network.hidden_offsets[a + 1]):
        if space.state[network.hidden_neighbors[i]] == MET:
            space.state[network.hidden_neighbors[i]] = LEFT_OUT
    return met


@inlined_lean_kernel
def exposure_slope(v: float, rest: float, squares: float) -> float:
    """(S5) Compute the derivative in v of what `resummed_exposure` sums, with 1 - delta = 1 and d = v."""
    share = squares / rest
    both, product = two_points(share)
    above, below = 1.0 - v * (both - share), 1.0 - v * (both - v * product)
    return rest * (above * (both - 2.0 * v * product) - (both - share) * below) / max(below * below, TINY)


@lean_kernel
def compare_nodes(
    nodes: np.ndarray, target: np.ndarray, table: Table, network: Network, space: Space, found: np.ndarray
) -> None:
    """Set found[i] of node i to three sums over its non-links, exact less closed form, k = target[i].

    They are log T, the sum of pi_bk/(1 - v_b), and the derivative of the second in c_k.
    """
    for i in range(len(nodes)):
        a = nodes[i]
        met = meet(a, table, network, space)
        logs, score, slope = 0.0, 0.0, 0.0
        for j in range(met):
            if space.state[space.met[j]] == MET:
                logs += np.log1p(-space.v[space.met[j]])
        for e in range(table.offsets[a], table.offsets[a + 1]):
            k = table.community[e]
            rest, squares, exposure, curve = 0.0, 0.0, 0.0, 0.0
            for j in range(table.begin[k], table.begin[k + 1]):
                b, share = table.place[j], table.share[j]
                if space.state[b] == MET:
                    part = share / (1.0 - space.v[b])
                    rest += share
                    squares += share * share
                    exposure += part
                    curve += part * part
            if rest <= LEAST_REST:
                continue
            v, squares = table.slope[k] * table.weight[e], max(min(squares, rest), LEAST_SQUARES * rest)
            logs -= log_of_non_links(v, rest, squares)
            if k == target[i]:
                score = exposure - resummed_exposure(rest, squares, v, 1.0)
                slope = table.weight[e] * (curve - exposure_slope(v, rest, squares))
        for j in range(met):
            space.state[space.met[j]] = UNMET
        found[i, 0], found[i, 1], found[i, 2] = logs, score, slope
