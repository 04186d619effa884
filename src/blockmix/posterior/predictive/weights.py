"""Questions about the weights of links: what they are expected to be, and how well they are predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.evaluate.weights import WeightScores, score_weights
from blockmix.graph.query import checked_pairs
from blockmix.graph.sides.sides import check_across
from blockmix.posterior.answers.shares import node_pairs
from blockmix.tables.popular import PopularPredictor

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior


def weight_law(post: Posterior) -> str | None:
    """See `Posterior.weight_law`."""
    law = (post.provenance.get("model") or {}).get("weights")
    return None if law is None else str(law)


def expected_weight(post: Posterior, pairs: Any) -> NDArray[np.float64]:
    """See `Posterior.expected_weight`."""
    return node_expected_weight(post, node_pairs(post, pairs))


def node_expected_weight(post: Posterior, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """See `Posterior.node_expected_weight`."""
    predictor = post.predictor
    if weight_law(post) is None or not isinstance(predictor, PopularPredictor):
        raise InputError("this result is of links without weights: fit a network with weights")
    pairs = checked_pairs(pairs, post.graph.n_nodes)
    check_across(post.graph, pairs)
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise InputError("a node has no link to itself: such a pair cannot be predicted")
    if not post.draws or not all(post.draws):
        raise InputError("this run kept no samples: it was stopped during warm-up; fit for longer")
    total = np.zeros(len(pairs))
    for weight, chain in zip(post.chain_weights, post.draws, strict=True):
        mean = np.zeros(len(pairs))
        for sample in chain if weight > 0.0 else ():
            predictor.add_weights(sample, pairs, mean)
        total += weight / len(chain) * mean
    return total


def weight_scores(post: Posterior) -> WeightScores | None:
    """See `Posterior.weight_scores`."""
    law, held_out = weight_law(post), post.held_out
    if law is None or held_out is None or held_out.weights is None or not held_out.links.any():
        return None
    found, links = held_out.weights, held_out.links
    training = post.graph.without_edges(held_out.pairs[links]).weights
    if training is None:
        return None
    return score_weights(
        law, found.weight[links], found.density[links], held_out.probability[links], found.expected[links], training
    )  # fmt: skip
