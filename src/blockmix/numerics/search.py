"""Bisection of a range of increasing numbers, for other kernels to call."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.compile import inlined_lean_kernel


@inlined_lean_kernel
def first_from(entries: np.ndarray, begin: int, end: int, value: int) -> int:
    """Return the place of the first of the increasing entries[begin:end] that is at least `value`, or `end`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined_lean_kernel
def contains(entries: np.ndarray, begin: int, end: int, value: int) -> bool:
    """Return whether a value is one of the increasing entries[begin:end]."""
    low = first_from(entries, begin, end, value)
    return low < end and entries[low] == value
