"""From a list of links to compressed sparse rows, in linear time and little more memory than the result.

Every link is first stored under its larger end, then transposed to be under its smaller end: going through the
larger ends in increasing order leaves the rows sorted, so that repeats are next to each other and no row is
ever sorted by comparison. A last pass writes both directions. Each pass is split over threads by owner: a
thread scans everything but writes only the rows it owns, so nothing is locked and the result cannot depend on
the number of threads. All positions are int64.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from blockmix.numerics.compile import checked_njit as njit

_INT32_NODES = np.iinfo(np.int32).max


class LinkRows(NamedTuple):
    """Compressed sparse rows of a simple undirected network, and how many links were merged."""

    offsets: NDArray[np.int64]
    neighbors: NDArray[Any]
    self_loops: int
    merged: int


def node_dtype(n_nodes: int) -> DTypeLike:
    """Return the smallest of int32 and int64 that numbers this many nodes."""
    return np.int32 if n_nodes <= _INT32_NODES else np.int64


def build_rows(chunks: list[NDArray[Any]], n_nodes: int, threads: int = 1) -> LinkRows:
    """Merge links given as (m, 2) arrays of node numbers; `chunks` is emptied to free memory.

    >>> rows = build_rows([np.array([[1, 0], [0, 1], [2, 2], [1, 2]])], 3)
    >>> rows.offsets.tolist(), rows.neighbors.tolist(), rows.self_loops, rows.merged
    ([0, 1, 3, 4], [1, 0, 2, 1], 1, 1)
    """
    dtype = node_dtype(n_nodes)
    for place, chunk in enumerate(chunks):
        chunks[place] = np.ascontiguousarray(chunk, dtype=dtype)
    n_listed = sum(len(chunk) for chunk in chunks)
    with _Owners(n_nodes, threads) as owners:
        starts, grouped = _under_larger_end(chunks, n_nodes, dtype, owners)
        chunks.clear()
        starts, upper = _under_smaller_end(starts, grouped, n_nodes, owners)
        n_pairs = len(grouped)
        del grouped
        n_links = _drop_repeats(starts, upper)
        offsets, neighbors = _both_directions(starts, upper, n_links, n_nodes, owners)
    return LinkRows(offsets, neighbors, self_loops=n_listed - n_pairs, merged=n_pairs - n_links)


class _Owners:
    """Calls a kernel once for every range of rows, each range owned by one thread."""

    def __init__(self, n_nodes: int, threads: int) -> None:
        bounds = np.linspace(0, n_nodes, max(1, threads) + 1).astype(np.int64)
        self.ranges = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        self.pool = ThreadPoolExecutor(len(self.ranges)) if len(self.ranges) > 1 else None

    def __enter__(self) -> _Owners:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def run(self, kernel: Callable[..., None], *arrays: Any) -> None:
        """Call kernel(first, last, *arrays) for every owner; return when all are done."""
        if self.pool is None:
            kernel(*self.ranges[0], *arrays)
            return
        for call in [self.pool.submit(kernel, first, last, *arrays) for first, last in self.ranges]:
            call.result()


def starts_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each row starts, and the total, from the lengths of the rows."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _under_larger_end(
    chunks: list[NDArray[Any]], n_nodes: int, dtype: DTypeLike, owners: _Owners
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    counts = np.zeros(n_nodes, dtype=np.int64)
    for chunk in chunks:
        owners.run(_count_larger, chunk, counts)
    starts = starts_of(counts)
    cursor = counts
    cursor[:] = starts[:-1]
    grouped = np.empty(starts[-1], dtype=dtype)
    for chunk in chunks:
        owners.run(_place_smaller, chunk, cursor, grouped)
    return starts, grouped


def _under_smaller_end(
    starts: NDArray[np.int64], grouped: NDArray[Any], n_nodes: int, owners: _Owners
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    counts = np.zeros(n_nodes, dtype=np.int64)
    owners.run(_count_entries, grouped, counts)
    upper_starts = starts_of(counts)
    cursor = counts
    cursor[:] = upper_starts[:-1]
    upper = np.empty_like(grouped)
    owners.run(_transpose, starts, grouped, cursor, upper)
    return upper_starts, upper


def _both_directions(
    starts: NDArray[np.int64], upper: NDArray[Any], n_links: int, n_nodes: int, owners: _Owners
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    upper = upper[:n_links]
    degrees = np.diff(starts)
    owners.run(_count_entries, upper, degrees)
    offsets = starts_of(degrees)
    cursor = degrees
    cursor[:] = offsets[:-1]
    neighbors = np.empty(offsets[-1], dtype=upper.dtype)
    owners.run(_transpose, starts, upper, cursor, neighbors)
    owners.run(_append_upper, starts, upper, offsets, neighbors)
    return offsets, neighbors


@njit(cache=True, nogil=True)
def _count_larger(first, last, links, counts):  # type: ignore[no-untyped-def]
    for e in range(links.shape[0]):
        a, b = links[e, 0], links[e, 1]
        larger = max(a, b)
        if first <= larger < last and a != b:
            counts[larger] += 1


@njit(cache=True, nogil=True)
def _place_smaller(first, last, links, cursor, grouped):  # type: ignore[no-untyped-def]
    for e in range(links.shape[0]):
        a, b = links[e, 0], links[e, 1]
        larger = max(a, b)
        if first <= larger < last and a != b:
            grouped[cursor[larger]] = min(a, b)
            cursor[larger] += 1


@njit(cache=True, nogil=True)
def _count_entries(first, last, entries, counts):  # type: ignore[no-untyped-def]
    for e in range(entries.shape[0]):
        node = entries[e]
        if first <= node < last:
            counts[node] += 1


@njit(cache=True, nogil=True)
def _transpose(first, last, starts, entries, cursor, out):  # type: ignore[no-untyped-def]
    """Write row number r at the cursor of every entry of row r: the rows of `out` are then sorted."""
    for row in range(starts.shape[0] - 1):
        for e in range(starts[row], starts[row + 1]):
            node = entries[e]
            if first <= node < last:
                out[cursor[node]] = row
                cursor[node] += 1


@njit(cache=True, nogil=True)
def _drop_repeats(starts, entries):  # type: ignore[no-untyped-def]
    """Keep one of equal neighbours in every sorted row, in place; return how many entries are left."""
    kept = 0
    begin = starts[0]
    for row in range(starts.shape[0] - 1):
        end = starts[row + 1]
        starts[row] = kept
        for e in range(begin, end):
            if e == begin or entries[e] != entries[e - 1]:
                entries[kept] = entries[e]
                kept += 1
        begin = end
    starts[starts.shape[0] - 1] = kept
    return kept


@njit(cache=True, nogil=True)
def _append_upper(first, last, starts, upper, offsets, neighbors):  # type: ignore[no-untyped-def]
    """Write the larger neighbours of a row behind its smaller ones."""
    for row in range(first, last):
        length = starts[row + 1] - starts[row]
        end = offsets[row + 1]
        for e in range(length):
            neighbors[end - length + e] = upper[starts[row] + e]
