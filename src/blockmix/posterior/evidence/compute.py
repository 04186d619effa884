"""The evidence of the communities of a result, whatever its link model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.posterior.evidence.assortative import community_evidence
from blockmix.posterior.evidence.parts import Floats, Memberships, Pairs
from blockmix.posterior.evidence.popularity import Rates, popular_evidence

_MOST = 1.0 - 1e-12


def evidence_of(
    table: Memberships, strengths: Floats, popularity: NDArray[Any] | None, training: Graph, held_out: Pairs
) -> tuple[Floats, float]:
    """Compute the evidence (M14) of every community, and of those with some together, in nats.

    `strengths` are posterior means of probabilities of a link, the background's last. In the general model, where they
    are a matrix, where weights of links were fitted, and in networks of two sides it is not defined: NaN.
    """
    apart = popularity is not None and (training.weights is not None or training.sides is not None)
    if strengths.ndim == 2 or apart:
        return np.full(len(strengths) - (strengths.ndim == 1), np.nan), float("nan")
    if popularity is None:
        return community_evidence(table, strengths[:-1], float(strengths[-1]), training, held_out)
    rates = -np.log1p(-np.minimum(strengths, _MOST))
    means = Rates(popularity.astype(np.float64), rates[:-1], float(rates[-1]))
    return popular_evidence(table, means, training, held_out)
