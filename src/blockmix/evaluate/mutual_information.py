"""Overlapping normalised mutual information of two covers, from the pairs of communities that overlap.

A community X is a binary variable: is a random node in X? For communities X, Y of two covers of n nodes let
a, b, c, d be the shares of nodes in neither, only in Y, only in X, in both, and h(p) = -p log2 p. Then

    H(X|Y) = h(a) + h(b) + h(c) + h(d) - H(Y)   where h(a) + h(d) > h(b) + h(c), else H(X),

the condition keeping a community from matching the complement of another. A community's match is the Y of
least H(X|Y). This is the condition as cdlib and McDaid's own program have it; the two papers print >=, which
differs only at exact ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import fsum
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from blockmix.errors import InputError
from blockmix.evaluate.incidence import Cover, incidence, overlaps, sizes_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Variant = Literal["mgh", "lfk"]


def onmi(cover_a: Cover, cover_b: Cover, n_nodes: int, variant: Variant = "mgh") -> float:
    """Compute the overlapping NMI of two covers: 1 for equal covers, 0 where they are independent.

    `variant="mgh"` divides the mutual information by the larger entropy; `"lfk"` averages the relative
    conditional entropies of the communities, and gives unrelated covers more than 0. Empty communities are
    left out; repeated ones count repeatedly (see `unique_communities`). Two empty covers score 1, one empty
    cover 0. A community of all n nodes has no entropy: under "lfk" it counts as known if the other cover
    has it too, as unknown otherwise. Nodes in no community count among the n.

    References: McDaid, Greene, Hurley (2011), arXiv:1110.2515; Lancichinetti, Fortunato, Kertesz (2009),
    New J. Phys. 11, 033015.

    >>> onmi([[0, 1, 2], [2, 3]], [[3, 2], [2, 1, 0]], n_nodes=5)
    1.0
    >>> round(onmi([[0, 1, 2], [3, 4, 5]], [[0, 1, 2, 3], [4, 5]], n_nodes=6), 3)
    0.459
    """
    if variant not in ("mgh", "lfk"):
        raise InputError(f"variant must be 'mgh' or 'lfk', not {variant!r}")
    a, b = incidence(cover_a, n_nodes), incidence(cover_b, n_nodes)
    if not a.shape[0] or not b.shape[0]:
        return float(a.shape[0] == b.shape[0])
    entropy_a, entropy_b = _entropies(sizes_of(a), n_nodes), _entropies(sizes_of(b), n_nodes)
    unknown_a, unknown_b = _conditional_entropies(a, b, n_nodes, entropy_a, entropy_b)
    if variant == "lfk":
        both_have_all = bool((entropy_a == 0).any() and (entropy_b == 0).any())
        shares = [
            _mean_share(unknown, entropy, both_have_all)
            for unknown, entropy in ((unknown_a, entropy_a), (unknown_b, entropy_b))
        ]
        return _in_unit_interval(1.0 - 0.5 * (shares[0] + shares[1]))
    # fsum rounds once, whatever the order of communities: equal covers score exactly 1
    total_a, total_b = fsum(entropy_a), fsum(entropy_b)
    if max(total_a, total_b) == 0.0:
        return 1.0  # both consist of the community of all nodes
    mutual = 0.5 * ((total_a - fsum(unknown_a)) + (total_b - fsum(unknown_b)))
    return _in_unit_interval(mutual / max(total_a, total_b))


def _conditional_entropies(
    a: sparse.csr_matrix, b: sparse.csr_matrix, n: int, entropy_a: Floats, entropy_b: Floats
) -> tuple[Floats, Floats]:
    """Compute min over Y of H(X|Y) for every X of a, and the other way round, in bits."""
    size_a, size_b = sizes_of(a), sizes_of(b)
    best_a, best_b = entropy_a.copy(), entropy_b.copy()
    for i, j, shared in chain(overlaps(a, b), _disjoint(a, b, n), _swapped(_disjoint(b, a, n))):
        given_b, given_a = _matched(size_a[i], size_b[j], shared, n, entropy_a[i], entropy_b[j])
        np.minimum.at(best_a, i, given_b)
        np.minimum.at(best_b, j, given_a)
    return best_a, best_b


def _matched(
    x: Ints, y: Ints, shared: Ints, n: int, entropy_x: Floats, entropy_y: Floats
) -> tuple[Floats, Floats]:
    """Compute H(X|Y) and H(Y|X) for communities of sizes x, y that share `shared` nodes."""
    agree = _h(n - x - y + shared, n) + _h(shared, n)
    differ = _h(y - shared, n) + _h(x - shared, n)
    admissible = agree > differ
    joint = agree + differ
    return (
        np.where(admissible, joint - entropy_y, entropy_x),
        np.where(admissible, joint - entropy_x, entropy_y),
    )


def _disjoint(a: sparse.csr_matrix, b: sparse.csr_matrix, n: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Find pairs that may match without a shared node, for communities of `a` with over n/4 members.

    Disjoint X, Y satisfy the condition only if h(1 - s) > h(x) + h(y) >= h(s) with s = x + y, so s > 1/2 and
    one of them is that large. A cover has at most 4 times (memberships per node) such communities: few pairs,
    and with them the minimum is over all of the other cover, as defined, not only over what overlaps.
    """
    size_a, size_b = sizes_of(a), sizes_of(b)
    for i in np.flatnonzero(4 * size_a > n):
        x, y = size_a[i], np.minimum(size_b, n - size_a[i])
        possible = (size_b <= n - x) & (_h(n - x - y, n) > _h(x, n) + _h(y, n))
        if possible.any():
            shared = b @ np.bincount(a[i].indices, minlength=n)
            j = np.flatnonzero(possible & (shared == 0))
            yield np.full(len(j), i), j, np.zeros(len(j), dtype=np.int64)


def _swapped(pairs: Iterator[tuple[Ints, Ints, Ints]]) -> Iterator[tuple[Ints, Ints, Ints]]:
    return ((i, j, shared) for j, i, shared in pairs)


def _mean_share(unknown: Floats, entropy: Floats, both_have_all: bool) -> float:
    """Mean of H(X|Y)/H(X) over communities; without entropy 0 (known) or 1 (unknown)."""
    undefined = np.full(len(entropy), 0.0 if both_have_all else 1.0)
    return fsum(np.divide(unknown, entropy, out=undefined, where=entropy > 0)) / len(entropy)


def _entropies(sizes: Ints, n: int) -> Floats:
    """Compute H(X) in bits of communities of these sizes."""
    return _h(n - sizes, n) + _h(sizes, n)


def _h(count: Ints, n: int) -> Floats:
    """Compute h(p) = -p log2 p of p = count/n, accurate near p = 1, as for most nodes of a large network."""
    p = count / n
    rare = -np.log2(p, out=np.zeros_like(p), where=(p > 0) & (p <= 0.5))
    common = -np.log1p((count - n) / n, out=np.zeros_like(p), where=p > 0.5) / np.log(2.0)
    return np.asarray(p * (rare + common))


def _in_unit_interval(value: float) -> float:
    """Return the value without the rounding error that could take it below 0 or above 1."""
    return float(min(max(value, 0.0), 1.0))
