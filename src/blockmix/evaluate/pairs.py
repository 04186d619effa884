"""How well held-out pairs are predicted: perplexity, log loss, AUC, average precision.

Every function takes the predictive link probability of each held-out pair, already averaged over posterior
samples, and whether the pair is a link. Held-out pairs are usually balanced (as many links as non-links),
which the network is not: scores that need the network's density ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockmix.errors import InputError

Floats = NDArray[np.float64]

# A probability of 0 or 1 that turns out wrong costs -log of this (36 nats), not infinity. It lies below
# every link probability a sparse network can have (about 1e-11) and is the smallest step below 1.
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)

# float32 averages may leave [0, 1] by rounding; anything farther out is a mistake of the caller.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Scores:
    """The scores of one set of held-out pairs. Undefined ones are NaN (see each function).

    `auc` compares held-out links with uniform non-links, `auc_matched` with non-links whose ends have as many links as
    those of links have (M15).
    """

    perplexity: float
    log_loss: float
    auc: float
    average_precision: float
    n_links: int
    n_non_links: int
    auc_matched: float = float("nan")


def score(
    probability: ArrayLike, links: ArrayLike, density: float, matched: ArrayLike | None = None
) -> Scores:
    """Compute all scores; `matched` are the probabilities of non-links matched by degree (`auc_matched`).

    >>> score([0.9, 0.2], [True, False], density=0.1).auc
    1.0
    """
    probability, is_link = checked_pairs(probability, links)
    above = float("nan")
    if matched is not None and np.size(matched) and is_link.any():
        others = np.asarray(matched, dtype=np.float64)
        both = np.concatenate((probability[is_link], others))
        above = auc(both, np.arange(len(both)) < len(both) - len(others))
    return Scores(
        perplexity=perplexity(probability, is_link),
        log_loss=log_loss(probability, is_link, density),
        auc=auc(probability, is_link),
        average_precision=average_precision(probability, is_link),
        n_links=int(is_link.sum()),
        n_non_links=int((~is_link).sum()),
        auc_matched=above,
    )


def perplexity(probability: ArrayLike, links: ArrayLike) -> float:
    """Compute the perplexity of held-out pairs (M4): exp of the mean negative log probability of what was observed.

    1 is perfect and 2 is a fair coin. On balanced pairs it rewards inflated link probabilities: it is the
    figure published for comparison, and `log_loss` is the one to decide by.

    >>> perplexity([0.5, 0.5], [True, False])
    2.0
    """
    probability, is_link = checked_pairs(probability, links)
    return float(np.exp(-np.mean(_log_likelihood(probability, is_link))))


def log_loss(probability: ArrayLike, links: ArrayLike, density: float) -> float:
    """Compute the network-weighted log loss in nats per pair (M5): links weigh `density`, non-links the rest.

    A proper score whatever the mix of held-out pairs: the true probabilities minimise its expectation.
    NaN where a class that carries weight has no held-out pair.
    """
    probability, is_link = checked_pairs(probability, links)
    if not 0.0 <= density <= 1.0:
        raise InputError(f"density must lie between 0 and 1, not {density}; use Graph.density")
    log_likelihood = _log_likelihood(probability, is_link)
    total = 0.0
    for weight, chosen in ((density, is_link), (1.0 - density, ~is_link)):
        if weight > 0.0:
            total -= weight * float(log_likelihood[chosen].mean()) if chosen.any() else np.nan
    return total


def auc(probability: ArrayLike, links: ArrayLike) -> float:
    """Compute the probability that a random held-out link ranks above a random non-link (M6); a tie counts half.

    The area under the ROC curve, counted in integers, so exact under ties. NaN without links or without
    non-links, where there is no such pair to draw.

    >>> auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875
    """
    n_links, n_non_links = _counts_by_probability(*checked_pairs(probability, links))
    below = np.cumsum(n_non_links) - n_non_links
    doubled_wins = int(np.sum(n_links * (2 * below + n_non_links)))
    pairs = int(n_links.sum()) * int(n_non_links.sum())
    return doubled_wins / (2 * pairs) if pairs else float("nan")


def average_precision(probability: ArrayLike, links: ArrayLike) -> float:
    """Compute average precision (M6): the sum over thresholds of (gain in recall) x precision.

    Pairs of equal probability enter together, as in scikit-learn. It depends on the share of links among
    the held-out pairs: compare it only between fits with the same hold-out. NaN without links.

    >>> round(average_precision([0.9, 0.4, 0.4, 0.1], [True, True, False, False]), 4)
    0.8333
    """
    n_links, n_non_links = _counts_by_probability(*checked_pairs(probability, links))
    gained = n_links[::-1]
    found = np.cumsum(gained)
    if found[-1] == 0:
        return float("nan")
    precision = found / np.cumsum(gained + n_non_links[::-1])
    return float(np.sum(gained * precision) / found[-1])


def checked_pairs(probability: ArrayLike, links: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Check held-out pairs; return float64 probabilities in [0, 1] and booleans, or raise an `InputError`."""
    values = np.asarray(probability, dtype=np.float64)
    is_link = _checked_links(np.asarray(links))
    if values.ndim != 1 or values.shape != is_link.shape:
        raise InputError(
            f"probability and links must be one-dimensional and equally long, not of shapes {values.shape} "
            f"and {is_link.shape}; pass one probability for each held-out pair"
        )
    if values.size == 0:
        raise InputError("there are no held-out pairs to score; hold out a larger share of the network")
    valid = (values >= -_ROUNDING) & (values <= 1.0 + _ROUNDING)
    if not valid.all():
        first = int(np.argmin(valid))
        raise InputError(
            f"probability[{first}] is {values[first]}, not a probability ({int((~valid).sum())} such values)"
        )
    return np.clip(values, 0.0, 1.0), is_link


def _checked_links(links: NDArray[Any]) -> NDArray[np.bool_]:
    if links.dtype == np.bool_:
        return links
    if links.size and not np.isin(links, (0, 1)).all():
        raise InputError("links must hold only True and False (or 1 and 0): whether each pair is a link")
    return links.astype(np.bool_)


def pair_losses(probability: Floats, is_link: NDArray[np.bool_]) -> Floats:
    """Return -log p of what was observed, pair by pair."""
    return np.asarray(-_log_likelihood(probability, is_link))


def _log_likelihood(probability: Floats, is_link: NDArray[np.bool_]) -> Floats:
    """Compute log p of what was observed, kept finite by `SMALLEST_PROBABILITY`."""
    p = np.clip(probability, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
    return np.where(is_link, np.log(p), np.log1p(-p))


def _counts_by_probability(
    probability: Floats, is_link: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count links and non-links at each distinct probability, in increasing order of it."""
    order = np.argsort(probability, kind="stable")
    ranked = probability[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    n_pairs = np.diff(np.append(starts, len(ranked)))
    n_links = np.add.reduceat(is_link[order].astype(np.int64), starts)
    return n_links, n_pairs - n_links
