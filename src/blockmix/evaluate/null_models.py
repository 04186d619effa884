"""Null models: what held-out pairs cost without communities, from the density or from the degrees alone.

A model of communities has found something if it predicts held-out pairs better than these. Both are fitted to the
training links and calibrated to the density of the whole network, as the model is, and scored on the same pairs by
the same log loss (M5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate.betting import ENOUGH_ODDS, log_odds
from blockmix.evaluate.pairs import Floats, log_loss, pair_losses

# A difference of so many standard errors counts: by chance one null run in 40 seems better than it is.
CLEAR = 2.0
# With fewer held-out pairs of a kind nothing is said: the standard error of a few is mostly too small. Two of them are
# exceeded by chance in 14 to 21 of 100 samples of four losses, 8 to 13 of ten and 5 of many (normal to exponential).
ENOUGH = 10
# Nodes are grouped by degree; more distinct degrees than this are cut into ranges.
MOST_GROUPS = 500
# Steps of the iteration for the propensities at most; it ends where none moves by more than this share of itself.
STEPS, CLOSE = 200, 1e-6
TINY = float(np.finfo(np.float64).tiny)
# Where all pairs are links no scale is large enough.
LARGEST_SCALE = 1e9
# Halvings of the interval in which the scale of the degree model lies, on a logarithmic axis.
_HALVINGS = 80


@dataclass(frozen=True)
class NullComparison:
    """Log losses of the model, of the density alone and of the degrees alone, on the same held-out pairs.

    `gain` is the loss of the better null model less that of the model, and `error` its standard error over the pairs.
    `log_odds` are those that the pairs give for the model against the null model for which they are lower (M21), and
    `fewest` is the number of held-out links or of held-out non-links, whichever are fewer.
    """

    log_loss: float
    density_log_loss: float
    degree_log_loss: float
    gain: float
    error: float
    fewest: int
    log_odds: float

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

        "better" also where it is better and the odds for it are 1,000 or more. With fewer than ten held-out links or
        non-links it is "too few", whatever the difference.
        """
        if self.fewest < ENOUGH:
            return "too few"
        if self.sure:
            return "better"
        if abs(self.gain) <= CLEAR * self.error or not np.isfinite(self.gain):
            return "equal"
        return "better" if self.gain > 0 else "worse"

    @property
    def sure(self) -> bool:
        """Whether enough pairs were held out, and predicted better, and the odds for the model are 1,000 or more."""
        return self.fewest >= ENOUGH and self.gain > 0 and self.log_odds >= float(np.log(ENOUGH_ODDS))


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
    odds = min(log_odds(probability, values, links, density) for values in nulls.values())
    return NullComparison(own, losses["density"], losses["degrees"], gain, error, fewest, odds)


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
    pairs are those across.
    """
    found = propensities([degrees[:first], degrees[first:]] if first else [degrees])
    t = np.concatenate(found)
    odds = _scale(found, density) * t[pairs[:, 0]] * t[pairs[:, 1]]
    return np.asarray(odds / (1.0 + odds))


def propensities(sides: list[NDArray[np.int64]]) -> list[Floats]:
    """(M12) Estimate how readily each node links, from the degrees of all nodes, or from those of two sides.

    In the model odds(p_ab) = c t_a t_b all that the links tell of t are the degrees. t is at the mode of its posterior
    under a Gamma law of mean one, as a law of log t: t_a = (d_a + s)/(s + sum_b c t_b/(1 + c t_a t_b)). Its shape s is
    that of the degrees. At the mode t is one on average, which each step of the iteration sees to; none lowers the
    posterior density. Degrees that vary no more than by chance (an Erdős–Rényi network) give t = 1: the density alone.
    Without the prior, nodes without training links could not have any.
    """
    groups = [DegreeGroups.of(side) for side in sides]
    sizes, shapes = [group.nodes for group in groups], [degree_shape(side) for side in sides]
    all_pairs = float(_pairs_of(sizes).sum())
    links = min(float(sides[0].sum()) / (2 if len(sides) == 1 else 1), all_pairs)
    t, exposures = [np.ones(len(n)) for n in sizes], [np.zeros(len(n)) for n in sizes]
    scale = links / max(all_pairs, 1.0)
    for _ in range(STEPS):
        before = np.concatenate(t)
        for i, group in enumerate(groups):
            rate = scale * t[-1 - i] / (1.0 + scale * np.outer(t[i], t[-1 - i]))
            exposures[i] = rate @ sizes[-1 - i] - (np.diag(rate) if len(sides) == 1 else 0.0)
            if np.isfinite(shapes[i]):
                t[i] = (group.degree + shapes[i]) / (exposures[i] + shapes[i])
                mean = float(t[i] @ sizes[i] / sizes[i].sum())
                t[i] /= mean
                scale *= mean ** (2 if len(sides) == 1 else 1)
        products = np.outer(t[0], t[-1])
        expected = float((_pairs_of(sizes) * products / (1.0 + scale * products)).sum())
        scale = min(links / max(expected, TINY), LARGEST_SCALE)
        if np.abs(np.log(np.concatenate(t) / before)).max(initial=0.0) < CLOSE:
            break
    return [
        (side + s) / (exposure[group.of_node] + s) if np.isfinite(s) else np.ones(len(side))
        for side, group, exposure, s in zip(sides, groups, exposures, shapes, strict=True)
    ]


class DegreeGroups(NamedTuple):
    """Nodes of the same degree, or of degrees next to each other: mean degree, how many nodes, the group of a node."""

    degree: Floats
    nodes: Floats
    of_node: NDArray[np.int64]

    @classmethod
    def of(cls, degrees: NDArray[np.int64]) -> DegreeGroups:
        """Group nodes by degree; very many distinct degrees are cut into ranges of as many of them each."""
        distinct, rank = np.unique(degrees, return_inverse=True)
        count = min(len(distinct), MOST_GROUPS)
        group = (np.arange(len(distinct)) * count // max(len(distinct), 1))[rank.ravel()]
        nodes = np.bincount(group, minlength=count).astype(np.float64)
        return cls(np.bincount(group, degrees, count) / np.maximum(nodes, 1.0), nodes, group)


def _pairs_of(sizes: list[Floats]) -> Floats:
    """Count the pairs of nodes between groups of one side, each pair once, or of two sides."""
    pairs = np.outer(sizes[0], sizes[-1])
    if len(sizes) == 1:
        np.fill_diagonal(pairs, sizes[0] * (sizes[0] - 1.0))
        pairs /= 2.0
    return pairs


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
