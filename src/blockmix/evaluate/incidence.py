"""A cover: a list of communities, each an array of node numbers; nodes may be in several or in none.

Scores work on its sparse incidence matrix, communities x nodes. What costs is the number of memberships
and of pairs of communities that share a node, never the number of all pairs of communities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from blockmix.errors import InputError

Community = NDArray[np.int64]
Cover = Sequence[ArrayLike]

# Rows of the overlap matrix are made in chunks of about this many multiplications: 100 to 200 MB at a time.
_CHUNK_WORK = 1 << 23


def unique_communities(cover: Cover) -> list[Community]:
    """Return the distinct non-empty communities, by first appearance, each sorted without repeated nodes.

    Ground-truth files repeat communities, and every score counts a repetition as another community.

    >>> unique_communities([[2, 1], [], [1, 2, 2], [3]])
    [array([1, 2]), array([3])]
    """
    distinct: dict[bytes, Community] = {}
    for members in split(incidence(cover)):
        distinct.setdefault(members.tobytes(), members)
    return list(distinct.values())


def restrict(cover: Cover, nodes: ArrayLike) -> list[Community]:
    """Restrict the cover to `nodes`: drop other members, and communities that become empty.

    Node numbers stay as they are. Ground truth often covers a part of the network; comparing there is
    `restrict(found, np.unique(np.concatenate(truth)))`.

    >>> restrict([[0, 1, 2], [3]], nodes=[1, 2])
    [array([1, 2])]
    """
    matrix = incidence(cover)
    kept = incidence([nodes]).indices
    keep = np.zeros(max(matrix.shape[1], int(kept.max(initial=-1)) + 1), dtype=np.bool_)
    keep[kept] = True
    return [members[keep[members]] for members in split(matrix) if keep[members].any()]


def incidence(cover: Cover, n_nodes: int | None = None) -> sparse.csr_matrix:
    """Build the communities x nodes matrix of zeros and ones, without empty communities and repeats.

    Rows are sorted. Without `n_nodes` there are as many columns as the largest node number asks for.
    """
    members, sizes = _members(cover)
    largest = int(members.max(initial=-1))
    n_columns = largest + 1 if n_nodes is None else n_nodes
    if n_columns < 0 or members.min(initial=0) < 0 or largest >= n_columns:
        bad = largest if largest >= n_columns else int(members.min(initial=0))
        place = int(np.searchsorted(np.cumsum(sizes), np.flatnonzero(members == bad)[:1], side="right").sum())
        raise InputError(
            f"community {place} has node {bad}, which is not a node number from 0 to {n_columns - 1}; "
            "translate labels to node numbers with Labels.indices"
        )
    return incidence_of(members, sizes, n_columns)


def incidence_of(members: NDArray[np.int64], sizes: NDArray[np.integer], n_columns: int) -> sparse.csr_matrix:
    """Build the same of all members, one community after the other, and the sizes of these."""
    filled = sizes[sizes > 0]
    starts = np.concatenate(([0], np.cumsum(filled)))
    ones = np.ones(len(members), dtype=np.int64)
    matrix = sparse.csr_matrix((ones, members, starts), shape=(len(filled), n_columns))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def split(matrix: sparse.csr_matrix) -> list[Community]:
    """Return the communities of an incidence matrix as arrays of node numbers."""
    nodes = matrix.indices.astype(np.int64)
    return np.split(nodes, matrix.indptr[1:-1]) if matrix.shape[0] else []


def sizes_of(matrix: sparse.csr_matrix) -> NDArray[np.int64]:
    """Count the members of every community."""
    return np.asarray(np.diff(matrix.indptr), dtype=np.int64)


def overlaps(
    a: sparse.csr_matrix, b: sparse.csr_matrix
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Find every pair of communities (i of a, j of b) that share a node, with the number of nodes shared.

    Chunked by rows of `a`, in order, so that memory stays bounded however much the covers overlap.
    """
    by_node = b.T.tocsr()
    work_of_node = np.diff(by_node.indptr)
    work = np.concatenate(([0], np.cumsum(work_of_node[a.indices])))[a.indptr]
    first = 0
    while first < a.shape[0]:
        last = int(np.searchsorted(work, work[first] + _CHUNK_WORK, side="right")) - 1
        last = min(max(last, first + 1), a.shape[0])
        product = (a[first:last] @ by_node).tocoo()
        yield product.row.astype(np.int64) + first, product.col.astype(np.int64), product.data
        first = last


def _members(cover: Cover) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all members one after another, and the size of each community as given."""
    arrays = [np.asarray(community) for community in cover]
    for place, array in enumerate(arrays):
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InputError(
                f"community {place} is not a one-dimensional array of node numbers but {array.dtype} of "
                f"shape {array.shape}; translate labels to node numbers with Labels.indices"
            )
    sizes = np.array([array.size for array in arrays], dtype=np.int64)
    filled = [array for array in arrays if array.size]
    return np.concatenate(filled).astype(np.int64) if filled else np.zeros(0, dtype=np.int64), sizes
