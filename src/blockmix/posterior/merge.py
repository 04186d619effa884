"""From the running tables of one or several chains to one table of memberships.

The numbers of communities mean nothing by themselves: 7 in chain 2 may be 3 in chain 1. Communities are matched to
those of the chain that counts most by the memberships they share, then means and variances are pooled, within chains
and between them, by the weights of the chains. Finally communities are numbered by expected size, the largest first;
`reorder` gives them another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from blockmix.tables.summary import ChainSummary

# Means below this are left out of the table: they are background noise of the prior.
LEAST_MEAN = 1e-2
# Up to this many communities labels are matched optimally, O(K^3); beyond it greedily.
OPTIMAL_MATCHING = 1000


@dataclass(frozen=True, eq=False)
class Merged:
    """Memberships pooled over chains; row a is entries[offsets[a]:offsets[a + 1]], largest mean first.

    `numbers[c][k]` is the number that community k of chain c has in this table.
    """

    offsets: NDArray[np.int64]
    community: NDArray[np.int32]
    mean: NDArray[np.float32]
    sd: NDArray[np.float32]
    sizes: NDArray[np.float64]
    numbers: NDArray[np.int64]


def merge_chains(
    chains: Sequence[ChainSummary], communities: int, weights: NDArray[np.float64] | None = None
) -> Merged:
    """Pool the chains' running tables by weights that sum to one; without, by their numbers of samples."""
    samples = np.array([max(c.samples, 1) for c in chains], dtype=np.float64)
    shares = samples / samples.sum() if weights is None else weights
    moments = [_moments(c, communities) for c in chains]
    # A chain that does not count must not decide what the communities of the others are matched to.
    first_chain = int(np.argmax(shares))
    numbers = np.empty((len(chains), communities), dtype=np.int64)
    numbers[first_chain] = np.arange(communities)
    for i in range(len(chains)):
        if i != first_chain:
            numbers[i] = match_labels(moments[first_chain][0], moments[i][0])
    mean, square = sp.csr_matrix(moments[0][0].shape), sp.csr_matrix(moments[0][0].shape)
    for i, (first, second) in enumerate(moments):
        if shares[i] == 0.0:
            continue
        mean = mean + shares[i] * _renumbered(first, numbers[i])
        square = square + shares[i] * _renumbered(second, numbers[i])
    sizes = np.asarray(mean.sum(axis=0)).ravel()
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(communities, dtype=np.int64)
    rank[order] = np.arange(communities)
    table = _table(_renumbered(mean, rank), _renumbered(square, rank))
    return Merged(*table, sizes[order], rank[numbers])


def reorder(merged: Merged, order: NDArray[np.int64]) -> Merged:
    """Return the same table with community order[i] numbered i."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    community = rank[merged.community].astype(np.int32)
    return replace(merged, community=community, sizes=merged.sizes[order], numbers=rank[merged.numbers])


def _moments(chain: ChainSummary, communities: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return first and second moments of a chain's memberships as N x K sparse matrices."""
    running = chain.running
    used = running.community >= 0
    nodes = np.repeat(np.arange(len(used)), used.sum(axis=1))
    place = (nodes, running.community[used])
    mean = running.mean[used].astype(np.float64)
    # Where a deviation rounded below zero the second moment could vanish, and sums of the two matrices, which
    # leave out zeros, would no longer have their entries at the same places.
    square = mean**2 + np.maximum(running.deviation[used], 0.0) / max(chain.samples, 1)
    shape = (len(used), communities)
    return sp.csr_matrix((mean, place), shape=shape), sp.csr_matrix((square, place), shape=shape)


def _renumbered(matrix: sp.csr_matrix, numbers: NDArray[np.int64]) -> sp.csr_matrix:
    matrix = sp.csr_matrix((matrix.data, numbers[matrix.indices], matrix.indptr), shape=matrix.shape)
    matrix.sort_indices()
    return matrix


def _table(
    mean: sp.csr_matrix, square: sp.csr_matrix
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    """Return rows of (community, mean, sd), largest mean first, small means left out."""
    nodes = np.repeat(np.arange(mean.shape[0]), np.diff(mean.indptr))
    second = square.data
    if not np.array_equal(mean.indptr, square.indptr) or not np.array_equal(mean.indices, square.indices):
        # Sums leave out zeros, and a mean may be zero where the second moment is not.
        second = np.asarray(square[nodes, mean.indices]).ravel()
    keep = mean.data >= LEAST_MEAN
    nodes, community, value = nodes[keep], mean.indices[keep], mean.data[keep]
    sd = np.sqrt(np.maximum(second[keep] - value**2, 0.0))
    order = np.lexsort((community, -value, nodes))
    offsets = np.zeros(mean.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(nodes, minlength=mean.shape[0]), out=offsets[1:])
    return (
        offsets,
        community[order].astype(np.int32),
        value[order].astype(np.float32),
        sd[order].astype(np.float32),
    )


def match_labels(first: sp.csr_matrix, other: sp.csr_matrix) -> NDArray[np.int64]:
    """Match each community of `other` to one of `first`, by the membership they share.

    >>> a = sp.csr_matrix(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]))
    >>> match_labels(a, a[:, [1, 0]].tocsr()).tolist()
    [1, 0]
    """
    shared = (other.T @ first).tocoo()
    communities = first.shape[1]
    if communities <= OPTIMAL_MATCHING:
        _, numbers = linear_sum_assignment(-shared.toarray())
        return np.asarray(numbers, dtype=np.int64)
    numbers = np.full(communities, -1, dtype=np.int64)
    free = np.ones(communities, dtype=bool)
    for i in np.lexsort((shared.col, shared.row, -shared.data)):
        mine, theirs = shared.row[i], shared.col[i]
        if numbers[mine] < 0 and free[theirs]:
            numbers[mine] = theirs
            free[theirs] = False
    numbers[numbers < 0] = np.flatnonzero(free)
    return numbers
