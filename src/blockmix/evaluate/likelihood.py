"""The log likelihood of a network under link probabilities: of all training pairs, or estimated from a fixed part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.graph.split import draw_pairs

# Networks of up to so many pairs of nodes are summed whole. Of others so many pairs are drawn, as many links as
# non-links where there are enough of both; the draw is the same for every run.
MOST_PAIRS, SEED = 6000, 18
_TINY = 1e-300


class TrainingPairs(NamedTuple):
    """Pairs of nodes that a fit has seen, whether they are links, and for how many pairs each of them stands."""

    pairs: NDArray[np.int64]
    links: NDArray[np.bool_]
    weights: NDArray[np.float64]
    complete: bool

    def log_likelihood(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute sum_ab y_ab log p_ab + (1 - y_ab) log(1 - p_ab); the pairs are the last axis of `probability`."""
        right = np.where(self.links, probability, 1.0 - probability)
        return np.asarray(np.log(np.maximum(right, _TINY)) @ self.weights)


def training_pairs(graph: Graph, held_out: NDArray[np.int64]) -> TrainingPairs:
    """Return all pairs of a network but those held out, or of a large one a fixed sample of links and of non-links.

    Links and non-links of a sample are weighted by how many there are of each, so that their sum is an unbiased
    estimate over the draw. Between two states it differs by the same pairs: chains can be compared by it.

    >>> path = Graph.from_edges([("a", "b"), ("b", "c")])
    >>> pairs = training_pairs(path, np.array([(1, 2)]))
    >>> pairs.pairs.tolist(), pairs.links.tolist(), pairs.complete
    ([[0, 1], [0, 2]], [True, False], True)
    """
    counts = np.array([graph.n_edges, graph.n_pairs - graph.n_edges])
    complete = graph.n_pairs <= MOST_PAIRS
    drawn = counts if complete else np.minimum(counts, MOST_PAIRS // 2)
    kinds = draw_pairs(graph, int(drawn[0]), int(drawn[1]), SEED)
    hidden = graph.has_edges(held_out) if len(held_out) else np.empty(0, dtype=bool)
    left = counts - [np.count_nonzero(hidden), np.count_nonzero(~hidden)]
    seen = [_without(pairs, held_out, graph.n_nodes) for pairs in kinds]
    sizes = [len(pairs) for pairs in seen]
    weights = np.repeat(left / np.maximum(sizes, 1), sizes)
    return TrainingPairs(
        np.ascontiguousarray(np.concatenate(seen)), np.repeat([True, False], sizes), weights, complete
    )


def _without(pairs: NDArray[np.int64], others: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Return the pairs that are not among the others; the smaller node of a pair is first."""
    return pairs[~np.isin(pairs[:, 0] * nodes + pairs[:, 1], others[:, 0] * nodes + others[:, 1])]
