"""Calibration of predicted link probabilities (M7), from pairs that are not a fair sample of the network.

Held-out pairs hold n1 links and n0 non-links, whatever the network's density rho. To make statements about the network,
a link counts w1 = rho/n1 and a non-link w0 = (1-rho)/n0. If a pair with prediction p is a link with
probability p in the network, then among the held-out pairs it is one with probability q, where

    odds(q) = odds(p) * w0/w1.

So given the predictions, the number of links among the k held-out pairs of a bin is a sum of k coin flips
of mean chance q_bin. The Clopper-Pearson interval for q_bin from that count is exact for equal coins and
wider than needed for unequal ones (Hoeffding 1956). It maps through odds(f) = odds(q) * w1/w0 to an interval
for the bin's link frequency f in the network; the mapping is increasing, so the coverage stays what it was.

What the interval leaves out: pairs that share a node are not independent, which widens the truth a little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockmix.errors import InputError
from blockmix.evaluate.pairs import Floats, checked_pairs
from blockmix.notebook import table_html


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTable:
    """Predicted against observed link frequency, bin by bin, both as frequencies in the whole network.

    `edges` has one entry more than there are bins; bin i holds edges[i] <= p < edges[i + 1], the last one its
    upper edge too. A calibrated model has `predicted` between `lower` and `upper` in each bin with the
    probability `confidence`; of 10 bins at 99%, one or more miss with a chance of up to 10%.
    Bins without pairs have NaN for `predicted` and `observed` and the interval [0, 1].
    """

    edges: Floats
    n_links: NDArray[np.int64]
    n_non_links: NDArray[np.int64]
    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    density: float
    confidence: float

    def __len__(self) -> int:
        return len(self.n_links)

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether `predicted` lies in the interval; True for a bin without pairs, which has no evidence."""
        inside = (self.predicted >= self.lower) & (self.predicted <= self.upper)
        return np.asarray(inside | np.isnan(self.predicted))

    def rows(self) -> list[dict[str, Any]]:
        """Return the bins as dictionaries, ready for JSON; those without pairs are left out."""
        names = ("predicted", "observed", "lower", "upper")
        return [
            {"from": float(self.edges[i]), "to": float(self.edges[i + 1])}
            | {"pairs": int(self.n_links[i] + self.n_non_links[i]), "links": int(self.n_links[i])}
            | {name: float(getattr(self, name)[i]) for name in names}
            | {"outside": not bool(self.covered[i])}
            for i in range(len(self))
            if self.n_links[i] + self.n_non_links[i]
        ]

    def __repr__(self) -> str:
        lines = [f"   pairs  predicted   observed  ({self.confidence:.0%} interval)"]
        for i in range(len(self)):
            mark = "" if self.covered[i] else "  outside"
            lines.append(
                f"{self.n_links[i] + self.n_non_links[i]:8,}  {self.predicted[i]:9.5f}  {self.observed[i]:9.5f}"
                f"  ({self.lower[i]:.5f} to {self.upper[i]:.5f}){mark}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = {
            "from": self.edges[:-1], "to": self.edges[1:], "pairs": self.n_links + self.n_non_links,
            "predicted": self.predicted, "observed": self.observed, "lower": self.lower, "upper": self.upper,
        }  # fmt: skip
        missed = int(np.count_nonzero(~self.covered))
        return table_html(columns, f"{missed} outside of the {self.confidence:.0%} intervals")


