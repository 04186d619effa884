"""The rows of a network from links in any order: both directions sorted, and written while they are merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.build import node_dtype
from blockmix.graph.external.arrays import ArrayWriter
from blockmix.graph.external.numbering import Numbers
from blockmix.graph.external.sorting import Sorter, Words
from blockmix.numerics.compile import checked_njit as njit

# A link is one word of two node numbers.
_MOST_BITS = 32
_ENDS_AT_ONCE = 1 << 14
# What the rows written so far add up to: the row under way, entries, entries of this row, whether it has a self-loop,
# rows without entries, and those of them with a self-loop.
_ROW, _ENTRIES, _HERE, _LOOP, _ISOLATED, _LOOP_ONLY, _STATE = range(7)


class Counts(NamedTuple):
    """What became of the links as they were listed."""

    links: int
    merged: int
    self_loops: int
    isolated: int
    loop_only: int


def bits_of(nodes: int) -> int:
    """Return how many bits a node number takes, or refuse a network whose links do not fit into a word."""
    bits = max(nodes.bit_length(), 1)
    if bits > _MOST_BITS:
        raise InputError(f"{nodes:,} nodes are more than blockmix converts, {2**_MOST_BITS - 1:,}")
    return bits


def add_links(sorter: Sorter, ends: Iterator[Numbers], bits: int) -> tuple[int, int]:
    """Give both directions of all links to the sorter, self-loops once; return how many links and loops there are."""
    listed = loops = 0
    for numbers in ends:
        first, second = numbers.astype(np.uint64).reshape(-1, 2).T
        looped = first == second
        sorter.add(first << np.uint64(bits) | second)
        apart = ~looped
        sorter.add(second[apart] << np.uint64(bits) | first[apart])
        listed += len(first)
        loops += int(np.count_nonzero(looped))
    return listed, loops


def write_rows(words: Iterator[Words], nodes: int, bits: int, folder: Path) -> NDArray[np.int64]:
    """Write offsets and neighbours of sorted links; return the state at the end."""
    dtype = node_dtype(nodes)
    state, ends = np.zeros(_STATE, dtype=np.int64), np.empty(_ENDS_AT_ONCE, dtype=np.int64)
    with (
        ArrayWriter(folder / "offsets.npy", np.int64) as offsets,
        ArrayWriter(folder / "neighbors.npy", dtype) as neighbors,
    ):
        offsets.append(np.zeros(1, dtype=np.int64))
        for piece in words:
            columns, begin = np.empty(len(piece), dtype=dtype), 0
            while begin < len(piece):
                begin, n_columns, n_ends = _next_rows(piece, begin, np.uint64(bits), state, columns, ends)
                neighbors.append(columns[:n_columns])
                offsets.append(ends[:n_ends])
        while state[_ROW] < nodes:
            offsets.append(ends[: _end_rows(nodes, state, ends, 0)])
    return state


def sorted_rows(folder: Path, ends: Iterator[Numbers], nodes: int, memory: int) -> Counts:
    """Sort the links and write the rows of the network into `folder`."""
    bits = bits_of(nodes)
    with Sorter(folder, memory) as sorter:
        listed, loops = add_links(sorter, ends, bits)
        state = write_rows(sorter.merged(), nodes, bits, folder)
    links = int(state[_ENTRIES]) // 2
    return Counts(links, listed - loops - links, loops, int(state[_ISOLATED]), int(state[_LOOP_ONLY]))


@njit(cache=True, nogil=True)
def _end_rows(row, state, ends, filled):  # type: ignore[no-untyped-def]
    """Write the ends of all rows before this one, as far as there is space; return how many are filled."""
    while state[_ROW] < row and filled < ends.shape[0]:
        ends[filled] = state[_ENTRIES]
        filled += 1
        if state[_HERE] == 0:
            state[_ISOLATED] += 1
            state[_LOOP_ONLY] += state[_LOOP]
        state[_ROW] += 1
        state[_HERE] = 0
        state[_LOOP] = 0
    return filled


@njit(cache=True, nogil=True)
def _next_rows(words, begin, bits, state, columns, ends):  # type: ignore[no-untyped-def]
    """Go through sorted links until all are done or `ends` is full: (links done, columns written, ends written)."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    written = filled = 0
    for i in range(begin, words.shape[0]):
        row = np.int64(words[i] >> bits)
        column = np.int64(words[i] & mask)
        filled = _end_rows(row, state, ends, filled)
        if state[_ROW] < row:
            return i, written, filled
        if row == column:
            state[_LOOP] = 1
        else:
            columns[written] = column
            written += 1
            state[_ENTRIES] += 1
            state[_HERE] += 1
    return words.shape[0], written, filled
