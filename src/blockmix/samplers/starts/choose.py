"""The number of communities, where the user gives none."""

from __future__ import annotations

import math

import numpy as np

from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.counting import count_nodes, integrated_likelihood
from blockmix.samplers.starts.dendrogram import Dendrogram
from blockmix.samplers.starts.partition import best_cut
from blockmix.samplers.starts.potts.levels import Levels

# A part of fewer nodes is a leftover, not a community.
SMALLEST_COMMUNITY = 3
# With one community there is nothing to find.
FEWEST = 2


def choose_communities(graph: Graph, seed: int, workers: Workers | None = None) -> int:
    """Count the communities in the hard partition of the highest integrated likelihood; return at least two."""
    salt = int(np.random.default_rng(seed).integers(0, 2**32))
    return count_communities(Levels(graph.without_sides(), salt, Workers(1) if workers is None else workers))


def count_communities(levels: Levels) -> int:
    """Count the communities in the best cut through the levels of a network.

    The likelihood has every strength integrated out, so that more parts are not always better: the best number is
    inside the range, not at its end. The partition is a cut through the tree of groups of groups, since communities
    need not all be of one resolution. Overlap is ignored, and need not be known: a node in two communities is put
    into one of them, and both are still counted. The whole network as one part is no candidate: where communities
    overlap a lot it can have the highest likelihood, and yet there are communities to find.
    """
    graph = levels.graph
    tree, enough = Dendrogram(graph.n_nodes, levels.workers), False
    best, best_score = np.zeros(graph.n_nodes, dtype=np.int32), -math.inf
    for step, parts in levels:
        many = np.count_nonzero(step.sizes >= SMALLEST_COMMUNITY) >= FEWEST
        # The finest levels of a network without triangles may have no part of three; only later levels are too coarse.
        if enough and not many:
            break
        enough = enough or bool(many)
        tree.grow(step.parents, step.inside, step.sizes)
        score = integrated_likelihood(graph, step.inside, step.sizes, len(step.sizes), levels.workers)
        if score > best_score:
            best, best_score = parts, score
        # The next level is made while this loop holds what it has.
        del step, parts
    sizes = count_nodes(best_cut(levels, tree, best))
    return max(int(np.count_nonzero(sizes >= SMALLEST_COMMUNITY)), FEWEST)
