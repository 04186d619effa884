"""Links with weights: how many units a weight stands for (DC12), (DC13), and the law of a unit's size (DC14).

Counts are Poisson, so that the units of a link are its weight. Amounts are sums of units, each of a Gamma size: how
many there are is drawn given the amount.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.model.links import amount_term
from blockmix.numerics.compile import kernel, lean_kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_UNIT_SHAPE, DRAW_UNIT_SIZE
from blockmix.numerics.variates import gamma, uniform53
from blockmix.samplers.scir.constants import SLICE_STEPS, SLICE_WIDTH
from blockmix.samplers.scir.popularity.frame import MOST_UNITS, Weights
from blockmix.tables.layout import FIXED_POINT, Key

# What a link carries: nothing, a Poisson count, or an amount, the sum of units of a Gamma size.
NONE, COUNTS, AMOUNTS = 0, 1, 2
LAWS = {None: NONE, "counts": COUNTS, "amounts": AMOUNTS}
# (DC14) The shape of a unit's size stays between these: below, a link says nothing by its weight; above, weights are
# multiples of one number.
LEAST_SHAPE, MOST_SHAPE = 1e-2, 1e4
# Shape and rate of the size of a unit that chains start with: exponential, with the mean of all weights.
START_UNIT = (1.0, 1.0)
# Terms of (DC13) this far below the largest, in logarithms, are left out.
_NEGLIGIBLE = 40.0


class LinkLaw(NamedTuple):
    """What stays the same all through a run: the law of the weights, the weights as kernels read them, their scale.

    `entries` are the weights in the places of the neighbours where they are counts, their logarithms where they are
    amounts, which are measured in units of `scale`; `total` is their sum over the links in these units.
    """

    law: int
    entries: NDArray[np.float64]
    scale: float
    total: float

    @classmethod
    def of(cls, graph: Graph, law: str | None) -> LinkLaw:
        """Prepare the weights of the training network; amounts are measured in units of their mean."""
        number = LAWS[law]
        if number == NONE or graph.weights is None:
            return cls(NONE, _fixed(np.empty(0)), 1.0, float(graph.n_edges))
        if number == COUNTS:
            return cls(COUNTS, _fixed(graph.weights), 1.0, graph.total_weight)
        scale = scale_of(graph)
        return cls(AMOUNTS, _fixed(np.log(graph.weights / scale)), scale, graph.total_weight / scale)

    def without_weights(self) -> LinkLaw:
        """Return the law of links without weights, as many as there are here."""
        return LinkLaw(NONE, _fixed(np.empty(0)), 1.0, self.total)

    def most_units(self, offsets: NDArray[np.int64]) -> int:
        """Return the most units of a node in a sweep where links have weights; 0 elsewhere."""
        if self.law != COUNTS:
            return MOST_UNITS * int(np.diff(offsets).max(initial=0)) if self.law == AMOUNTS else 0
        sums = np.append(0.0, np.cumsum(self.entries))
        return int((sums[offsets[1:]] - sums[offsets[:-1]]).max(initial=0.0))

    def frame(self, unit: NDArray[np.float64]) -> Weights:
        """Return what kernels see in a sweep, given shape and rate of a unit's size."""
        terms = np.zeros(MOST_UNITS + 1 if self.law == AMOUNTS else 0)
        if self.law == AMOUNTS:
            set_terms(float(unit[0]), terms)
        return Weights(self.law, self.entries, float(unit[0]), math.log(unit[1]), terms)


def scale_of(graph: Graph) -> float:
    """Return what amounts are measured in: their mean. The prior of the size of a unit (DC14) has this scale."""
    return graph.total_weight / max(graph.n_edges, 1)


