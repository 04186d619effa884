"""Stratified mini-batches: pairs for the strengths, and a sample of partners for every membership.

A mini-batch of pairs is a node a drawn uniformly and a fair coin: all training links of a, or n of its training
non-links, drawn without replacement. Every pair has two ends and is reached from either of them, so with

    (L1)  h = N |P| / n,   P the links (or non-links) of a and n how many of them are in the mini-batch,

h times a sum over the mini-batch is an unbiased estimate of the sum over all training pairs. For links n = |P| and
h = N; for non-links the mean of |P| over the nodes is 2 M0/N, which makes h the 2 M0/n of (E3). A node with fewer
than n non-links gives all it has; a node without links (or non-links) gives an empty mini-batch, whose sum is 0.

The partners of a node are n_1 of its neighbours and n_0 of its non-neighbours, drawn without replacement, with

    (L2)  c_1 = |N(a)| / n_1,   c_0 = (N - 1 - |N(a)| - |H(a)|) / n_0,   H(a) the nodes a is held out with,

and all of them, with weight 1, where there are no more than that (E4). Held-out pairs enter neither (E5).

The paper draws non-links from the whole network (L11) and prints other scales (L12); `Strata` chooses.

Random numbers are keyed by chain, iteration and node (`key.sweep` counts iterations here). Non-neighbours are
never listed: the one of a given rank is found by bisection, so that nothing is rejected on a nearly complete network.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import kernel
from blockmix.numerics.philox import Word, philox4x32, stream_word
from blockmix.numerics.purposes import (
    DRAW_BATCH,
    DRAW_BATCH_NON_LINKS,
    DRAW_NON_PARTNERS,
    DRAW_PARTNERS,
)
from blockmix.numerics.search import first_from
from blockmix.numerics.variates import uniform53
from blockmix.tables.layout import Key, Network

_TOP_BIT = np.uint32(31)

Nodes = NDArray[np.int64]


class Strata(NamedTuple):
    """How mini-batches of pairs are drawn: n non-links, from one node or from the network, with which scales.

    `above` is empty for the non-links of one node. For those of the network above[a] counts the non-links (c, d) with
    c < a and c < d, and above[N] all of them. `printed` chooses the scales of (L12).
    """

    non_links: int
    above: NDArray[np.int64]
    printed: bool


class PairBuffer(NamedTuple):
    """Arrays for a mini-batch: the two ends of its pairs, and its nodes."""

    first: Nodes
    second: Nodes
    nodes: Nodes


@kernel
def count_up_to(entries: np.ndarray, begin: int, end: int, value: int) -> int:
    """Count how many of the increasing entries[begin:end] are at most `value`."""
    return first_from(entries, begin, end, value + 1) - begin


@kernel
def non_neighbors(a: int, network: Network) -> int:
    """(L2) Count the non-neighbours of a: not a itself, no neighbour, no node it is held out with."""
    degree = network.offsets[a + 1] - network.offsets[a]
    hidden = network.hidden_offsets[a + 1] - network.hidden_offsets[a]
    return int(len(network.offsets) - 2 - degree - hidden)


@kernel
def nth_non_neighbor(rank: int, a: int, network: Network) -> int:
    """Find the non-neighbour of a with this rank, 0 for the smallest, by bisection.

    It is the first node that has rank + 1 non-neighbours up to it; at most all excluded nodes come before it.
    """
    begin, end = network.offsets[a], network.offsets[a + 1]
    hidden_begin, hidden_end = network.hidden_offsets[a], network.hidden_offsets[a + 1]
    low, high = rank, rank + 1 + end - begin + hidden_end - hidden_begin
    while low < high:
        middle = (low + high) // 2
        excluded = np.int64(a <= middle) + count_up_to(network.neighbors, begin, end, middle)
        excluded += count_up_to(network.hidden_neighbors, hidden_begin, hidden_end, middle)
        if middle - excluded < rank:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def sample_ranks(count: int, population: int, purpose: Word, a: int, key: Key, out: np.ndarray) -> None:
    """Draw a uniform subset of 0..population-1 with `count` members into out[:count], by Floyd's algorithm.

    One random number for each member and no list of the population: number j is uniform on 0..j, and where it is in
    the subset already, j itself is added, which cannot be in it.
    """
    word = stream_word(purpose, 0)
    spare = 0.0
    for i in range(count):
        if i % 2 == 0:
            w0, w1, w2, w3 = philox4x32(np.uint32(a), key.sweep, word, np.uint32(i // 2), key.low, key.high)
            u, spare = uniform53(w0, w1), uniform53(w2, w3)
        else:
            u = spare
        last = population - count + i
        rank = int(u * (last + 1))
        for j in range(i):
            if out[j] == rank:
                rank = last
                break
        out[i] = rank


@kernel
def sample_neighbors(a: int, most: int, network: Network, key: Key, out: np.ndarray) -> tuple[int, float]:
    """Draw at most `most` neighbours of a into `out`; return how many, and the weight c_1 of each (L2)."""
    begin = network.offsets[a]
    degree = network.offsets[a + 1] - begin
    if degree <= most:
        for i in range(degree):
            out[i] = network.neighbors[begin + i]
        return degree, 1.0
    sample_ranks(most, degree, DRAW_PARTNERS, a, key, out)
    for i in range(most):
        out[i] = network.neighbors[begin + out[i]]
    return most, degree / most


@kernel
def sample_non_neighbors(
    a: int, most: int, purpose: Word, network: Network, key: Key, out: np.ndarray
) -> tuple[int, float]:
    """Draw at most `most` non-neighbours of a into `out`; return how many, and the weight c_0 of each (L2).

    `purpose` keeps the random numbers for a mini-batch of pairs (DRAW_BATCH_NON_LINKS) apart from those for the
    update of a's own memberships (DRAW_NON_PARTNERS).
    """
    population = non_neighbors(a, network)
    if population <= most:
        for rank in range(population):
            out[rank] = nth_non_neighbor(rank, a, network)
        return max(population, 0), 1.0
    sample_ranks(most, population, purpose, a, key, out)
    for i in range(most):
        out[i] = nth_non_neighbor(out[i], a, network)
    return most, population / most


@kernel
def sample_partners(
    a: int, most: int, printed: bool, network: Network, key: Key, out: np.ndarray
) -> tuple[int, float]:
    """(L2) Draw non-neighbours for the update of a's memberships, with the exact c_0 or (L12) the printed one."""
    count, weight = sample_non_neighbors(a, most, DRAW_NON_PARTNERS, network, key, out)
    if printed and count > 0:
        nodes, degree = len(network.offsets) - 1, network.offsets[a + 1] - network.offsets[a]
        return count, (nodes - degree) / count
    return count, weight


