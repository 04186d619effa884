"""Fewer parts: the two smallest are merged until there are at most K."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import kernel
from blockmix.samplers.starts.potts.merging import number_parts


@kernel
def merge_smallest(
    order: np.ndarray, sizes: np.ndarray, wanted: int, parent: np.ndarray, merged: np.ndarray
) -> None:
    """Merge the two smallest until `wanted` are left; `order` sorts groups by size.

    Mergers come out in increasing order of size, so that the smallest is at the head of one of two queues. Of equals
    the older one is taken. parent[i] is what i goes into, or i; a merger has a number from len(sizes) on.
    """
    count = sizes.shape[0]
    for i in range(parent.shape[0]):
        parent[i] = i
    head, first, fresh = 0, count, count
    for _ in range(count - wanted):
        total = 0
        for _ in range(2):
            if first >= fresh or (head < count and sizes[order[head]] <= merged[first - count]):
                taken = order[head]
                total += sizes[taken]
                head += 1
            else:
                taken = first
                total += merged[first - count]
                first += 1
            parent[taken] = fresh
        merged[fresh - count] = total
        fresh += 1
    for i in range(fresh - 1, -1, -1):
        parent[i] = parent[parent[i]]


def reduced(
    sizes: NDArray[np.signedinteger], parts: NDArray[np.int32], communities: int
) -> NDArray[np.int32]:
    """Merge the two smallest parts, linked or not, until there are at most K.

    A merger of r and s adds n_r n_s pairs that are not linked, so small parts lose least.
    """
    count = len(sizes)
    if count <= communities:
        return parts
    # One type for all callers, so that the kernel is compiled once.
    sizes = sizes.astype(np.int64, copy=False)
    order, parent = np.argsort(sizes, kind="stable").astype(np.int32), np.empty(2 * count, dtype=np.int32)
    merge_smallest(order, sizes, communities, parent, np.empty(count, dtype=np.int32))
    numbers = parent[:count].copy()
    number_parts(numbers, np.empty(2 * count, dtype=np.int32))
    return numbers[parts]
