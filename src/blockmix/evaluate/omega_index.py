"""The omega index of two covers, exact, without a table of all pairs of nodes.

Two covers agree on a pair of nodes if it is together in equally many communities of both. Only pairs that
share a community are visited; the rest, together nowhere, are counted by difference. Nodes with exactly the
same memberships in both covers are interchangeable, so they are first merged into types, and a pair of types
weighs as many pairs of nodes as it represents: a few huge communities then cost very little.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from blockmix.errors import InputError
from blockmix.evaluate.incidence import Cover, incidence, sizes_of
from blockmix.numerics.compile import checked_njit as njit

Ints = NDArray[np.int64]

# Rough speed of one core, only to show the user what a refused comparison would take.
_PAIRS_PER_SECOND = 4e7


def omega(cover_a: Cover, cover_b: Cover, n_nodes: int, *, max_pairs: float = 1e10) -> float:
    """Compute the omega index: agreement on how often each pair of nodes is together, corrected for chance.

    1 for equal covers, 0 on average for unrelated ones, negative below that; for partitions it is the
    adjusted Rand index. Nodes in no community count: their pairs are together 0 times. Fewer than two nodes,
    or covers that put all pairs together equally often, agree entirely: 1. Repeated communities count
    repeatedly (see `unique_communities`).
    Time grows with the pairs of node types inside communities; beyond `max_pairs` of them an `InputError`
    gives the number.

    Reference: Collins, Dent (1988), Multivariate Behavioral Research 23, 231-242.

    >>> omega([[0, 1, 2], [2, 3, 4]], [[4, 3, 2], [0, 1, 2]], n_nodes=6)
    1.0
    >>> omega([[0, 1], [2, 3]], [[0, 2], [1, 3]], n_nodes=4)
    -0.5
    """
    a, b = incidence(cover_a, n_nodes), incidence(cover_b, n_nodes)
    both, weights = _merged(sparse.vstack([a, b], format="csr"))
    _refuse_if_too_large(sizes_of(both), max_pairs)
    pairs = n_nodes * (n_nodes - 1) // 2
    together_a, together_b, agree = _together(both, weights, a.shape[0])
    together_a[0] = pairs - sum(together_a[1:])
    together_b[0] = pairs - sum(together_b[1:])
    # Python integers: pairs squared passes 2^63 beyond 60,000 nodes, and the index is a small difference
    expected = sum(x * y for x, y in zip(together_a, together_b, strict=False))
    if expected == pairs * pairs:
        return 1.0
    return (agree * pairs - expected) / (pairs * pairs - expected)


def _together(both: sparse.csr_matrix, weights: Ints, n_a: int) -> tuple[list[int], list[int], int]:
    """Count pairs of nodes by communities shared, in a and in b (entry 0 left 0), and how many agree."""
    by_type = both.T.tocsr()
    by_type.sort_indices()
    largest = int(np.diff(by_type.indptr).max(initial=0))
    together_a, together_b = np.zeros(largest + 1, np.int64), np.zeros(largest + 1, np.int64)
    agree, met = _count_pairs(
        both.indptr.astype(np.int64),
        both.indices.astype(np.int64),
        by_type.indptr.astype(np.int64),
        by_type.indices.astype(np.int64),
        weights,
        n_a,
        together_a,
        together_b,
    )
    n_nodes = int(weights.sum())
    apart = n_nodes * (n_nodes - 1) // 2 - int(met)
    together_a[0] = together_b[0] = 0
    return together_a.tolist(), together_b.tolist(), int(agree) + apart


def _merged(matrix: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Ints]:
    """Return the communities x types matrix, and the number of nodes of each type."""
    kind = _types(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.shape[1])
    _, first, kind, weights = np.unique(kind, return_index=True, return_inverse=True, return_counts=True)
    merged = matrix[:, first]
    merged.sort_indices()
    return merged, weights.astype(np.int64)


def _refuse_if_too_large(sizes: Ints, max_pairs: float) -> None:
    pairs = float(np.sum(sizes.astype(np.float64) * (sizes - 1) / 2))
    if pairs > max_pairs:
        raise InputError(
            f"the omega index would visit {pairs:.1e} pairs of nodes inside communities (the largest has "
            f"{int(sizes.max())} kinds of members), about {pairs / _PAIRS_PER_SECOND / 60:.0f} minutes; pass "
            f"max_pairs={pairs:.1e} or more to do it all the same, or use onmi, which has no such cost"
        )


@njit(cache=True, nogil=True)
def _types(starts: Any, members: Any, n_nodes: int) -> Any:  # pragma: no cover - compiled
    """Assign a type to every node, equal for nodes with equal memberships: each community splits the types."""
    n_communities = len(starts) - 1
    kind = np.zeros(n_nodes, np.int64)
    size = n_nodes + len(members) + 1
    seen_by = np.full(size, -1, np.int64)
    inside = np.zeros(size, np.int64)
    n_kinds = 1
    for c in range(n_communities):
        for k in range(starts[c], starts[c + 1]):
            v = members[k]
            old = kind[v]
            if seen_by[old] != c:
                seen_by[old] = c
                inside[old] = n_kinds
                n_kinds += 1
            kind[v] = inside[old]
    return kind


@njit(cache=True, nogil=True)
def _count_pairs(
    starts: Any,
    members: Any,
    type_starts: Any,
    type_communities: Any,
    weights: Any,
    n_a: int,
    together_a: Any,
    together_b: Any,
) -> Any:  # pragma: no cover - compiled
    """Add the pairs of nodes by times together in a and in b; return pairs agreed on and pairs met.

    Types are in increasing order, so a community's earlier members are exactly those already passed:
    `passed` moves along and each pair is met once, from its smaller type.
    """
    n_types = len(weights)
    passed = starts[:-1].copy()
    times = np.zeros(n_types, np.int64)  # times together in a, plus 2^32 times those in b
    met_types = np.empty(n_types, np.int64)
    agree, met = 0, 0
    for g in range(n_types):
        n_met = 0
        first, last = type_starts[g], type_starts[g + 1]
        own_a, own_b = 0, 0
        for k in range(first, last):
            c = type_communities[k]
            if c < n_a:
                step = 1
                own_a += 1
            else:
                step = 1 << 32
                own_b += 1
            passed[c] += 1
            for m in range(passed[c], starts[c + 1]):
                other = members[m]
                if times[other] == 0:
                    met_types[n_met] = other
                    n_met += 1
                times[other] += step
        if own_a + own_b > 0:
            within = weights[g] * (weights[g] - 1) // 2
            together_a[own_a] += within
            together_b[own_b] += within
            met += within
            if own_a == own_b:
                agree += within
        for k in range(n_met):
            other = met_types[k]
            in_a, in_b = times[other] & 0xFFFFFFFF, times[other] >> 32
            times[other] = 0
            pairs = weights[g] * weights[other]
            together_a[in_a] += pairs
            together_b[in_b] += pairs
            met += pairs
            if in_a == in_b:
                agree += pairs
    return agree, met
