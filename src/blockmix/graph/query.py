"""Queries about the links of a network: which pairs are linked, all links, the network without some of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.numerics.compile import checked_njit as njit
from blockmix.numerics.hashing import KEY, mix

Array = NDArray[Any]

ONE_SIDED = (
    "this network is damaged: rows must be in order, a link in the rows of both of its nodes, and no node has one to "
    "itself; save it again or restore it from a copy"
)


def checked_pairs(pairs: Any, n_nodes: int) -> NDArray[np.int64]:
    """Check pairs of node numbers and return them as an (m, 2) int64 array."""
    array = np.asarray(pairs)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InputError(
            f"pairs must be an (m, 2) array of node numbers, not one of shape {array.shape} and type "
            f"{array.dtype}; use graph.labels.indices to turn labels into node numbers"
        )
    outside = (array < 0) | (array >= n_nodes)
    if outside.any():
        place = int(np.argmax(outside.any(axis=1)))
        shown = tuple(array[place].tolist())
        raise InputError(f"pairs[{place}] is {shown}, but nodes are numbered 0 to {n_nodes - 1}")
    return np.ascontiguousarray(array, dtype=np.int64)


def has_edges(offsets: Array, neighbors: Array, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each pair is linked, by binary search in the shorter row."""
    found = np.empty(len(pairs), dtype=np.bool_)
    _linked(offsets, neighbors, pairs, found)
    return found


