"""How many communities to allow, where the user leaves that open."""

from __future__ import annotations

import math

import numpy as np

from blockmix.graph.graph import Graph
from blockmix.samplers.starts.dendrogram import Dendrogram
from blockmix.samplers.starts.partition import best_cut, fine_to_coarse, integrated_likelihood

# A part of fewer nodes is a leftover, not a community.
SMALLEST_COMMUNITY = 3
# One community would leave nothing to find.
FEWEST = 2


def choose_communities(graph: Graph, seed: int) -> int:
    """The number of communities in the hard partition of the highest integrated likelihood, at least two.

    The likelihood has every strength integrated out, so more parts have to pay for themselves: the best number is
    inside the range, not at its end. The partition is a cut through the tree of groups of groups, since communities
    need not all be of one resolution. Overlap is not looked at, and does not need to be: a node that is in two
    communities is put into one of them, and both are still there. The whole network as one part is no candidate:
    where communities overlap a lot it can beat every partition, and yet there is something to find.
    """
    tree, enough = Dendrogram(graph.n_nodes), False
    best, best_score = np.zeros(graph.n_nodes, dtype=np.int64), -math.inf
    for _, level, parents, parts in fine_to_coarse(graph, np.random.default_rng(seed)):
        many = np.count_nonzero(level.sizes >= SMALLEST_COMMUNITY) >= FEWEST
        # The finest levels of a network without triangles may have no part of three yet; only later is it too coarse.
        if enough and not many:
            break
        enough = enough or bool(many)
        tree.grow(parents, level.inside, level.sizes)
        score = integrated_likelihood(graph, parts, len(level.sizes))
        if score > best_score:
            best, best_score = parts, score
    sizes = np.bincount(best_cut(graph, tree, best))
    return max(int(np.count_nonzero(sizes >= SMALLEST_COMMUNITY)), FEWEST)
