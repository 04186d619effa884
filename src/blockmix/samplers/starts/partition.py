"""A hard partition to start from: constant-Potts communities, fine to coarse, the best by its likelihood.

From a random start some communities stay merged and others split for longer than any run. So nodes are first grouped
by local moving at a high resolution, and the groups are grouped again at lower and lower resolutions. Of all these
partitions, and of the best cuts through the tree they make (`dendrogram.py`), the one with at most K parts and the
highest integrated likelihood is used (Traag, Van Dooren and Nesterov 2011; Daudin, Picard and Robin 2008).

A network of two sides is partitioned as if any two nodes could be linked: a resolution, which is tried at all values,
and the strengths, which are integrated out, take in that half of the pairs of a part are none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.counting import (
    background_of,
    count_inside,
    count_nodes,
    integrated_likelihood,
)
from blockmix.samplers.starts.dendrogram import Dendrogram
from blockmix.samplers.starts.potts.levels import FINEST, Levels
from blockmix.samplers.starts.potts.merging import links_of, single_groups
from blockmix.samplers.starts.potts.moving import Movers
from blockmix.samplers.starts.reducing import reduced

# Partitions with fewer parts than this share of K are left out: where communities are hard to see, a single part has
# the highest likelihood, and a chain that starts there finds nothing else.
FEWEST_SHARE = 0.25
# So many of the candidates, the best ones, have single nodes moved once more.
POLISHED = 2

Parts = NDArray[np.int32]


def find_parts(
    graph: Graph, communities: int, rng: np.random.Generator, workers: Workers | None = None
) -> NDArray[np.int64]:
    """Find a part in 0..K-1 for every node; isolated nodes are spread at random."""
    if graph.n_edges == 0:
        return rng.integers(0, communities, graph.n_nodes)
    graph = graph.without_sides()
    levels = Levels(graph, int(rng.integers(0, 2**32)), Workers(1) if workers is None else workers)
    parts = parts_of(levels, communities).astype(np.int64)
    isolated = np.flatnonzero(graph.degrees == 0)
    parts[isolated] = rng.integers(0, communities, len(isolated))
    return parts


def parts_of(levels: Levels, communities: int) -> Parts:
    """Find the parts in the levels of a network that has links."""
    candidates, resolution = _candidates(levels, communities)
    scored = {_score(levels, parts, communities): parts for parts in candidates}
    for score in sorted(scored, reverse=True)[:POLISHED]:
        polished = _polished(levels, scored[score], resolution)
        scored[_score(levels, polished, communities)] = polished
    return scored[max(scored)]


def _score(levels: Levels, parts: Parts, communities: int) -> float:
    graph, workers = levels.graph, levels.workers
    return integrated_likelihood(
        graph, *count_inside(graph, parts, communities, workers), communities, workers
    )


def _candidates(levels: Levels, communities: int) -> tuple[list[Parts], float]:
    """Return three partitions with at most K parts (the best level, the best cut, the best cut that has no more), and
    the resolution of that level."""
    graph, workers = levels.graph, levels.workers
    best, best_score, best_resolution = None, -np.inf, FINEST
    tree = Dendrogram(graph.n_nodes, workers)
    for step, parts in levels:
        count = len(step.sizes)
        if count < FEWEST_SHARE * communities and best is not None:
            break
        tree.grow(step.parents, step.inside, step.sizes)
        found = reduced(step.sizes, parts, communities)
        if found is parts:
            score = integrated_likelihood(graph, step.inside, step.sizes, communities, workers)
        else:
            score = _score(levels, found, communities)
        if best is None or score > best_score:
            best, best_score, best_resolution = found, score, step.resolution
        # The next level is made while this loop holds what it has.
        del step, parts, found
    assert best is not None
    free = best_cut(levels, tree, best)
    background = background_of(graph, *count_inside(graph, free, int(free.max()) + 1, workers))
    cuts = [
        reduced(count_nodes(cut), cut, communities) for cut in (free, tree.cut_to(communities, background))
    ]
    return [best, *cuts], best_resolution


def best_cut(levels: Levels, tree: Dendrogram, parts: Parts) -> Parts:
    """Return the best cut at the background of the best cut at the background of these parts."""
    for _ in range(2):
        counts = count_inside(levels.graph, parts, int(parts.max()) + 1, levels.workers)
        parts = tree.cut(background_of(levels.graph, *counts))
    return parts


def _polished(levels: Levels, parts: Parts, resolution: float) -> Parts:
    """Move single nodes once more, at the resolution that the partition was found at."""
    links = links_of(levels.graph)
    ones = np.ones(levels.graph.n_nodes, dtype=np.int32)
    groups = single_groups(ones, links, np.ones(len(ones), dtype=np.float32))
    movers = Movers(levels.workers, links, groups)
    return movers.move(resolution, levels.salt, parts)
