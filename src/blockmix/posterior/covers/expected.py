"""The cover that agrees best with the posterior: memberships by the share of a node's links, chosen by expected F1.

In a posterior sample node a makes the share x_ak of its links in community k: the mean over its links of the
probability that the link is made there, (M2) or (DC5). It is a *member* of k in that sample if x_ak reaches a threshold
and more than one link, and of the community of its largest share in any case. A share of links is what people mean by
a member; pi_ak is also drawn towards communities that are nearly empty, which no link tells it from.

(M19) With p_ak the posterior probability that a is a member of k, a cover C has the expected F1, as a ratio of
expectations, F(C) = 2 sum_{(a,k) in C} p_ak/(|C| + sum_all p_ak). The best C has all entries with p_ak >= F*/2, F*
being its own F: where the posterior is sure of little, less probable memberships are listed too. One half would be
right for the number of errors. Of the covers in which every node has a place the best has its most probable entry as
well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.posterior.answers.kernels import add_link_shares
from blockmix.posterior.answers.shares import sample_shares, sample_weights

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Posterior samples that are looked at, evenly spread over all chains.
MOST_SAMPLES = 24
# A second membership needs at least so many of the node's links, nearer to two than to one: one can always be chance.
FEWEST_LINKS = 1.5
# Shares of exactly the threshold stay above it when they are sums of rounded numbers.
ROUNDING = 1e-9

Nodes = NDArray[np.int64]
Values = NDArray[np.float64]


def expected_members(post: Posterior, threshold: float) -> tuple[Nodes, Nodes, Values]:
    """(M19) Return node, community and mean share of links of the memberships of the best cover, by rows."""
    probability, mean = membership_probability(post, threshold)
    nodes = np.repeat(np.arange(post.graph.n_nodes), np.diff(probability.indptr))
    keep = probability.data >= best_bound(probability.data)
    keep |= probability.data >= _largest(probability)[nodes]
    return nodes[keep], probability.indices[keep].astype(np.int64), mean.data[keep]


def best_bound(probability: Values) -> float:
    """(M19) Return F*/2 of these probabilities: the best covers are the most probable entries, for some number.

    >>> best_bound(np.array([1.0, 1.0, 0.45, 0.1])), best_bound(np.array([0.2, 0.1]))
    (0.44..., 0.1...)
    """
    ordered = np.sort(probability)[::-1]
    listed = np.cumsum(ordered)
    if not len(listed) or listed[-1] <= 0:
        return 0.0
    return float((listed / (np.arange(1, len(listed) + 1) + listed[-1])).max())


def membership_probability(post: Posterior, threshold: float) -> tuple[sp.csr_array, sp.csr_array]:
    """Return p_ak of (M19) and the mean of x_ak, nodes x communities with the same entries, ordered by rows."""
    weights = sample_weights(post)
    chosen = np.unique(np.linspace(0, len(weights) - 1, min(len(weights), MOST_SAMPLES)).astype(np.int64))
    whole = weights[chosen].sum()
    shape = post.graph.n_nodes, post.n_communities
    member: Any = sp.csr_array(shape)
    mean: Any = sp.csr_array(shape)
    for number, (sample, shares, strengths) in enumerate(sample_shares(post)):
        if number in chosen and whole > 0:
            made = link_shares(post, shares, strengths, sample.popularity is not None)
            weight = weights[number] / whole
            member = member + weight * members_of(made, post.graph.degrees, threshold)
            mean = mean + weight * made
    member.eliminate_zeros()
    # The mean where there is a probability, so that both have the same entries.
    pattern = sp.csr_array((np.ones(member.nnz), member.indices, member.indptr), shape=shape)
    both = sp.csr_array(pattern + pattern.multiply(mean))
    both.data -= 1.0
    for matrix in (member, both):
        matrix.sort_indices()
    return sp.csr_array(member), both


def link_shares(post: Posterior, shares: sp.csr_array, strengths: Values, popular: bool) -> sp.csr_array:
    """Return x_ak of one sample: the share of the links of a made in k; what is left is made in the background."""
    graph, begins = post.graph, shares.indptr.astype(np.int64)
    made = np.zeros(shares.nnz)
    graph.check_links()
    add_link_shares(
        graph.offsets, graph.neighbors, begins, shares.indices.astype(np.int64), shares.data, strengths, popular, made
    )  # fmt: skip
    made /= np.repeat(np.maximum(graph.degrees, 1), np.diff(begins))
    return _with_values(shares, made)


def members_of(made: sp.csr_array, degrees: NDArray[np.integer], threshold: float) -> sp.csr_array:
    """Return one where a node is a member in this sample, and nothing elsewhere."""
    rows = np.repeat(np.arange(made.shape[0]), np.diff(made.indptr))
    least = np.maximum(threshold, FEWEST_LINKS / np.maximum(degrees, 1)) - ROUNDING
    member = made.data >= np.minimum(least, _largest(made))[rows]
    return _with_values(made, member.astype(np.float64))


def _largest(matrix: sp.csr_array) -> Values:
    """Return the largest entry of every row; zero where there is none."""
    found = np.zeros(matrix.shape[0])
    np.maximum.at(found, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.data)
    return found


def _with_values(matrix: sp.csr_array, values: Values) -> sp.csr_array:
    """Return other values in the entries of a matrix, without those that are zero; the matrix stays as it is."""
    # `eliminate_zeros` works in place, and would move the entries of the matrix whose arrays it is given.
    found = sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    found.eliminate_zeros()
    return found