@kernel
def nth_non_link(rank: int, strata: Strata, network: Network) -> tuple[int, int]:
    """Find the non-link (a, b), a < b, with this rank among all of the network, ordered by a and then by b."""
    a = count_up_to(strata.above, 0, len(strata.above), rank) - 1
    before = strata.above[a]
    below = non_neighbors(a, network) - (strata.above[a + 1] - before)
    return a, nth_non_neighbor(below + rank - before, a, network)


@kernel
def add_node(a: int, count: int, nodes: np.ndarray) -> int:
    """Add a node to nodes[:count] where it is not among them; returns how many there are now."""
    for i in range(count):
        if nodes[i] == a:
            return count
    nodes[count] = a
    return count + 1


@kernel
def draw_from_network(
    strata: Strata, network: Network, key: Key, buffer: PairBuffer
) -> tuple[int, int, float]:
    """(L11) Draw non-links from all of the network; returns how many, the number of their nodes, and h."""
    population = strata.above[len(strata.above) - 1]
    count = min(strata.non_links, population)
    if count == population:
        for rank in range(population):
            buffer.second[rank] = rank
    else:
        sample_ranks(count, population, DRAW_BATCH_NON_LINKS, 0, key, buffer.second)
    nodes = 0
    for i in range(count):
        a, b = nth_non_link(buffer.second[i], strata, network)
        buffer.first[i], buffer.second[i] = a, b
        nodes = add_node(b, add_node(a, nodes, buffer.nodes), buffer.nodes)
    return count, nodes, 2.0 * population / max(count, 1)


@kernel
def draw_pairs(network: Network, strata: Strata, key: Key, buffer: PairBuffer) -> tuple[int, int, int, float]:
    """(L1), (L11) Draw a stratified mini-batch of pairs; return y, the numbers of pairs and nodes, and the scale h.

    The pairs are (buffer.first[i], buffer.second[i]), all links (y = 1) or all non-links (y = 0); every node of them is
    once in `buffer.nodes`. Pairs with the same first node are next to each other.
    """
    nodes = len(network.offsets) - 1
    w0, w1, w2, _ = philox4x32(
        np.uint32(0), key.sweep, stream_word(DRAW_BATCH, 0), np.uint32(0), key.low, key.high
    )
    a = int(uniform53(w0, w1) * nodes)
    y = int(np.uint32(w2) >> _TOP_BIT)
    if y == 0 and len(strata.above):
        count, found, scale = draw_from_network(strata, network, key, buffer)
    else:
        if y:
            degree = network.offsets[a + 1] - network.offsets[a]
            count, weight = sample_neighbors(a, degree, network, key, buffer.second)
        else:
            count, weight = sample_non_neighbors(
                a, strata.non_links, DRAW_BATCH_NON_LINKS, network, key, buffer.second
            )
        found, scale = count + 1, nodes * weight
        buffer.nodes[0] = a
        for i in range(count):
            buffer.first[i], buffer.nodes[i + 1] = a, buffer.second[i]
    if y == 0 and strata.printed and count > 0:
        scale = np.float64(nodes) * nodes / count
    return y, count, found, scale
