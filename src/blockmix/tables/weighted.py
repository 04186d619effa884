"""Predictions of weights in the popularity model: the density of a weight that was seen, and the expected weight.

Nodes without links are predicted as in `tables.popular`: by the mean over the same few of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.model.links import log_amount, log_count, pair_rate
from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.tables.layout import Rows
from blockmix.tables.packed import Packed
from blockmix.tables.predictor import (
    add_packed_slopes,
    add_row_slopes,
    clear_packed_slopes,
    clear_row_slopes,
    packed_product,
    row_product,
)

# Rows of the array of predictions: the density (a probability, of counts) of the weight, and the expected weight.
DENSITY, EXPECTED = 0, 1


class WeightLaw(NamedTuple):
    """The law of a weight given its rate: of counts (DC12), or of amounts of units of a Gamma size (DC13).

    `scale` is what amounts are measured in, and `most` how many units one has at most.
    """

    counts: bool
    shape: float
    size_rate: float
    scale: float
    most: int


class WeightedPairs(NamedTuple):
    """Pairs of nodes and their weights, 0 for no link."""

    pairs: NDArray[np.int64]
    weights: NDArray[np.float64]


class StandIns(NamedTuple):
    """Which nodes are isolated, those that stand for all of them (as in `popular.Isolated`), and pairs of these."""

    marks: NDArray[np.uint8]
    spread: NDArray[np.int64]
    begins: NDArray[np.int64]
    apart: NDArray[np.int64]


@inlined_kernel
def weight_density(weight: float, rate: float, law: WeightLaw) -> float:
    """(DC12), (DC13) Compute the density of a weight given the rate of its pair; of no link the probability of none."""
    if weight == 0.0:
        return math.exp(-rate)
    if law.counts:
        return math.exp(log_count(weight, rate))
    return (
        math.exp(log_amount(math.log(weight / law.scale), rate, law.shape, law.size_rate, law.most))
        / law.scale
    )


@inlined_kernel
def expected_weight(rate: float, law: WeightLaw) -> float:
    """(DC12), (DC13) Compute the expected weight of a pair, zero for no link."""
    return rate if law.counts else rate * law.shape / law.size_rate * law.scale


@inlined_kernel
def count_stand_ins(a: int, b: int, alone: StandIns) -> int:
    """Return the number of pairs whose mean stands for the pair (a, b): 1 where neither is isolated."""
    if alone.marks[a] and alone.marks[b]:
        return len(alone.apart)
    mark = max(alone.marks[a], alone.marks[b])
    return alone.begins[mark] - alone.begins[mark - 1] if mark else 1


@inlined_kernel
def stand_in(j: int, a: int, b: int, alone: StandIns) -> tuple[int, int]:
    """Return number j of the pairs whose mean stands for the pair (a, b), an isolated node last."""
    if alone.marks[a] and alone.marks[b]:
        return alone.apart[j, 0], alone.apart[j, 1]
    if alone.marks[a]:
        return b, alone.spread[alone.begins[alone.marks[a] - 1] + j]
    return a, (alone.spread[alone.begins[alone.marks[b] - 1] + j] if alone.marks[b] else b)


@kernel
def average_row_weights(
    weighted: WeightedPairs, rows: Rows, strengths: np.ndarray, alone: StandIns, law: WeightLaw, share: float,
    slopes: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """Set out = (1 - share) out + share * prediction, for every pair; `slopes` is zero, and again after."""
    base, r = strengths[-1], rows.total
    for i in range(len(weighted.pairs)):
        a, b = weighted.pairs[i, 0], weighted.pairs[i, 1]
        density, expected, count = 0.0, 0.0, count_stand_ins(a, b, alone)
        for j in range(count):
            first, second = stand_in(j, a, b, alone)
            add_row_slopes(first, rows, strengths, slopes)
            product = row_product(second, rows, slopes)
            clear_row_slopes(first, rows, strengths, slopes)
            rate = pair_rate(np.float64(r[first]), np.float64(r[second]), base, product)
            density += weight_density(weighted.weights[i], rate, law) / count
            expected += expected_weight(rate, law) / count
        out[DENSITY, i] += share * (density - out[DENSITY, i])
        out[EXPECTED, i] += share * (expected - out[EXPECTED, i])


@kernel
def add_packed_rates(
    pairs: np.ndarray, packed: Packed, r: np.ndarray, strengths: np.ndarray, alone: StandIns, factor: float,
    slopes: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """Add `factor` times the rate (DC1) of every pair under a posterior sample to `out`."""
    base = strengths[-1]
    for i in range(len(pairs)):
        a, b = pairs[i, 0], pairs[i, 1]
        total, count = 0.0, count_stand_ins(a, b, alone)
        for j in range(count):
            first, second = stand_in(j, a, b, alone)
            add_packed_slopes(first, packed, strengths, slopes)
            product = packed_product(second, packed, slopes)
            clear_packed_slopes(first, packed, strengths, slopes)
            total += pair_rate(np.float64(r[first]), np.float64(r[second]), base, product) / count
        out[i] += factor * total
