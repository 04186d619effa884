"""The work space of the kernel that redraws nodes: which nodes are tried with lists of what size, and where these are.

Most nodes see few communities: their lists fit into shared memory, many tiles to a processor. Nodes with more links
start with larger lists, and a node that finds its lists full is handed on to larger ones: it has written nothing until
then, and its draws are functions of counters, so that it makes no difference to the result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.cuda import Device, Module
from blockmix.samplers.scir.cuda.frame import WORK, address, words_of
from blockmix.samplers.scir.cuda.sources import tile_of
from blockmix.samplers.scir.frame import MAX_BIRTHS, MAX_CANDIDATES
from blockmix.samplers.scir.problem import Problem

# Bytes of a tile's lists: six float64 and two int32 for each community, the table, the filter, and own memberships.
_COMMUNITY_BYTES, _FILTER_BYTES, _OWN_BYTES = 56, 128, 16
# Memory that the lists of the largest nodes may take.
LARGEST_SCRATCH = 2 * 2**30


class Size(NamedTuple):
    """Lists of one size: communities, links, threads of a block, nodes that a tile takes at a time."""

    communities: int
    links: int
    threads: int
    grab: int


# Chosen by benchmarks/gpu.py.
LIGHT_BLOCKS = 5
SHARED = (Size(64, 128, 128, 4), Size(768, 4096, 32, 1))


class Launch(NamedTuple):
    """One start of the kernel: the kernel, its `struct Work`, blocks, and bytes of shared memory of a block."""

    kernel: str
    work: Any
    blocks: int
    threads: int
    shared: int


def table_size(communities: int) -> int:
    """Return the size of the hash table for so many communities: a power of two, at most half of it filled."""
    return 1 << int(2 * communities - 1).bit_length()


def tile_bytes(communities: int, links: int, tile: int, largest: bool) -> int:
    """Return the bytes of a tile's work space, a multiple of 16."""
    needed = _COMMUNITY_BYTES * communities + _OWN_BYTES * tile + 4 * table_size(communities) + _FILTER_BYTES
    return -(-(needed + (4 if largest else 2) * links) // 16) * 16


def largest_size(problem: Problem, degree: int) -> Size:
    """Return lists that no node fills: a place for every community that its neighbours can be in."""
    most = max(min(problem.communities, degree * problem.slots), MAX_CANDIDATES)
    return Size(problem.slots + most + 2 * MAX_BIRTHS, max(degree, 1), 32, 1)


def kernel_of(at: int) -> str:
    """Return the kernel for lists of size number `at`."""
    return "redraw" if at else "redraw_light"


def light_size(slots: int) -> dict[str, int]:
    """Return what the kernel of most nodes is compiled for: the smallest lists, and blocks of them on a processor."""
    size = SHARED[0]
    held = tile_bytes(size.communities, size.links, tile_of(slots), False)
    return {
        "capacity": size.communities, "table": table_size(size.communities), "links": size.links, "bytes": held,
        "blocks": LIGHT_BLOCKS,
    }  # fmt: skip


class Space:
    """Orders of nodes, counters and lists, for every batch of a sweep."""

    def __init__(self, problem: Problem, device: Device, module: Module, degrees: Any) -> None:
        self.tile, self._module = tile_of(problem.slots), module
        self.sizes = (*SHARED, largest_size(problem, int(problem.degrees.max(initial=0))))
        batches, sizes = problem.batches, len(self.sizes)
        # Of every batch and size: how far the tiles have come with its own nodes and with those handed on, and how
        # many nodes it hands on itself.
        self.counters = device.zeros((batches, sizes, 3), np.int64)
        self.left = [device.zeros(problem.batch(0)[1], np.int32) for _ in SHARED]
        blocks, threads, _ = self._grid(sizes - 1)
        self.scratch = device.zeros(blocks * threads // self.tile * self._bytes(sizes - 1), np.uint8)
        self.orders, counts = [], np.zeros((batches, sizes), dtype=np.int64)
        for number in range(batches):
            nodes, _ = problem.batch(number)
            places = device.by_falling(degrees[nodes.first :: nodes.stride])
            self.orders.append(places * np.int32(nodes.stride) + np.int32(nodes.first))
            own = problem.degrees[nodes.first :: nodes.stride]
            ends = [len(own), *((own > size.links).sum() for size in SHARED), 0]
            counts[number] = -np.diff(ends)
        self.counts = device.put(counts)
        self.launches = [self._batch(number, counts[number], device) for number in range(batches)]

    def _bytes(self, at: int) -> int:
        """Return the bytes of a tile's lists of size number `at`."""
        size = self.sizes[at]
        return tile_bytes(size.communities, size.links, self.tile, at == len(SHARED))

    def _grid(self, at: int) -> tuple[int, int, int]:
        """Return blocks, threads of a block and its shared memory, for lists of size number `at`."""
        threads, kernel = max(self.sizes[at].threads, self.tile), kernel_of(at)
        held = self._bytes(at) * (threads // self.tile)
        if at < len(SHARED):
            return self._module.blocks(kernel, threads, held), threads, held
        return max(1, min(self._module.blocks(kernel, threads), LARGEST_SCRATCH // held)), threads, 0

    def _batch(self, number: int, counts: NDArray[np.int64], device: Device) -> list[Launch]:
        """Return the starts of the kernel for one batch: from small to large lists, own nodes and those handed on."""
        found = []
        for at in range(len(self.sizes)):
            begin = int(counts[at + 1 :].sum())
            own = address(self.orders[number]) + 4 * begin, address(self.counts[number]) + 8 * at
            found.append(self._launch(number, at, 0, own, device))
            if at:
                handed_on = address(self.left[at - 1]), address(self.counters[number, at - 1]) + 16
                found.append(self._launch(number, at, 1, handed_on, device))
        return found

    def _launch(self, number: int, at: int, start: int, nodes: tuple[int, int], device: Device) -> Launch:
        """Return one start with lists of size number `at`; `nodes` is where they are, and their number."""
        size, largest, counters = self.sizes[at], at == len(SHARED), address(self.counters[number, at])
        work = {
            "order": nodes[0], "count": nodes[1], "next": counters + 8 * start, "grab": size.grab,
            "left": None if largest else self.left[at], "left_count": counters + 16, "scratch": self.scratch,
            "bytes": self._bytes(at), "capacity": size.communities, "table": table_size(size.communities),
            "links": size.links, "largest": int(largest),
        }  # fmt: skip
        return Launch(kernel_of(at), device.put(words_of(WORK, work)), *self._grid(at))
