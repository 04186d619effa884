"""How well the weights of held-out links are predicted, given that there is a link (M18)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import rankdata

Floats = NDArray[np.float64]
# Densities that underflow count as this.
_TINY = 1e-300


@dataclass(frozen=True)
class WeightScores:
    """Scores of the predicted weights of held-out links.

    `log_score` is the mean log density (of counts: probability) of a weight given that there is a link, in nats, and
    `null_log_score` that of one law for all links, found from those in training: geometric for counts, Gamma for
    amounts. `gain` is the difference and `error` its standard error. `correlation` is that of the ranks of expected
    and of observed weights.
    """

    law: str
    n_links: int
    log_score: float
    null_log_score: float
    gain: float
    error: float
    correlation: float


def score_weights(
    law: str, weights: Floats, density: Floats, probability: Floats, expected: Floats, training: Floats
) -> WeightScores:
    """Compute the scores from the density of every held-out link's weight and its probability to be a link.

    `training` are the weights of the links in training.

    >>> w = np.array([1.0, 2.0])
    >>> scores = score_weights("counts", w, np.array([0.25, 0.125]), np.array([0.5, 0.5]), w, np.array([1.0, 3.0]))
    >>> abs(scores.gain) < 1e-12
    True
    """
    found = np.log(np.maximum(density, _TINY)) - np.log(np.maximum(probability, _TINY))
    null = null_log_density(law, weights, training)
    gain = found - null
    count = len(weights)
    return WeightScores(
        law, count, float(found.mean()), float(null.mean()), float(gain.mean()),
        float(gain.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan"), _rank_correlation(expected, weights),
    )  # fmt: skip


def null_log_density(law: str, weights: Floats, training: Floats) -> Floats:
    """Compute the log density of weights under one law for all links: geometric from 1 on, or Gamma."""
    mean = float(training.mean())
    if law == "counts":
        return np.asarray(-np.log(mean) + (weights - 1.0) * np.log(max(1.0 - 1.0 / mean, _TINY)))
    spread = max(np.log(mean) - float(np.log(training).mean()), 1e-9)
    shape = (3.0 - spread + np.sqrt((spread - 3.0) ** 2 + 24.0 * spread)) / (12.0 * spread)
    rate = shape / mean
    return np.asarray(
        shape * np.log(rate) + (shape - 1.0) * np.log(weights) - rate * weights - gammaln(shape)
    )


def _rank_correlation(first: Floats, second: Floats) -> float:
    """Compute Spearman's correlation; NaN where all values of one are the same."""
    ranks = [rankdata(values) for values in (first, second)]
    if min(values.std() for values in ranks) == 0.0:
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])
