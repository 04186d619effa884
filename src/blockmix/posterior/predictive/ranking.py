"""How well links are ranked above non-links of the same degrees, and how well they should be if the model were right.

The statistic is the AUC against matched non-links (M15). Held-out links are a fair sample of the links, each drawn
with the chance f; a matched non-link (a, b) was drawn c d_a d_b times on average. So of a pair of this collection
with the probability p the model expects it to be a link with odds(q) = odds(p) f/(c d_a d_b). Which pairs are links
is drawn anew by q of a posterior sample; the ranking, by the predictions of the run, stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blockmix.tables.samples import PosteriorSample

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

NAME = "ranking at equal degrees"
# Held-out links and matched non-links at most, of each; their ranking is then known to half a percent.
_MOST_PAIRS = 5000
# With fewer of a kind an AUC says little.
FEWEST_PAIRS = 10


class Ranking:
    """Held-out links and matched non-links of a result, ranked by their predictions."""

    def __init__(self, post: Posterior) -> None:
        from scipy.stats import rankdata

        held_out, graph = post.held_out, post.graph
        assert held_out is not None
        links = _thinned_out(np.flatnonzero(held_out.links))
        others = _thinned_out(np.arange(len(held_out.matched)))
        self.predictor = post.predictor
        self.pairs = np.concatenate((held_out.pairs[links], held_out.matched[others]))
        self.is_link = np.arange(len(self.pairs)) < len(links)
        predicted = np.concatenate((held_out.probability[links], held_out.matched_probability[others]))
        self.ranks = rankdata(predicted)
        degrees = graph.degrees.astype(np.float64)
        products = degrees[self.pairs].prod(axis=1)
        # Sum of d_a d_b over all pairs that may be linked less that over links.
        edges = graph.edges()
        total = (degrees.sum() ** 2 - (degrees**2).sum()) / 2.0
        if graph.sides is not None:
            first = graph.sides.first
            total = (
                degrees[:first].sum() * degrees[first:].sum()
                - degrees[graph.sides.self_pairs()].prod(axis=1).sum()
            )
        total -= degrees[edges].prod(axis=1).sum()
        chance = len(links) / graph.n_edges
        # The log of how much rarer a non-link is in the collection than in the network, against a link.
        with np.errstate(divide="ignore"):
            self.log_weight = np.log(chance) - np.log(len(others) * products / max(total, 1.0))

    def auc(self, is_link: NDArray[np.bool_]) -> float:
        """Return the AUC of the ranking if these pairs are the links; NaN if all are or none is."""
        ones = int(is_link.sum())
        zeros = len(is_link) - ones
        if not ones or not zeros:
            return float("nan")
        return float((self.ranks[is_link].sum() - ones * (ones + 1) / 2.0) / (ones * zeros))

    def chances(self, sample: PosteriorSample) -> NDArray[np.float64]:
        """Return the probability q of each pair to be a link under a posterior sample."""
        p = np.zeros(len(self.pairs))
        self.predictor.add_sample(sample, self.pairs, p)
        p = np.clip(p, 1e-300, 1.0 - 1e-16)
        return np.asarray(1.0 / (1.0 + np.exp(-np.log(p / (1.0 - p)) - self.log_weight)))


def can_rank(post: Posterior) -> bool:
    """Return whether enough links were held out, and enough matched non-links found."""
    held_out = post.held_out
    return (
        held_out is not None
        and int(held_out.links.sum()) >= FEWEST_PAIRS
        and len(held_out.matched) >= FEWEST_PAIRS
    )


def _thinned_out(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at most `_MOST_PAIRS` of them, evenly spread."""
    if len(places) <= _MOST_PAIRS:
        return places
    return places[np.linspace(0, len(places) - 1, _MOST_PAIRS).astype(np.int64)]
