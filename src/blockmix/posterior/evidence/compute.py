"""The evidence of the communities of a result, whatever its link model.

Communities must pay for the description of their memberships (M14), (M20). Where each node is in several communities
and has few links they do not, even if the memberships are those that the network was drawn with. Held-out pairs then
still tell whether the communities predict links that nobody has described (M21).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate.betting import ENOUGH_ODDS
from blockmix.evaluate.null_models import NullComparison
from blockmix.graph.graph import Graph
from blockmix.posterior.evidence.assortative import community_evidence
from blockmix.posterior.evidence.parts import Floats, Memberships, Pairs, charges, free_shares
from blockmix.posterior.evidence.popularity import Rates, popular_evidence

_MOST = 1.0 - 1e-12
# What memberships must pay for: their description, or the prediction of held-out pairs.
DESCRIPTION, PREDICTION = "description", "prediction"


class Evidence(NamedTuple):
    """The evidence of every community, and of those with some together, in nats; and what they had to pay for."""

    communities: Floats
    together: float
    by: str


def evidence_of(
    table: Memberships,
    strengths: Floats,
    popularity: NDArray[Any] | None,
    training: Graph,
    held_out: Pairs,
    null: Callable[[], NullComparison | None],
) -> Evidence:
    """Compute the evidence of every community, and of those with some together.

    `strengths` are posterior means of probabilities of a link, the background's last, and `null` compares the
    predictions of held-out pairs with those of the null models. In the general model, where strengths are a matrix,
    where weights of links were fitted, and in networks of two sides evidence is not defined: NaN.
    """
    apart = popularity is not None and (training.weights is not None or training.sides is not None)
    if strengths.ndim == 2 or apart:
        unknown = np.full(len(strengths) - (strengths.ndim == 1), np.nan)
        return Evidence(unknown, float("nan"), DESCRIPTION)
    if popularity is None:
        found, together = community_evidence(table, strengths[:-1], float(strengths[-1]), training, held_out)
    else:
        rates = -np.log1p(-np.minimum(strengths, _MOST))
        means = Rates(popularity.astype(np.float64), rates[:-1], float(rates[-1]))
        found, together = popular_evidence(table, means, training, held_out)
    compared = None if together > 0.0 else null()
    if compared is None or not compared.sure:
        return Evidence(found, together, DESCRIPTION)
    count = len(found)
    predictive = found + charges(table, training, count) - free_shares(table, count)
    return Evidence(predictive, compared.log_odds - float(np.log(ENOUGH_ODDS)), PREDICTION)
