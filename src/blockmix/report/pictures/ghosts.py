"""Ghost links: pairs without a link that are most likely to have one, of the network and of single nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.posterior.answers.of_links import link_rate, link_weights, missing_links, strength_matrix
from blockmix.posterior.posterior import Posterior

# Of the whole network, and of every node of a network that is drawn whole.
MOST, OF_A_NODE, MOST_NODES = 60, 3, 5_000
_ROWS_AT_ONCE = 500


def ghost_links(post: Posterior) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs a < b without a link and their link probability, the most likely first.

    Those of the whole network, and of a network of at most `MOST_NODES` nodes the few most likely of each node. None
    where the run kept no posterior samples.
    """
    none = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    if not post.draws or not all(post.draws) or post.graph.n_nodes < 2:
        return none
    found = missing_links(post, None, None, MOST)
    labels = post.graph.labels
    pairs = np.column_stack([labels.indices(list(found[name])) for name in ("node_a", "node_b")])
    if post.graph.n_nodes <= MOST_NODES:
        pairs = np.concatenate([pairs.reshape(-1, 2), _of_every_node(post)])
    pairs = np.unique(np.sort(pairs.astype(np.int64), axis=1), axis=0)
    if not len(pairs):
        return none
    probability = post.node_link_probability(pairs)
    order = np.argsort(-probability, kind="stable")
    return pairs[order], probability[order]


def _of_every_node(post: Posterior) -> NDArray[np.int64]:
    """Return for every node the partners that are most likely at the posterior means, (M1) or (DC1)."""
    nodes, popular = post.graph.n_nodes, post.popularity_mean
    weights, links = link_weights(post), post.graph.to_scipy().tocsr()
    scaled = weights @ strength_matrix(post)
    few = min(OF_A_NODE, nodes - 1)
    pairs = []
    for begin in range(0, nodes, _ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + _ROWS_AT_ONCE, nodes))
        score = np.asarray((scaled[rows] @ weights.T).todense(), dtype=np.float64)
        if popular is not None:
            score += link_rate(post.background_mean) * np.outer(popular[rows], popular)
        score[np.arange(len(rows)), rows] = -np.inf
        if post.graph.sides is not None:
            score[~post.graph.sides.joins_all(rows, nodes)] = -np.inf
        linked = links[rows].tocoo()
        score[linked.row, linked.col] = -np.inf
        best = np.argsort(-score, axis=1, kind="stable")[:, :few]
        # A score of zero is the background: no reason to expect a link.
        good = np.take_along_axis(score, best, axis=1) > 0.0
        pairs.append(np.column_stack([np.repeat(rows, few), best.ravel()])[good.ravel()])
    return np.concatenate(pairs)
