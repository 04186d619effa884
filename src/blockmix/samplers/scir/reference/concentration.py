"""The law of K alpha given the memberships in plain Python, (Q1) to (Q3), with the random numbers of the kernels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.purposes import DRAW_CONCENTRATION
from blockmix.samplers.scir.concentration import LEAST, MOST, small_components
from blockmix.samplers.scir.constants import SLICE_WIDTH
from blockmix.samplers.scir.reference.indicators import Row
from blockmix.samplers.scir.reference.slices import draw_slice, uniforms
from blockmix.tables.layout import Key


def log_row(row: Row, small: float, communities: int, total: float) -> float:
    """(Q2) Compute the log density of one row, in which components below `small` are only known to be below it."""
    alpha, large = total / communities, [pi for pi in row.values() if pi >= small]
    result = math.lgamma(total) - communities * math.lgamma(1.0 + alpha)
    result += sum(math.log(alpha) + (alpha - 1.0) * math.log(pi) for pi in large)
    return result + alpha * (communities - len(large)) * math.log(small)


def draw_concentration(
    total: float, rows: list[Row], degrees: NDArray[np.int64], communities: int, smallest: float | None, key: Key
) -> float:  # fmt: skip
    """(Q3) Draw K alpha given the rows of all nodes."""
    limits = small_components(degrees, smallest)
    used = [(row, float(small)) for row, small in zip(rows, limits, strict=True) if small > 0.0]
    kept = sum(pi >= small for row, small in used for pi in row.values())

    def log_density(t: float) -> float:
        """(Q1) The prior of K alpha is Exponential(1); t is its logarithm."""
        value = math.exp(t)
        return t - value + sum(log_row(row, small, communities, value) for row, small in used)

    width, ends = SLICE_WIDTH / math.sqrt(kept + 1.0), (math.log(LEAST), math.log(MOST))
    return math.exp(
        draw_slice(log_density, math.log(total), width, ends, uniforms(DRAW_CONCENTRATION, 0, key))
    )
