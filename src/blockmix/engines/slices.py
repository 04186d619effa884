"""Rows of a saved network that several processes see: each reads those of its own nodes, and none reads all.

Files are mapped, and what was read of them is given back after every few rows, so that the memory of a process is that
of its rows alone.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.shards import copy_rows
from blockmix.errors import InputError
from blockmix.files import Damaged
from blockmix.graph.storage import Saved, open_saved
from blockmix.numerics.compile import kernel
from blockmix.stored import check_range

# Entries that are read before the pages of the file are given back: 64 MiB of neighbours.
READ_AT_ONCE = 1 << 24


class Mapped:
    """The rows of a saved network without its held-out links; a `Source` of parts."""

    def __init__(self, saved: Saved, pairs: NDArray[np.int64], links: NDArray[np.bool_]) -> None:
        """Open the files; raises OSError or `Damaged` where this process does not see the same network."""
        self._folder = saved.folder
        self._offsets, self._neighbors = open_saved(saved)
        self._pairs, self._links = pairs, pairs[links]

    def training(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the training links of some nodes: where each row begins, and the neighbours."""
        starts, taken = self._take(nodes)
        hidden_starts, hidden = rows_of_pairs(nodes, self._links, taken.dtype)
        left = drop_from_rows(starts, taken, hidden_starts, hidden)
        return starts, taken[:left].copy() if left < len(taken) else taken

    def hidden(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the held-out partners of some nodes."""
        return rows_of_pairs(nodes, self._pairs, self._neighbors.dtype)

    def _take(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        starts = np.zeros(len(nodes) + 1, dtype=np.int64)
        begins, ends = self._row_ends(nodes)
        np.cumsum(ends - begins, out=starts[1:])
        taken, places = np.empty(starts[-1], dtype=self._neighbors.dtype), np.arange(len(nodes))
        first = 0
        while first < len(nodes):
            last = max(
                int(np.searchsorted(starts, starts[first] + READ_AT_ONCE, side="right")) - 1, first + 1
            )
            here = starts[first : last + 1] - starts[first]
            copy_rows(places[first:last], begins, self._neighbors, here, taken[starts[first] : starts[last]])
            _give_back(self._neighbors)
            first = last
        try:
            check_range("neighbors.npy", taken, len(self._offsets) - 1)
        except Damaged as damage:
            raise self._changed(damage) from None
        return starts, taken

    def _row_ends(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where rows begin and end, in memory of this process.

        Kernels check nothing, and what this process sees may be other files than those that rank 0 has verified.
        """
        if int(nodes.max(initial=-1)) >= len(self._offsets) - 1:
            raise self._changed(f"it has {len(self._offsets) - 1:,} nodes, and the network of this run more")
        begins, ends = self._offsets[nodes], self._offsets[nodes + 1]
        _give_back(self._offsets)
        if (begins < 0).any() or (ends < begins).any() or (ends > len(self._neighbors)).any():
            raise self._changed("offsets.npy has rows that do not lie within neighbors.npy")
        return begins, ends

    def _changed(self, problem: object) -> InputError:
        return InputError(
            f"{self._folder}: {problem}; rank 0 has found this network whole: let all ranks see the same folder, and "
            "leave it alone while they run"
        )


def rows_of_pairs(
    nodes: NDArray[np.int64], pairs: NDArray[np.int64], dtype: Any
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the partners of some nodes in a list of pairs, in increasing order: where each begins, and the partners.

    >>> starts, partners = rows_of_pairs(np.array([5, 0]), np.array([[0, 5], [2, 5], [2, 3]]), np.int32)
    >>> starts.tolist(), partners.tolist()
    ([0, 2, 3], [0, 2, 5])
    """
    ends = np.concatenate((pairs, pairs[:, ::-1]))
    by_name = np.argsort(nodes)
    at = np.searchsorted(nodes, ends[:, 0], sorter=by_name)
    at[at == len(nodes)] = 0
    places = by_name[at] if len(nodes) else at
    mine = nodes[places] == ends[:, 0] if len(nodes) else np.zeros(len(ends), dtype=np.bool_)
    places, partners = places[mine], ends[mine, 1]
    order = np.lexsort((partners, places))
    starts = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(np.bincount(places, minlength=len(nodes)), out=starts[1:])
    return starts, partners[order].astype(dtype)


@kernel
def drop_from_rows(starts: np.ndarray, entries: np.ndarray, out_starts: np.ndarray, out: np.ndarray) -> int:
    """Remove from sorted rows what the sorted rows of `out` have, in place; return how many entries are left."""
    kept = 0
    begin = starts[0]
    for row in range(len(starts) - 1):
        end = starts[row + 1]
        other = out_starts[row]
        starts[row] = kept
        for i in range(begin, end):
            while other < out_starts[row + 1] and out[other] < entries[i]:
                other += 1
            if other < out_starts[row + 1] and out[other] == entries[i]:
                continue
            entries[kept] = entries[i]
            kept += 1
        begin = end
    starts[len(starts) - 1] = kept
    return kept


def _give_back(mapped: NDArray[Any]) -> None:
    """Let the system take the pages of a mapped file out of this process; they are read again when they are needed."""
    base: Any = mapped
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def sees(saved: Saved) -> str:
    """Return why this process cannot read a saved network, or nothing where it can."""
    try:
        open_saved(saved)
    except FileNotFoundError:
        return f"there is no {Path(saved.folder)} here"
    except (OSError, Damaged, InputError) as error:
        return str(error)
    return ""
