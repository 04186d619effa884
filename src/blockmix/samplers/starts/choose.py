"""The number of communities, where the user gives none."""

from __future__ import annotations

import math

import numpy as np

from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.counting import Parts, count_inside, count_nodes
from blockmix.samplers.starts.dendrogram import Dendrogram
from blockmix.samplers.starts.laws import integrated_likelihood
from blockmix.samplers.starts.partition import best_cut
from blockmix.samplers.starts.potts.fresh import Found, find_anew
from blockmix.samplers.starts.potts.levels import FINEST, Levels

# A part of fewer nodes is a leftover, not a community.
SMALLEST_COMMUNITY = 3
# With one community there is nothing to find.
FEWEST = 2


def choose_communities(
    graph: Graph, seed: int, workers: Workers | None = None, by_degree: bool = False
) -> int:
    """Count the communities in the hard partition of the highest integrated likelihood; return at least two.

    With `by_degree` nodes may also differ in how many links they have, and the larger of the two numbers is taken: a
    hard partition puts overlapping communities together, more often in one law than in the other, and communities that
    are missing cost more than those that are not needed.
    """
    salt = int(np.random.default_rng(seed).integers(0, 2**32))
    graph, workers = graph.without_sides(), Workers(1) if workers is None else workers
    return max(count_communities(Levels(graph, salt, workers, by_degree=law)) for law in {False, by_degree})


def count_communities(levels: Levels) -> int:
    """Count the communities in the best cut through the levels of a network.

    The likelihood has every strength integrated out, so that more parts are not always better: the best number is
    inside the range, not at its end. The partition is a cut through the tree of groups of groups, since communities
    need not all be of one resolution. Overlap is ignored, and need not be known: a node in two communities is put
    into one of them, and both are still counted. The whole network as one part is no candidate: where communities
    overlap a lot it can have the highest likelihood, and yet there are communities to find.
    """
    graph = levels.graph
    tree, enough = Dendrogram(graph.n_nodes, levels.law, levels.workers), False
    best, best_score, resolution = np.zeros(graph.n_nodes, dtype=np.int32), -math.inf, FINEST
    for step, parts in levels:
        counts = step.counts
        many = np.count_nonzero(counts.nodes >= SMALLEST_COMMUNITY) >= FEWEST
        # The finest levels of a network without triangles may have no part of three; only later levels are too coarse.
        if enough and not many:
            break
        enough = enough or bool(many)
        tree.grow(step.parents, counts)
        score = integrated_likelihood(levels.law, graph.n_edges, counts, len(counts.nodes), levels.workers)
        if score > best_score:
            best, best_score, resolution = parts, score, step.resolution
        # The next level is made while this loop holds what it has.
        del step, parts, counts
    cut = best_cut(levels, tree, best)
    if levels.weights is not None:
        cut = _better(levels, cut, find_anew(levels, resolution, None))
    sizes = count_nodes(cut)
    return max(int(np.count_nonzero(sizes >= SMALLEST_COMMUNITY)), FEWEST)


def _better(levels: Levels, parts: Parts, other: Found) -> Parts:
    """Return the one of two partitions that has the higher integrated likelihood."""
    count = int(parts.max()) + 1
    counts = count_inside(levels.graph, parts, count, levels.workers, levels.weights)
    score = integrated_likelihood(levels.law, levels.graph.n_edges, counts, count, levels.workers)
    return parts if score >= other.score else other.parts