def _fixed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a read-only array: kernels are compiled for one type, whatever the law."""
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


@kernel
def set_terms(shape: float, terms: np.ndarray) -> None:
    """(DC13) Set for every number of units m the part of its log weight that no link changes."""
    for m in range(1, len(terms)):
        terms[m] = amount_term(m, shape)


@lean_kernel
def units_of_amount(mean: float, entry: float, u: float, weights: Weights) -> int:
    """(DC13) Draw how many units an amount consists of, by inversion of u; `entry` is its logarithm.

    p(m) is in proportion to e^(m s + terms_m), which is log-concave in m: it rises, then falls.
    """
    slope = math.log(mean) + weights.shape * (weights.log_rate + entry)
    largest = slope + weights.terms[1]
    last = 1
    for m in range(2, len(weights.terms)):
        value = slope * m + weights.terms[m]
        if value < largest - _NEGLIGIBLE:
            break
        largest = max(largest, value)
        last = m
    total = 0.0
    for m in range(1, last + 1):
        total += math.exp(slope * m + weights.terms[m] - largest)
    u *= total
    for m in range(1, last):
        u -= math.exp(slope * m + weights.terms[m] - largest)
        if u < 0.0:
            return m
    return last


class Tally(NamedTuple):
    """(DC14) What the units of all links say about the size of one: how many links have m units, and three sums.

    `units` is the sum of m, `logs` that of m log x, and `total` that of the amounts x.
    """

    links: NDArray[np.int64]
    units: float
    logs: float
    total: float

    @classmethod
    def of(cls, gathered: NDArray[np.int64], total: float) -> Tally:
        """Add up what the workers gathered: links by units, and in the first entry the sum of m log x."""
        sums = gathered.sum(axis=0)
        logs, sums[0] = float(sums[0]) / FIXED_POINT, 0
        return cls(sums, float(sums @ np.arange(len(sums))), logs, total)


@kernel
def shape_density(t: float, tally: Tally) -> float:
    """(DC14) Compute the log density of t = log(shape) given the units, the rate of the size integrated out."""
    shape = math.exp(t)
    total = 1.0 + shape * tally.units
    result = t - 2.0 * math.log1p(shape) - math.log(shape) + shape * tally.logs
    result += math.lgamma(total) - total * math.log(1.0 / shape + tally.total)
    for m in range(1, len(tally.links)):
        if tally.links[m] > 0:
            result -= tally.links[m] * math.lgamma(shape * m)
    return result


@kernel
def draw_unit(unit: np.ndarray, tally: Tally, key: Key) -> None:
    """(DC14) Draw shape and rate of the size of a unit given the units of all links.

    The shape by slice sampling of its logarithm, the rate from its Gamma law.
    """
    lowest, highest, now = math.log(LEAST_SHAPE), math.log(MOST_SHAPE), math.log(unit[0])
    width = SLICE_WIDTH / math.sqrt(0.5 * tally.units + 1.0)
    level = shape_density(now, tally) + math.log(_uniform(0, key))
    low = now - width * _uniform(1, key)
    high = low + width
    while low > lowest and shape_density(low, tally) > level:
        low -= width
    while high < highest and shape_density(high, tally) > level:
        high += width
    low, high = max(low, lowest), min(high, highest)
    for step in range(2, SLICE_STEPS):
        t = low + (high - low) * _uniform(step, key)
        if shape_density(t, tally) > level:
            now = t
            break
        if t < now:
            low = t
        else:
            high = t
    unit[0] = math.exp(now)
    word = stream_word(DRAW_UNIT_SIZE, 0)
    drawn = gamma(1.0 + unit[0] * tally.units, key.low, key.high, np.uint32(0), key.sweep, word, np.uint32(0))
    unit[1] = drawn / (1.0 / unit[0] + tally.total)


@kernel
def _uniform(step: int, key: Key) -> float:
    """Return the uniform of one step of the slice."""
    word = stream_word(DRAW_UNIT_SHAPE, 0)
    w0, w1, _, _ = philox4x32(np.uint32(0), key.sweep, word, np.uint32(step), key.low, key.high)
    return uniform53(w0, w1)
