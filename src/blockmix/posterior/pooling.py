"""How much each chain counts: the one rule by which predictions, memberships and strengths of chains are pooled.

Chains that found different explanations of a network are not equally good, and their share in the posterior is not
known from how many started where. They are weighed by how well they predict the held-out pairs, which none of them has
seen ("stacking of predictive densities" for chains that do not mix: Yao, Vehtari and Gelman 2022):

1. A chain whose log loss is worse than that of the density alone, by two standard errors, does not count, unless that
   is so for all.
2. The others get the weights that maximise the log score of their mixture (M13), if such weights predict pairs that
   they were not found on better than equal weights do: by two standard errors, and by more than one nat for each weight
   that is free. Otherwise they count the same.

Predictions of held-out pairs are pooled with weights that were found without them, fold by fold: the score that a user
sees contains no pair that was used to choose the weights it is scored with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate.null_models import CLEAR, ENOUGH, mean_gain
from blockmix.evaluate.pairs import SMALLEST_PROBABILITY, Floats, log_loss

# The prior of the weights is Dirichlet with this plus one: as if each chain had predicted so many links better than the
# others. Without it a few held-out links could put all weight on one chain.
PRIOR = 1.0
# Folds of the pairs. The weights of each fold ask for weights of folds again: more would cost more than they tell.
FOLDS = 5
# Weights are rounded to this, so that they can be quoted; a chain that has less than half of it does not count.
STEP = 1e-3


@dataclass(frozen=True, eq=False)
class Pool:
    """The weight of every chain, and why: its held-out log loss, and whether it is worse than the density alone.

    `stacked` tells whether the weights of the others were chosen by their predictions; without held-out pairs all count
    the same, and `log_loss` is NaN.
    """

    weights: Floats
    log_loss: Floats
    worse: NDArray[np.bool_]
    stacked: bool

    def facts(self) -> dict[str, Any]:
        """Return the pool as plain values, for the provenance."""
        known = bool(np.isfinite(self.log_loss).all())
        return {
            "weights": self.weights.tolist(), "log_loss": self.log_loss.tolist() if known else None,
            "worse_than_density": np.flatnonzero(self.worse).tolist(), "stacked": self.stacked,
        }  # fmt: skip


def equal_pool(chains: int) -> Pool:
    """Return the pool in which every chain counts the same."""
    return Pool(np.full(chains, 1.0 / chains), np.full(chains, np.nan), np.zeros(chains, dtype=bool), False)


def pool_chains(forecasts: Floats, links: NDArray[np.bool_], density: float) -> Pool:
    """Weigh chains by their predictions of held-out pairs, an array of chains x pairs.

    >>> links = np.arange(40) < 20
    >>> good, bad = np.where(links, 0.9, 0.1), np.where(links, 0.1, 0.9)
    >>> pool_chains(np.array([good, bad, good]), links, 0.5).weights.tolist()
    [0.5, 0.0, 0.5]
    """
    chains = len(forecasts)
    n_links = int(np.count_nonzero(links))
    if min(n_links, len(links) - n_links) < ENOUGH or not 0.0 < density < 1.0:
        return equal_pool(chains)
    losses = np.array([log_loss(np.clip(p, 0.0, 1.0), links, density) for p in forecasts])
    alone = np.full(len(links), density)
    gains = np.array([mean_gain(p, alone, links, density) for p in forecasts])
    worse = gains[:, 0] < -CLEAR * gains[:, 1]
    used = np.flatnonzero(~worse) if not worse.all() else np.arange(chains)
    weights = np.zeros(chains)
    weights[used] = 1.0 / len(used)
    if len(used) == 1:
        return Pool(weights, losses, worse, False)
    if _worth_stacking(forecasts[used], links, density):
        weights[used] = _stacking_weights(forecasts[used], links, density)
        return Pool(weights, losses, worse, True)
    return Pool(weights, losses, worse, False)


def _worth_stacking(forecasts: Floats, links: NDArray[np.bool_], density: float) -> bool:
    """Return whether stacked weights predict pairs that they were not found on clearly better than equal weights."""
    stacked = _by_folds(forecasts, links, lambda p, y: _stacking_weights(p, y, density))
    gain, error = mean_gain(stacked, forecasts.mean(axis=0), links, density)
    nats = gain * np.count_nonzero(links) / density
    return bool(gain > CLEAR * error and nats > len(forecasts) - 1)


def pooled_forecast(forecasts: Floats, links: NDArray[np.bool_], density: float) -> Floats:
    """Pool the predictions of held-out pairs; the weights for a pair are found on the other folds."""
    if len(forecasts) == 1:
        return np.asarray(forecasts[0])
    return _by_folds(forecasts, links, lambda p, y: pool_chains(p, y, density).weights)


def _by_folds(
    forecasts: Floats, links: NDArray[np.bool_], weigh: Callable[[Floats, NDArray[np.bool_]], Floats]
) -> Floats:
    """Pool the predictions of each fold of the pairs with the weights that the other folds give."""
    fold = np.empty(len(links), dtype=np.int64)
    for kind in (True, False):
        fold[links == kind] = np.arange(np.count_nonzero(links == kind)) % FOLDS
    pooled = np.empty(len(links))
    for number in range(FOLDS):
        inside = fold == number
        if inside.any():
            pooled[inside] = weigh(forecasts[:, ~inside], links[~inside]) @ forecasts[:, inside]
    return pooled


def _stacking_weights(forecasts: Floats, links: NDArray[np.bool_], density: float) -> Floats:
    """Compute the weights of (M13): those of the mixture with the best log score, under the Dirichlet prior.

    A held-out link counts one, a non-link as many as it stands for in the network. The score is concave in the weights;
    they are written as a softmax, which keeps them on the simplex.
    """
    from scipy.optimize import minimize

    linked, unlinked = forecasts[:, links], forecasts[:, ~links]
    stands_for = linked.shape[1] * (1.0 - density) / (density * unlinked.shape[1])

    def cost(logits: Floats) -> tuple[float, Floats]:
        weights = _softmax(logits)
        p = np.maximum(weights @ linked, SMALLEST_PROBABILITY)
        q = np.maximum(1.0 - weights @ unlinked, SMALLEST_PROBABILITY)
        value = np.log(p).sum() + stands_for * np.log(q).sum() + PRIOR * np.log(weights).sum()
        slope = (linked / p).sum(axis=1) - stands_for * (unlinked / q).sum(axis=1) + PRIOR / weights
        return -float(value), -weights * (slope - weights @ slope)

    found = minimize(cost, np.zeros(len(forecasts)), jac=True, method="L-BFGS-B")
    weights = np.round(_softmax(found.x) / STEP) * STEP
    return np.asarray(weights / weights.sum())


def _softmax(logits: Floats) -> Floats:
    raised = np.exp(logits - logits.max())
    return np.asarray(np.maximum(raised / raised.sum(), SMALLEST_PROBABILITY))
