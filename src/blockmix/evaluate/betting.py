"""How strongly held-out pairs speak for predictions against those of a null model: odds with a known false alarm rate.

Log losses (M5) of a few hundred held-out pairs differ by chance, mostly because of a few links that both models find
unlikely. A bet of half of what one has on each pair loses at most log 2 on any of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate.pairs import SMALLEST_PROBABILITY, Floats

# Odds that are asked for. If the null model is true they are reached in at most one of so many networks.
ENOUGH_ODDS = 1000.0


def log_odds(probability: Floats, other: Floats, links: NDArray[np.bool_], density: float) -> float:
    """(M21) Compute the log odds that the held-out pairs give for predictions against others: sum log((1 + ratio)/2).

    The ratio is that of the probabilities of what a pair is, a link or a non-link, as one of the held-out pairs. If the
    others are true it is one on average, whatever the predictions, so that the product exceeds x with a probability of
    at most 1/x (Markov). The predictions must not have seen the pairs.

    >>> links = np.array([True, True, False, False])
    >>> round(log_odds(np.where(links, 0.9, 0.1), np.full(4, 0.5), links, 0.5), 3), round(4 * float(np.log(1.4)), 3)
    (1.346, 1.346)
    """
    first, second = (_among_held_out(p, links, density) for p in (probability, other))
    ratio = np.where(links, first / second, (1.0 - first) / (1.0 - second))
    return float(np.log1p(0.5 * (ratio - 1.0)).sum())


def _among_held_out(p: Floats, links: NDArray[np.bool_], density: float) -> Floats:
    """Return the probabilities of a link given that the pair was held out: of links and of others other shares are."""
    count = int(np.count_nonzero(links))
    share = count / density * (1.0 - density) / max(len(links) - count, 1)
    p = np.clip(p, SMALLEST_PROBABILITY, 1.0 - 1e-12)
    odds = p / (1.0 - p) * share
    return np.asarray(odds / (1.0 + odds))
