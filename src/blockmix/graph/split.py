"""Held-out pairs: links and non-links held out before training, to score predictions with.

Links and non-links are numbered row by row, counting only the larger neighbours (or non-neighbours) of a
node. A uniform set of such numbers, drawn without replacement, is turned into pairs by bisection. So every
set of non-links of the wanted size is equally likely, nothing is rejected and nothing is listed: the cost is
O(nodes + held-out pairs), on a nearly complete network as on a sparse one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.build import starts_of
from blockmix.graph.graph import Graph
from blockmix.graph.sides.drawing import draw_across, matched_across
from blockmix.numerics.compile import checked_njit as njit
from blockmix.numerics.search import first_from

MOST_PAIRS = 50_000_000
# Rounds in which matched non-links are drawn; each finds all that are missing unless half of such pairs are links.
_MATCHED_ROUNDS = 40
# Two int64 ends, a flag, and both directions of the hidden rows with their sorting space.
_BYTES_PER_PAIR = 64
# How many non-links are held out: as many as links, or the same share of both.
HOLD_OUT_KINDS = ("balanced", "proportional")


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A network without its held-out links, and the pairs that were held out.

    `pairs` are node numbers a < b, links first, and `links` marks which of them are links. The row of node `a`
    in `hidden_offsets`, `hidden_neighbors` lists the nodes it is held out with, links and non-links alike, in
    increasing order: none of these pairs may enter training (E5). `density` is that of the full network.

    `matched` are further non-links, with ends drawn in proportion to their number of links, as the ends of a link are:
    to rank links above them takes more than to know which nodes have many links. They are not held out.

    Where the network has sides all pairs are of one node of each.

    `weights` are those of the pairs, zero for non-links; None where the network has none.
    """

    training: Graph
    pairs: NDArray[np.int64]
    links: NDArray[np.bool_]
    kind: str
    fraction: float
    density: float
    seed: int
    hidden_offsets: NDArray[np.int64]
    hidden_neighbors: NDArray[Any]
    matched: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    weights: NDArray[np.float64] | None = None

    @property
    def scored_pairs(self) -> NDArray[np.int64]:
        """All pairs that are predicted: the held-out ones, then the matched ones."""
        return np.concatenate((self.pairs, self.matched))

    @property
    def n_pairs(self) -> int:
        """Number of held-out pairs."""
        return len(self.pairs)

    @property
    def n_links(self) -> int:
        """Number of held-out links."""
        return int(np.count_nonzero(self.links))


def hold_out(
    graph: Graph,
    fraction: float,
    *,
    kind: Literal["balanced", "proportional"] = "balanced",
    seed: int = 0,
    max_pairs: int = MOST_PAIRS,
) -> HeldOut:
    """Hold out a fraction of the links, and non-links with them.

    Args:
        graph: the full network.
        fraction: share of the links to hold out, between 0 and 1; the number is rounded to the nearest.
        kind: "balanced" holds out as many non-links as links, "proportional" the same fraction of the
            non-links (E8).
        seed: the same seed gives the same pairs.
        max_pairs: refuse to hold out more pairs than this.

    Example:
        >>> ring = Graph.from_edges([(a, (a + 1) % 20) for a in range(20)])
        >>> held = hold_out(ring, 0.2, seed=1)
        >>> held.n_links, held.n_pairs, held.training.n_edges
        (4, 8, 16)
    """
    n_links, n_nonlinks = _sizes(graph, fraction, kind, max_pairs)
    links, nonlinks = draw_pairs(graph, n_links, n_nonlinks, _seed(seed))
    pairs = np.concatenate((links, nonlinks))
    return HeldOut(
        graph.without_edges(links),
        pairs,
        np.arange(len(pairs)) < n_links,
        kind,
        float(fraction),
        graph.density,
        int(seed),
        *hidden_rows(pairs, graph),
        matched_non_links(graph, n_links, int(seed)),
        None if graph.weights is None else graph.weights_of(pairs),
    )


