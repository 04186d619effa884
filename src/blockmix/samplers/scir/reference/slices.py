"""Slice sampling in plain Python: the one form of it that the exact moves use."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.variates import uniform53
from blockmix.samplers.scir.constants import SLICE_STEPS
from blockmix.tables.layout import Key


def draw_slice(
    log_density: Callable[[float], float],
    now: float,
    width: float,
    limits: tuple[float, float],
    uniform: Callable[[int], float],
) -> float:
    """Draw the next value from a law on a range, given its log density (Neal 2003): step out, then shrink."""
    lowest, highest = limits
    level = log_density(now) + math.log(uniform(0))
    low = now - width * uniform(1)
    high = low + width
    while low > lowest and log_density(low) > level:
        low -= width
    while high < highest and log_density(high) > level:
        high += width
    low, high = max(low, lowest), min(high, highest)
    for step in range(2, SLICE_STEPS):
        t = low + (high - low) * uniform(step)
        if log_density(t) > level:
            return t
        low, high = (t, high) if t < now else (low, t)
    return now


def uniforms(purpose: int, number: int, key: Key) -> Callable[[int], float]:
    """Return the function that gives the uniform of each step."""

    def uniform(step: int) -> float:
        word = stream_word(purpose, 0)
        w0, w1, _, _ = philox4x32(np.uint32(number), key.sweep, word, np.uint32(step), key.low, key.high)
        return float(uniform53(w0, w1))

    return uniform
