"""Held-out pairs of a network of two sides: every pair joins a node of the first and one of the second side.

The pairs are cells of a table with the first side as rows. The non-links are what links and the pairs of a node with
itself leave free: before the i-th taken cell t_i there are t_i - i free ones, which never falls, so that the free cell
of any rank is found by bisection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.sides.sides import Sides

if TYPE_CHECKING:
    from blockmix.graph.graph import Graph

# Rounds in which matched non-links are drawn; each finds all that are missing unless half of such pairs are links.
_MATCHED_ROUNDS = 40


def draw_across(
    graph: Graph, sides: Sides, n_links: int, n_nonlinks: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw so many links and so many non-links, every set of them as likely as any other."""
    links = graph.edges().astype(np.int64)
    chosen = np.sort(rng.choice(len(links), n_links, replace=False, shuffle=False))
    width = graph.n_nodes - sides.first
    taken = np.concatenate((links, sides.self_pairs()))
    cells = np.sort(taken[:, 0] * width + (taken[:, 1] - sides.first))
    free = graph.n_pairs - graph.n_edges
    ranks = np.sort(rng.choice(free, n_nonlinks, replace=False, shuffle=False))
    found = ranks + np.searchsorted(cells - np.arange(len(cells)), ranks, side="right")
    return links[chosen], np.column_stack((found // width, found % width + sides.first))


def matched_across(graph: Graph, sides: Sides, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw non-links with both ends in proportion to their number of links; a pair may come twice.

    The ends of two random links are crossed. None are returned where nearly all such pairs are links.
    """
    links: NDArray[Any] = graph.edges().astype(np.int64)
    found = np.empty((0, 2), dtype=np.int64)
    for _ in range(_MATCHED_ROUNDS):
        drawn = rng.integers(0, len(links), (2 * (count - len(found)) + 16, 2))
        ends = np.column_stack((links[drawn[:, 0], 0], links[drawn[:, 1], 1]))
        ends = ends[sides.joins(ends)]
        found = np.concatenate((found, ends[~graph.has_edges(ends)]))[:count]
        if len(found) == count:
            return found
    return found[:0]