def draw_pairs(
    graph: Graph, n_links: int, n_nonlinks: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw so many links and so many non-links, each pair at most once; the same for the same seed."""
    # Links are found by their rank among those that rows should have.
    graph.check_links()
    rng = np.random.Generator(np.random.PCG64(seed))
    if graph.sides is not None:
        return draw_across(graph, graph.sides, n_links, n_nonlinks, rng)
    larger = _count_larger(graph.offsets, graph.neighbors)
    nodes = np.arange(graph.n_nodes, dtype=np.int64)
    link_starts = starts_of(larger)
    free_starts = starts_of(graph.n_nodes - 1 - nodes - larger)
    chosen = np.sort(rng.choice(graph.n_edges, n_links, replace=False, shuffle=False))
    links = _nth_links(chosen, link_starts, graph.offsets, graph.neighbors)
    missing = graph.n_pairs - graph.n_edges
    chosen = np.sort(rng.choice(missing, n_nonlinks, replace=False, shuffle=False))
    return links, _nth_nonlinks(chosen, free_starts, larger, graph.offsets, graph.neighbors)


def matched_non_links(graph: Graph, count: int, seed: int) -> NDArray[np.int64]:
    """Draw non-links a < b with both ends in proportion to their number of links; a pair may come twice.

    Two ends of links are drawn at random, and drawn again where they are one node or linked. None are returned where
    nearly all such pairs are links.
    """
    rng = np.random.default_rng([seed, 1])
    if graph.sides is not None:
        return matched_across(graph, graph.sides, count, rng)
    owner = np.repeat(np.arange(graph.n_nodes, dtype=np.int64), graph.degrees)
    found = np.empty((0, 2), dtype=np.int64)
    for _ in range(_MATCHED_ROUNDS):
        ends = np.sort(owner[rng.integers(0, len(owner), (2 * (count - len(found)) + 16, 2))], axis=1)
        ends = ends[ends[:, 0] != ends[:, 1]]
        found = np.concatenate((found, ends[~graph.has_edges(ends)]))[:count]
        if len(found) == count:
            return found
    return found[:0]


def no_hold_out(graph: Graph) -> HeldOut:
    """Hold out nothing: the whole network is for training.

    >>> no_hold_out(Graph.from_edges([(0, 1)])).n_pairs
    0
    """
    pairs = np.empty((0, 2), dtype=np.int64)
    rows = hidden_rows(pairs, graph)
    weights = None if graph.weights is None else np.empty(0)
    return HeldOut(
        graph, pairs, np.empty(0, dtype=np.bool_), "none", 0.0, graph.density, 0, *rows, weights=weights
    )


def _seed(seed: int) -> int:
    if isinstance(seed, bool) or int(seed) != seed or seed < 0:
        raise InputError(f"seed={seed!r}: give a whole number of at least 0")
    return int(seed)


def check_share(fraction: float, kind: str) -> None:
    """Refuse a share of the links or a kind of hold-out that fits no network."""
    if kind not in HOLD_OUT_KINDS:
        raise InputError(f"kind={kind!r:.60}: use {' or '.join(map(repr, HOLD_OUT_KINDS))}")
    if isinstance(fraction, str) or not 0 < fraction < 1:
        raise InputError(f"fraction={fraction!r}: give a share of the links between 0 and 1, such as 0.05")


def _sizes(graph: Graph, fraction: float, kind: str, max_pairs: int) -> tuple[int, int]:
    """How many links and non-links to hold out; an error says why a network cannot be split like this."""
    check_share(fraction, kind)
    missing = graph.n_pairs - graph.n_edges
    n_links = round(fraction * graph.n_edges)
    if n_links < 1:
        raise InputError(
            f"{fraction:g} of {graph.n_edges} links is less than one link: nothing to hold out; "
            f"use a larger fraction or hold nothing out"
        )
    if n_links >= graph.n_edges:
        raise InputError(
            f"{fraction:g} of {graph.n_edges} links leaves no link for training; use a smaller fraction"
        )
    if not missing:
        raise InputError(f"all {graph.n_pairs} pairs are links: there is no non-link to hold out")
    n_nonlinks = n_links if kind == "balanced" else round(fraction * missing)
    if not 1 <= n_nonlinks <= missing:
        raise InputError(
            f"{n_nonlinks} non-links cannot be held out of {missing}; "
            f"use a {'larger' if n_nonlinks < 1 else 'smaller'} fraction"
        )
    _check_affordable(n_links + n_nonlinks, kind, max_pairs)
    return n_links, n_nonlinks


def _check_affordable(wanted: int, kind: str, max_pairs: int) -> None:
    if wanted > max_pairs:
        other = ' or kind="balanced"' if kind == "proportional" else ""
        raise InputError(
            f"this {kind} split holds out {wanted:,} pairs (about {wanted * _BYTES_PER_PAIR / 1e9:,.1f} GB), "
            f"more than max_pairs={max_pairs:,}; use a smaller fraction{other}, or raise max_pairs"
        )


def hidden_rows(pairs: NDArray[np.int64], graph: Graph) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return compressed sparse rows of the held-out pairs, both directions, every row increasing.

    The two places of a node of a directed network are a pair that cannot be linked: they are among them.
    """
    if graph.sides is not None:
        pairs = np.concatenate((pairs, graph.sides.self_pairs()))
    rows = np.concatenate((pairs[:, 0], pairs[:, 1]))
    columns = np.concatenate((pairs[:, 1], pairs[:, 0]))
    offsets = starts_of(np.bincount(rows, minlength=graph.n_nodes))
    # One number per entry sorts several times faster than two keys; it fits 63 bits up to 3 billion nodes.
    places = np.sort(rows * graph.n_nodes + columns)
    return offsets, (places % max(graph.n_nodes, 1)).astype(graph.neighbors.dtype)


@njit(cache=True, nogil=True)
def _count_larger(offsets: Any, neighbors: Any) -> Any:
    """Count the neighbours of every node with a larger number than its own, by bisection of its row."""
    counts = np.empty(offsets.size - 1, np.int64)
    for a in range(offsets.size - 1):
        counts[a] = offsets[a + 1] - first_from(neighbors, offsets[a], offsets[a + 1], a + 1)
    return counts


@njit(cache=True, nogil=True)
def _nth_links(chosen: Any, starts: Any, offsets: Any, neighbors: Any) -> Any:
    """Return the links with these numbers (increasing), numbered row by row over the larger neighbours."""
    pairs = np.empty((chosen.size, 2), np.int64)
    a = 0
    for i in range(chosen.size):
        while starts[a + 1] <= chosen[i]:
            a += 1
        pairs[i, 0] = a
        pairs[i, 1] = neighbors[offsets[a + 1] - (starts[a + 1] - chosen[i])]
    return pairs


@njit(cache=True, nogil=True)
def _nth_nonlinks(chosen: Any, starts: Any, larger: Any, offsets: Any, neighbors: Any) -> Any:
    """Return the non-links with these numbers (increasing), numbered row by row over the larger non-neighbours.

    Before the i-th larger neighbour u_i of a there are u_i - a - 1 - i larger non-neighbours: this count
    never falls, and the number of neighbours in front of the wanted non-neighbour is found by bisecting it.
    """
    pairs = np.empty((chosen.size, 2), np.int64)
    a = 0
    for i in range(chosen.size):
        while starts[a + 1] <= chosen[i]:
            a += 1
        rank = chosen[i] - starts[a]
        first = offsets[a + 1] - larger[a]
        low, high = 0, larger[a]
        while low < high:
            middle = (low + high) // 2
            if neighbors[first + middle] - a - 1 - middle <= rank:
                low = middle + 1
            else:
                high = middle
        pairs[i, 0] = a
        pairs[i, 1] = a + 1 + rank + low
    return pairs