def all_edges(offsets: Array, neighbors: Array) -> Array:
    """Return every link once, as (a, b) with a < b, in increasing order."""
    out = np.empty((len(neighbors) // 2, 2), dtype=neighbors.dtype)
    if _upper(offsets, neighbors, out) != len(out):
        raise InputError(ONE_SIDED)
    return out


def is_mutual(offsets: Array, neighbors: Array, weights: Array | None, apart: int) -> bool:
    """Return whether rows are in order, with every link in those of both its nodes, and none joins a and a + `apart`.

    The weight of a link must be the same in both. A row in order has no neighbour twice, so that the links to higher
    and those to lower neighbours are the same set if the sums of a hash of each are equal; the hash is keyed, so that
    nobody can make other sets of equal sums. The network is read once and in order: it may be larger than memory.
    """
    words = np.empty(0, dtype=np.uint64) if weights is None else weights.view(np.uint64)
    words.flags.writeable = False
    return bool(_is_mutual(offsets, neighbors, words, apart, KEY))


def weights_of(
    offsets: Array, neighbors: Array, weights: Array | None, pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the weight of each pair, 0 where it is not linked; every link weighs 1 where there are no weights."""
    if weights is None:
        return has_edges(offsets, neighbors, pairs).astype(np.float64)
    found = np.zeros(len(pairs))
    _weights(offsets, neighbors, weights, pairs, found)
    return found


def upper_weights(offsets: Array, neighbors: Array, weights: Array) -> NDArray[np.float64]:
    """Return the weight of every link once, in the order of `all_edges`."""
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=neighbors.dtype), np.diff(offsets))
    return np.asarray(weights[neighbors > rows])


def without(
    offsets: Array, neighbors: Array, weights: Array | None, pairs: NDArray[np.int64]
) -> tuple[Array, Array, Array | None]:
    """Return the rows of the network without these links, in time proportional to its size."""
    dropped = np.zeros(len(neighbors), dtype=np.bool_)
    missing = _drop(offsets, neighbors, pairs, dropped)
    if missing >= 0:
        a, b = pairs[missing].tolist()
        raise InputError(f"pairs[{missing}] is ({a}, {b}), which is not a link and cannot be removed")
    kept = np.zeros(len(offsets), dtype=np.int64)
    _count_kept(offsets, dropped, kept)
    return kept, neighbors[~dropped], None if weights is None else weights[~dropped]


@njit(cache=True, nogil=True)
def _find(neighbors, first, last, node):  # type: ignore[no-untyped-def]
    """Return the position of a node in the sorted row neighbors[first:last], or -1."""
    end = last
    while first < last:
        middle = first + (last - first) // 2
        if neighbors[middle] < node:
            first = middle + 1
        else:
            last = middle
    return first if first < end and neighbors[first] == node else np.int64(-1)


@njit(cache=True, nogil=True)
def _linked(offsets, neighbors, pairs, found):  # type: ignore[no-untyped-def]
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        if offsets[a + 1] - offsets[a] > offsets[b + 1] - offsets[b]:
            a, b = b, a
        found[p] = _find(neighbors, offsets[a], offsets[a + 1], b) >= 0


@njit(cache=True, nogil=True)
def _weights(offsets, neighbors, weights, pairs, found):  # type: ignore[no-untyped-def]
    for p in range(pairs.shape[0]):
        place = _find(neighbors, offsets[pairs[p, 0]], offsets[pairs[p, 0] + 1], pairs[p, 1])
        if place >= 0:
            found[p] = weights[place]


@njit(cache=True, nogil=True)
def add_weights(offsets, neighbors, links, values, weights):  # type: ignore[no-untyped-def]
    """Add the value of every listed link, self-loops left out, to its place in the row of its first end."""
    for e in range(links.shape[0]):
        a, b = links[e, 0], links[e, 1]
        if a != b:
            weights[_find(neighbors, offsets[a], offsets[a + 1], b)] += values[e]


@njit(cache=True, nogil=True)
def merge_directions(offsets, neighbors, weights):  # type: ignore[no-untyped-def]
    """Make the weights of both rows of a link the same, in place; return whether they were the same already.

    Then the list has every link in both directions, and its weight is taken once; otherwise the two are added up.
    """
    twice = True
    for a in range(offsets.shape[0] - 1):
        for i in range(offsets[a], offsets[a + 1]):
            b = neighbors[i]
            if b > a and weights[i] != weights[_find(neighbors, offsets[b], offsets[b + 1], a)]:
                twice = False
    if not twice:
        for a in range(offsets.shape[0] - 1):
            for i in range(offsets[a], offsets[a + 1]):
                b = neighbors[i]
                if b > a:
                    j = _find(neighbors, offsets[b], offsets[b + 1], a)
                    weights[i] += weights[j]
                    weights[j] = weights[i]
    return twice


@njit(cache=True, nogil=True)
def _upper(offsets, neighbors, out):  # type: ignore[no-untyped-def]
    """List links in the rows of their lower ends; return how many there are, of which no more than fit are listed."""
    e = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if neighbors[i] > row:
                if e < out.shape[0]:
                    out[e, 0] = row
                    out[e, 1] = neighbors[i]
                e += 1
    return e


@njit(cache=True, nogil=True)
def _is_mutual(offsets, neighbors, weights, apart, key):  # type: ignore[no-untyped-def]
    difference = np.uint64(0)
    for a in range(offsets.shape[0] - 1):
        from_a, before = mix(np.uint64(a) ^ key[0]), np.int64(-1)
        for i in range(offsets[a], offsets[a + 1]):
            b = np.int64(neighbors[i])
            if b <= before or b == a or b == a + apart:
                return False
            before = b
            if b > a:
                word = mix(from_a ^ np.uint64(b))
            else:
                word = mix(mix(np.uint64(b) ^ key[0]) ^ np.uint64(a))
            word = mix(word ^ key[1])
            if weights.shape[0]:
                word = mix(word ^ weights[i])
            if b > a:
                difference += word
            else:
                difference -= word
    return difference == np.uint64(0)


@njit(cache=True, nogil=True)
def _drop(offsets, neighbors, pairs, dropped):  # type: ignore[no-untyped-def]
    """Mark both directions of every pair; return the first pair that is not a link, or -1."""
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        there = _find(neighbors, offsets[a], offsets[a + 1], b)
        back = _find(neighbors, offsets[b], offsets[b + 1], a)
        if there < 0 or back < 0:
            return p
        dropped[there] = True
        dropped[back] = True
    return -1


@njit(cache=True, nogil=True)
def _count_kept(offsets, dropped, kept):  # type: ignore[no-untyped-def]
    for row in range(offsets.shape[0] - 1):
        n = kept[row]
        for i in range(offsets[row], offsets[row + 1]):
            n += not dropped[i]
        kept[row + 1] = n
