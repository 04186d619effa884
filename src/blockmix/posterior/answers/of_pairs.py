"""Questions about pairs of nodes: link probability with its interval, shared communities, community of a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.posterior.answers.shares import (
    labels_of,
    largest_in_rows,
    node_pairs,
    refuse_general,
    sample_shares,
    sample_weights,
)
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Pairs for which the probabilities under every sample are held at once.
_AT_ONCE = 1 << 16


def link_intervals(post: Posterior, pairs: Any, level: float) -> Answer:
    """See `Posterior.link_intervals`."""
    if not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1, not {level!r}")
    nodes = node_pairs(post, pairs)
    samples = [sample for chain in post.draws for sample in chain]
    if len(samples) < 2:
        raise InputError("an interval needs at least two samples, and this run kept fewer: fit for longer")
    mean, lower, upper = (np.empty(len(nodes)) for _ in range(3))
    # Checks the pairs, and averages over the samples in the one way there is.
    mean[:] = post.node_link_probability(nodes)
    ends = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    weights = sample_weights(post)
    for begin in range(0, len(nodes), _AT_ONCE):
        part = nodes[begin : begin + _AT_ONCE]
        values = np.zeros((len(samples), len(part)))
        for row, sample in zip(values, samples, strict=True):
            post.predictor.add_sample(sample, part, row)
        low, high = _quantiles(values, weights, ends)
        lower[begin : begin + len(part)], upper[begin : begin + len(part)] = low, high
    return Answer(_ends(post, nodes) | {"probability": mean, "lower": lower, "upper": upper})


def _quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64], ends: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return quantiles of the columns of `values`, whose rows count by `weights`; between rows they are linear.

    With equal weights they are those of `numpy.quantile`.
    """
    kept = weights > 0
    values, weights = values[kept], weights[kept] / weights[kept].sum()
    order = np.argsort(values, axis=0, kind="stable")
    values, weight = np.take_along_axis(values, order, axis=0), weights[order]
    middle = np.cumsum(weight, axis=0) - 0.5 * weight
    middle = (middle - middle[0]) / np.maximum(middle[-1] - middle[0], 1e-300)
    columns = range(values.shape[1])
    low, high = (np.array([np.interp(end, middle[:, j], values[:, j]) for j in columns]) for end in ends)
    return low, high


def share_probability(post: Posterior, pairs: Any, threshold: float) -> NDArray[np.float64]:
    """See `Posterior.share_probability`."""
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie above 0 and not above 1, not {threshold!r}")
    nodes = node_pairs(post, pairs)
    found = np.zeros(len(nodes))
    for weight, (_, shares, _) in zip(sample_weights(post), sample_shares(post), strict=True):
        member = sp.csr_array(shares, copy=True)
        # Weights are kept in 16 bits: a membership of exactly the threshold may be rounded below it.
        member.data = (member.data >= threshold - 1e-4).astype(np.float64)
        both = member[nodes[:, 0]].multiply(member[nodes[:, 1]])
        found += weight * (np.asarray(both.sum(axis=1)).ravel() > 0)
    return found


def link_communities(post: Posterior, pairs: Any) -> Answer:
    """See `Posterior.link_communities`."""
    refuse_general(post, "the community of a link")
    nodes = node_pairs(post, pairs)
    total: Any = sp.csr_array((len(nodes), post.n_communities))
    outside = np.zeros(len(nodes))
    for weight, (sample, shares, strengths) in zip(sample_weights(post), sample_shares(post), strict=True):
        both = sp.csr_array(shares[nodes[:, 0]].multiply(shares[nodes[:, 1]]))
        # (M1): the link is made in community k, or between two communities. (DC1) adds the background to all pairs, and
        # popularities are factors of both.
        inside = 0.0 if sample.popularity is not None else np.asarray(both.sum(axis=1)).ravel()
        background = strengths[-1] * (1.0 - inside) + np.zeros(len(nodes))
        made = sp.csr_array(both @ sp.diags_array(strengths[:-1]))
        whole = background + np.asarray(made.sum(axis=1)).ravel()
        total = total + sp.diags_array(weight / whole) @ made
        outside += weight * background / whole
    inside = sp.csr_array(total)
    best = largest_in_rows(inside)
    probability = inside.max(axis=1).toarray().ravel()
    best[probability <= 0] = -1
    return Answer(_ends(post, nodes) | {"community": best, "probability": probability, "between": outside})


def _ends(post: Posterior, nodes: NDArray[np.int64]) -> dict[str, Any]:
    return {"node_a": labels_of(post, nodes[:, 0]), "node_b": labels_of(post, nodes[:, 1])}
