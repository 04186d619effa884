"""Null models: what held-out pairs cost without communities, from the density or from the degrees alone.

A model of communities has found something if it predicts held-out pairs better than these. Both are fitted to the
training links and calibrated to the density of the whole network, as the model is, and scored on the same pairs by
the same log loss (M5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate.pairs import Floats, log_loss, pair_losses

# A difference of so many standard errors counts: by chance one null run in 40 seems better than it is.
CLEAR = 2.0
# With fewer held-out pairs of a kind nothing is said: the standard error of a few is mostly too small. Two of them are
# exceeded by chance in 14 to 21 of 100 samples of four losses, 8 to 13 of ten and 5 of many (normal to exponential).
ENOUGH = 10
# Nodes are grouped by degree; more distinct degrees than this are cut into ranges of as many nodes each.
MOST_GROUPS = 1000
# Halvings of the interval in which the scale of the degree model lies, on a logarithmic axis.
_HALVINGS = 80


@dataclass(frozen=True)
class NullComparison:
    """Log losses of the model, of the density alone and of the degrees alone, on the same held-out pairs.

    `gain` is the loss of the better null model less that of the model, and `error` its standard error over the pairs.
    `fewest` is the number of held-out links or of held-out non-links, whichever are fewer.
    """

    log_loss: float
    density_log_loss: float
    degree_log_loss: float
    gain: float
    error: float
    fewest: int

    @property
    def null(self) -> str:
        """The null model to beat: "density" or "degrees"."""
        return "density" if self.density_log_loss <= self.degree_log_loss else "degrees"

    @property
    def null_log_loss(self) -> float:
        """The log loss of the null model to beat."""
        return min(self.density_log_loss, self.degree_log_loss)

    @property
    def share(self) -> float:
        """By which share the model's log loss is below that of the null model; negative where it is above."""
        return self.gain / self.null_log_loss if self.null_log_loss > 0 else 0.0

    @property
    def verdict(self) -> str:
        """Whether the model is "better" or "worse" than the null model by two standard errors; else "equal".

        With fewer than ten held-out links or non-links it is "too few", whatever the difference.
        """
        if self.fewest < ENOUGH:
            return "too few"
        if abs(self.gain) <= CLEAR * self.error or not np.isfinite(self.gain):
            return "equal"
        return "better" if self.gain > 0 else "worse"


def compare_with_null(
    probability: Floats,
    pairs: NDArray[np.int64],
    links: NDArray[np.bool_],
    degrees: NDArray[np.int64],
    density: float,
    first: int = 0,
) -> NullComparison:
    """Compare predictions of held-out pairs with those of the null models; `degrees` are those in training.

    Where only the `first` nodes can be linked to the others, the degrees are those of two sides.

    >>> pairs, links = np.array([[0, 1], [0, 2]]), np.array([True, False])
    >>> found = compare_with_null(np.array([0.9, 0.1]), pairs, links, np.array([2, 2, 2, 2]), 0.5)
    >>> found.null, round(found.null_log_loss, 3), round(found.gain, 3)
    ('density', 0.693, 0.588)
    """
    nulls = {
        "density": np.full(len(links), density),
        "degrees": degree_probability(degrees, density, pairs, first),
    }
    losses = {name: log_loss(values, links, density) for name, values in nulls.items()}
    best = min(losses, key=lambda name: losses[name])
    gain, error = mean_gain(probability, nulls[best], links, density)
    own = log_loss(probability, links, density)
    fewest = min(int(np.count_nonzero(links)), int(np.count_nonzero(~links)))
    return NullComparison(own, losses["density"], losses["degrees"], gain, error, fewest)


def mean_gain(
    probability: Floats, other: Floats, links: NDArray[np.bool_], density: float
) -> tuple[float, float]:
    """Return by how much the log loss (M5) of predictions is below that of others, and the standard error over pairs.

    Links and non-links are two samples, each of which stands for its share of the network. With a single pair of a kind
    the error is not known, and infinite.
    """
    difference = pair_losses(other, links) - pair_losses(probability, links)
    gain = variance = 0.0
    for weight, chosen in ((density, links), (1.0 - density, ~links)):
        if weight > 0.0:
            values = difference[chosen]
            gain += weight * float(values.mean()) if len(values) else np.nan
            spread = float(values.var(ddof=1)) / len(values) if len(values) > 1 else np.inf
            variance += weight**2 * spread
    return gain, float(np.sqrt(variance))


def degree_probability(
    degrees: NDArray[np.int64], density: float, pairs: NDArray[np.int64], first: int = 0
) -> Floats:
    """Compute the link probabilities of the degree model (M12): odds(p_ab) = c t_a t_b, with propensities t.

    `propensities` estimates t from the degrees; c makes the mean over all pairs equal to the density. With two sides
    the propensities of each are one on average, and pairs are those across.
    """
    sides = [degrees[:first], degrees[first:]] if first else [degrees]
    found = [propensities(side) for side in sides]
    t = np.concatenate(found)
    odds = _scale(found, density) * t[pairs[:, 0]] * t[pairs[:, 1]]
    return np.asarray(odds / (1.0 + odds))


def propensities(degrees: NDArray[np.int64]) -> Floats:
    """Estimate how readily each node links, 1 on average: t_a = (d_a + s) / (m + s), shrunk towards the mean.

    Degrees are taken as Poisson with a Gamma-distributed mean of shape s, so that their variance is m + m^2 / s; s is
    estimated by moments. Degrees that vary no more than by chance (an Erdős–Rényi network) give t = 1: the density
    alone. Without shrinking, nodes without training links could not have any.
    """
    mean, shape = float(np.mean(degrees)), degree_shape(degrees)
    return np.ones(len(degrees)) if np.isinf(shape) else np.asarray((degrees + shape) / (mean + shape))


def degree_shape(degrees: NDArray[np.int64]) -> float:
    """Return the shape s of the Gamma law of the means of the degrees; infinite where they vary by chance alone."""
    mean, variance = float(np.mean(degrees)), float(np.var(degrees))
    return float("inf") if variance <= mean or mean == 0.0 else mean**2 / (variance - mean)


def _scale(t: list[Floats], density: float) -> float:
    """Find c for which the mean probability over all pairs of nodes is the density, by bisection of log c.

    `t` are the propensities of all nodes, or those of two sides.
    """
    if not 0.0 < density < 1.0 or sum(map(len, t)) < 2:
        return density
    (values, counts), (others, numbers) = _groups(t[0]), _groups(t[-1])
    products, pairs = np.outer(values, others), np.outer(counts, numbers)
    if len(t) == 1:
        np.fill_diagonal(pairs, counts * (counts - 1.0))
    pairs /= pairs.sum()
    low, high = -100.0, 100.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        odds = np.exp(middle) * products
        if float((pairs * (odds / (1.0 + odds))).sum()) < density:
            low = middle
        else:
            high = middle
    return float(np.exp(0.5 * (low + high)))


def _groups(t: Floats) -> tuple[Floats, Floats]:
    """Return distinct propensities and how many nodes have each; very many are replaced by means of ranges."""
    values, counts = np.unique(t, return_counts=True)
    if len(values) > MOST_GROUPS:
        pieces = np.array_split(np.sort(t), MOST_GROUPS)
        values = np.array([piece.mean() for piece in pieces])
        counts = np.array([len(piece) for piece in pieces])
    return values, counts.astype(np.float64)