def calibration(
    probability: ArrayLike,
    links: ArrayLike,
    density: float,
    bins: int | ArrayLike = 10,
    *,
    confidence: float = 0.99,
) -> CalibrationTable:
    """Compute the calibration of predicted probabilities, reweighted to the network's density (M7).

    `bins` is a number of bins, cut so that each holds about equally many held-out pairs (probabilities of a
    sparse network crowd near 0, where bins of equal width would see nothing), or the edges themselves; pairs
    outside given edges are left out. Tied probabilities stay in one bin, so there may be fewer bins.
    `predicted` is the mean of p over the bin's pairs as they would weigh in the network if p were right; that
    makes it comparable with `observed` without borrowing the noise of the observed links.

    >>> table = calibration([0.1, 0.2, 0.8, 0.9], [False, False, True, True], density=0.5, bins=2)
    >>> table.observed.tolist(), table.n_links.tolist()
    ([0.0, 1.0], [0, 2])
    """
    p, is_link = checked_pairs(probability, links)
    n_links = int(is_link.sum())
    check_calibration(n_links, len(p) - n_links, density, confidence)
    link_weight, non_link_weight = density / n_links, (1.0 - density) / (len(p) - n_links)
    edges = _edges(p, bins)
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, len(edges) - 2)
    inside = (p >= edges[0]) & (p <= edges[-1])
    place, p, is_link = place[inside], p[inside], is_link[inside]
    ones = np.bincount(place[is_link], minlength=len(edges) - 1)
    zeros = np.bincount(place[~is_link], minlength=len(edges) - 1)
    ratio = link_weight / non_link_weight
    low, high = clopper_pearson(ones, ones + zeros, confidence)
    return CalibrationTable(
        edges=edges,
        n_links=ones,
        n_non_links=zeros,
        predicted=_predicted(p, place, link_weight, non_link_weight, len(edges) - 1),
        observed=_scale_odds(_ratio(ones, ones + zeros), ratio),
        lower=_scale_odds(low, ratio),
        upper=_scale_odds(high, ratio),
        density=density,
        confidence=confidence,
    )


def check_calibration(n_links: int, n_non_links: int, density: float, confidence: float) -> None:
    """Refuse a density, a confidence or held-out pairs that nothing can be compared with."""
    if not 0.0 < density < 1.0:
        raise InputError(f"density must lie strictly between 0 and 1, not {density}; use Graph.density")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie strictly between 0 and 1, not {confidence}; 0.99 is usual")
    if not n_links or not n_non_links:
        raise InputError(
            f"calibration needs held-out links and non-links; there are {n_links} and {n_non_links}"
        )


def _edges(p: Floats, bins: int | ArrayLike) -> Floats:
    if isinstance(bins, int | np.integer):
        if bins < 1:
            raise InputError(f"bins must be at least 1, not {bins}")
        ranked, values = np.sort(p), np.unique(p)
        above = np.searchsorted(values, ranked[np.arange(1, bins) * len(p) // bins])
        above = above[above > 0]
        # halfway between values that occur: pairs of equal probability share a bin, also those at 1
        cuts = (values[above - 1] + values[above]) / 2
        return np.unique(np.concatenate(([0.0], cuts, [1.0])))
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise InputError("bins must be a number of bins or at least two strictly increasing edges")
    return edges


def _predicted(
    p: Floats, place: NDArray[np.intp], link_weight: float, non_link_weight: float, n_bins: int
) -> Floats:
    """Mean of p per bin, a pair weighing what it would on average: q w1 + (1-q) w0 = 1/(p/w1 + (1-p)/w0)."""
    weight = 1.0 / (p / link_weight + (1.0 - p) / non_link_weight)
    return _ratio(np.bincount(place, weight * p, n_bins), np.bincount(place, weight, n_bins))


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Divide part by whole; NaN where there is nothing."""
    empty = np.full(len(whole), np.nan)
    return np.asarray(np.divide(part, whole, out=empty, where=whole > 0), dtype=np.float64)


def _scale_odds(frequency: Floats, ratio: float) -> Floats:
    """Return the frequency whose odds are `ratio` times as large; 0 and 1 do not change."""
    return frequency * ratio / (frequency * ratio + (1.0 - frequency))


def clopper_pearson(
    successes: NDArray[np.int64], trials: NDArray[np.int64], confidence: float
) -> tuple[Floats, Floats]:
    """Compute the exact two-sided binomial interval; [0, 1] for no trials."""
    from scipy.special import betaincinv  # 0.1 s to import, and only calibration needs it

    tail = (1.0 - confidence) / 2.0
    failures = trials - successes
    low = betaincinv(np.maximum(successes, 1), failures + 1, tail)
    high = betaincinv(successes + 1, np.maximum(failures, 1), 1.0 - tail)
    return np.where(successes == 0, 0.0, low), np.where(failures == 0, 1.0, high)
