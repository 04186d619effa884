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
from blockmix.samplers.starts.counting import PartCounts, count_inside, count_nodes
from blockmix.samplers.starts.dendrogram import Dendrogram
from blockmix.samplers.starts.laws import background_of, integrated_likelihood
from blockmix.samplers.starts.potts.fresh import find_many, polished
from blockmix.samplers.starts.potts.levels import FINEST, Levels
from blockmix.samplers.starts.reducing import reduced

# Partitions with fewer parts than this share of K are left out: where communities are hard to see, a single part has
# the highest likelihood, and a chain that starts there finds nothing else.
FEWEST_SHARE = 0.25
# So many of the candidates, the best ones, have single nodes moved once more.
POLISHED = 2

Parts = NDArray[np.int32]


def find_parts(
    graph: Graph,
    communities: int,
    rng: np.random.Generator,
    workers: Workers | None = None,
    by_degree: bool = False,
) -> NDArray[np.int64]:
    """Find a part in 0..K-1 for every node; isolated nodes are spread at random.

    With `by_degree` nodes may differ in how many links they have, and there are about K parts.
    """
    if graph.n_edges == 0:
        return rng.integers(0, communities, graph.n_nodes)
    graph = graph.without_sides()
    workers = Workers(1) if workers is None else workers
    levels = Levels(graph, int(rng.integers(0, 2**32)), workers, by_degree=by_degree)
    parts = (find_many if by_degree else parts_of)(levels, communities).astype(np.int64)
    isolated = np.flatnonzero(graph.degrees == 0)
    parts[isolated] = rng.integers(0, communities, len(isolated))
    return parts


def parts_of(levels: Levels, communities: int) -> Parts:
    """Find the parts in the levels of a network that has links."""

    def score_of(parts: Parts) -> float:
        return _score(levels, _counted(levels, parts, communities), communities)

    candidates, resolution = _candidates(levels, communities)
    scored = {score_of(parts): parts for parts in candidates}
    for score in sorted(scored, reverse=True)[:POLISHED]:
        better = polished(levels, scored[score], resolution)
        scored[score_of(better)] = better
    return scored[max(scored)]


def _counted(levels: Levels, parts: Parts, count: int) -> PartCounts:
    return count_inside(levels.graph, parts, count, levels.workers, levels.weights)


def _score(levels: Levels, counts: PartCounts, communities: int) -> float:
    return integrated_likelihood(levels.law, levels.graph.n_edges, counts, communities, levels.workers)


def _candidates(levels: Levels, communities: int) -> tuple[list[Parts], float]:
    """Return three partitions with at most K parts (the best level, the best cut, the best cut that has no more), and
    the resolution of that level."""
    graph, law = levels.graph, levels.law
    best, best_score, best_resolution = None, -np.inf, FINEST
    tree = Dendrogram(graph.n_nodes, law, levels.workers)
    for step, parts in levels:
        counts = step.counts
        if len(counts.nodes) < FEWEST_SHARE * communities and best is not None:
            break
        tree.grow(step.parents, counts)
        found = reduced(counts.weight, parts, communities)
        if found is not parts:
            counts = _counted(levels, found, communities)
        score = _score(levels, counts, communities)
        if best is None or score > best_score:
            best, best_score, best_resolution = found, score, step.resolution
        # The next level is made while this loop holds what it has.
        del step, parts, found, counts
    assert best is not None
    free = best_cut(levels, tree, best)
    background = background_of(law, graph.n_edges, _counted(levels, free, int(free.max()) + 1))
    cuts = [
        reduced(count_nodes(cut), cut, communities) for cut in (free, tree.cut_to(communities, background))
    ]
    return [best, *cuts], best_resolution


def best_cut(levels: Levels, tree: Dendrogram, parts: Parts) -> Parts:
    """Return the best cut at the background of the best cut at the background of these parts."""
    for _ in range(2):
        counts = _counted(levels, parts, int(parts.max()) + 1)
        parts = tree.cut(background_of(levels.law, levels.graph.n_edges, counts))
    return parts
