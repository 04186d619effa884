"""Memberships as sparse matrices of nodes x communities: the posterior means, and single posterior samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.sides.sides import node_pairs as pairs_of_labels

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior
    from blockmix.tables.samples import PosteriorSample

Nodes = NDArray[np.int64]


def mean_shares(post: Posterior) -> sp.csr_array:
    """Return the mean memberships; those below 0.01 are not kept, so that rows add up to a little less than one."""
    data = np.asarray(post.mean, dtype=np.float64)
    shape = (post.graph.n_nodes, post.n_communities)
    return sp.csr_array((data, np.asarray(post.community), np.asarray(post.offsets)), shape=shape)


def largest_in_rows(shares: Any) -> NDArray[np.int64]:
    """Return the community of the largest entry of every row, the first of equal ones, -1 for a row without entries.

    >>> largest_in_rows(sp.csr_array([[0.2, 0.7, 0.1], [0.0, 0.0, 0.0], [0.5, 0.0, 0.5]])).tolist()
    [1, -1, 0]
    """
    rows = sp.csr_array(shares)
    used = np.flatnonzero(np.diff(rows.indptr) > 0)
    found = np.full(rows.shape[0], -1, dtype=np.int64)
    if len(used):
        begins = rows.indptr[used]
        most = np.repeat(np.maximum.reduceat(rows.data, begins), np.diff(rows.indptr)[used])
        number = np.where(rows.data == most, rows.indices, rows.shape[1])
        found[used] = np.minimum.reduceat(number, begins)
    return found


def sample_shares(post: Posterior) -> Iterator[tuple[PosteriorSample, sp.csr_array, NDArray[np.float64]]]:
    """Yield every sample kept with its memberships and strengths in the numbers of the posterior.

    The strengths end with the background; in the general model they are the K x K matrix, in the popularity model
    rates (DC1).
    """
    for chain, numbers in zip(post.draws, post.numbers, strict=True):
        for sample in chain:
            packed = sample.packed()
            totals = np.add.reduceat(packed.weights, packed.offsets[:-1], dtype=np.float64)
            weights = packed.weights / np.repeat(totals, np.diff(packed.offsets))
            shape = (post.graph.n_nodes, post.n_communities)
            shares = sp.csr_array((weights, numbers[packed.communities], packed.offsets), shape=shape)
            yield sample, shares, _renumbered(np.asarray(sample.strengths, dtype=np.float64), numbers)


def sample_weights(post: Posterior) -> NDArray[np.float64]:
    """Return how much every sample counts, in the order of `sample_shares`; they sum to one.

    All samples of a chain count the same, and chains by `Posterior.chain_weights`.
    """
    counts = np.array([len(chain) for chain in post.draws], dtype=np.float64)
    if not counts.sum():
        raise InputError("this run kept no samples: it was stopped during warm-up; fit for longer")
    return np.repeat(post.chain_weights / np.maximum(counts, 1.0), counts.astype(np.int64))


def _renumbered(strengths: NDArray[np.float64], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    found = np.empty_like(strengths)
    if strengths.ndim == 2:
        found[np.ix_(numbers, numbers)] = strengths
    else:
        found[numbers] = strengths[:-1]
        found[-1] = strengths[-1]
    return found


def node_pairs(post: Posterior, pairs: Any) -> NDArray[np.int64]:
    """Return pairs of labels as node numbers, one row each; one pair may be given by itself."""
    listed = list(pairs)
    if len(listed) == 2 and all(isinstance(end, str | int | np.integer) for end in listed):
        listed = [tuple(listed)]
    if any(isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2 for pair in listed):
        raise InputError("give pairs of node labels, two to a pair")
    if not listed:
        return np.empty((0, 2), dtype=np.int64)
    return pairs_of_labels(post.graph, listed)


def labels_of(post: Posterior, nodes: Sequence[int] | Nodes) -> list[Any]:
    """Return the labels of these nodes."""
    return list(post.graph.labels.take(nodes))


def check_community(post: Posterior, community: Any) -> int:
    """Return the number of a community, or raise an error with the range."""
    whole = isinstance(community, int | np.integer) and not isinstance(community, bool)
    if not whole or not 0 <= community < post.n_communities:
        raise InputError(
            f"community {community!r:.40} is not there: communities are numbered 0 to {post.n_communities - 1}"
        )
    return int(community)


def check_top(top: Any, name: str = "top") -> int:
    """Return how many rows are wanted."""
    if not isinstance(top, int | np.integer) or isinstance(top, bool) or top < 1:
        raise InputError(f"{name} must be a whole number from 1 on, not {top!r:.40}")
    return int(top)


def refuse_sides(post: Posterior, what: str) -> None:
    """Raise an error where an answer counts pairs that a network of two sides does not have."""
    if post.graph.sides is not None:
        kind = "directed" if post.graph.directed else "bipartite"
        raise InputError(
            f"{what} counts pairs of all members, of which many cannot be linked in a {kind} network: fit without "
            f"{kind}=True (--{kind}) for this answer"
        )


def refuse_general(post: Posterior, what: str) -> None:
    """Raise an error where the general model has no answer."""
    if post.blocks_mean is not None:
        raise InputError(
            f"{what} rests on one strength a community, which the general model does not have: fit with "
            "model='assortative'"
        )
